// `headroom serve`: the service alone, until a signal ends it.

import closeWithGrace from 'close-with-grace';
import { Command, Option } from 'commander';
import { createRecorder, type Recorder } from '../../sim/recording/recorder.js';
import { systemClock } from '../clock.js';
import type { Config } from '../config.js';
import { createService } from '../service.js';
import { VERSION } from '../version.js';
import { explain, OperatorError } from './operator-error.js';
import { checkPorts } from './ports.js';
import { printJson, printNote } from './print.js';
import { ALL_SETTINGS, addSettingsFlags, configOf, type SettingsFlags } from './settings-flags.js';

/** Below the 10 s in which a stop must be over. */
const STOP_WITHIN_MS = 9_000;

/** Calls `stop` once, on a signal or a defect, and ends the process: code 0 after a signal, 1 otherwise. */
export function stopWithGrace(stop: () => Promise<void>): { uninstall(): void } {
  const onTimeout = () =>
    printNote(`headroom: the stop took more than ${STOP_WITHIN_MS / 1000} s and was cut short`);
  return closeWithGrace({ delay: STOP_WITHIN_MS, logger: false, onTimeout }, async ({ err }) => {
    if (err !== undefined) printNote(explain(err));
    try {
      await stop();
    } catch (error) {
      printNote(explain(error));
      throw error;
    }
  });
}

interface ServeFlags extends SettingsFlags {
  readonly record?: string;
}

/** @throws OperatorError where the file cannot be used. */
function openRecorder(path: string, settings: Config): Recorder {
  try {
    return createRecorder({ path, clock: systemClock, settings });
  } catch (error) {
    throw new OperatorError(error instanceof Error ? error.message : String(error));
  }
}

async function serve({ record, ...flags }: ServeFlags): Promise<void> {
  const config = configOf(flags);
  await checkPorts(config);
  const recorder = record === undefined ? undefined : openRecorder(record, config);
  const closeRecording = async () => {
    const lost = await recorder?.close();
    if (lost !== undefined && lost > 0)
      printNote(`headroom: ${record} lacks the last ${lost} lines, which could not be written`);
  };
  const service = createService(config, {
    ...recorder?.seams,
    onTakenOver() {
      printNote('headroom: another service was started on this database and has taken over; this one ends');
      void closeRecording().finally(() => process.exit(1));
    },
  });
  const grace = stopWithGrace(async () => {
    await service.stop();
    await closeRecording();
  });
  try {
    const { httpUrl, mqttUrl } = await service.start();
    printJson({ event: 'ready', httpUrl, mqttUrl, version: VERSION });
  } catch (error) {
    grace.uninstall();
    throw error;
  }
}

export function serveCommand(): Command {
  const command = new Command('serve').description('run the service').action(serve);
  command.addOption(
    new Option(
      '--record <file>',
      'write what reaches the service and what it decides there, for sim replay; appends, holds no secrets',
    ),
  );
  return addSettingsFlags(command, ALL_SETTINGS);
}
