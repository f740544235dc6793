// The delay with which a car follows its charger's offer: a moment as cars do, or as late as permitted and not
// earlier.

/** Currents are in A per phase; times never decrease. */
export interface Reaction {
  /** The charger's pilot offers `offeredA` from `nowMs` on. */
  offer(offeredA: number, nowMs: number): void;
  /** The charger opened its contactor: earlier offers no longer apply. */
  cut(): void;
  /** Lets time pass up to `nowMs` and returns the offer that the car follows. */
  followedA(nowMs: number): number;
  /** Instant of the next change of that offer; Infinity if there is none. */
  readonly nextDueMs: number;
}

/** An ordinary car: it follows the present offer `reactionMs` after the withdrawal of the offer it followed. */
export class PromptReaction implements Reaction {
  nextDueMs = Number.POSITIVE_INFINITY;
  readonly #reactionMs: () => number;
  #pilotA: number;
  #followedA: number;

  constructor(offeredA: number, reactionMs: () => number) {
    this.#reactionMs = reactionMs;
    this.#pilotA = offeredA;
    this.#followedA = offeredA;
  }

  offer(offeredA: number, nowMs: number): void {
    if (offeredA !== this.#pilotA && this.nextDueMs === Number.POSITIVE_INFINITY)
      this.nextDueMs = nowMs + this.#reactionMs();
    this.#pilotA = offeredA;
  }

  cut(): void {
    this.#pilotA = this.#followedA = 0;
    this.nextDueMs = Number.POSITIVE_INFINITY;
  }

  followedA(nowMs: number): number {
    if (nowMs >= this.nextDueMs) {
      this.#followedA = this.#pilotA;
      this.nextDueMs = Number.POSITIVE_INFINITY;
    }
    return this.#followedA;
  }
}

/** The worst permitted car: it rises at once, and always draws the highest offer of the last `settleMs`. */
export class LateReaction implements Reaction {
  readonly #settleMs: number;
  #pilotA: number;
  /** Withdrawn offers, the largest first, which is the oldest; a smaller and older offer has no effect. */
  readonly #withdrawn: { readonly offeredA: number; readonly untilMs: number }[] = [];

  constructor(offeredA: number, settleMs: number) {
    this.#settleMs = settleMs;
    this.#pilotA = offeredA;
  }

  get nextDueMs(): number {
    return this.#withdrawn[0]?.untilMs ?? Number.POSITIVE_INFINITY;
  }

  offer(offeredA: number, nowMs: number): void {
    if (offeredA === this.#pilotA) return;
    const [withdrawn, pilotA] = [this.#withdrawn, this.#pilotA];
    while ((withdrawn.at(-1)?.offeredA ?? Number.POSITIVE_INFINITY) <= pilotA) withdrawn.pop();
    withdrawn.push({ offeredA: pilotA, untilMs: nowMs + this.#settleMs });
    this.#pilotA = offeredA;
  }

  cut(): void {
    this.#pilotA = 0;
    this.#withdrawn.length = 0;
  }

  followedA(nowMs: number): number {
    while (this.nextDueMs <= nowMs) this.#withdrawn.shift();
    return Math.max(this.#pilotA, this.#withdrawn[0]?.offeredA ?? 0);
  }
}
