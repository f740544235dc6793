// Runs the actors of the production service on the inputs of a recorded life, turn by turn and at the same instants.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EpochMs } from '../../machines/values/time.js';
import { type ActorSystem, createActorSystem } from '../../src/actor-system.js';
import type { Application } from '../../src/application/application.js';
import { Telemetry } from '../../src/inbound/mqtt/telemetry.js';
import { createMetrics } from '../../src/metrics.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { LimitPublisher } from '../../src/ports/telemetry.js';
import type { LocationLive } from '../../src/wire/operator-locations.js';
import type { DecidedLimit, Input, Life } from './recording-line.js';
import type { RecordedTurn } from './recording-reader.js';
import { createReplayedStore } from './replayed-store.js';

type InputOf<K extends Input['kind']> = Extract<Input, { kind: K }>;

/** The recording has an input that the replayed service does not expect, so the replay of this life cannot continue. */
export class ReplayLostError extends Error {}

const QUIET: Log = { debug() {}, info() {}, warn() {}, error() {} };
const PAGE = 1_000;

/** Stands still until the next recorded turn sets it. A timer fires only at the instant in the recording. */
class ReplayedClock implements Clock {
  readonly #timers = new Map<number, () => void>();
  #now = { at: 0, mono: 0 };
  #timersSet = 0;

  nowMs(): EpochMs {
    return this.#now.at;
  }

  monotonicMs(): number {
    return this.#now.mono;
  }

  after(_delayMs: number, callback: () => void): () => void {
    const n = ++this.#timersSet;
    this.#timers.set(n, callback);
    return () => this.#timers.delete(n);
  }

  set(atMs: EpochMs, monotonicMs: number): void {
    this.#now = { at: atMs, mono: monotonicMs };
  }

  /** Sets the wall clock to `atMs`; the monotonic clock advances by the same time. */
  advanceTo(atMs: EpochMs): void {
    this.set(atMs, this.#now.mono + Math.max(0, atMs - this.#now.at));
  }

  /** @throws ReplayLostError if timer `n` is not set. */
  fire(n: number): void {
    const callback = this.#timers.get(n);
    if (callback === undefined) throw new ReplayLostError('it does not wait for the time that had come');
    this.#timers.delete(n);
    callback();
  }
}

export class ReplayedLife {
  readonly #clock = new ReplayedClock();
  readonly #store = createReplayedStore();
  readonly #listeners = new Map<number, () => void>();
  readonly #actors: ActorSystem;
  readonly #telemetry: Telemetry;
  #ids: readonly string[] = [];
  #idsTaken = 0;
  #limits: DecidedLimit[] = [];

  constructor({ epoch, timing, powerRetentionDays }: Life) {
    const common = { clock: this.#clock, log: QUIET, metrics: createMetrics() };
    this.#actors = createActorSystem({
      ...common,
      ownerTerm: epoch,
      timing,
      powerRetentionDays,
      publisher: this.#createPublisher(),
      store: this.#store.store,
      newId: () => this.#ids[this.#idsTaken++] ?? `unrecorded-${this.#idsTaken}`,
      onTakenOver() {},
      onCredentials() {},
    });
    this.#telemetry = new Telemetry({ sink: this.#actors.telemetryHandler, ...common });
  }

  /** Gives the service the input of the turn. @throws ReplayLostError */
  async play({ input, ids }: RecordedTurn): Promise<readonly DecidedLimit[]> {
    this.#clock.set(input.at, input.mono);
    this.#ids = ids;
    this.#idsTaken = 0;
    this.#limits = [];
    this.#enter(input);
    // As in the recorded service, all work of this turn ends before the next turn.
    await nextTurn();
    return this.#limits;
  }

  /** State of every location of every tenant at `atMs`, which lies after the last turn. */
  at(atMs: EpochMs): readonly LocationLive[] {
    this.#clock.advanceTo(atMs);
    return this.#store.tenants.flatMap((tenantUuid) => livesOf(this.#actors.application, tenantUuid));
  }

  #createPublisher(): LimitPublisher {
    return {
      publishLimit: ({ tenantUuid, locationId, controllerUuid, connectorId }, grant) => {
        const { v: _, ...limit } = limitMessageOf(grant);
        this.#limits.push({ tenantUuid, locationId, controllerUuid, connectorId, ...limit });
      },
      requestSync() {},
    };
  }

  #enter(input: Input): void {
    switch (input.kind) {
      case 'start':
        // A failed start failed in the recording, too; the replay compares its results.
        this.#actors.start().catch(() => {});
        break;
      case 'stop':
        this.#actors.stop().catch(() => {});
        break;
      case 'sync':
        this.#actors.syncChargers();
        break;
      case 'timer':
        this.#clock.fire(input.n);
        break;
      case 'stored':
      case 'unstored':
        if (!this.#store.answer(input))
          throw new ReplayLostError(`it does not ask the database for ${input.method}`);
        break;
      case 'message':
        this.#telemetry.receive(input.topic, payloadOf(input));
        break;
      case 'call':
        make(this.#actors.application, input);
        break;
      case 'listen':
        this.#listen(input);
        break;
      case 'unlisten':
        this.#listeners.get(input.n)?.();
        break;
      case 'read':
        look(this.#actors.application, input);
        break;
    }
  }

  #listen({ n, tenantUuid, locationId }: InputOf<'listen'>): void {
    const { application } = this.#actors;
    try {
      const stop = Reflect.apply(application.subscribe, application, [tenantUuid, locationId, () => {}]);
      this.#listeners.set(n, stop);
    } catch {
      // A call for a missing location was refused in the recording, too.
    }
  }
}

function payloadOf({ text = '', base64 }: InputOf<'message'>): Buffer {
  return base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64');
}

/** The answer has no receiver in a replay; the effects of the call appear in later limits. */
function make(application: Application, { call, tenantUuid, arguments: given }: InputOf<'call'>): void {
  const answer: Promise<unknown> = Reflect.apply(application[call], application, [
    tenantUuid,
    ...given,
    () => {},
  ]);
  answer.catch(() => {});
}

/** The answer is not compared. The recording does not hold the rows of the database, so a read of rows fails. */
function look(application: Application, { call, tenantUuid, arguments: given }: InputOf<'read'>): void {
  try {
    const answer: unknown = Reflect.apply(application[call], application, [tenantUuid, ...given]);
    if (answer instanceof Promise) answer.catch(() => {});
  } catch {
    // A read of a missing location was refused in the recording, too.
  }
}

function livesOf(
  application: Application,
  tenantUuid: Parameters<Application['listLocations']>[0],
): LocationLive[] {
  const lives: LocationLive[] = [];
  let cursor: string | undefined;
  do {
    const page = application.listLocations(tenantUuid, {
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    lives.push(...page.locations.map(({ locationId }) => application.locationLive(tenantUuid, locationId)));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return lives;
}
