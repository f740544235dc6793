// Lease of one connector behind a gateway: accepts grants, plans the requests to the charger, records the held limit.
import { initialTransition } from 'xstate';
import { longestLeaseMsOf } from '../ledger/grant.js';
import type { DcOutput } from './dc-output.js';
import { FailsafeProfile } from './failsafe-profile.js';
import type {
  AckBody,
  ChargerAbilities,
  GatewayAnswer,
  GatewayRequest,
  LeaseSlot,
  LimitToTake,
  SentLimits,
  TransactionRef,
} from './gateway-request.js';
import { areSameLimits, endOf, fallbackTo, type HeldLease } from './held-lease.js';
import {
  type LeaseEvent,
  type LeasePlan,
  type LeaseState,
  type LeaseWork,
  leaseMachine,
} from './lease.machine.js';
import { LeaseRate } from './lease-rate.js';
import {
  type CountedPhases,
  isOfferable,
  judge,
  type LeaseSchedule,
  proofDurationS,
  type Rate,
  type RateUnit,
  type ShownSchedule,
  scheduleOf,
} from './lease-schedule.js';
import { stepsOf } from './next-state.js';
import { SentHeartbeats } from './sent-heartbeats.js';

export interface LeaseSpec {
  readonly evse: number;
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly maxCurrentA: number;
  readonly failsafeA: number;
  /** Undefined for AC. */
  readonly dc?: DcOutput | undefined;
}

export interface LeaseEvents {
  /** Lowest limit of another system in that span, A per phase; infinite without one. */
  ceilingA(fromMs: number, untilMs: number): number;
  /** Acknowledgement for the service. */
  acknowledged(limit: LimitToTake, result: AckBody['result']): void;
  /** The current that the charger starts with may have changed. */
  fellBack(): void;
  /**
   * A result of the verification: the charger keeps leases, or the reason why not.
   * @param kind `evidence`: the charger showed it. `hint`: it could show neither.
   */
  judged(whyNot: string | undefined, kind: 'evidence' | 'hint'): void;
}

/** Delay after a missing answer. */
const AGAIN_AFTER_MS = 5_000;
/** Repeats of a refused transaction profile, if the charger takes other profiles. */
const REFUSALS_OF_A_TRANSACTION = 2;
const SHOWS_LATER = 'it shows its limits only while a transaction runs: the next one can verify its lease';
const NEVER = Number.POSITIVE_INFINITY;

const FIRST: LeaseState = initialTransition(leaseMachine)[0];
const next = stepsOf(leaseMachine, undefined);

/**
 * Times are ms of one monotonic clock; names with `own` are times of the charger's clock. The owner sends the requests,
 * one at a time.
 */
export class ConnectorLease {
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
  #state = FIRST;
  /** The charger shows its limits while no transaction runs; undefined if unknown. */
  #showsIdle: boolean | undefined;
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

  /** The unit that a charger with both gets, and the other one. */
  get units(): readonly [RateUnit, RateUnit] {
    return this.#rate.units;
  }

  /** Next instant at which a lease or a wait for the meter ends by itself; infinite without one. */
  get overAtMs(): number {
    return Math.min(this.#held.endsAtMs, this.#state.context.meteredByMs);
  }

  /** Instant of the next request to the charger; infinite without one. */
  get asksAtMs(): number {
    const isAsking = this.#wanted !== undefined || this.#isAsking;
    return Math.min(this.#state.context.asksMeterAtMs, isAsking ? this.#againAtMs : NEVER);
  }

  /** A request to the charger is due; a missing answer repeats the request. */
  get #isAsking(): boolean {
    if (this.#isWriting('setting')) return this.#state.context.refusals > 0;
    return !this.#isWriting('idle') && !this.#isWriting('metering');
  }

  /** A grant is on its way to the charger. */
  get isWritten(): boolean {
    return !this.#isWriting('idle');
  }

  /** The charger shows its limits while no transaction runs; undefined if unknown. */
  get showsIdle(): boolean | undefined {
    return this.#showsIdle;
  }

  /**
   * The charger keeps leases: it has shown that since its start, which may be before that of the gateway. If it shows
   * nothing while no transaction runs, a result from before its start counts too. It must also have taken a lease since
   * its clock changed.
   */
  get isProven(): boolean {
    return this.#isKnownToKeep && !this.isDoubted;
  }

  /** The charger's clock changed, so its lease may end at another time than planned. */
  get isDoubted(): boolean {
    return this.#state.value.clock === 'doubted';
  }

  /** As `isProven`, regardless of the clock: the held lease may be from before a change of the clock. */
  get #isKnownToKeep(): boolean {
    const { verification } = this.#state.value;
    if (verification === 'known') return this.#showsIdle === false;
    return verification === 'verified' || verification === 'takenUp';
  }

  get #isVerified(): boolean {
    return this.#state.value.verification === 'verified';
  }

  #isWriting(state: LeaseState['value']['writing']): boolean {
    return this.#state.value.writing === state;
  }

  #follow(event: LeaseEvent): void {
    this.#state = next(this.#state, event);
  }

  /**
   * The charger or the gateway started anew as `boot`, so all earlier information is void.
   * @param before `isKnown`: the charger kept leases before, with its firmware. `isTakenUp`: it has not started since.
   */
  restart(boot: string, before: { readonly isKnown: boolean; readonly isTakenUp: boolean }): void {
    this.#boot = boot;
    this.#heartbeats.restart();
    this.#fence = { epoch: -1, seq: -1 };
    this.#transaction = undefined;
    this.#isDefaultInUse = true;
    this.#held = fallbackTo(this.failsafe.mostA);
    this.#rate.restart();
    this.countAnew();
    this.#follow({ type: 'charger.started', ...before });
  }

  /** The charger's clock changed: earlier plans are void, and the charger must show its lease by the new clock. */
  distrust(): void {
    this.countAnew();
    this.#follow({ type: 'clock.changed' });
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
    if (limit === undefined || !this.#isWriting('idle') || this.#wanted !== undefined) return;
    if (areSameLimits(sent, this.#sentLimitsOf(limit, endsAtMs, nowMs))) return;
    this.#wanted = limit;
    this.#againAtMs = Number.NEGATIVE_INFINITY;
  }

  /** After a broken link it is unknown if the charger took the grant on its way. */
  disconnect(): void {
    this.#wanted = undefined;
    this.#follow({ type: 'lease.dropped' });
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
    this.#planAgain(Number.NEGATIVE_INFINITY);
  }

  /** Takes a grant. The acknowledgement follows, as a rule after the charger has shown that it keeps the grant. */
  take(limit: LimitToTake, nowMs: number): void {
    const result = this.#receive(limit, nowMs);
    if (result !== undefined) this.#events.acknowledged(limit, result);
  }

  /** @param mostA current of the most loaded phase */
  metered(mostA: number, phasesInUse: CountedPhases, nowMs: number): void {
    const { plan } = this.#state.context;
    const isKept = plan !== undefined && mostA > 0 && mostA <= (plan.limit.limitA + 0.5) * 1.1;
    if (isKept && this.#isWriting('metering')) this.#goOn({ type: 'limit.metered', left: this.#left }, nowMs);
    this.#rate.noteCar(phasesInUse);
  }

  advance(nowMs: number): void {
    if (this.#held.endsAtMs <= nowMs) this.#held = fallbackTo(this.#held.thenA);
    if (this.#state.context.meteredByMs <= nowMs) this.#giveUp();
  }

  /** Undefined if no request is due. */
  nextRequest(nowMs: number): GatewayRequest | undefined {
    if (this.#isWriting('metering') && this.#wanted !== undefined) this.#follow({ type: 'lease.dropped' });
    if (nowMs < this.#againAtMs || this.#abilities === undefined) return undefined;
    if (this.#isWriting('idle') && this.#wanted !== undefined) this.#plan(this.#wanted, nowMs);
    const { plan, asksMeterAtMs } = this.#state.context;
    if (plan === undefined) return undefined;
    const { evse } = this.#spec;
    const { slot, schedule, endsAtMs, limit } = plan;
    switch (this.#state.value.writing) {
      case 'setting': {
        // From here on the charger may hold another lease, for any answer.
        this.#held = { ...this.#held, counted: undefined };
        if (slot === 'default') this.#isDefaultInUse = true;
        return { kind: 'setLease', evse, slot, transaction: this.#transaction, schedule, endsAtMs };
      }
      case 'showing':
        return { kind: 'readSchedule', evse, durationS: proofDurationS(schedule), unit: schedule.unit };
      case 'metering':
        if (nowMs < asksMeterAtMs) return undefined;
        this.#follow({ type: 'meter.asked', nowMs });
        return { kind: 'askValues', evse };
      case 'clearing':
        return { kind: 'clear', evse, slot: 'default' };
      case 'settingFallback':
        this.failsafe.ask(limit.thenA);
        return this.failsafe.requestOf(this.rate, schedule.unit, limit.thenA);
      case 'idle':
        return undefined;
    }
  }

  /** The answer to a request of a plan that was dropped meanwhile changes nothing. */
  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): void {
    const { plan } = this.#state.context;
    if (request.kind === 'clear') {
      this.#isDefaultInUse = answer.kind === 'failed';
      if (answer.kind === 'failed') this.#againAtMs = nowMs + AGAIN_AFTER_MS;
      else if (this.#isWriting('clearing')) this.#goOn({ type: 'default.cleared', left: this.#left }, nowMs);
    } else if (plan === undefined) return;
    else if (request.kind === 'setLease' && request.schedule === plan.schedule)
      this.#answeredProfile(plan, answer, nowMs);
    else if (request.kind === 'readSchedule' && this.#isWriting('showing'))
      this.#answeredSchedule(plan, answer, nowMs);
    else if (request.kind === 'setFailsafe' && this.#isWriting('settingFallback'))
      this.#answeredFallback(plan, answer, nowMs);
  }

  #answeredProfile({ slot, schedule }: LeasePlan, answer: GatewayAnswer, nowMs: number): void {
    if (answer.kind === 'failed') {
      this.#planAgain(nowMs + AGAIN_AFTER_MS);
      return;
    }
    if (answer.kind !== 'refused') {
      this.#rate.took(schedule.unit, [schedule.limit, schedule.thenLimit]);
      this.#follow({ type: 'profile.accepted' });
      return;
    }
    const isTried = this.#state.context.refusals >= REFUSALS_OF_A_TRANSACTION;
    // As a rule the transaction is over, and the charger has not reported that yet.
    if (slot === 'transaction' && this.#rate.isUnitTaken && !isTried) {
      this.#follow({ type: 'profile.refused' });
      this.#againAtMs = nowMs + AGAIN_AFTER_MS;
    } else if (this.#rate.adapts(schedule)) this.#planAgain(nowMs);
    else {
      this.#refute(`it refuses charging profiles: ${answer.why}`);
      this.#giveUp();
    }
  }

  #answeredSchedule(plan: LeasePlan, answer: GatewayAnswer, nowMs: number): void {
    if (answer.kind === 'schedule') this.#judge(plan, answer.schedule, nowMs);
    else if (answer.kind === 'failed') this.#planAgain(nowMs + AGAIN_AFTER_MS);
    else this.#watchMeter('it does not show its composite schedule', nowMs);
  }

  #judge({ slot, schedule }: LeasePlan, shown: ShownSchedule, nowMs: number): void {
    const proof = judge(shown, schedule, this.#spec.dc?.maxVoltageV ?? this.#spec.voltageV);
    if (slot === 'default') this.#showsIdle = proof.verdict !== 'unshown';
    if (proof.verdict === 'unshown') this.#wasUnshown(slot, nowMs);
    else if (proof.verdict !== 'unkept') {
      const isFirst = proof.verdict === 'proved' && !this.#isVerified;
      this.#follow({ type: proof.verdict === 'proved' ? 'lease.proved' : 'lease.kept' });
      if (isFirst) this.#events.judged(undefined, 'evidence');
      this.#goOn({ type: 'limit.shown', limit: proof.limit, left: this.#left }, nowMs);
    } else if (proof.excess < 1 && this.#rate.roundsDown(schedule)) this.#planAgain(nowMs);
    else this.#watchMeter(proof.why, nowMs);
  }

  /** Without a transaction nothing flows, and the accepted limit applies to the next one. */
  #wasUnshown(slot: LeaseSlot, nowMs: number): void {
    if (slot === 'transaction') {
      this.#watchMeter('it shows no limit at all', nowMs);
      return;
    }
    if (this.#isKnownToKeep) {
      this.#follow({ type: 'lease.kept' });
      this.#goOn({ type: 'limit.shown', limit: undefined, left: this.#left }, nowMs);
      return;
    }
    const { plan } = this.#state.context;
    this.#events.judged(SHOWS_LATER, 'hint');
    this.#follow({ type: 'lease.dropped' });
    this.#againAtMs = nowMs + 500 * (plan?.limit.ttlS ?? 0);
  }

  #watchMeter(why: string, nowMs: number): void {
    this.#refute(why);
    this.#follow({ type: 'limit.hidden', nowMs });
  }

  #answeredFallback({ limit }: LeasePlan, answer: GatewayAnswer, nowMs: number): void {
    if (answer.kind === 'failed') this.#againAtMs = nowMs + AGAIN_AFTER_MS;
    else if (answer.kind !== 'refused') {
      this.failsafe.take(limit.thenA);
      this.#goOn({ type: 'fallback.set' }, nowMs);
    } else {
      this.#refute(`it refuses its fail-safe: ${answer.why}`);
      this.#giveUp();
    }
  }

  #refute(why: string): void {
    this.#follow({ type: 'lease.refuted' });
    this.#events.judged(why, 'evidence');
  }

  #receive(limit: LimitToTake, nowMs: number): AckBody['result'] | undefined {
    const { boot, epoch, seq } = limit;
    const isNewer = epoch > this.#fence.epoch || (epoch === this.#fence.epoch && seq > this.#fence.seq);
    if (boot !== this.#boot || !isNewer) return 'STALE';
    const { dc } = this.#spec;
    if (!isOfferable(limit.limitA, dc) || !isOfferable(limit.thenA, dc) || limit.ref > this.#heartbeats.hb)
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
   * The same grant for no less time, on any clock, needs no request while the held lease lasts for more than half of either. That
   * spares the charger's flash.
   */
  #isHeldAlready(limit: LimitToTake, endsAtMs: number, nowMs: number): boolean {
    const held = this.#held;
    const isSameGrant = held.limit?.limitA === limit.limitA && held.limit.thenA === limit.thenA;
    const isSame = isSameGrant && areSameLimits(held.sent, this.#sentLimitsOf(limit, held.endsAtMs, nowMs));
    const longerTtlMs = Math.max(held.ttlMs, 1000 * limit.ttlS);
    const latestEndMs = latestEndOf({ endsAtMs, ttlMs: 1000 * limit.ttlS });
    const isFresh = latestEndOf(held) <= latestEndMs && held.endsAtMs - nowMs > longerTtlMs / 2;
    const isHere = held.slot === this.#slot && held.counted === this.rate.counted;
    return this.#isWriting('idle') && isSame && isFresh && isHere;
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
    const endsAtMs = endOf(limit, heartbeat);
    const sent = this.#sentLimitsOf(limit, endsAtMs, nowMs);
    const by = { countsFromOwnMs, maxCurrentA: this.#spec.maxCurrentA, isProven: this.#isVerified };
    const schedule = scheduleOf({ ...sent, ttlS: limit.ttlS }, this.rate, by);
    this.#startsAtOwnMs = schedule.startsAtOwnMs;
    this.#follow({ type: 'lease.planned', plan: { limit, sent, slot: this.#slot, schedule, endsAtMs } });
  }

  /** Plans the grant anew, if one is planned. */
  #planAgain(atMs: number): void {
    const { plan } = this.#state.context;
    if (plan === undefined) return;
    this.#follow({ type: 'lease.dropped' });
    this.#wanted ??= plan.limit;
    this.#againAtMs = atMs;
  }

  /** Work left before the grant is acknowledged, which frees power for others. */
  get #left(): LeaseWork {
    const { plan } = this.#state.context;
    if (plan?.slot === 'transaction' && this.#isDefaultInUse) return 'clear';
    return plan?.limit.thenA === this.failsafe.mostA ? 'none' : 'fallback';
  }

  /** The charger keeps the grant. It holds the lease once no work is left. */
  #goOn(event: LeaseEvent, nowMs: number): void {
    const { plan, shownLimit } = this.#state.context;
    this.#follow(event);
    if (plan === undefined || !this.#isWriting('idle')) return;
    this.#apply(plan, event.type === 'limit.shown' ? event.limit : shownLimit, nowMs);
  }

  #apply(plan: LeasePlan, shownLimit: number | undefined, nowMs: number): void {
    const { limit, sent, slot, schedule, endsAtMs } = plan;
    const { epoch, seq, ttlS } = limit;
    const limitA = schedule.limit === 0 ? 0 : Math.min(sent.limitA, heldA(schedule, shownLimit));
    const thenA = schedule.thenLimit === 0 ? 0 : sent.thenA;
    const as = { slot, counted: schedule.counted };
    this.#held = { epoch, seq, limitA, thenA, limit, sent, endsAtMs, ttlMs: 1000 * ttlS, ...as };
    this.#events.acknowledged(limit, 'APPLIED');
    this.advance(nowMs);
    this.review(nowMs);
  }

  #giveUp(): void {
    const { plan } = this.#state.context;
    this.#follow({ type: 'lease.dropped' });
    if (plan !== undefined) this.#events.acknowledged(plan.limit, 'REJECTED');
  }
}

/** End by the slowest clock: a longer lease with the same end may last longer (R1). */
function latestEndOf({ endsAtMs, ttlMs }: { readonly endsAtMs: number; readonly ttlMs: number }): number {
  return endsAtMs - ttlMs + longestLeaseMsOf({ ttlMs });
}

/**
 * Limit as the charger took it, A per phase: rounded by the gateway, or by the charger by less than an ampere. A lower
 * value in its schedule is no rounding, and may end at any time. Infinite in watts, which are not rounded, and for DC.
 */
function heldA({ unit, limit, phases }: LeaseSchedule, shownLimit = limit): number {
  if (unit === 'W' || phases === undefined) return Number.POSITIVE_INFINITY;
  return shownLimit > limit - 1 ? Math.min(limit, Math.round(10 * shownLimit) / 10) : limit;
}
