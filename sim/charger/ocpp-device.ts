// A virtual OCPP charger without a socket: its calls, its answers, and the draw of its cars within the profiles it
// took.
import type { ConnectorId } from '../../machines/values/ids.js';
import type { ChargingPreferences } from '../../src/wire/charging-preferences.js';
import type { CarNote } from './car.js';
import { OcppEvse, type OcppEvseSpec, OcppOwnClock, type RunningTransaction } from './ocpp-evse.js';
import type { Device, OcppWords, Words } from './ocpp-words.js';
import { Ocpp16Words, Ocpp201Words } from './ocpp-words.js';
import { type OcppBehaviour, type OcppTraits, PLAIN_OCPP } from './traits.js';
import type { Visitors } from './virtual-connector.js';

export interface OcppDeviceOptions {
  readonly controllerUuid: string;
  readonly connectors: readonly OcppEvseSpec[];
  readonly visitors: Visitors;
  readonly seed: number;
  readonly startsAtMs: number;
  /** Its own clock at `startsAtMs`, epoch ms. */
  readonly ownMs: number;
  readonly isInstalled: boolean;
  /** Traits that are left out are those of `PLAIN_OCPP`. */
  readonly traits?: Partial<OcppTraits> | undefined;
  readonly onCar?: ((connectorId: ConnectorId, note: CarNote) => void) | undefined;
}

/** A call in the queue. The charger repeats the begin and the end of a transaction until it gets an answer. */
interface Pending {
  readonly kind: 'boot' | 'heartbeat' | 'status' | 'start' | 'needs' | 'values' | 'stop';
  readonly evse: OcppEvse | undefined;
  /** Undefined if there is nothing left to send. */
  readonly build: () => Words | undefined;
  words?: Words | undefined;
  readonly done?: (answer: unknown, nowMs: number) => void;
}

/** Behaviour of a charger that does not take the unit. */
const REFUSES = { A: 'watts-only', W: 'amperes-only' } as const;
const LASTING: readonly Pending['kind'][] = ['start', 'stop'];
const CAR_IS_THERE: readonly string[] = ['Charging', 'SuspendedEV', 'SuspendedEVSE'];
/** Most meter values that an EVSE keeps in the queue while the charger cannot send them. */
const VALUES_KEPT = 3;
const GIVES_UP_MS = 30_000;
const BOOTS_AGAIN_MS = 10_000;
const USUAL_INTERVAL_MS = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

/** Times are true ms of one monotonic clock. The transport asks for the next call after each input. */
export class OcppDevice {
  readonly evses: readonly OcppEvse[];
  readonly #clock: OcppOwnClock;
  readonly #behaviours: ReadonlySet<OcppBehaviour>;
  readonly #words: OcppWords;
  readonly #toldStatus = new Map<OcppEvse, string>();
  readonly #toldNeeds = new Map<OcppEvse, ChargingPreferences>();
  readonly #meteredAtMs = new Map<OcppEvse, number>();
  #queue: Pending[] = [];
  #outstanding: (Pending & { readonly sentAtMs: number; readonly id: number }) | undefined;
  #calls = 0;
  #isOnline = false;
  #bootsAtMs = Number.NEGATIVE_INFINITY;
  #hasBooted = false;
  #meterEveryMs = USUAL_INTERVAL_MS;
  #heartbeatEveryMs = NEVER;
  #heartbeatAtMs = NEVER;

  constructor(options: OcppDeviceOptions) {
    const { controllerUuid, connectors, startsAtMs, ownMs, onCar } = options;
    const { protocol, behaviours, driftShare, lateMs } = { ...PLAIN_OCPP, ...options.traits };
    this.#behaviours = new Set(behaviours);
    this.#clock = new OcppOwnClock({ ownMs, nowMs: startsAtMs, driftShare });
    let transactions = 0;
    const newTransaction = () => `${controllerUuid}-${ownMs}-${++transactions}`;
    this.#words = protocol === 'ocpp1.6' ? new Ocpp16Words() : new Ocpp201Words(newTransaction);
    this.evses = connectors.map(
      (spec, i) =>
        new OcppEvse(spec, {
          ...options,
          lateMs,
          behaviours: this.#behaviours,
          clock: this.#clock,
          seed: options.seed + i,
          onCar: (note) => onCar?.(spec.connectorId, note),
        }),
    );
  }

  advance(nowMs: number): void {
    for (const evse of this.evses) evse.advance(nowMs);
    if (this.#outstanding !== undefined && nowMs - this.#outstanding.sentAtMs >= GIVES_UP_MS) this.failed();
    for (const evse of this.evses) this.#notice(evse, nowMs);
    if (this.#isOnline && this.#hasBooted && nowMs >= this.#heartbeatAtMs) this.#askTime();
  }

  /** Instant of its next work or call. */
  nextDueMs(nowMs: number): number {
    let dueMs = this.#outstanding === undefined ? NEVER : this.#outstanding.sentAtMs + GIVES_UP_MS;
    for (const evse of this.evses) dueMs = Math.min(dueMs, evse.nextDueMs, this.#meterDueMs(evse));
    if (!this.#isOnline) return dueMs;
    if (this.#hasBooted) dueMs = Math.min(dueMs, this.#heartbeatAtMs);
    // One call is outstanding at a time: its answer arrives, or the charger gives up.
    if (this.#outstanding !== undefined) return dueMs;
    if (!this.#hasBooted) return Math.min(dueMs, this.#bootsAtMs);
    return this.#queue.length > 0 ? nowMs : dueMs;
  }

  /** The connection opened, for the first time since the start or again. */
  connected(nowMs: number): void {
    this.#isOnline = true;
    this.#bootsAtMs = nowMs;
    this.advance(nowMs);
  }

  disconnected(): void {
    this.#isOnline = false;
    this.failed();
  }

  /** Restarts in no time: its cars stay. Of the queued calls only begins and ends of transactions survive. */
  restart(nowMs: number): void {
    this.advance(nowMs);
    // No answer comes any more. `failed` queues the begin of a transaction again; without it, a resumed transaction
    // would stay unknown.
    this.failed();
    this.#isOnline = false;
    this.#hasBooted = false;
    this.#heartbeatAtMs = NEVER;
    this.#queue = this.#queue.filter(({ kind }) => LASTING.includes(kind));
    this.#toldStatus.clear();
    this.#toldNeeds.clear();
    this.#meterEveryMs = USUAL_INTERVAL_MS;
    for (const evse of this.evses) {
      if (!this.#behaviours.has('resumes-transactions')) this.#end(evse, nowMs);
      evse.restart(nowMs);
    }
  }

  /** Returns the next call, if any; `answered` or `failed` must follow. */
  takeCall(nowMs: number): Words | undefined {
    if (!this.#isOnline || this.#outstanding !== undefined) return undefined;
    if (!this.#hasBooted) return this.#bootsAtMs > nowMs ? undefined : this.#send(this.#boot(), nowMs);
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const words = this.#send(next, nowMs);
      if (words !== undefined) return words;
    }
    return undefined;
  }

  /** Id of the call that awaits its answer; undefined if there is none or the charger gave up. */
  get outstandingId(): number | undefined {
    return this.#outstanding?.id;
  }

  answered(answer: unknown, nowMs: number): void {
    const pending = this.#outstanding;
    this.#outstanding = undefined;
    pending?.done?.(answer, nowMs);
    this.advance(nowMs);
  }

  /** The call got no answer, or an error. */
  failed(): void {
    const pending = this.#outstanding;
    this.#outstanding = undefined;
    if (pending === undefined) return;
    if (LASTING.includes(pending.kind)) this.#queue.unshift(pending);
    else if (pending.kind === 'status' && pending.evse) this.#toldStatus.delete(pending.evse);
    else if (pending.kind === 'needs' && pending.evse) this.#toldNeeds.delete(pending.evse);
    else if (pending.kind === 'boot') this.#bootsAtMs = pending.sentAtMs + BOOTS_AGAIN_MS;
    else if (pending.kind === 'heartbeat') this.#heartbeatAtMs = pending.sentAtMs + USUAL_INTERVAL_MS;
  }

  answer(method: string, params: object, nowMs: number): Record<string, unknown> {
    this.advance(nowMs);
    return this.#words.answer(method, params, this.#deviceAt(nowMs));
  }

  #send(pending: Pending, nowMs: number): Words | undefined {
    pending.words ??= pending.build();
    if (pending.words !== undefined) this.#outstanding = { ...pending, sentAtMs: nowMs, id: ++this.#calls };
    return pending.words;
  }

  #boot(): Pending {
    return {
      kind: 'boot',
      evse: undefined,
      build: () => this.#words.boot(),
      done: (answer, nowMs) => {
        const { status, currentTime, interval } = answer as BootAnswer;
        this.#hasBooted = status === 'Accepted';
        this.#bootsAtMs = nowMs + BOOTS_AGAIN_MS;
        if (!this.#hasBooted) return;
        this.#setClock(currentTime, nowMs);
        this.#heartbeatEveryMs = 1000 * interval;
        this.#heartbeatAtMs = nowMs + this.#heartbeatEveryMs;
      },
    };
  }

  #askTime(): void {
    this.#heartbeatAtMs = NEVER;
    this.#queue.push({
      kind: 'heartbeat',
      evse: undefined,
      build: () => ['Heartbeat', {}],
      done: (answer, nowMs) => {
        this.#setClock((answer as BootAnswer).currentTime, nowMs);
        this.#heartbeatAtMs = nowMs + this.#heartbeatEveryMs;
      },
    });
  }

  #setClock(currentTime: string, nowMs: number): void {
    if (!this.#behaviours.has('sets-clock')) return;
    this.#clock.set(Date.parse(currentTime), nowMs);
    for (const evse of this.evses) evse.review(nowMs);
  }

  /** Queues the calls that report changes at the EVSE. */
  #notice(evse: OcppEvse, nowMs: number): void {
    const { status } = evse.outlet;
    const isThere = CAR_IS_THERE.includes(status);
    if (isThere && evse.transaction === undefined) this.#begin(evse, nowMs);
    else if (!isThere && evse.transaction !== undefined) this.#end(evse, nowMs);
    if (this.#toldStatus.get(evse) !== status) {
      this.#toldStatus.set(evse, status);
      this.#queue = this.#queue.filter((each) => each.kind !== 'status' || each.evse !== evse);
      const shown = evse.shown(nowMs);
      this.#queue.push({ kind: 'status', evse, build: () => this.#words.status(shown) });
    }
    this.#declare(evse);
    if (nowMs >= this.#meterDueMs(evse)) this.#sample(evse, nowMs);
  }

  /** Queues the needs of the car, once its transaction is known and after each change. */
  #declare(evse: OcppEvse): void {
    if (evse.transaction?.ref === undefined) return void this.#toldNeeds.delete(evse);
    const { preferences } = evse.outlet;
    if (preferences === undefined || this.#toldNeeds.get(evse) === preferences) return;
    this.#toldNeeds.set(evse, preferences);
    const { evse: number } = evse.spec;
    const build = () => this.#words.needs(number, preferences);
    this.#queue.push({ kind: 'needs', evse, build });
  }

  #begin(evse: OcppEvse, nowMs: number): void {
    const transaction: RunningTransaction = { ref: undefined, ownName: undefined };
    evse.transaction = transaction;
    const shown = evse.shown(nowMs);
    this.#queue.push({
      kind: 'start',
      evse,
      build: () => {
        const words = this.#words.started(shown);
        transaction.ownName = this.#words.ownName;
        return words;
      },
      done: (answer) => {
        transaction.ref = this.#words.transactionOf(answer);
        this.#meteredAtMs.delete(evse);
      },
    });
  }

  #end(evse: OcppEvse, nowMs: number): void {
    const { transaction } = evse;
    if (transaction === undefined) return;
    evse.endTransaction(nowMs);
    const shown = evse.shown(nowMs);
    const build = () =>
      transaction.ref === undefined ? undefined : this.#words.ended(transaction.ref, shown);
    this.#queue.push({ kind: 'stop', evse, build });
  }

  /** Infinite without a transaction to report on, or if the queue holds enough meter values. */
  #meterDueMs(evse: OcppEvse): number {
    if (evse.transaction?.ref === undefined) return NEVER;
    const kept = this.#queue.filter((each) => each.kind === 'values' && each.evse === evse).length;
    if (kept >= VALUES_KEPT) return NEVER;
    return (this.#meteredAtMs.get(evse) ?? Number.NEGATIVE_INFINITY) + this.#meterEveryMs;
  }

  #sample(evse: OcppEvse, nowMs: number): void {
    const ref = evse.transaction?.ref;
    if (ref === undefined) return;
    this.#meteredAtMs.set(evse, nowMs);
    const shown = evse.shown(nowMs);
    this.#queue.push({ kind: 'values', evse, build: () => this.#words.values(ref, shown) });
  }

  #evseOf(number: number): OcppEvse | undefined {
    return this.evses.find(({ spec }) => spec.evse === number);
  }

  #deviceAt(nowMs: number): Device {
    return {
      units: (['A', 'W'] as const).filter((unit) => !this.#behaviours.has(REFUSES[unit])),
      maxPeriods: this.#behaviours.has('one-period') ? 1 : 8,
      setProfile: (profile) => this.#evseOf(profile.evse)?.setProfile(profile, nowMs) ?? false,
      clearProfile: (id) => this.evses.some((evse) => evse.clearProfile(id, nowMs)),
      composite: (number, durationS, unit) => this.#evseOf(number)?.composite(durationS, unit, nowMs),
      reportEvery: (ms) => {
        this.#meterEveryMs = ms;
      },
      say: (what, number) => {
        for (const evse of this.evses) {
          if (number !== undefined && evse.spec.evse !== number) continue;
          if (what === 'values') this.#sample(evse, nowMs);
          else this.#toldStatus.delete(evse);
        }
      },
    };
  }
}

interface BootAnswer {
  readonly status: string;
  readonly currentTime: string;
  /** Seconds from one Heartbeat to the next. */
  readonly interval: number;
}
