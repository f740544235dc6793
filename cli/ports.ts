// Checks that the service can listen on its ports, before it opens or writes a file.
import { createServer } from 'node:net';
import { type Config, flagOf, hasOwnBroker, variableOf } from '../src/config.js';
import { FailedError } from './operator-error.js';

/** The system's error for listening on this port now; undefined if there is none. */
export function listeningError(host: string, port: number): Promise<Error | undefined> {
  return new Promise((done) => {
    const probe = createServer();
    probe.once('error', done);
    probe.listen(port, host, () => probe.close(() => done(undefined)));
  });
}

export function isInUse(error: Error | undefined): boolean {
  return error !== undefined && 'code' in error && error.code === 'EADDRINUSE';
}

export async function isPortFree(host: string, port: number): Promise<boolean> {
  return !isInUse(await listeningError(host, port));
}

/** @throws FailedError with the used port and the setting that changes it; any other error of the system unchanged. */
export async function checkPorts(config: Config): Promise<void> {
  const checks = [
    ['httpPort', config.httpHost] as const,
    // The broker of a standby node listens only after the node becomes active: another node may use the port until
    // then.
    ...(hasOwnBroker(config) && !config.standby ? [['mqttPort', config.mqttHost] as const] : []),
  ];
  for (const [key, host] of checks) {
    const error = await listeningError(host, config[key]);
    if (isInUse(error)) {
      throw new FailedError(
        `port ${config[key]} is in use; choose another with ${flagOf(key)} or ${variableOf(key)} (0 picks a free one)`,
      );
    }
    if (error !== undefined) throw error;
  }
}
