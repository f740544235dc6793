// Replays the inputs of a recording into the production service, and compares the limits of both.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import { type ActorSystem, createActorSystem } from '../../src/actor-system.js';
import { keepNothing } from '../../src/actors/core.js';
import type { Application } from '../../src/features/application.js';
import { ENDPOINTS } from '../../src/features/endpoints.js';
import { type LocationLive, locationLiveSchema } from '../../src/features/live-contract.js';
import { getLocationLive } from '../../src/features/live-views.js';
import { locationListSchema } from '../../src/features/locations/contract.js';
import { listLocations } from '../../src/features/locations/locations.js';
import { Telemetry } from '../../src/inbound/mqtt/telemetry.js';
import { createMetrics } from '../../src/metrics.js';
import { limitMessageOf } from '../../src/outbound/mqtt/limit-publisher.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import type { LimitPublisher } from '../../src/ports/telemetry.js';
import { toInstant } from '../../src/wire/instants.js';
import {
  type DecidedLimit,
  type Input,
  type Life,
  type RecordedTurn,
  readRecording,
  STORE_METHODS,
  type StoreMethod,
} from './recording.js';

export interface RecordingReplay {
  /** Number of starts of the service. */
  readonly lives: number;
  /** Number of inputs. */
  readonly turns: number;
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  /** Number of limits that are equal in both, and number of limits that differ or exist in only one. */
  readonly agreed: number;
  readonly differing: number;
  /** The first difference, as text. */
  readonly first?: { readonly atMs: EpochMs; readonly message: string };
  /** Number of the incomplete line, if a life of the service ends in one. */
  readonly cutAtLine?: number;
  /** State of every location at the requested instant. */
  readonly locations?: readonly LocationLive[];
}

/** Replays up to `untilMs`, or to the end. @throws Error if `path` is not a recording. */
export async function replayRecording(path: string, untilMs?: EpochMs): Promise<RecordingReplay> {
  const replay = new Replay();
  for (const part of readRecording(path)) {
    if (part.kind === 'life') replay.begin(part.life);
    else if (part.kind === 'cut') replay.cutAt(part.line);
    else if (untilMs !== undefined && part.turn.input.at > untilMs) {
      replay.noteStart(part.turn);
      break;
    } else await replay.play(part.turn);
  }
  return replay.result(untilMs);
}

class Replay {
  #life: ReplayedLife | undefined;
  #isLost = false;
  #lives = 0;
  #turns = 0;
  #agreed = 0;
  #differing = 0;
  #first: RecordingReplay['first'];
  #startsAtMs: EpochMs | undefined;
  #endsAtMs: EpochMs = 0;
  #cutAtLine: number | undefined;

  begin(life: Life): void {
    this.#life = new ReplayedLife(life);
    this.#isLost = false;
    this.#lives++;
  }

  cutAt(line: number): void {
    this.#cutAtLine = line;
  }

  noteStart({ input }: RecordedTurn): void {
    this.#startsAtMs ??= input.at;
  }

  async play(turn: RecordedTurn): Promise<void> {
    this.noteStart(turn);
    this.#turns++;
    this.#endsAtMs = turn.input.at;
    // After one input that the service cannot take, its later decisions prove nothing. The next life begins on its own
    // rows.
    if (this.#isLost || this.#life === undefined) {
      this.#differing += turn.limits.length;
      return;
    }
    try {
      this.#compare(turn, await this.#life.play(turn));
    } catch (error) {
      if (!(error instanceof ReplayLostError)) throw error;
      this.#isLost = true;
      this.#differ(turn.input.at, `the service cannot replay the rest of this life: ${error.message}`);
    }
  }

  result(untilMs: EpochMs | undefined): RecordingReplay {
    const startsAtMs = this.#startsAtMs;
    const locations =
      untilMs === undefined || untilMs < (startsAtMs ?? 0) ? undefined : this.#life?.at(untilMs);
    return {
      lives: this.#lives,
      turns: this.#turns,
      agreed: this.#agreed,
      differing: this.#differing,
      startsAtMs: startsAtMs ?? this.#endsAtMs,
      endsAtMs: this.#endsAtMs,
      ...(this.#first === undefined ? {} : { first: this.#first }),
      ...(this.#cutAtLine === undefined ? {} : { cutAtLine: this.#cutAtLine }),
      ...(locations === undefined ? {} : { locations }),
    };
  }

  #compare({ input, limits, isWhole }: RecordedTurn, made: readonly DecidedLimit[]): void {
    const compared = isWhole ? Math.max(limits.length, made.length) : limits.length;
    for (let i = 0; i < compared; i++) {
      const problem = differenceOf(limits[i], made[i]);
      if (problem === undefined) this.#agreed++;
      else this.#differ(input.at, problem);
    }
  }

  #differ(atMs: EpochMs, message: string): void {
    this.#differing++;
    this.#first ??= { atMs, message };
  }
}

/** The difference as text; undefined if both are equal. */
function differenceOf(
  recorded: DecidedLimit | undefined,
  made: DecidedLimit | undefined,
): string | undefined {
  const shown = recorded ?? made;
  if (shown === undefined) return undefined;
  if (recorded !== undefined && made !== undefined && isSame(recorded, made)) return undefined;
  const name = `${shown.controllerUuid}/${shown.connectorId} of ${shown.locationId}`;
  return `${name} received ${toldAs(recorded, shown)}, and now receives ${toldAs(made, shown)}`;
}

function isSame(a: DecidedLimit, b: DecidedLimit): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => Reflect.get(a, name) === Reflect.get(b, name));
}

function toldAs(limit: DecidedLimit | undefined, shown: DecidedLimit): string {
  if (limit === undefined) return 'nothing';
  const { limitA, thenA, ttlS, reason, epoch, seq, ref } = limit;
  const told = `${limitA} A, then ${thenA} A (${reason}, ${epoch}/${seq}, ref ${ref}, ${ttlS} s)`;
  const isOther = limit.controllerUuid !== shown.controllerUuid || limit.connectorId !== shown.connectorId;
  return isOther ? `${told} for ${limit.controllerUuid}/${limit.connectorId}` : told;
}

export function formatDifference({
  atMs,
  message,
}: {
  readonly atMs: EpochMs;
  readonly message: string;
}): string {
  return `${toInstant(atMs)} ${message}`;
}

// The actors of the production service on the inputs of a recorded life, turn by turn and at the same instants.

type InputOf<K extends Input['kind']> = Extract<Input, { kind: K }>;

/** The recording has an input that the replayed service does not expect, so the replay of this life cannot continue. */
class ReplayLostError extends Error {}

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
    if (callback === undefined) throw new ReplayLostError('it does not wait for the instant that was due');
    this.#timers.delete(n);
    callback();
  }
}

class ReplayedLife {
  readonly #clock = new ReplayedClock();
  readonly #store = createReplayedStore();
  readonly #listeners = new Map<number, () => void>();
  readonly #actors: ActorSystem;
  readonly #telemetry: Telemetry;
  #ids: readonly string[] = [];
  #idsTaken = 0;
  #limits: DecidedLimit[] = [];

  constructor({
    epoch,
    timing,
    powerRetentionDays,
    energyRetentionDays,
    connectorPowerRetentionDays,
    chargerOfflineMs,
  }: Life) {
    const common = { clock: this.#clock, log: QUIET, metrics: createMetrics() };
    this.#actors = createActorSystem({
      ...common,
      ownerTerm: epoch,
      timing,
      powerRetentionDays,
      energyRetentionDays,
      connectorPowerRetentionDays,
      chargerOfflineMs,
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
          throw new ReplayLostError(`it does not call the database for ${input.method}`);
        break;
      case 'message':
        this.#telemetry.receive(input.topic, payloadOf(input));
        break;
      case 'call':
      case 'read':
        answerAgain(this.#actors.application, input);
        break;
      case 'listen':
        this.#listen(input);
        break;
      case 'unlisten':
        this.#listeners.get(input.n)?.();
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

/** The answer has no receiver in a replay, and is not compared; the effects appear in later limits. */
function answerAgain(application: Application, { call, ...asked }: InputOf<'call' | 'read'>): void {
  try {
    // The recording does not hold the rows of the database, so a read of rows fails.
    const operation = ENDPOINTS.find(({ operationId }) => operationId === call);
    const { body, query } = asked;
    const answer =
      operation && application.answer(operation, { ...asked, body, query, warn() {}, keep: keepNothing });
    if (answer instanceof Promise) answer.catch(() => {});
  } catch {
    // A read of a missing location was refused in the recording, too.
  }
}

function livesOf(application: Application, tenantUuid: TenantUuid): LocationLive[] {
  const asked = {
    tenantUuid,
    requestId: '',
    by: '',
    scopes: [],
    body: undefined,
    warn() {},
    keep: keepNothing,
  };
  const lives: LocationLive[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: PAGE, cursor };
    const page = locationListSchema.parse(application.answer(listLocations, { ...asked, path: {}, query }));
    for (const { locationId } of page.locations) {
      const path = { locationId };
      const live = application.answer(getLocationLive, { ...asked, path, query: undefined });
      lives.push(locationLiveSchema.parse(live));
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return lives;
}

// A store that gives the recorded answers, each in the turn of the recording.

type Answer = Extract<Input, { kind: 'stored' | 'unstored' }>;

interface ReplayedStore {
  readonly store: Store;
  /** Tenants with rows that were read. */
  readonly tenants: readonly TenantUuid[];
  /** Answers the store call with this number and method; false if there is no such open call. */
  answer(answer: Answer): boolean;
}

interface Asked {
  readonly method: StoreMethod;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

function createReplayedStore(): ReplayedStore {
  const waiting = new Map<number, Asked>();
  const tenants = new Set<TenantUuid>();
  let asked = 0;

  const asking = (method: StoreMethod) =>
    function ask(...given: unknown[]): Promise<unknown> {
      // The first argument of `loadTenant` is the tenant.
      if (method === 'loadTenant') tenants.add(given[0] as TenantUuid);
      const n = ++asked;
      return new Promise((resolve, reject) => waiting.set(n, { method, resolve, reject }));
    };
  const unrecorded = () => Promise.reject(new StoreUnavailableError('this is not in the recording'));
  const store: Store = {
    ownership: {
      claim: unrecorded,
      announce: unrecorded,
      renew: unrecorded,
      release: unrecorded,
      holder: unrecorded,
    },
    ping: unrecorded,
    glanceAtTenant: unrecorded,
    close: async () => {},
    read: unrecorded,
    tenantCredentials: unrecorded,
    changeCredentials: unrecorded,
    forgetAnswersBefore: unrecorded,
    forgetEventsBefore: unrecorded,
    noteCredentialUses: unrecorded,
    // TypeScript cannot infer that each method has the type of its name.
    ...(Object.fromEntries(STORE_METHODS.map((method) => [method, asking(method)])) as Pick<
      Store,
      StoreMethod
    >),
  };

  return {
    store,
    get tenants() {
      return [...tenants];
    },
    answer(answer) {
      const call = waiting.get(answer.n);
      if (call === undefined || call.method !== answer.method) return false;
      waiting.delete(answer.n);
      if (answer.kind === 'stored') call.resolve(answer.answer);
      else call.reject(errorOf(answer));
      return true;
    },
  };
}

function errorOf({
  error: { message, isUnavailable, isOutcomeUnknown },
}: Extract<Input, { kind: 'unstored' }>): Error {
  return isUnavailable ? new StoreUnavailableError(message, { isOutcomeUnknown }) : new Error(message);
}
