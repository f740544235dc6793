// One attempt to pass a grant to a charger: set the profile, then verify it by composite schedule or meter.
import type { GatewayAnswer, GatewayRequest, LimitToTake, TransactionRef } from './gateway-request.js';
import type { LeaseSlot, SentLimits } from './held-lease.js';
import type { LeaseRate } from './lease-rate.js';
import { judge, type LeaseSchedule, type Proof, proofDurationS } from './lease-schedule.js';
import type { LeaseVerification } from './lease-verification.js';

/** A grant, and the schedule that carries it to the charger. */
export interface LeasePlan {
  readonly limit: LimitToTake;
  readonly sent: SentLimits;
  readonly slot: LeaseSlot;
  readonly schedule: LeaseSchedule;
  readonly endsAtMs: number;
}

/**
 * Outcome of an answer.
 * - `followed`: the charger keeps the grant.
 * - `refused`: the charger does not keep the grant.
 * - `fallsBack`: the fail-safe profile equals the grant's fallback.
 * - `again`: the grant is planned anew at `atMs`.
 * - `unshown`: the charger can show nothing now, and takes no other grant before `atMs`.
 * - `later`: the same request repeats at `atMs`.
 */
export type Outcome =
  | { readonly kind: 'goesOn' | 'followed' | 'refused' | 'fallsBack' }
  | { readonly kind: 'again' | 'unshown' | 'later'; readonly atMs: number };

/**
 * Event that the attempt waits for.
 * - `set`: the charger accepts the profile.
 * - `proof`: its composite schedule shows the limit.
 * - `meter`: its meter shows the limit.
 * - `clear`: an earlier default is cleared.
 * - `fallback`: the fail-safe profile equals the grant's fallback.
 */
type Stage = 'set' | 'proof' | 'meter' | 'clear' | 'fallback';

/** Delay after a missing answer. */
export const AGAIN_AFTER_MS = 5_000;
const METERED_WITHIN_MS = 15_000;
/**
 * Interval between requests for meter values: many chargers report more rarely than that. Charger and car need a moment
 * to follow.
 */
const ASKS_METER_EVERY_MS = 5_000;
/** Repeats of a refused transaction profile, if the charger takes other profiles. */
const REFUSALS_OF_A_TRANSACTION = 2;

export class LeaseAttempt {
  readonly plan: LeasePlan;
  readonly #verification: LeaseVerification;
  readonly #rate: LeaseRate;
  readonly #voltageV: number;
  #stage: Stage = 'set';
  /** Deadline for the meter to show that the charger keeps the limit. */
  #meteredByMs = Number.POSITIVE_INFINITY;
  #asksMeterAtMs = Number.POSITIVE_INFINITY;
  #shownLimit: number | undefined;
  #refusals = 0;

  constructor(
    plan: LeasePlan,
    by: { readonly verification: LeaseVerification; readonly rate: LeaseRate; readonly voltageV: number },
  ) {
    this.plan = plan;
    this.#verification = by.verification;
    this.#rate = by.rate;
    this.#voltageV = by.voltageV;
  }

  get stage(): Stage {
    return this.#stage;
  }

  /** A request to the charger is due; a missing answer repeats the request. */
  get isAsking(): boolean {
    return this.#stage === 'set' ? this.#refusals > 0 : this.#stage !== 'meter';
  }

  /**
   * Limit as the charger took it, A per phase: rounded by the gateway, or by the charger by less than an ampere. A
   * lower value in its schedule is no rounding, and may end at any time. Infinite in watts, which are not rounded.
   */
  get heldA(): number {
    const { unit, limit } = this.plan.schedule;
    if (unit === 'W') return Number.POSITIVE_INFINITY;
    const shown = this.#shownLimit ?? limit;
    return shown > limit - 1 ? Math.min(limit, Math.round(10 * shown) / 10) : limit;
  }

  /** Infinite unless the attempt waits for the meter. */
  get meteredByMs(): number {
    return this.#meteredByMs;
  }

  /** Instant of the next request for meter values; infinite without one. */
  get asksMeterAtMs(): number {
    return this.#asksMeterAtMs;
  }

  /** The earlier default must be cleared first. */
  clearDefault(): void {
    this.#goOnTo('clear');
  }

  /** The fail-safe profile must change first. */
  lowerFallback(): void {
    this.#goOnTo('fallback');
  }

  /** True if a request for meter values is due now. */
  asksMeter(nowMs: number): boolean {
    if (nowMs < this.#asksMeterAtMs) return false;
    this.#asksMeterAtMs = nowMs + ASKS_METER_EVERY_MS;
    return true;
  }

  /** Undefined while the attempt waits for the meter or for its fail-safe profile. */
  requestOf(
    evse: number,
    as: { readonly transaction: TransactionRef | undefined; readonly stackLevel: number },
  ): GatewayRequest | undefined {
    const { slot, schedule, endsAtMs } = this.plan;
    switch (this.#stage) {
      case 'set':
        return { kind: 'setLease', evse, slot, ...as, schedule, endsAtMs };
      case 'proof':
        return { kind: 'readSchedule', evse, durationS: proofDurationS(schedule), unit: schedule.unit };
      case 'clear':
        return { kind: 'clear', evse, slot: 'default' };
      case 'meter':
      case 'fallback':
        return undefined;
    }
  }

  /**
   * The charger answered `setLease`, `readSchedule` or `setFailsafe`; the answer to another request changes nothing.
   */
  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): Outcome {
    if (request.kind === 'setLease' && request.schedule === this.plan.schedule)
      return this.#wasSet(answer, nowMs);
    if (request.kind === 'readSchedule' && this.#stage === 'proof') return this.#wasShown(answer, nowMs);
    if (request.kind === 'setFailsafe' && this.#stage === 'fallback') return this.#fellBack(answer, nowMs);
    return { kind: 'goesOn' };
  }

  /** True if the meter shows that the charger keeps the limit. @param mostA current of the most loaded phase */
  isShownBy(mostA: number): boolean {
    return this.#stage === 'meter' && mostA > 0 && mostA <= (this.plan.limit.limitA + 0.5) * 1.1;
  }

  #goOnTo(stage: 'clear' | 'fallback'): void {
    this.#stage = stage;
    this.#meteredByMs = Number.POSITIVE_INFINITY;
    this.#asksMeterAtMs = Number.POSITIVE_INFINITY;
  }

  #wasSet(answer: GatewayAnswer, nowMs: number): Outcome {
    if (answer.kind === 'failed') return { kind: 'again', atMs: nowMs + AGAIN_AFTER_MS };
    const { slot, schedule } = this.plan;
    if (answer.kind !== 'refused') {
      this.#rate.took(schedule.unit, [schedule.limit, schedule.thenLimit]);
      this.#stage = 'proof';
      return { kind: 'goesOn' };
    }
    // As a rule the transaction is over, and the charger has not reported that yet.
    if (slot === 'transaction' && this.#rate.isUnitTaken && ++this.#refusals <= REFUSALS_OF_A_TRANSACTION)
      return { kind: 'later', atMs: nowMs + AGAIN_AFTER_MS };
    if (this.#rate.adapts(schedule)) return { kind: 'again', atMs: nowMs };
    this.#verification.disprove(`it refuses charging profiles: ${answer.why}`);
    return { kind: 'refused' };
  }

  #fellBack(answer: GatewayAnswer, nowMs: number): Outcome {
    if (answer.kind === 'failed') return { kind: 'later', atMs: nowMs + AGAIN_AFTER_MS };
    if (answer.kind !== 'refused') return { kind: 'fallsBack' };
    this.#verification.disprove(`it refuses its fail-safe: ${answer.why}`);
    return { kind: 'refused' };
  }

  #wasShown(answer: GatewayAnswer, nowMs: number): Outcome {
    if (answer.kind === 'schedule')
      return this.#judge(judge(answer.schedule, this.plan.schedule, this.#voltageV), nowMs);
    if (answer.kind === 'failed') return { kind: 'again', atMs: nowMs + AGAIN_AFTER_MS };
    return this.#watchMeter('it does not show its composite schedule', nowMs);
  }

  #judge(proof: Proof, nowMs: number): Outcome {
    const { slot, schedule } = this.plan;
    if (slot === 'default') this.#verification.noteIdle(proof.verdict !== 'unshown');
    if (proof.verdict === 'unshown') return this.#wasUnshown(nowMs);
    if (proof.verdict !== 'unkept') {
      this.#shownLimit = proof.limit;
      if (proof.verdict === 'proved') this.#verification.prove();
      else this.#verification.keep();
      return { kind: 'followed' };
    }
    if (proof.excess < 1 && this.#rate.roundsDown(schedule)) return { kind: 'again', atMs: nowMs };
    return this.#watchMeter(proof.why, nowMs);
  }

  /** Without a transaction nothing flows, and the accepted limit applies to the next one. */
  #wasUnshown(nowMs: number): Outcome {
    if (this.plan.slot === 'transaction') return this.#watchMeter('it shows no limit at all', nowMs);
    if (this.#verification.isKnownToKeep) {
      this.#verification.keep();
      return { kind: 'followed' };
    }
    this.#verification.postpone();
    return { kind: 'unshown', atMs: nowMs + 500 * this.plan.limit.ttlS };
  }

  #watchMeter(why: string, nowMs: number): Outcome {
    this.#verification.disprove(why);
    this.#stage = 'meter';
    this.#meteredByMs = nowMs + METERED_WITHIN_MS;
    this.#asksMeterAtMs = nowMs + ASKS_METER_EVERY_MS;
    return { kind: 'goesOn' };
  }
}
