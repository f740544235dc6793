// The lease of one connector behind a gateway: what was granted, how the charger is told, and what it has shown of it.
import { MINIMUM_CURRENT_A } from '../values/units.js';
import type {
  ChargerAbilities,
  GatewayAnswer,
  GatewayRequest,
  LimitToTake,
  TransactionRef,
} from './gateway-request.js';
import { LeaseRate } from './lease-rate.js';
import {
  judge,
  type LeaseSchedule,
  type Proof,
  proofDurationS,
  type Rate,
  scheduleOf,
} from './lease-schedule.js';

import { type SentHeartbeat, SentHeartbeats } from './sent-heartbeats.js';

export interface LeaseSpec {
  readonly evse: number;
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly maxCurrentA: number;
  readonly failsafeA: number;
}

/** What the charger is known to keep to. `epoch` and `seq` are 0 without a lease. A per phase. */
export interface HeldLease {
  readonly epoch: number;
  readonly seq: number;
  readonly limitA: number;
  readonly thenA: number;
  /** When it surely has ended, by our clock. */
  readonly endsAtMs: number;
}

type AckResult = 'APPLIED' | 'STALE' | 'EXPIRED' | 'REJECTED';
type Slot = 'default' | 'transaction';

/** What may be told of a grant, A per phase: another system may want less. */
interface Told {
  readonly limitA: number;
  readonly thenA: number;
}

export interface LeaseEvents {
  /** The lowest that another system allows in that span, A per phase; infinite where it says nothing. */
  ceilingA(fromMs: number, untilMs: number): number;

  /** To be told to the service. */
  acknowledged(limit: LimitToTake, result: AckResult): void;
  /** It has shown that it keeps leases, or (with the reason) that it does not. `hint`: it could show neither. */
  judged(whyNot: string | undefined, kind: 'evidence' | 'hint'): void;
}

/** A grant on its way into the charger. */
interface Attempt {
  readonly limit: LimitToTake;
  readonly told: Told;
  readonly slot: Slot;
  readonly schedule: LeaseSchedule;
  readonly endsAtMs: number;
  stage: 'set' | 'proof' | 'meter' | 'clear';
  /** Until when the meter may show that it is kept to. */
  meteredByMs: number;
}

interface Held extends HeldLease {
  readonly slot: Slot | undefined;
  /** The newest grant that it stands for, which may allow more than what the charger was told; undefined without one. */
  readonly limit: LimitToTake | undefined;
  readonly told: Told;
  readonly ttlMs: number;
  readonly phases: number;
}

const AGAIN_AFTER_MS = 5_000;
const METERED_WITHIN_MS = 15_000;
const SHOWS_LATER =
  'it shows its limits only while a transaction runs: with the next one it can prove its lease';
const NEVER = Number.POSITIVE_INFINITY;

function isOfferable(currentA: number): boolean {
  return currentA === 0 || currentA >= MINIMUM_CURRENT_A;
}

/** Times are of one monotonic clock in ms; those named `own` of the charger's. Its owner sends what it asks for, one at a time. */
export class ConnectorLease {
  readonly #spec: LeaseSpec;
  readonly #events: LeaseEvents;
  readonly #heartbeats = new SentHeartbeats();
  readonly #rate: LeaseRate;
  #abilities: ChargerAbilities | undefined;
  #boot = '';
  #fence = { epoch: -1, seq: -1 };
  #held: Held;
  #wanted: LimitToTake | undefined;
  #attempt: Attempt | undefined;
  #againAtMs = 0;
  #transaction: TransactionRef | undefined;
  /** It may have a lease as its default, which would hold again as soon as a transaction ends. */
  #isDefaultInUse = true;
  #isProven = false;
  /** It was seen to keep leases before, with the firmware it has. */
  #isRemembered = false;
  /** It has not started since, as far as is known: what it showed to a gateway before this one still holds. */
  #isContinued = false;
  /** Whether it shows its limits while no transaction runs; undefined where that is not known. */
  #showsIdle: boolean | undefined;

  constructor(spec: LeaseSpec, events: LeaseEvents) {
    this.#spec = spec;
    this.#events = events;
    this.#rate = new LeaseRate(spec);
    this.#held = this.#fallback(spec.failsafeA);
  }

  get held(): HeldLease {
    return this.#held;
  }

  /**
   * It has shown that it keeps leases: since its start, which may be before that of the gateway, or, where it shows nothing
   * while no transaction runs, before its start.
   */
  get isProven(): boolean {
    return this.#isProven || (this.#isRemembered && (this.#isContinued || this.#showsIdle === false));
  }

  get showsIdle(): boolean | undefined {
    return this.#showsIdle;
  }

  /** Whether it was seen to keep leases before, with the firmware it has, and has not started since. */
  remember(isRemembered: boolean, isContinued: boolean): void {
    this.#isRemembered = isRemembered;
    this.#isContinued = isContinued;
  }

  get hb(): number {
    return this.#heartbeats.hb;
  }

  get transaction(): TransactionRef | undefined {
    return this.#transaction;
  }

  /** How it takes limits. */
  get rate(): Rate {
    return this.#rate.of(this.#abilities);
  }

  get nextDueMs(): number {
    const meteredByMs = this.#attempt?.stage === 'meter' ? this.#attempt.meteredByMs : NEVER;
    const isAsking = this.#attempt?.stage === 'proof' || this.#attempt?.stage === 'clear';
    const againAtMs = this.#wanted !== undefined || isAsking ? this.#againAtMs : NEVER;
    return Math.min(this.#held.endsAtMs, meteredByMs, againAtMs);
  }

  /** The charger, or the gateway, started anew as `boot`: nothing is known of it any more. */
  restart(boot: string): void {
    this.#boot = boot;
    this.#heartbeats.restart();
    this.#fence = { epoch: -1, seq: -1 };
    this.#transaction = undefined;
    this.#isDefaultInUse = true;
    this.#held = this.#fallback(this.#spec.failsafeA);
    this.distrust();
  }

  /** Its clock is another, or it kept nothing: what was planned by that is void, and it has to be shown anew. */
  distrust(): void {
    this.#heartbeats.forget();
    this.#wanted = undefined;
    this.#attempt = undefined;
    this.#isProven = false;
    this.#isContinued = false;
  }

  /** Another system wants more or less than before: what it holds is told anew where that changes it. */
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
    if (this.#held.slot === 'transaction') this.#held = this.#fallback(this.#spec.failsafeA);
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#tryAgain(attempt, Number.NEGATIVE_INFINITY);
  }

  /** Takes a grant; its acknowledgement follows, as a rule when the charger has shown that it keeps to it. */
  take(limit: LimitToTake, nowMs: number): void {
    const result = this.#receive(limit, nowMs);
    if (result !== undefined) this.#events.acknowledged(limit, result);
  }

  /** The most loaded phase draws that much now, on so many phases. */
  metered(mostA: number, phasesInUse: number, nowMs: number): void {
    const attempt = this.#attempt;
    if (attempt?.stage === 'meter' && mostA > 0 && mostA <= (attempt.limit.limitA + 0.5) * 1.1)
      this.#wasFollowed(attempt, nowMs);
    this.#rate.noteCar(phasesInUse);
  }

  advance(nowMs: number): void {
    if (this.#held.endsAtMs <= nowMs) this.#held = this.#fallback(this.#held.thenA);
    const attempt = this.#attempt;
    if (attempt?.stage === 'meter' && attempt.meteredByMs <= nowMs) this.#giveUp(attempt);
  }

  /** What the charger is to be asked next; undefined where nothing. */
  nextRequest(nowMs: number): GatewayRequest | undefined {
    if (this.#attempt?.stage === 'meter' && this.#wanted !== undefined) this.#attempt = undefined;
    if (nowMs < this.#againAtMs || this.#abilities === undefined) return undefined;
    if (this.#attempt === undefined && this.#wanted !== undefined) this.#plan(this.#wanted, nowMs);
    const { evse } = this.#spec;
    const attempt = this.#attempt;
    if (attempt?.stage === 'clear') return { kind: 'clear', evse, slot: 'default' };
    if (attempt?.stage === 'proof') {
      const { schedule } = attempt;
      return { kind: 'readSchedule', evse, durationS: proofDurationS(schedule), unit: schedule.unit };
    }
    if (attempt?.stage !== 'set') return undefined;
    const { slot, schedule } = attempt;
    // Whatever becomes of the answer.
    if (slot === 'default') this.#isDefaultInUse = true;
    const stackLevel = this.#abilities.maxStackLevel;
    return { kind: 'setLease', evse, slot, transaction: this.#transaction, stackLevel, schedule };
  }

  /** What came of the request it asked for last. */
  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): void {
    const attempt = this.#attempt;
    if (request.kind === 'clear') {
      this.#isDefaultInUse = answer.kind === 'failed';
      if (answer.kind === 'failed') this.#againAtMs = nowMs + AGAIN_AFTER_MS;
      else if (attempt?.stage === 'clear') this.#apply(attempt, nowMs);
      return;
    }
    // It was given up meanwhile.
    if (attempt === undefined) return;
    if (request.kind === 'setLease' && request.schedule === attempt.schedule)
      this.#wasSet(attempt, answer, nowMs);
    else if (request.kind === 'readSchedule' && attempt.stage === 'proof')
      this.#wasShown(attempt, answer, nowMs);
  }

  #receive(limit: LimitToTake, nowMs: number): AckResult | undefined {
    const { boot, epoch, seq } = limit;
    const isNewer = epoch > this.#fence.epoch || (epoch === this.#fence.epoch && seq > this.#fence.seq);
    if (boot !== this.#boot || !isNewer) return 'STALE';
    if (!isOfferable(limit.limitA) || !isOfferable(limit.thenA) || limit.ref > this.#heartbeats.hb)
      return 'REJECTED';
    if (this.#abilities?.whyNot !== undefined) return 'REJECTED';
    const heartbeat = this.#heartbeats.get(limit.ref);
    if (heartbeat?.ownMs === undefined || this.#endOf(limit, heartbeat) <= nowMs) return 'EXPIRED';
    this.#fence = { epoch, seq };
    if (this.#isHeldAlready(limit, nowMs)) {
      this.#held = { ...this.#held, epoch, seq, limit };
      this.#wanted = undefined;
      return 'APPLIED';
    }
    this.#wanted = limit;
    return undefined;
  }

  /** The same again needs no word to the charger, and no write to its flash, before half of its lease is over. */
  #isHeldAlready(limit: LimitToTake, nowMs: number): boolean {
    const held = this.#held;
    const isSameGrant = held.limit?.limitA === limit.limitA && held.limit.thenA === limit.thenA;
    const isSame = isSameGrant && isSameTold(held.told, this.#toldOf(limit, held.endsAtMs, nowMs));
    const isFresh = held.endsAtMs - nowMs > held.ttlMs / 2;
    const isHere = held.slot === this.#slot && held.phases === this.rate.phases;
    return this.#attempt === undefined && isSame && isFresh && isHere;
  }

  get #slot(): Slot {
    return this.#transaction === undefined ? 'default' : 'transaction';
  }

  #endOf({ ttlS }: LimitToTake, { sentAtMs }: SentHeartbeat): number {
    return sentAtMs + 1000 * ttlS;
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
    const startsAtOwnMs = heartbeat?.ownMs;
    if (heartbeat === undefined || startsAtOwnMs === undefined || this.#endOf(limit, heartbeat) <= nowMs) {
      this.#events.acknowledged(limit, 'EXPIRED');
      return;
    }
    const { maxCurrentA } = this.#spec;
    const endsAtMs = this.#endOf(limit, heartbeat);
    const told = this.#toldOf(limit, endsAtMs, nowMs);
    const by = { startsAtOwnMs, maxCurrentA, isProven: this.#isProven };
    const schedule = scheduleOf({ ...told, ttlS: limit.ttlS }, this.rate, by);
    this.#attempt = { limit, told, slot: this.#slot, schedule, endsAtMs, stage: 'set', meteredByMs: NEVER };
  }

  #wasSet(attempt: Attempt, answer: GatewayAnswer, nowMs: number): void {
    if (answer.kind === 'failed') {
      this.#tryAgain(attempt, nowMs + AGAIN_AFTER_MS);
    } else if (answer.kind !== 'refused') {
      attempt.stage = 'proof';
    } else if (this.#rate.adapts(attempt.schedule)) {
      this.#tryAgain(attempt, nowMs);
    } else {
      this.#disprove(`it refuses charging profiles: ${answer.why}`);
      this.#giveUp(attempt);
    }
  }

  #wasShown(attempt: Attempt, answer: GatewayAnswer, nowMs: number): void {
    if (answer.kind === 'schedule') {
      this.#judge(attempt, judge(answer.schedule, attempt.schedule, this.#spec.voltageV), nowMs);
    } else if (answer.kind === 'failed') {
      this.#tryAgain(attempt, nowMs + AGAIN_AFTER_MS);
    } else {
      this.#disprove('it does not show its composite schedule');
      this.#watchMeter(attempt, nowMs);
    }
  }

  #judge(attempt: Attempt, proof: Proof, nowMs: number): void {
    if (attempt.slot === 'default') this.#showsIdle = proof.verdict !== 'unshown';
    if (proof.verdict === 'unshown') {
      this.#wasUnshown(attempt, nowMs);
    } else if (proof.verdict !== 'unkept') {
      if (proof.verdict === 'proved') this.#prove();
      this.#wasFollowed(attempt, nowMs);
    } else if (proof.excess < 1 && this.#rate.roundsDown(attempt.schedule)) {
      this.#tryAgain(attempt, nowMs);
    } else {
      this.#disprove(proof.why);
      this.#watchMeter(attempt, nowMs);
    }
  }

  /** Without a transaction nothing flows, and what was accepted counts for the next one. */
  #wasUnshown(attempt: Attempt, nowMs: number): void {
    if (attempt.slot === 'default' && this.isProven) {
      this.#apply(attempt, nowMs);
    } else if (attempt.slot === 'default') {
      this.#attempt = undefined;
      this.#againAtMs = nowMs + 500 * attempt.limit.ttlS;
      this.#events.judged(SHOWS_LATER, 'hint');
    } else {
      this.#disprove('it shows no limit at all');
      this.#watchMeter(attempt, nowMs);
    }
  }

  #watchMeter(attempt: Attempt, nowMs: number): void {
    attempt.stage = 'meter';
    attempt.meteredByMs = nowMs + METERED_WITHIN_MS;
  }

  #tryAgain({ limit }: Attempt, atMs: number): void {
    this.#attempt = undefined;
    this.#wanted ??= limit;
    this.#againAtMs = atMs;
  }

  /**
   * It keeps to what it was told. A default of before the transaction, which may allow more, must be gone first: others are
   * given what is acknowledged as given up, and the transaction may end at any time.
   */
  #wasFollowed(attempt: Attempt, nowMs: number): void {
    if (attempt.slot === 'transaction' && this.#isDefaultInUse) attempt.stage = 'clear';
    else this.#apply(attempt, nowMs);
  }

  #apply(attempt: Attempt, nowMs: number): void {
    const { limit, told, slot, schedule, endsAtMs } = attempt;
    this.#attempt = undefined;
    const { epoch, seq, ttlS } = limit;
    // Less than 6 A is none.
    const limitA = schedule.limit === 0 ? 0 : told.limitA;
    const thenA = schedule.thenLimit === 0 ? 0 : told.thenA;
    const ttlMs = 1000 * ttlS;
    this.#held = { epoch, seq, limitA, thenA, limit, told, endsAtMs, ttlMs, slot, phases: schedule.phases };
    this.#events.acknowledged(limit, 'APPLIED');
    this.advance(nowMs);
  }

  #giveUp({ limit }: Attempt): void {
    this.#attempt = undefined;
    this.#events.acknowledged(limit, 'REJECTED');
  }

  #prove(): void {
    if (this.#isProven) return;
    this.#isProven = true;
    this.#events.judged(undefined, 'evidence');
  }

  #disprove(why: string): void {
    this.#isProven = false;
    this.#isRemembered = false;
    this.#events.judged(why, 'evidence');
  }

  #fallback(limitA: number): Held {
    const none = { epoch: 0, seq: 0, ttlMs: 0, slot: undefined, limit: undefined, phases: 0 };
    return { ...none, limitA, thenA: limitA, told: { limitA, thenA: limitA }, endsAtMs: NEVER };
  }
}

function isSameTold(a: Told, b: Told): boolean {
  return a.limitA === b.limitA && a.thenA === b.thenA;
}
