// The charger's side of the grant protocol for one connector: fence, lease, current limit and limit after the lease.
import type { AckResult, LeaseKind, LimitReason, ReallocatedTo } from '../../machines/ledger/grant.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';

/** Limit in force at a connector. Currents are in A per phase. */
export interface HeldLimit {
  /** Epoch and sequence number of the grant; both 0 without one. */
  readonly epoch: number;
  readonly seq: number;
  readonly limitA: number;
  readonly reason: LimitReason;
  /** Limit after the end of the lease. */
  readonly thenA: number;
  /** Infinity without a lease. */
  readonly endsAtMs: number;
  /** The limit and `thenA` apply to this session and this number of phases only. */
  readonly reallocated?: ReallocatedTo | undefined;
}

/** A limit message without its DC values, which the connector converts to A first. */
type TakenLimit = Omit<LimitMessage, 'limitW' | 'thenW'>;

interface GrantHolderOptions {
  readonly boot: string;
  readonly lease: LeaseKind;
  readonly maxCurrentA: number;
  /** Lowest offer to a car, A per phase. */
  readonly leastOfferA: number;
  readonly configuredFailsafeA: number;
  /** Time from accepting a limit until the pilot signals it to the car, by the charger's own clock. */
  readonly pilotDelayMs: number;
  /** True length of a second of the charger's clock, in s: 1.02 for a clock that is 2 % slow. */
  readonly secondLastsS: number;
  /** `thenA` survives a restart. */
  readonly keepsThen: boolean;
}

/** A grant answers one of the newest heartbeats, so the holder can forget older ones. */
const REMEMBERED_HEARTBEATS = 64;
const NEVER = Number.POSITIVE_INFINITY;

/** Times are true ms of one monotonic clock, and never decrease from call to call. */
export class GrantHolder {
  /** Limit that the hardware took. */
  applied: HeldLimit;
  /** Limit after a restart, A per phase. */
  failsafeA: number;
  readonly #options: GrantHolderOptions;
  readonly #sentAtMs: number[] = [];
  #boot: string;
  #lastHb = 0;
  #fence = { epoch: -1, seq: -1 };
  /** Limit accepted last; applied already, unless `#appliesAtMs` is finite. */
  #target: HeldLimit;
  #appliesAtMs = NEVER;

  constructor(options: GrantHolderOptions) {
    this.#options = options;
    this.#boot = options.boot;
    // A charger without a lease has no fail-safe either: nothing limits it before its first limit.
    this.failsafeA = options.lease === 'none' ? options.maxCurrentA : options.configuredFailsafeA;
    this.applied = this.#target = this.#fallback(this.failsafeA);
  }

  /** Instant of the next change by `advance`; Infinity if none is due. */
  get nextDueMs(): number {
    return Math.min(this.#appliesAtMs, this.#target.endsAtMs);
  }

  /** Records that the heartbeat `hb` leaves now; each `hb` is one more than the one before. */
  noteHeartbeat(hb: number, nowMs: number): void {
    this.#sentAtMs[hb % REMEMBERED_HEARTBEATS] = nowMs;
    this.#lastHb = hb;
  }

  /**
   * Takes a limit, in A per phase. Returns the answer to send at once. Undefined means that the answer follows once
   * the hardware has taken the limit.
   */
  receive(limit: TakenLimit, nowMs: number): AckResult | undefined {
    if (limit.boot !== this.#boot || !this.#isNewer(limit)) return 'STALE';
    if (!this.#isOfferable(limit.limitA) || !this.#isOfferable(limit.thenA) || limit.ref > this.#lastHb)
      return 'REJECTED';
    const endsAtMs = this.#endOf(limit, nowMs);
    if (endsAtMs <= nowMs) return 'EXPIRED';
    const { epoch, seq, reason, session, phases } = limit;
    const reallocated = session === undefined || phases === undefined ? undefined : { session, phases };
    const { maxCurrentA } = this.#options;
    this.#fence = { epoch, seq };
    const limitA = Math.min(limit.limitA, maxCurrentA);
    const thenA = Math.min(limit.thenA, maxCurrentA);
    this.#aimAt({ epoch, seq, limitA, reason, thenA, endsAtMs, reallocated }, nowMs);
    return undefined;
  }

  /** Performs at most one due change. True if the hardware took another limit; a grant then needs an ack. */
  advance(nowMs: number): boolean {
    // The accepted limit ended before the hardware took it, or at the same instant: the end takes precedence.
    if (this.#target.endsAtMs <= nowMs && this.#target.endsAtMs <= this.#appliesAtMs) {
      const { thenA, reallocated, endsAtMs } = this.#target;
      this.#aimAt({ ...this.#fallback(thenA), reallocated }, endsAtMs);
      return false;
    }
    if (this.#appliesAtMs > nowMs) return false;
    this.#appliesAtMs = NEVER;
    this.applied = this.#target;
    if (this.#options.keepsThen && this.#options.lease !== 'none')
      // The car may be another one after a restart.
      this.failsafeA = this.applied.reallocated === undefined ? this.applied.thenA : 0;
    return true;
  }

  /** Ends the limit for a session after the car left or used other phases. True if there was such a limit. */
  endSession(): boolean {
    if (this.#target.reallocated !== undefined) {
      this.#appliesAtMs = NEVER;
      this.applied = this.#target = this.#fallback(0);
      return true;
    }
    if (this.applied.reallocated === undefined) return false;
    // `#target` was accepted already and is for any car, so it stays.
    this.applied = this.#fallback(0);
    return true;
  }

  /** Restarts the charger as `boot`: grants are lost, and the fail-safe that survived applies at once. */
  restart(boot: string): void {
    this.#boot = boot;
    this.#lastHb = 0;
    this.#sentAtMs.length = 0;
    this.#fence = { epoch: -1, seq: -1 };
    this.#appliesAtMs = NEVER;
    this.applied = this.#target = this.#fallback(this.failsafeA);
  }

  /** In seconds of the charger's own clock; undefined without a lease. */
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

  /** Instant by which `ownMs` of the charger's own clock are over, if they began at `nowMs`. */
  #after(nowMs: number, ownMs: number): number {
    return nowMs + Math.floor(ownMs * this.#options.secondLastsS);
  }

  #endOf({ ref, ttlS }: TakenLimit, nowMs: number): number {
    const { lease } = this.#options;
    if (lease === 'none') return NEVER;
    if (lease === 'receipt') return this.#after(nowMs, 1000 * ttlS);
    const sentAtMs =
      ref > this.#lastHb - REMEMBERED_HEARTBEATS ? this.#sentAtMs[ref % REMEMBERED_HEARTBEATS] : undefined;
    // A forgotten heartbeat was sent too long ago.
    return sentAtMs === undefined || ref === 0 ? nowMs : this.#after(sentAtMs, 1000 * ttlS);
  }

  #fallback(limitA: number): HeldLimit {
    // The same object shape as that of a grant in `receive`.
    return {
      epoch: 0,
      seq: 0,
      limitA,
      reason: 'failsafe',
      thenA: limitA,
      endsAtMs: NEVER,
      reallocated: undefined,
    };
  }

  /** Limits in quick succession must not postpone each other: the newest applies at the instant of the first. */
  #aimAt(target: HeldLimit, nowMs: number): void {
    this.#target = target;
    if (this.#appliesAtMs !== NEVER) return;
    // A plain renewal changes nothing for the hardware.
    const delayMs = target.limitA === this.applied.limitA ? 0 : this.#options.pilotDelayMs;
    this.#appliesAtMs = this.#after(nowMs, delayMs);
  }
}
