// Lease of one connector behind a gateway: accepts grants, plans the requests to the charger, records the held limit.
import { FailsafeProfile } from './failsafe-profile.js';
import type {
  AckBody,
  ChargerAbilities,
  GatewayAnswer,
  GatewayRequest,
  LimitToTake,
  TransactionRef,
} from './gateway-request.js';
import {
  areSameLimits,
  endOf,
  fallbackTo,
  type HeldLease,
  type LeaseSlot,
  type SentLimits,
} from './held-lease.js';
import { AGAIN_AFTER_MS, LeaseAttempt } from './lease-attempt.js';
import { LeaseRate } from './lease-rate.js';
import { type CountedPhases, isOfferable, type Rate, type RateUnit, scheduleOf } from './lease-schedule.js';
import { type Judged, LeaseVerification } from './lease-verification.js';
import { SentHeartbeats } from './sent-heartbeats.js';

export interface LeaseSpec {
  readonly evse: number;
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly maxCurrentA: number;
  readonly failsafeA: number;
}

export interface LeaseEvents {
  /** Lowest limit of another system in that span, A per phase; infinite without one. */
  ceilingA(fromMs: number, untilMs: number): number;
  /** Acknowledgement for the service. */
  acknowledged(limit: LimitToTake, result: AckBody['result']): void;
  /** The current that the charger starts with may have changed. */
  fellBack(): void;
  readonly judged: Judged;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Times are ms of one monotonic clock; names with `own` are times of the charger's clock. The owner sends the requests,
 * one at a time.
 */
export class ConnectorLease {
  readonly verification: LeaseVerification;
  readonly failsafe: FailsafeProfile;
  readonly #spec: LeaseSpec;
  readonly #events: LeaseEvents;
  readonly #heartbeats = new SentHeartbeats();
  readonly #rate: LeaseRate;
  #abilities: ChargerAbilities | undefined;
  #boot = '';
  #fence = { epoch: -1, seq: -1 };
  #held: HeldLease;
  #wanted: LimitToTake | undefined;
  #attempt: LeaseAttempt | undefined;
  #againAtMs = 0;
  #transaction: TransactionRef | undefined;
  /** Start of the newest planned schedule. */
  #startsAtOwnMs: number | undefined;
  /** The charger may hold a lease as its default profile, which applies again after a transaction ends. */
  #isDefaultInUse = true;

  /** @param fallbackA limit of the fail-safe profile if an earlier gateway set it; otherwise the provisioned value */
  constructor(spec: LeaseSpec, events: LeaseEvents, fallbackA: number = spec.failsafeA) {
    this.#spec = spec;
    this.failsafe = new FailsafeProfile(spec, fallbackA, events.fellBack);
    this.#events = events;
    this.#rate = new LeaseRate(spec);
    this.verification = new LeaseVerification(events.judged);
    this.#held = fallbackTo(fallbackA);
  }

  get held(): HeldLease {
    return this.#held;
  }

  get transaction(): TransactionRef | undefined {
    return this.#transaction;
  }

  get rate(): Rate {
    return this.#rate.of(this.#abilities);
  }

  /** Next instant at which a lease or a wait for the meter ends by itself; infinite without one. */
  get overAtMs(): number {
    return Math.min(this.#held.endsAtMs, this.#attempt?.meteredByMs ?? NEVER);
  }

  /** Instant of the next request to the charger; infinite without one. */
  get asksAtMs(): number {
    const isAsking = this.#wanted !== undefined || this.#attempt?.isAsking === true;
    return Math.min(this.#attempt?.asksMeterAtMs ?? NEVER, isAsking ? this.#againAtMs : NEVER);
  }

  /** The charger or the gateway started anew as `boot`, so all earlier information is void. */
  restart(boot: string): void {
    this.#boot = boot;
    this.#heartbeats.restart();
    this.#fence = { epoch: -1, seq: -1 };
    this.#transaction = undefined;
    this.#isDefaultInUse = true;
    this.#held = fallbackTo(this.failsafe.mostA);
    this.#rate.restart();
    this.countAnew();
    this.verification.forget();
  }

  /** The charger's clock changed: earlier plans are void, and the charger must show its lease by the new clock. */
  distrust(): void {
    this.countAnew();
    this.verification.doubt();
  }

  /** The charger's clock was set: earlier plans are void, and the next grant writes the lease again. */
  countAnew(): void {
    this.#heartbeats.forget();
    this.disconnect();
    this.#held = { ...this.#held, counted: undefined };
  }

  /** Some chargers answer with the start of the last schedule sent to them instead of their clock reading. */
  isStartOfPlan(ownMs: number): boolean {
    return this.#startsAtOwnMs === ownMs;
  }

  /**
   * Another system changed its limit. A held lease is sent anew if its limits change. A grant on its way is reviewed
   * once the charger holds it.
   */
  review(nowMs: number): void {
    const { limit, sent, endsAtMs } = this.#held;
    if (limit === undefined || this.#attempt !== undefined || this.#wanted !== undefined) return;
    if (areSameLimits(sent, this.#sentLimitsOf(limit, endsAtMs, nowMs))) return;
    this.#wanted = limit;
    this.#againAtMs = Number.NEGATIVE_INFINITY;
  }

  /** After a broken link it is unknown if the charger took the grant on its way. */
  disconnect(): void {
    this.#wanted = undefined;
    this.#attempt = undefined;
  }

  learn(abilities: ChargerAbilities): void {
    this.#abilities = abilities;
  }

  /** The charger took a fail-safe profile in that unit. */
  tookFailsafe(unit: RateUnit, limit: number): void {
    this.#rate.took(unit, [limit]);
  }

  /** @returns the number of the heartbeat that leaves now */
  noteHeartbeat(ownMs: number | undefined, nowMs: number): number {
    return this.#heartbeats.note(ownMs, nowMs);
  }

  /** `undefined`: no transaction runs. A lease in a transaction's profile ends with the transaction. */
  setTransaction(transaction: TransactionRef | undefined): void {
    if (transaction === this.#transaction) return;
    this.#transaction = transaction;
    this.#againAtMs = Number.NEGATIVE_INFINITY;
    this.#rate.forgetCar();
    if (this.#held.slot === 'transaction') this.#held = fallbackTo(this.failsafe.mostA);
    if (this.#attempt !== undefined) this.#planAgain(this.#attempt, Number.NEGATIVE_INFINITY);
  }

  /** Takes a grant. The acknowledgement follows, as a rule after the charger has shown that it keeps the grant. */
  take(limit: LimitToTake, nowMs: number): void {
    const result = this.#receive(limit, nowMs);
    if (result !== undefined) this.#events.acknowledged(limit, result);
  }

  /** @param mostA current of the most loaded phase */
  metered(mostA: number, phasesInUse: CountedPhases, nowMs: number): void {
    if (this.#attempt?.isShownBy(mostA)) this.#wasFollowed(this.#attempt, nowMs);
    this.#rate.noteCar(phasesInUse);
  }

  advance(nowMs: number): void {
    if (this.#held.endsAtMs <= nowMs) this.#held = fallbackTo(this.#held.thenA);
    const attempt = this.#attempt;
    if (attempt !== undefined && attempt.meteredByMs <= nowMs) this.#giveUp(attempt);
  }

  /** Undefined if no request is due. */
  nextRequest(nowMs: number): GatewayRequest | undefined {
    if (this.#attempt?.stage === 'meter' && this.#wanted !== undefined) this.#attempt = undefined;
    if (nowMs < this.#againAtMs || this.#abilities === undefined) return undefined;
    if (this.#attempt === undefined && this.#wanted !== undefined) this.#plan(this.#wanted, nowMs);
    const attempt = this.#attempt;
    // From here on the charger may hold another lease, for any answer.
    if (attempt?.stage === 'set') this.#held = { ...this.#held, counted: undefined };
    if (attempt?.stage === 'set' && attempt.plan.slot === 'default') this.#isDefaultInUse = true;
    if (attempt?.stage === 'fallback') {
      const { thenA } = attempt.plan.limit;
      this.failsafe.ask(thenA);
      return this.failsafe.requestOf(this.rate, attempt.plan.schedule.unit, thenA);
    }
    if (attempt?.asksMeter(nowMs) === true) return { kind: 'askValues', evse: this.#spec.evse };
    const as = { transaction: this.#transaction, stackLevel: this.#abilities.maxStackLevel };
    return attempt?.requestOf(this.#spec.evse, as);
  }

  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): void {
    const attempt = this.#attempt;
    if (request.kind === 'clear') {
      this.#isDefaultInUse = answer.kind === 'failed';
      if (answer.kind === 'failed') this.#againAtMs = nowMs + AGAIN_AFTER_MS;
      else if (attempt?.stage === 'clear') this.#wasFollowed(attempt, nowMs);
      return;
    }
    // The attempt was given up meanwhile.
    if (attempt === undefined) return;
    const outcome = attempt.answered(request, answer, nowMs);
    if (outcome.kind === 'again') this.#planAgain(attempt, outcome.atMs);
    else if (outcome.kind === 'followed') this.#wasFollowed(attempt, nowMs);
    else if (outcome.kind === 'refused') this.#giveUp(attempt);
    else if (outcome.kind === 'later') this.#againAtMs = outcome.atMs;
    else if (outcome.kind === 'fallsBack') {
      this.failsafe.take(attempt.plan.limit.thenA);
      this.#apply(attempt, nowMs);
    } else if (outcome.kind === 'unshown') {
      this.#attempt = undefined;
      this.#againAtMs = outcome.atMs;
    }
  }

  #receive(limit: LimitToTake, nowMs: number): AckBody['result'] | undefined {
    const { boot, epoch, seq } = limit;
    const isNewer = epoch > this.#fence.epoch || (epoch === this.#fence.epoch && seq > this.#fence.seq);
    if (boot !== this.#boot || !isNewer) return 'STALE';
    if (!isOfferable(limit.limitA) || !isOfferable(limit.thenA) || limit.ref > this.#heartbeats.hb)
      return 'REJECTED';
    if (this.#abilities?.whyNot !== undefined) return 'REJECTED';
    const heartbeat = this.#heartbeats.get(limit.ref);
    if (heartbeat?.ownMs === undefined || endOf(limit, heartbeat) <= nowMs) return 'EXPIRED';
    this.#fence = { epoch, seq };
    if (this.#isHeldAlready(limit, endOf(limit, heartbeat), nowMs)) {
      this.#held = { ...this.#held, epoch, seq, limit };
      this.#wanted = undefined;
      return 'APPLIED';
    }
    this.#wanted = limit;
    return undefined;
  }

  /**
   * The same grant for no less time needs no request while the held lease lasts for more than half of either. That
   * spares the charger's flash.
   */
  #isHeldAlready(limit: LimitToTake, endsAtMs: number, nowMs: number): boolean {
    const held = this.#held;
    const isSameGrant = held.limit?.limitA === limit.limitA && held.limit.thenA === limit.thenA;
    const isSame = isSameGrant && areSameLimits(held.sent, this.#sentLimitsOf(limit, held.endsAtMs, nowMs));
    const longerTtlMs = Math.max(held.ttlMs, 1000 * limit.ttlS);
    const isFresh = held.endsAtMs <= endsAtMs && held.endsAtMs - nowMs > longerTtlMs / 2;
    const isHere = held.slot === this.#slot && held.counted === this.rate.counted;
    return this.#attempt === undefined && isSame && isFresh && isHere;
  }

  get #slot(): LeaseSlot {
    return this.#transaction === undefined ? 'default' : 'transaction';
  }

  /** `limitA` applies to the whole lease, `thenA` from its end on. */
  #sentLimitsOf({ limitA, thenA }: LimitToTake, endsAtMs: number, nowMs: number): SentLimits {
    return {
      limitA: Math.min(limitA, this.#events.ceilingA(nowMs, endsAtMs)),
      thenA: Math.min(thenA, this.#events.ceilingA(endsAtMs, endsAtMs)),
    };
  }

  #plan(limit: LimitToTake, nowMs: number): void {
    this.#wanted = undefined;
    const heartbeat = this.#heartbeats.get(limit.ref);
    const countsFromOwnMs = heartbeat?.ownMs;
    if (heartbeat === undefined || countsFromOwnMs === undefined || endOf(limit, heartbeat) <= nowMs) {
      this.#events.acknowledged(limit, 'EXPIRED');
      return;
    }
    const { maxCurrentA, voltageV } = this.#spec;
    const endsAtMs = endOf(limit, heartbeat);
    const sent = this.#sentLimitsOf(limit, endsAtMs, nowMs);
    const by = { countsFromOwnMs, maxCurrentA, isProven: this.verification.hasShown };
    const schedule = scheduleOf({ ...sent, ttlS: limit.ttlS }, this.rate, by);
    this.#startsAtOwnMs = schedule.startsAtOwnMs;
    this.#attempt = new LeaseAttempt(
      { limit, sent, slot: this.#slot, schedule, endsAtMs },
      { verification: this.verification, rate: this.#rate, voltageV },
    );
  }

  #planAgain({ plan }: LeaseAttempt, atMs: number): void {
    this.#attempt = undefined;
    this.#wanted ??= plan.limit;
    this.#againAtMs = atMs;
  }

  /**
   * The charger keeps the grant. An acknowledgement frees power for others, so two steps come first. A default lease
   * from before the transaction is cleared, because it would apply again after the transaction ends. The fail-safe
   * profile is set to the grant's fallback.
   */
  #wasFollowed(attempt: LeaseAttempt, nowMs: number): void {
    if (attempt.plan.slot === 'transaction' && this.#isDefaultInUse) attempt.clearDefault();
    else if (attempt.plan.limit.thenA !== this.failsafe.mostA) attempt.lowerFallback();
    else this.#apply(attempt, nowMs);
  }

  #apply({ plan, heldA }: LeaseAttempt, nowMs: number): void {
    const { limit, sent, slot, schedule, endsAtMs } = plan;
    this.#attempt = undefined;
    const { epoch, seq, ttlS } = limit;
    const limitA = schedule.limit === 0 ? 0 : Math.min(sent.limitA, heldA);
    const thenA = schedule.thenLimit === 0 ? 0 : sent.thenA;
    const as = { slot, counted: schedule.counted };
    this.#held = { epoch, seq, limitA, thenA, limit, sent, endsAtMs, ttlMs: 1000 * ttlS, ...as };
    this.#events.acknowledged(limit, 'APPLIED');
    this.advance(nowMs);
    this.review(nowMs);
  }

  #giveUp({ plan }: LeaseAttempt): void {
    this.#attempt = undefined;
    this.#events.acknowledged(plan.limit, 'REJECTED');
  }
}
