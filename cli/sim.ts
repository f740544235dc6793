// `headroom sim`: whole days of a site on a virtual clock, run, asked afterwards, and repeated for many seeds.
import { Command } from 'commander';
import { endOnInterrupt } from './sim-interrupt.js';
import { replayCommand } from './sim-replay.js';
import { runCommand } from './sim-run.js';
import { seedsCommand } from './sim-seeds.js';

export function simCommand(): Command {
  return new Command('sim')
    .description('rehearse days of a site in seconds, with the production service on a virtual clock')
    .hook('preAction', endOnInterrupt)
    .addCommand(runCommand())
    .addCommand(replayCommand())
    .addCommand(seedsCommand());
}
