// Writes down what reaches a running service and what it decides, so that it can be told the same once more.
import { isUtf8 } from 'node:buffer';
import { type ActorSystem, createActorSystem } from '../../src/actor-system.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { LimitPublisher, MessageBus } from '../../src/ports/telemetry.js';
import type { Seams } from '../../src/service.js';
import { VERSION } from '../../src/version.js';
import { openLineWriter } from './line-writer.js';
import { recordedApplication } from './recorded-application.js';
import { recordedStore } from './recorded-store.js';
import {
  type DecidedLimit,
  FORMAT,
  type Input,
  isRecording,
  type Life,
  type Line,
} from './recording-line.js';
import { createTurns, type Untimed } from './turns.js';

export interface Recorder {
  /** For the service that is recorded. */
  readonly seams: Pick<Seams, 'clock' | 'wrapBus' | 'createActors'>;
  /** Writes what is left, once the service has stopped. Resolves to how many lines the file lacks. */
  close(): Promise<number>;
}

type ActorOptions = Parameters<typeof createActorSystem>[0];

/** May hold passwords. */
const SECRET_SETTINGS: ReadonlySet<string> = new Set(['databaseUrl', 'mqttUrl', 'tokenKeys']);
/** A byte more than any message of the contract may have: as much too long as the whole. */
const MESSAGE_BYTES = 16_385;

/**
 * Appends a life of the service to `path`. What cannot be written ends the recording, and is logged; the service goes on.
 * @throws Error where the file cannot be opened, or holds something else than a recording.
 */
export function createRecorder(options: {
  readonly path: string;
  readonly clock: Clock;
  readonly settings: Readonly<Record<string, unknown>>;
}): Recorder {
  const { path, clock: host, settings } = options;
  let log: Log | undefined;
  const file = openLineWriter({
    path,
    clock: host,
    isOwn: isRecording,
    onLost: (error) => log?.error({ err: error }, 'the recording ends here; the service goes on'),
  });
  const put = (line: Line) => file.write(line);
  const turns = createTurns(host, (input: Input) => put(input));
  const { turn, turnLater } = turns;

  function wrapBus(bus: MessageBus): MessageBus {
    return {
      start: (onMessage) =>
        bus.start((topic, payload) =>
          turnLater({ kind: 'message', topic, ...payloadOf(payload) }, () => onMessage(topic, payload)),
        ),
      publish: (topic, payload, how) => bus.publish(topic, payload, how),
      isHealthy: () => bus.isHealthy(),
      stop: () => bus.stop(),
    };
  }

  function recordedClock(): Clock {
    let set = 0;
    return {
      ...turns.clock,
      after(delayMs, callback) {
        const n = ++set;
        return host.after(delayMs, () => turn({ kind: 'timer', n }, callback));
      },
    };
  }

  function recordedPublisher(publisher: LimitPublisher): LimitPublisher {
    return {
      publishLimit(connector, grant) {
        const { tenantUuid, locationId, controllerUuid, connectorId } = connector;
        const { v: _, ...limit } = limitMessageOf(grant);
        const decided: DecidedLimit = { tenantUuid, locationId, controllerUuid, connectorId, ...limit };
        put({ kind: 'limit', ...decided });
        publisher.publishLimit(connector, grant);
      },
      requestSync: (charger, epoch) => publisher.requestSync(charger, epoch),
    };
  }

  function inTurn(input: Untimed, work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => turnLater(input, () => void work().then(resolve, reject)));
  }

  function createActors(given: ActorOptions): ActorSystem {
    log = given.log;
    put(lifeOf(given, settings));
    const actors = createActorSystem({
      ...given,
      clock: recordedClock(),
      store: recordedStore(given.store, turnLater),
      publisher: recordedPublisher(given.publisher),
      newId() {
        const id = given.newId();
        put({ kind: 'id', id });
        return id;
      },
    });
    return {
      application: recordedApplication(actors.application, turns),
      meterSink: actors.meterSink,
      overdueMs: () => actors.overdueMs(),
      syncChargers: () => turnLater({ kind: 'sync' }, () => actors.syncChargers()),
      start: () => inTurn({ kind: 'start' }, () => actors.start()),
      stop: () => inTurn({ kind: 'stop' }, () => actors.stop()),
    };
  }

  return {
    seams: { clock: turns.clock, wrapBus, createActors },
    async close() {
      await file.close();
      return file.lost;
    },
  };
}

function lifeOf(given: ActorOptions, settings: Readonly<Record<string, unknown>>): Life {
  const { epoch, timing, staleAfterMs, powerRetentionDays } = given;
  const told = Object.entries(settings).filter(([name]) => !SECRET_SETTINGS.has(name));
  return {
    kind: 'life',
    format: FORMAT,
    version: VERSION,
    settings: Object.fromEntries(told),
    epoch,
    timing: { ...timing },
    staleAfterMs,
    powerRetentionDays,
  };
}

function payloadOf(payload: Buffer): { text: string } | { base64: string } {
  const kept = payload.length > MESSAGE_BYTES ? payload.subarray(0, MESSAGE_BYTES) : payload;
  return isUtf8(kept) ? { text: kept.toString() } : { base64: kept.toString('base64') };
}
