// `headroom serve`: the service alone, until a signal ends it.

import closeWithGrace from 'close-with-grace';
import { Command } from 'commander';
import { type Config, flagOf, variableOf } from '../config.js';
import { createService, type Service } from '../service.js';
import { VERSION } from '../version.js';
import { explain, OperatorError } from './operator-error.js';
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

function portTaken(error: object, { httpPort, mqttPort }: Config): OperatorError {
  const port = 'port' in error ? error.port : undefined;
  const keys = (['httpPort', 'mqttPort'] as const).filter((key) => port === { httpPort, mqttPort }[key]);
  const choices = keys.map((key) => `${flagOf(key)} or ${variableOf(key)}`).join(', ');
  return new OperatorError(`port ${port} is in use; choose another with ${choices} (0 picks a free one)`);
}

/** Starts `service`. @throws OperatorError in place of a system error about a port or an address. */
export async function startService(service: Service, config: Config) {
  try {
    return await service.start();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw portTaken(error, config);
    }
    throw error;
  }
}

async function serve(flags: SettingsFlags): Promise<void> {
  const config = configOf(flags);
  const service = createService(config);
  const grace = stopWithGrace(() => service.stop());
  try {
    const { httpUrl, mqttUrl } = await startService(service, config);
    printJson({ event: 'ready', httpUrl, mqttUrl, version: VERSION });
  } catch (error) {
    grace.uninstall();
    throw error;
  }
}

export function serveCommand(): Command {
  const command = new Command('serve').description('run the service').action(serve);
  return addSettingsFlags(command, ALL_SETTINGS);
}
