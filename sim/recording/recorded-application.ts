// Records the calls of the application interface, each as a turn of its own.
import type { Application } from '../../src/application/application.js';
import { READS, type ReadCall, WRITES, type WriteCall } from './recording-line.js';
import type { Turn, TurnLater } from './turns.js';

export function recordedApplication(
  application: Application,
  { turn, turnLater }: { readonly turn: Turn; readonly turnLater: TurnLater },
): Application {
  let listeners = 0;

  const writing = (call: WriteCall) =>
    function write(tenantUuid: string, ...given: unknown[]): Promise<unknown> {
      return new Promise((resolve, reject) => {
        turnLater({ kind: 'call', call, tenantUuid, arguments: given.filter(isData) }, () => {
          const answer: Promise<unknown> = Reflect.apply(application[call], application, [
            tenantUuid,
            ...given,
          ]);
          answer.then(resolve, reject);
        });
      });
    };

  // A read expires old readings of its location, so it is a turn, too. The read stays synchronous.
  const reading = (call: ReadCall) =>
    function read(tenantUuid: string, ...given: unknown[]): unknown {
      return turn({ kind: 'read', call, tenantUuid, arguments: given.filter(isData) }, () =>
        Reflect.apply(application[call], application, [tenantUuid, ...given]),
      );
    };

  return {
    ...application,
    ...Object.fromEntries(WRITES.map((call) => [call, writing(call)])),
    ...Object.fromEntries(READS.map((call) => [call, reading(call)])),
    subscribe(tenantUuid, locationId, listener) {
      const n = ++listeners;
      const about = { tenantUuid, ...(locationId === undefined ? {} : { locationId }) };
      const end = turn({ kind: 'listen', n, ...about }, () =>
        application.subscribe(tenantUuid, locationId, listener),
      );
      return () => turn({ kind: 'unlisten', n }, end);
    },
  };
}

/** Functions are callbacks for the answer, and not part of the request. */
function isData(value: unknown): boolean {
  return typeof value !== 'function';
}
