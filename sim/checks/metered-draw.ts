// Whether a charger draws more than it may, as its meter values say (power safety, rule 8).

/** As generous as the rule's words allow. */
const SLACK_A = 0.5;
const SLACK_SHARE = 1.1;
const TOLERATED_MS = 7_000;
const TRUSTED_AFTER_MS = 60_000;

/** What a value is held against, A per phase. */
export interface Allowed {
  /** The most that it was told within the last minutes: a value may be that old. */
  readonly toldLatelyA: number;
  /** What it may be entitled to as the value is heard. */
  readonly promisedA: number;
}

export class MeteredDraw {
  #overSinceMs: number | undefined;
  #mayBeOverSinceMs: number | undefined;
  #keptSinceMs: number | undefined;
  #mayBeDistrusted = false;
  #isDistrusted = false;

  /** It surely drew more than it may for longer than is tolerated. */
  get isDistrusted(): boolean {
    return this.#isDistrusted;
  }

  /** A service that cannot know how old values are may take it for such a one: then its maximum is reserved. */
  get mayBeDistrusted(): boolean {
    return this.#isDistrusted || this.#mayBeDistrusted;
  }

  /** A value was heard at `nowMs`. */
  note(drawnA: number, { toldLatelyA, promisedA }: Allowed, nowMs: number): void {
    this.#overSinceMs = isOver(drawnA, toldLatelyA) ? (this.#overSinceMs ?? nowMs) : undefined;
    this.#isDistrusted = this.#overSinceMs !== undefined && nowMs - this.#overSinceMs > TOLERATED_MS;
    if (isOver(drawnA, promisedA)) {
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
