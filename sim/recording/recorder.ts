// Records the inputs and the decisions of a running service, so that a replay can give it the same inputs again.
import { isUtf8 } from 'node:buffer';
import { type ActorSystem, createActorSystem } from '../../src/actor-system.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { LimitPublisher, MessageBus } from '../../src/ports/telemetry.js';
import type { Seams } from '../../src/service.js';
import { VERSION } from '../../src/version.js';
import { LineWriter } from './line-writer.js';
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
import { createTurns, type Turns, type Untimed } from './turns.js';

type ActorOptions = Parameters<typeof createActorSystem>[0];

/** These settings may hold passwords. */
const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  'databaseUrl',
  'mqttUrl',
  'busUrl',
  'tokenKeys',
  'metricsToken',
]);
/** One byte more than the contract allows for a message: a replay refuses the cut message as it would the whole one. */
const MESSAGE_BYTES = 16_385;

/**
 * Appends lives of the service to a file; a life is one run from start to stop. A failed write ends the recording and
 * is logged; the service continues.
 */
export class Recorder {
  readonly #settings: Readonly<Record<string, unknown>>;
  readonly #host: Clock;
  readonly #file: LineWriter;
  readonly #turns: Turns;
  #log: Log | undefined;

  /** @throws Error if the file at `path` cannot be opened, or is not a recording. */
  constructor(options: {
    readonly path: string;
    readonly clock: Clock;
    readonly settings: Readonly<Record<string, unknown>>;
  }) {
    this.#settings = options.settings;
    this.#host = options.clock;
    this.#file = new LineWriter({
      path: options.path,
      clock: options.clock,
      isOwn: isRecording,
      onLost: (error) => this.#log?.error({ err: error }, 'the recording ends here; the service goes on'),
    });
    this.#turns = createTurns(options.clock, (input: Input) => this.#put(input));
  }

  /** Replacements for parts of the service, through which the recorder observes it. */
  get seams(): Pick<Seams, 'clock' | 'wrapBus' | 'createActors'> {
    return {
      clock: this.#turns.clock,
      wrapBus: (bus) => this.#wrapBus(bus),
      createActors: (given) => this.#createActors(given),
    };
  }

  /** Writes the remaining lines after the service has stopped. Resolves to the number of lines that the file lacks. */
  async close(): Promise<number> {
    await this.#file.close();
    return this.#file.lost;
  }

  #put(line: Line): void {
    this.#file.write(line);
  }

  #wrapBus(bus: MessageBus): MessageBus {
    return {
      start: (onMessage) =>
        bus.start((topic, payload) =>
          this.#turns.turnLater({ kind: 'message', topic, ...payloadOf(payload) }, () =>
            onMessage(topic, payload),
          ),
        ),
      publish: (topic, payload, how) => bus.publish(topic, payload, how),
      isHealthy: () => bus.isHealthy(),
      stop: () => bus.stop(),
    };
  }

  #recordedClock(): Clock {
    let set = 0;
    return {
      ...this.#turns.clock,
      after: (delayMs, callback) => {
        const n = ++set;
        return this.#host.after(delayMs, () => this.#turns.turn({ kind: 'timer', n }, callback));
      },
    };
  }

  #recordedPublisher(publisher: LimitPublisher): LimitPublisher {
    return {
      publishLimit: (connector, grant) => {
        const { tenantUuid, locationId, controllerUuid, connectorId } = connector;
        const { v: _, ...limit } = limitMessageOf(grant);
        const decided: DecidedLimit = { tenantUuid, locationId, controllerUuid, connectorId, ...limit };
        this.#put({ kind: 'limit', ...decided });
        publisher.publishLimit(connector, grant);
      },
      requestSync: (charger, ownerTerm) => publisher.requestSync(charger, ownerTerm),
    };
  }

  #inTurn(input: Untimed, work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#turns.turnLater(input, () => void work().then(resolve, reject)),
    );
  }

  #createActors(given: ActorOptions): ActorSystem {
    this.#log = given.log;
    this.#put(lifeOf(given, this.#settings));
    const actors = createActorSystem({
      ...given,
      clock: this.#recordedClock(),
      store: recordedStore(given.store, this.#turns.turnLater),
      publisher: this.#recordedPublisher(given.publisher),
      newId: () => {
        const id = given.newId();
        this.#put({ kind: 'id', id });
        return id;
      },
    });
    return {
      application: recordedApplication(actors.application, this.#turns),
      telemetryHandler: actors.telemetryHandler,
      overdueMs: () => actors.overdueMs(),
      areReadsRefused: () => actors.areReadsRefused(),
      syncChargers: () => this.#turns.turnLater({ kind: 'sync' }, () => actors.syncChargers()),
      start: () => this.#inTurn({ kind: 'start' }, () => actors.start()),
      stop: () => this.#inTurn({ kind: 'stop' }, () => actors.stop()),
    };
  }
}

function lifeOf(given: ActorOptions, settings: Readonly<Record<string, unknown>>): Life {
  const { ownerTerm, timing, powerRetentionDays } = given;
  const told = Object.entries(settings).filter(([name]) => !SECRET_SETTINGS.has(name));
  return {
    kind: 'life',
    format: FORMAT,
    version: VERSION,
    settings: Object.fromEntries(told),
    epoch: ownerTerm,
    timing: { ...timing },
    powerRetentionDays,
  };
}

function payloadOf(payload: Buffer): { text: string } | { base64: string } {
  const kept = payload.length > MESSAGE_BYTES ? payload.subarray(0, MESSAGE_BYTES) : payload;
  return isUtf8(kept) ? { text: kept.toString() } : { base64: kept.toString('base64') };
}
