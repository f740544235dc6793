// The charger's side of the grant protocol for one connector: fence, lease, what applies now and what applies then.
import type { AckResult, LeaseKind, LentTo, LimitReason } from '../../machines/power/grant.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';

/** What a connector is held to. Currents in A per phase. */
export interface HeldLimit {
  /** Of the grant; 0 and 0 without one. */
  readonly epoch: number;
  readonly seq: number;
  readonly limitA: number;
  readonly reason: LimitReason;
  /** What applies once the lease has ended. */
  readonly thenA: number;
  /** Infinity without a lease. */
  readonly endsAtMs: number;
  /** It is for this session and so many phases alone, and so is what applies after it. */
  readonly lent?: LentTo | undefined;
}

/** Of a limit, what a connector goes by. */
export type TakenLimit = Omit<LimitMessage, 'limitW' | 'thenW'>;

/** Times are instants of one monotonic clock in true ms; every time is at or after the one before. */
export interface GrantHolder {
  /** What the hardware took. */
  readonly applied: HeldLimit;
  /** What it falls back to after a restart, A per phase. */
  readonly failsafeA: number;
  /** When `advance` has something to do next; Infinity where it has not. */
  readonly nextDueMs: number;
  /** The heartbeat `hb` leaves now; each is one more than the one before. */
  noteHeartbeat(hb: number, nowMs: number): void;
  /** Takes a limit, in A per phase. What to answer at once; undefined where the answer follows when the hardware has taken it. */
  receive(limit: TakenLimit, nowMs: number): AckResult | undefined;
  /** Does what is due, at most one thing. True where the hardware took another limit, to be acknowledged if it is a grant. */
  advance(nowMs: number): boolean;
  /** The car left, or uses other phases: what was for its session is over. True where something was. */
  endSession(): boolean;
  /** The charger started again as `boot`: grants are gone, a fail-safe that it could keep applies at once. */
  restart(boot: string): void;
  /** Seconds by the charger's own clock; undefined without a lease. */
  leaseLeftS(nowMs: number): number | undefined;
}

export interface GrantHolderOptions {
  readonly boot: string;
  readonly lease: LeaseKind;
  readonly maxCurrentA: number;
  /** The least it can offer a car, A per phase. */
  readonly leastOfferA: number;
  readonly configuredFailsafeA: number;
  /** From accepting a limit until the pilot tells the car, by the charger's own clock. */
  readonly pilotDelayMs: number;
  /** How long a second of the charger's clock truly lasts, in s: 1.02 for one that is 2 % slow. */
  readonly secondLastsS: number;
  /** Whether `thenA` survives a restart. */
  readonly keepsThen: boolean;
}

/** A grant answers one of the newest heartbeats, so older ones need not be remembered. */
const REMEMBERED_HEARTBEATS = 64;
const NEVER = Number.POSITIVE_INFINITY;

class Holder implements GrantHolder {
  applied: HeldLimit;
  failsafeA: number;
  readonly #options: GrantHolderOptions;
  readonly #sentAtMs: number[] = [];
  #boot: string;
  #lastHb = 0;
  #fence = { epoch: -1, seq: -1 };
  /** What was accepted last; applied already, unless `#appliesAtMs` is an instant. */
  #target: HeldLimit;
  #appliesAtMs = NEVER;

  constructor(options: GrantHolderOptions) {
    this.#options = options;
    this.#boot = options.boot;
    // Who keeps to no lease has no fail-safe either: nothing limits it until somebody does.
    this.failsafeA = options.lease === 'none' ? options.maxCurrentA : options.configuredFailsafeA;
    this.applied = this.#target = this.#fallback(this.failsafeA);
  }

  get nextDueMs(): number {
    return Math.min(this.#appliesAtMs, this.#target.endsAtMs);
  }

  noteHeartbeat(hb: number, nowMs: number): void {
    this.#sentAtMs[hb % REMEMBERED_HEARTBEATS] = nowMs;
    this.#lastHb = hb;
  }

  receive(limit: TakenLimit, nowMs: number): AckResult | undefined {
    if (limit.boot !== this.#boot || !this.#isNewer(limit)) return 'STALE';
    if (!this.#isOfferable(limit.limitA) || !this.#isOfferable(limit.thenA) || limit.ref > this.#lastHb)
      return 'REJECTED';
    const endsAtMs = this.#endOf(limit, nowMs);
    if (endsAtMs <= nowMs) return 'EXPIRED';
    const { epoch, seq, reason, session, phases } = limit;
    const lent = session === undefined || phases === undefined ? undefined : { session, phases };
    const { maxCurrentA } = this.#options;
    this.#fence = { epoch, seq };
    const limitA = Math.min(limit.limitA, maxCurrentA);
    const thenA = Math.min(limit.thenA, maxCurrentA);
    this.#aimAt({ epoch, seq, limitA, reason, thenA, endsAtMs, lent }, nowMs);
    return undefined;
  }

  advance(nowMs: number): boolean {
    // What was accepted is over before the hardware took it, or at the same instant: the end decides.
    if (this.#target.endsAtMs <= nowMs && this.#target.endsAtMs <= this.#appliesAtMs) {
      const { thenA, lent, endsAtMs } = this.#target;
      this.#aimAt({ ...this.#fallback(thenA), lent }, endsAtMs);
      return false;
    }
    if (this.#appliesAtMs > nowMs) return false;
    this.#appliesAtMs = NEVER;
    this.applied = this.#target;
    if (this.#options.keepsThen && this.#options.lease !== 'none')
      // Over a restart nobody knows whether the car is the same.
      this.failsafeA = this.applied.lent === undefined ? this.applied.thenA : 0;
    return true;
  }

  endSession(): boolean {
    if (this.#target.lent !== undefined) {
      this.#appliesAtMs = NEVER;
      this.applied = this.#target = this.#fallback(0);
      return true;
    }
    if (this.applied.lent === undefined) return false;
    // What comes after it was accepted already, and is for any car.
    this.applied = this.#fallback(0);
    return true;
  }

  restart(boot: string): void {
    this.#boot = boot;
    this.#lastHb = 0;
    this.#sentAtMs.length = 0;
    this.#fence = { epoch: -1, seq: -1 };
    this.#appliesAtMs = NEVER;
    this.applied = this.#target = this.#fallback(this.failsafeA);
  }

  leaseLeftS(nowMs: number): number | undefined {
    const { endsAtMs } = this.applied;
    if (endsAtMs === NEVER) return undefined;
    const leftS = (endsAtMs - nowMs) / this.#options.secondLastsS / 1000;
    return Math.max(0, Math.floor(10 * leftS) / 10);
  }

  #isOfferable(currentA: number): boolean {
    return currentA === 0 || currentA >= this.#options.leastOfferA;
  }

  #isNewer({ epoch, seq }: TakenLimit): boolean {
    return epoch > this.#fence.epoch || (epoch === this.#fence.epoch && seq > this.#fence.seq);
  }

  /** Own seconds that began at `nowMs` are over by then. */
  #after(nowMs: number, ownMs: number): number {
    return nowMs + Math.floor(ownMs * this.#options.secondLastsS);
  }

  #endOf({ ref, ttlS }: TakenLimit, nowMs: number): number {
    const { lease } = this.#options;
    if (lease === 'none') return NEVER;
    if (lease === 'receipt') return this.#after(nowMs, 1000 * ttlS);
    const sentAtMs =
      ref > this.#lastHb - REMEMBERED_HEARTBEATS ? this.#sentAtMs[ref % REMEMBERED_HEARTBEATS] : undefined;
    // A heartbeat it forgot was sent too long ago.
    return sentAtMs === undefined || ref === 0 ? nowMs : this.#after(sentAtMs, 1000 * ttlS);
  }

  #fallback(limitA: number): HeldLimit {
    // In the shape of a grant's: `receive`.
    return { epoch: 0, seq: 0, limitA, reason: 'failsafe', thenA: limitA, endsAtMs: NEVER, lent: undefined };
  }

  /** Limits in quick succession must not put each other off: the newest applies when the first would have. */
  #aimAt(target: HeldLimit, nowMs: number): void {
    this.#target = target;
    if (this.#appliesAtMs !== NEVER) return;
    // A plain renewal changes nothing the hardware has to take.
    const delayMs = target.limitA === this.applied.limitA ? 0 : this.#options.pilotDelayMs;
    this.#appliesAtMs = this.#after(nowMs, delayMs);
  }
}

export function createGrantHolder(options: GrantHolderOptions): GrantHolder {
  return new Holder(options);
}
