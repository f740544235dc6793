// Detects a charger that draws more than permitted, by its meter values (R8).

/** As generous as the text of R8 allows. */
const SLACK_A = 0.5;
const SLACK_SHARE = 1.1;
const TOLERATED_MS = 7_000;
const TRUSTED_AFTER_MS = 60_000;

/** Currents to compare a value with, A per phase. */
export interface Allowed {
  /** Highest limit sent within the last minutes: a value may be that old. */
  readonly toldLatelyA: number;
  /** Entitlement at the receipt of the value. */
  readonly grantedA: number;
}

export class MeteredDraw {
  #overSinceMs: number | undefined;
  #mayBeOverSinceMs: number | undefined;
  #keptSinceMs: number | undefined;
  #mayBeDistrusted = false;
  #isDistrusted = false;

  /** It certainly drew more than permitted, for longer than tolerated. */
  get isDistrusted(): boolean {
    return this.#isDistrusted;
  }

  /** A service that cannot judge the age of values may count it as non-compliant, and then reserves its maximum. */
  get mayBeDistrusted(): boolean {
    return this.#isDistrusted || this.#mayBeDistrusted;
  }

  /** The service received a value at `nowMs`. */
  note(drawnA: number, { toldLatelyA, grantedA }: Allowed, nowMs: number): void {
    this.#overSinceMs = isOver(drawnA, toldLatelyA) ? (this.#overSinceMs ?? nowMs) : undefined;
    this.#isDistrusted = this.#overSinceMs !== undefined && nowMs - this.#overSinceMs > TOLERATED_MS;
    if (isOver(drawnA, grantedA)) {
      this.#keptSinceMs = undefined;
      this.#mayBeOverSinceMs ??= nowMs;
      this.#mayBeDistrusted ||= nowMs - this.#mayBeOverSinceMs >= TOLERATED_MS;
    } else {
      this.#mayBeOverSinceMs = undefined;
      this.#keptSinceMs ??= nowMs;
      this.#mayBeDistrusted &&= nowMs - this.#keptSinceMs < TRUSTED_AFTER_MS;
    }
  }

  /** The service that watched it is gone. */
  forget(): void {
    this.#overSinceMs = undefined;
    this.#mayBeOverSinceMs = undefined;
    this.#keptSinceMs = undefined;
    this.#isDistrusted = false;
    this.#mayBeDistrusted = false;
  }
}

function isOver(drawnA: number, allowedA: number): boolean {
  return drawnA > (allowedA + SLACK_A) * SLACK_SHARE;
}
