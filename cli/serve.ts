// `headroom serve`: runs the service until a signal ends it.

import { Command, Option } from 'commander';
import { counted } from '../machines/values/counted.js';
import type { Recorder } from '../sim/log/recorder.js';
import { systemClock } from '../src/clock.js';
import type { Config } from '../src/config.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { VERSION } from '../src/version.js';
import { checkPorts } from './ports.js';
import { announce, printNote } from './print.js';
import { ALL_SETTINGS, addSettingsFlags, configOf, type SettingsFlags } from './settings-flags.js';
import { stopWithGrace } from './stop-with-grace.js';

/** Event that one of several nodes prints after it becomes active or standby. */
const ROLE_EVENTS = { active: 'ready', standby: 'standby' } as const;

interface ServeFlags extends SettingsFlags {
  readonly record?: string;
  readonly front?: boolean;
}

/** @throws OperatorError if the file cannot be used. @throws the error of the file system */
async function openRecorder(path: string, settings: Config): Promise<Recorder> {
  const { Recorder } = await import('../sim/log/recorder.js');
  return new Recorder({ path, clock: systemClock, settings });
}

/** Runs a front: it accepts the connections of chargers on behalf of separate nodes. */
async function serveFront(flags: SettingsFlags): Promise<void> {
  const { Front } = await import('../src/front.js');
  const config = configOf(flags);
  const front = new Front(config);
  await checkPorts({ ...config, busUrl: undefined });
  const grace = stopWithGrace(() => front.stop());
  try {
    announce({ event: 'ready', ...(await front.start()), version: VERSION });
  } catch (error) {
    grace.uninstall();
    throw error;
  }
}

async function serve({ record, front, ...flags }: ServeFlags): Promise<void> {
  if (front === true) {
    if (record !== undefined) throw new OperatorError('--record: a front decides nothing; use it at a node');
    return serveFront(flags);
  }
  const config = configOf(flags);
  // The service is loaded only to run it, not for the help.
  const { Service } = await import('../src/service.js');
  await checkPorts(config);
  if (record !== undefined && config.sharded)
    throw new OperatorError(
      '--record: a node that shares the tenants with others runs several parts, and a recording has one',
    );
  const recorder = record === undefined ? undefined : await openRecorder(record, config);
  const closeRecording = async () => {
    const lost = await recorder?.close();
    if (lost !== undefined && lost > 0)
      printNote(`headroom: ${record} lacks the last ${counted(lost, 'line')}, which could not be written`);
  };
  const service = new Service(config, {
    ...recorder?.seams,
    onTakenOver() {
      printNote('headroom: another service was started on this database and has taken over; this one ends');
      void closeRecording().finally(() => process.exit(1));
    },
    onShards: (held) => announce({ event: 'shards', held, version: VERSION }),
    onRole: (role, urls) => announce({ event: ROLE_EVENTS[role], ...urls, version: VERSION }),
  });
  const grace = stopWithGrace(async () => {
    await service.stop();
    await closeRecording();
  });
  try {
    const { httpUrl, mqttUrl } = await service.start();
    if (!config.standby) announce({ event: 'ready', httpUrl, mqttUrl, version: VERSION });
  } catch (error) {
    grace.uninstall();
    throw error;
  }
}

export function serveCommand(): Command {
  const command = new Command('serve').description('run the service').action(serve);
  command.addOption(
    new Option(
      '--front',
      'run the part that chargers connect to, beside nodes on one NATS (HEADROOM_BUS_URL) and one PostgreSQL, and no tenants',
    ),
  );
  command.addOption(
    new Option(
      '--record <file>',
      'write inputs and decisions of the service there, for sim replay; appends, holds no secrets',
    ),
  );
  return addSettingsFlags(command, ALL_SETTINGS);
}
