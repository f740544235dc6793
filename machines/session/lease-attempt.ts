// A grant on its way into a charger: it is set, shown as a composite schedule or by the meter, and then kept to or given up.
import type { GatewayAnswer, GatewayRequest, LimitToTake, TransactionRef } from './gateway-request.js';
import type { LeaseSlot, Told } from './held-lease.js';
import type { LeaseRate } from './lease-rate.js';
import { judge, type LeaseSchedule, type Proof, proofDurationS } from './lease-schedule.js';
import type { LeaseTrust } from './lease-trust.js';

/** What is to be done about a grant, and how the charger is told. */
export interface LeasePlan {
  readonly limit: LimitToTake;
  readonly told: Told;
  readonly slot: LeaseSlot;
  readonly schedule: LeaseSchedule;
  readonly endsAtMs: number;
}

/**
 * What becomes of an attempt. `again`: the grant is planned anew at `atMs`. `followed`: the charger keeps to it. `unshown`: it
 * can show nothing now, and takes no other grant before `atMs`. `refused`: it does not keep to it. `fallsBack`: its fail-safe
 * profile is what the grant falls back to. `later`: it is asked the same again at `atMs`.
 */
export type Outcome =
  | { readonly kind: 'goesOn' | 'followed' | 'refused' | 'fallsBack' }
  | { readonly kind: 'again' | 'unshown' | 'later'; readonly atMs: number };

/**
 * What it waits for: that the charger takes it, that it shows it, that its meter shows it, that a default of before is
 * cleared, or that the fail-safe profile is what the grant falls back to.
 */
type Stage = 'set' | 'proof' | 'meter' | 'clear' | 'fallback';

/** After no answer. */
export const AGAIN_AFTER_MS = 5_000;
const METERED_WITHIN_MS = 15_000;
/** The meter is asked for so often meanwhile: many report more rarely than that. Charger and car need a moment to follow. */
const ASKS_METER_EVERY_MS = 5_000;
/** So often a profile of a transaction is sent again that was refused by a charger which takes others. */
const REFUSALS_OF_A_TRANSACTION = 2;

export class LeaseAttempt {
  readonly plan: LeasePlan;
  readonly #trust: LeaseTrust;
  readonly #rate: LeaseRate;
  readonly #voltageV: number;
  #stage: Stage = 'set';
  /** Until when the meter may show that it is kept to. */
  #meteredByMs = Number.POSITIVE_INFINITY;
  #asksMeterAtMs = Number.POSITIVE_INFINITY;
  #shownLimit: number | undefined;
  #refusals = 0;

  constructor(
    plan: LeasePlan,
    by: { readonly trust: LeaseTrust; readonly rate: LeaseRate; readonly voltageV: number },
  ) {
    this.plan = plan;
    this.#trust = by.trust;
    this.#rate = by.rate;
    this.#voltageV = by.voltageV;
  }

  get stage(): Stage {
    return this.#stage;
  }

  /** The charger is asked for it, and asked again where it does not answer. */
  get isAsking(): boolean {
    return this.#stage === 'set' ? this.#refusals > 0 : this.#stage !== 'meter';
  }

  /**
   * What the charger made of the limit, A per phase: rounded by the gateway, or less than an ampere lower by itself. What it shows
   * that is lower than that is no rounding, and may be over any time. Infinite in watts, which are not rounded.
   */
  get heldA(): number {
    const { unit, limit } = this.plan.schedule;
    if (unit === 'W') return Number.POSITIVE_INFINITY;
    const shown = this.#shownLimit ?? limit;
    return shown > limit - 1 ? Math.min(limit, Math.round(10 * shown) / 10) : limit;
  }

  /** Infinite where it does not wait for the meter. */
  get meteredByMs(): number {
    return this.#meteredByMs;
  }

  /** When the charger is to be asked for its meter values next; infinite where it is not. */
  get asksMeterAtMs(): number {
    return this.#asksMeterAtMs;
  }

  /** The default of before has to be gone first. */
  clearDefault(): void {
    this.#goOnTo('clear');
  }

  /** The fail-safe profile has to be another first. */
  lowerFallback(): void {
    this.#goOnTo('fallback');
  }

  /** The charger is asked for its meter values now, where it is time for that. */
  asksMeter(nowMs: number): boolean {
    if (nowMs < this.#asksMeterAtMs) return false;
    this.#asksMeterAtMs = nowMs + ASKS_METER_EVERY_MS;
    return true;
  }

  /** What the charger is to be asked for it; undefined where it waits for the meter, or for its fail-safe profile. */
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

  /** The charger answered to `setLease`, `readSchedule` or `setFailsafe`; the answer to another request changes nothing. */
  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): Outcome {
    if (request.kind === 'setLease' && request.schedule === this.plan.schedule)
      return this.#wasSet(answer, nowMs);
    if (request.kind === 'readSchedule' && this.#stage === 'proof') return this.#wasShown(answer, nowMs);
    if (request.kind === 'setFailsafe' && this.#stage === 'fallback') return this.#fellBack(answer, nowMs);
    return { kind: 'goesOn' };
  }

  /** Whether the meter shows that it is kept to, which draws `mostA` on its most loaded phase. */
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
    // As a rule the transaction is over, which it has not said yet.
    if (slot === 'transaction' && this.#rate.isUnitTaken && ++this.#refusals <= REFUSALS_OF_A_TRANSACTION)
      return { kind: 'later', atMs: nowMs + AGAIN_AFTER_MS };
    if (this.#rate.adapts(schedule)) return { kind: 'again', atMs: nowMs };
    this.#trust.disprove(`it refuses charging profiles: ${answer.why}`);
    return { kind: 'refused' };
  }

  #fellBack(answer: GatewayAnswer, nowMs: number): Outcome {
    if (answer.kind === 'failed') return { kind: 'later', atMs: nowMs + AGAIN_AFTER_MS };
    if (answer.kind !== 'refused') return { kind: 'fallsBack' };
    this.#trust.disprove(`it refuses its fail-safe: ${answer.why}`);
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
    if (slot === 'default') this.#trust.noteIdle(proof.verdict !== 'unshown');
    if (proof.verdict === 'unshown') return this.#wasUnshown(nowMs);
    if (proof.verdict !== 'unkept') {
      this.#shownLimit = proof.limit;
      if (proof.verdict === 'proved') this.#trust.prove();
      else this.#trust.keep();
      return { kind: 'followed' };
    }
    if (proof.excess < 1 && this.#rate.roundsDown(schedule)) return { kind: 'again', atMs: nowMs };
    return this.#watchMeter(proof.why, nowMs);
  }

  /** Without a transaction nothing flows, and what was accepted counts for the next one. */
  #wasUnshown(nowMs: number): Outcome {
    if (this.plan.slot === 'transaction') return this.#watchMeter('it shows no limit at all', nowMs);
    if (this.#trust.isKnownToKeep) {
      this.#trust.keep();
      return { kind: 'followed' };
    }
    this.#trust.postpone();
    return { kind: 'unshown', atMs: nowMs + 500 * this.plan.limit.ttlS };
  }

  #watchMeter(why: string, nowMs: number): Outcome {
    this.#trust.disprove(why);
    this.#stage = 'meter';
    this.#meteredByMs = nowMs + METERED_WITHIN_MS;
    this.#asksMeterAtMs = nowMs + ASKS_METER_EVERY_MS;
    return { kind: 'goesOn' };
  }
}
