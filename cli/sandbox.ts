// `headroom sandbox`: its flags. The implementation is loaded only when the command runs, not for the help.
import { Command, InvalidArgumentError } from 'commander';
import { FASTEST, instant, type SandboxFlags, seedOption, wholeNumber } from './sim-options.js';

const HIGHEST_PORT = 65_535;

function speed(text: string): number {
  const value = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (value <= FASTEST) return value;
  throw new InvalidArgumentError(`It must be a number from 0 to ${FASTEST}.`);
}

export function sandboxCommand(): Command {
  return new Command('sandbox')
    .description('the service with virtual chargers on a clock that you move, for tests of a back end')
    .argument('[scenario.yaml]', 'sites and cars (default: two car parks with eight connectors each)')
    .addOption(seedOption())
    .option('--days <d>', 'time for which cars come and go, in days', wholeNumber(1, 366), 7)
    .option('--start <instant>', 'first instant, such as 2026-06-01T17:00:03Z (default: now)', instant)
    .option('--speed <n>', 'virtual seconds a second; 0: time stands still between two steps', speed, 1)
    .option('--host <address>', 'address to bind to', '127.0.0.1')
    .option('--port <n>', 'port of the REST API; 0 picks a free one', wholeNumber(0, HIGHEST_PORT), 8080)
    .option('--control-port <n>', 'port of the clock; 0 picks a free one', wholeNumber(0, HIGHEST_PORT), 8081)
    .action(async (path: string | undefined, flags: SandboxFlags) =>
      (await import('./sandbox-run.js')).sandbox(path, flags),
    );
}
