// Whether the service could listen where it is told to, found out before anything is opened or written.
import { createServer } from 'node:net';
import { type Config, flagOf, hasOwnBroker, variableOf } from '../src/config.js';
import { FailedError } from './operator-error.js';

/** What the system says to listening there now: undefined where it would work. */
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

/** @throws FailedError naming the port in use and what chooses another; else the system's own error. */
export async function checkPorts(config: Config): Promise<void> {
  const checks = [
    ['httpPort', config.httpHost] as const,
    // The broker of a node that stands by listens once it runs: until then another node may be there.
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
