// The lease of one connector behind a gateway: which grants are taken, what the charger is asked for them, and what it holds.
import { FailsafeProfile } from './failsafe-profile.js';
import type {
  AckBody,
  ChargerAbilities,
  GatewayAnswer,
  GatewayRequest,
  LimitToTake,
  TransactionRef,
} from './gateway-request.js';
import { endOf, fallbackTo, type HeldLease, isSameTold, type LeaseSlot, type Told } from './held-lease.js';
import { AGAIN_AFTER_MS, LeaseAttempt } from './lease-attempt.js';
import { LeaseRate } from './lease-rate.js';
import { type CountedPhases, isOfferable, type Rate, type RateUnit, scheduleOf } from './lease-schedule.js';
import { type Judged, LeaseTrust } from './lease-trust.js';
import { SentHeartbeats } from './sent-heartbeats.js';

export interface LeaseSpec {
  readonly evse: number;
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly maxCurrentA: number;
  readonly failsafeA: number;
}

export interface LeaseEvents {
  /** The lowest that another system allows in that span, A per phase; infinite where it says nothing. */
  ceilingA(fromMs: number, untilMs: number): number;
  /** To be told to the service. */
  acknowledged(limit: LimitToTake, result: AckBody['result']): void;
  /** What it starts with may be another now. */
  fellBack(): void;
  readonly judged: Judged;
}

const NEVER = Number.POSITIVE_INFINITY;

/** Times are of one monotonic clock in ms; those named `own` of the charger's. Its owner sends what it asks for, one at a time. */
export class ConnectorLease {
  readonly trust: LeaseTrust;
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
  /** Of the schedule that was planned last. */
  #startsAtOwnMs: number | undefined;
  /** It may have a lease as its default, which holds again when a transaction ends. */
  #isDefaultInUse = true;

  /** @param fallbackA what its fail-safe profile allows, where a gateway before this one set it; else as provisioned */
  constructor(spec: LeaseSpec, events: LeaseEvents, fallbackA: number = spec.failsafeA) {
    this.#spec = spec;
    this.failsafe = new FailsafeProfile(spec, fallbackA, events.fellBack);
    this.#events = events;
    this.#rate = new LeaseRate(spec);
    this.trust = new LeaseTrust(events.judged);
    this.#held = fallbackTo(fallbackA);
  }

  get held(): HeldLease {
    return this.#held;
  }

  get transaction(): TransactionRef | undefined {
    return this.#transaction;
  }

  /** How it takes limits. */
  get rate(): Rate {
    return this.#rate.of(this.#abilities);
  }

  /** When something of it is over by itself; infinite where never. */
  get overAtMs(): number {
    return Math.min(this.#held.endsAtMs, this.#attempt?.meteredByMs ?? NEVER);
  }

  /** When it has something to ask the charger next; infinite where nothing. */
  get asksAtMs(): number {
    const isAsking = this.#wanted !== undefined || this.#attempt?.isAsking === true;
    return Math.min(this.#attempt?.asksMeterAtMs ?? NEVER, isAsking ? this.#againAtMs : NEVER);
  }

  /** The charger, or the gateway, started anew as `boot`: nothing is known of it any more. */
  restart(boot: string): void {
    this.#boot = boot;
    this.#heartbeats.restart();
    this.#fence = { epoch: -1, seq: -1 };
    this.#transaction = undefined;
    this.#isDefaultInUse = true;
    this.#held = fallbackTo(this.failsafe.mostA);
    this.#rate.restart();
    this.countAnew();
    this.trust.forget();
  }

  /** Its clock is another: what was planned by that is void, and it has to show what it holds by the one it has now. */
  distrust(): void {
    this.countAnew();
    this.trust.doubt();
  }

  /** Its clock was set: what was planned by it is void, and what it holds is written again with the next grant. */
  countAnew(): void {
    this.#heartbeats.forget();
    this.disconnect();
    this.#held = { ...this.#held, counted: undefined };
  }

  /** Some answer with the start of what they were told last instead of what their clock reads. */
  isStartOfPlan(ownMs: number): boolean {
    return this.#startsAtOwnMs === ownMs;
  }

  /** Another system wants more or less than before: what it holds is told anew where that changes it, what is on its way once it holds that. */
  review(nowMs: number): void {
    const { limit, told, endsAtMs } = this.#held;
    if (limit === undefined || this.#attempt !== undefined || this.#wanted !== undefined) return;
    if (isSameTold(told, this.#toldOf(limit, endsAtMs, nowMs))) return;
    this.#wanted = limit;
    this.#againAtMs = Number.NEGATIVE_INFINITY;
  }

  /** The link broke: whether the charger took what was on its way is not known. */
  disconnect(): void {
    this.#wanted = undefined;
    this.#attempt = undefined;
  }

  learn(abilities: ChargerAbilities): void {
    this.#abilities = abilities;
  }

  /** It took a fail-safe profile in that unit. */
  tookFailsafe(unit: RateUnit, limit: number): void {
    this.#rate.took(unit, [limit]);
  }

  /** A heartbeat leaves now. @returns its number */
  noteHeartbeat(ownMs: number | undefined, nowMs: number): number {
    return this.#heartbeats.note(ownMs, nowMs);
  }

  /** `undefined`: none runs. What a transaction was told ends with it. */
  setTransaction(transaction: TransactionRef | undefined): void {
    if (transaction === this.#transaction) return;
    this.#transaction = transaction;
    this.#againAtMs = Number.NEGATIVE_INFINITY;
    this.#rate.forgetCar();
    if (this.#held.slot === 'transaction') this.#held = fallbackTo(this.failsafe.mostA);
    if (this.#attempt !== undefined) this.#planAgain(this.#attempt, Number.NEGATIVE_INFINITY);
  }

  /** Takes a grant; its acknowledgement follows, as a rule when the charger has shown that it keeps to it. */
  take(limit: LimitToTake, nowMs: number): void {
    const result = this.#receive(limit, nowMs);
    if (result !== undefined) this.#events.acknowledged(limit, result);
  }

  /** The most loaded phase draws that much now, on so many phases. */
  metered(mostA: number, phasesInUse: CountedPhases, nowMs: number): void {
    if (this.#attempt?.isShownBy(mostA)) this.#wasFollowed(this.#attempt, nowMs);
    this.#rate.noteCar(phasesInUse);
  }

  advance(nowMs: number): void {
    if (this.#held.endsAtMs <= nowMs) this.#held = fallbackTo(this.#held.thenA);
    const attempt = this.#attempt;
    if (attempt !== undefined && attempt.meteredByMs <= nowMs) this.#giveUp(attempt);
  }

  /** What the charger is to be asked next; undefined where nothing. */
  nextRequest(nowMs: number): GatewayRequest | undefined {
    if (this.#attempt?.stage === 'meter' && this.#wanted !== undefined) this.#attempt = undefined;
    if (nowMs < this.#againAtMs || this.#abilities === undefined) return undefined;
    if (this.#attempt === undefined && this.#wanted !== undefined) this.#plan(this.#wanted, nowMs);
    const attempt = this.#attempt;
    // Whatever becomes of the answer: from here on it may hold another than before.
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

  /** What came of the request it asked for last. */
  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): void {
    const attempt = this.#attempt;
    if (request.kind === 'clear') {
      this.#isDefaultInUse = answer.kind === 'failed';
      if (answer.kind === 'failed') this.#againAtMs = nowMs + AGAIN_AFTER_MS;
      else if (attempt?.stage === 'clear') this.#wasFollowed(attempt, nowMs);
      return;
    }
    // It was given up meanwhile.
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

  /** The same again, for no less time, needs no word to the charger, and no write to its flash, before half of its lease is over. */
  #isHeldAlready(limit: LimitToTake, endsAtMs: number, nowMs: number): boolean {
    const held = this.#held;
    const isSameGrant = held.limit?.limitA === limit.limitA && held.limit.thenA === limit.thenA;
    const isSame = isSameGrant && isSameTold(held.told, this.#toldOf(limit, held.endsAtMs, nowMs));
    const isFresh = held.endsAtMs <= endsAtMs && held.endsAtMs - nowMs > held.ttlMs / 2;
    const isHere = held.slot === this.#slot && held.counted === this.rate.counted;
    return this.#attempt === undefined && isSame && isFresh && isHere;
  }

  get #slot(): LeaseSlot {
    return this.#transaction === undefined ? 'default' : 'transaction';
  }

  /** A limit counts for the whole lease, and what follows from its end on. */
  #toldOf({ limitA, thenA }: LimitToTake, endsAtMs: number, nowMs: number): Told {
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
    const told = this.#toldOf(limit, endsAtMs, nowMs);
    const by = { countsFromOwnMs, maxCurrentA, isProven: this.trust.hasShown };
    const schedule = scheduleOf({ ...told, ttlS: limit.ttlS }, this.rate, by);
    this.#startsAtOwnMs = schedule.startsAtOwnMs;
    this.#attempt = new LeaseAttempt(
      { limit, told, slot: this.#slot, schedule, endsAtMs },
      { trust: this.trust, rate: this.#rate, voltageV },
    );
  }

  #planAgain({ plan }: LeaseAttempt, atMs: number): void {
    this.#attempt = undefined;
    this.#wanted ??= plan.limit;
    this.#againAtMs = atMs;
  }

  /**
   * It keeps to what it was told. An acknowledgement frees power for others. So the default lease of before the transaction, which would
   * hold again with its end, is cleared first, and the fail-safe is made what the grant falls back to.
   */
  #wasFollowed(attempt: LeaseAttempt, nowMs: number): void {
    if (attempt.plan.slot === 'transaction' && this.#isDefaultInUse) attempt.clearDefault();
    else if (attempt.plan.limit.thenA !== this.failsafe.mostA) attempt.lowerFallback();
    else this.#apply(attempt, nowMs);
  }

  #apply({ plan, heldA }: LeaseAttempt, nowMs: number): void {
    const { limit, told, slot, schedule, endsAtMs } = plan;
    this.#attempt = undefined;
    const { epoch, seq, ttlS } = limit;
    const limitA = schedule.limit === 0 ? 0 : Math.min(told.limitA, heldA);
    const thenA = schedule.thenLimit === 0 ? 0 : told.thenA;
    const as = { slot, counted: schedule.counted };
    this.#held = { epoch, seq, limitA, thenA, limit, told, endsAtMs, ttlMs: 1000 * ttlS, ...as };
    this.#events.acknowledged(limit, 'APPLIED');
    this.advance(nowMs);
    this.review(nowMs);
  }

  #giveUp({ plan }: LeaseAttempt): void {
    this.#attempt = undefined;
    this.#events.acknowledged(plan.limit, 'REJECTED');
  }
}
