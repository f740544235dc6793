// Records the inputs and the decisions of a running service, so that a replay can give it the same inputs again.
import { isUtf8 } from 'node:buffer';
import { type ActorSystem, createActorSystem } from '../../src/actor-system.js';
import type { Application } from '../../src/features/application.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import type { LimitPublisher, MessageBus } from '../../src/ports/telemetry.js';
import type { Seams } from '../../src/service.js';
import { VERSION } from '../../src/version.js';
import { RecordingFile } from './log-file.js';
import { type DecidedLimit, type Input, type Life, STORE_METHODS, type StoreMethod } from './recording.js';

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
  readonly #file: RecordingFile;
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
    this.#file = new RecordingFile({
      path: options.path,
      clock: options.clock,
      onLost: (error) => this.#log?.error({ err: error }, 'the recording ends here; the service goes on'),
    });
    this.#turns = createTurns(options.clock, (input: Input) => this.#file.add(input));
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
        this.#file.add({ kind: 'limit', ...decided });
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
    this.#file.begin(lifeOf(given, this.#settings));
    const actors = createActorSystem({
      ...given,
      clock: this.#recordedClock(),
      store: recordedStore(given.store, this.#turns.turnLater),
      publisher: this.#recordedPublisher(given.publisher),
      newId: () => {
        const id = given.newId();
        this.#file.add({ kind: 'id', id });
        return id;
      },
    });
    return {
      application: recordedApplication(actors.application, this.#turns),
      telemetryHandler: actors.telemetryHandler,
      overdueMs: () => actors.overdueMs(),
      areReadsRefused: () => actors.areReadsRefused(),
      endWaits: () => actors.endWaits(),
      syncChargers: () => this.#turns.turnLater({ kind: 'sync' }, () => actors.syncChargers()),
      location: (tenantUuid, locationId) => actors.location(tenantUuid, locationId),
      start: () => this.#inTurn({ kind: 'start' }, () => actors.start()),
      stop: () => this.#inTurn({ kind: 'stop' }, () => actors.stop()),
    };
  }
}

function lifeOf(given: ActorOptions, settings: Readonly<Record<string, unknown>>): Life {
  const {
    ownerTerm,
    timing,
    powerRetentionDays,
    energyRetentionDays,
    connectorPowerRetentionDays,
    chargerOfflineMs,
  } = given;
  const told = Object.entries(settings).filter(([name]) => !SECRET_SETTINGS.has(name));
  return {
    kind: 'life',
    version: VERSION,
    settings: Object.fromEntries(told),
    epoch: ownerTerm,
    timing: { ...timing },
    powerRetentionDays,
    energyRetentionDays,
    connectorPowerRetentionDays,
    chargerOfflineMs,
  };
}

function payloadOf(payload: Buffer): { text: string } | { base64: string } {
  const kept = payload.length > MESSAGE_BYTES ? payload.subarray(0, MESSAGE_BYTES) : payload;
  return isUtf8(kept) ? { text: kept.toString() } : { base64: kept.toString('base64') };
}

// Turns of a service: the clocks stand still from an input until all work that follows from it is done.

/** Wall clock and monotonic clock of the service, ms. */
interface Instant {
  readonly at: number;
  readonly mono: number;
}

/** An input without its instant. */
type Untimed<I extends Instant = Input> = I extends unknown ? Omit<I, 'at' | 'mono'> : never;

/** Does `work` as a turn. The call must come first in its callback of the event loop. */
type Turn = <T>(input: Untimed, work: () => T) => T;
/** Does `work` as a turn in a callback of its own. */
type TurnLater = (input: Untimed, work: () => void) => void;

interface Turns {
  /** During a turn, the instant at which the turn began; between turns, the host's clock. */
  readonly clock: Clock;
  readonly turn: Turn;
  readonly turnLater: TurnLater;
}

/** A resolution of a microsecond is fine enough and needs few characters. */
const STEPS_PER_MS = 1_000;

/**
 * A decision must not depend on the speed of the host, so both clocks stand still during a turn. The event loop
 * finishes all microtasks of a callback before its next callback, so turns never overlap.
 * @param record receives each turn before its work.
 */
function createTurns(host: Clock, record: (input: Input) => void): Turns {
  let standing: Instant | undefined;
  let isThawDue = false;

  function instant(): Instant {
    return { at: host.nowMs(), mono: Math.floor(host.monotonicMs() * STEPS_PER_MS) / STEPS_PER_MS };
  }

  function thaw(): void {
    standing = undefined;
    isThawDue = false;
  }

  const turn: Turn = (input, work) => {
    standing = instant();
    if (!isThawDue) setImmediate(thaw);
    isThawDue = true;
    record(timed(input, standing));
    return work();
  };

  return {
    clock: {
      nowMs: () => standing?.at ?? host.nowMs(),
      monotonicMs: () => standing?.mono ?? host.monotonicMs(),
      after: (delayMs, callback) => host.after(delayMs, callback),
    },
    turn,
    turnLater: (input, work) => void setImmediate(() => turn(input, work)),
  };
}

/** The kind comes first, because this makes a line easier to read. */
function timed({ kind, ...rest }: Untimed, { at, mono }: Instant): Input {
  // `Untimed` lacks only the instant.
  return { kind, at, mono, ...rest } as Input;
}

// The calls of the application interface, and the answers of the store. Each is a turn of its own.

function recordedApplication(
  application: Application,
  { turn, turnLater }: { readonly turn: Turn; readonly turnLater: TurnLater },
): Application {
  let listeners = 0;

  return {
    answer(operation, asked) {
      const { warn: _, keep: __, ...told } = asked;
      const input = { call: operation.operationId, ...told };
      // A read expires old readings of its location, so it is a turn, too. The read stays synchronous.
      if (operation.method === 'get')
        return turn({ kind: 'read', ...input }, () => application.answer(operation, asked));
      const write = async () => application.answer(operation, asked);
      return new Promise((resolve, reject) =>
        turnLater({ kind: 'call', ...input }, () => void write().then(resolve, reject)),
      );
    },
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

/** Each call gets the next number. Recording delays each answer by one turn of the host's event loop. */
function recordedStore(store: Store, turnLater: TurnLater): Store {
  let asked = 0;

  const asking = (method: StoreMethod) =>
    function ask(...given: unknown[]): Promise<unknown> {
      const n = ++asked;
      return new Promise((resolve, reject) => {
        const answered: Promise<unknown> = Reflect.apply(store[method], store, given);
        answered.then(
          (value) => {
            const answer = withoutSecrets(method, value);
            turnLater({ kind: 'stored', n, method, answer }, () => resolve(value));
          },
          (error: unknown) =>
            turnLater({ kind: 'unstored', n, method, error: errorOf(error) }, () => reject(error)),
        );
      });
    };

  const recorded: Store = {
    ...store,
    ...Object.fromEntries(STORE_METHODS.map((method) => [method, asking(method)])),
  };
  return {
    ...recorded,
    // Webhooks have no influence on a limit, and their commands read rows, which a recording does not hold.
    append: (tenantUuid, changes, by) =>
      changes.every(({ kind }) => kind.startsWith('webhook.'))
        ? store.append(tenantUuid, changes, by)
        : recorded.append(tenantUuid, changes, by),
  };
}

/** Credentials have no influence on a limit. */
function withoutSecrets(method: StoreMethod, answer: unknown): unknown {
  if (method !== 'loadCredentials' || typeof answer !== 'object' || answer === null) return answer;
  const tenants: unknown = Reflect.get(answer, 'tenants');
  return { tenants, credentials: [], mqttLogins: [] };
}

function errorOf(error: unknown) {
  return {
    message: error instanceof Error ? error.message : String(error),
    isUnavailable: error instanceof StoreUnavailableError,
    isOutcomeUnknown: error instanceof StoreUnavailableError && error.isOutcomeUnknown,
  };
}
