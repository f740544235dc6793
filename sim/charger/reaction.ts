// When a car begins to follow what its charger offers: after a moment as cars do, or as late as it may and not earlier.

/** Currents in A per phase; every time is at or after the one before. */
export interface Reaction {
  /** The charger's pilot says `offeredA` from `nowMs` on. */
  offer(offeredA: number, nowMs: number): void;
  /** The charger opened its contactor: nothing is left of what was offered before. */
  cut(): void;
  /** Lets time pass and gives the offer the car follows. */
  followedA(nowMs: number): number;
  /** When that changes next; Infinity where it does not. */
  readonly nextDueMs: number;
}

/** An ordinary car: it follows the offer there is `reactionMs` after the offer it follows was withdrawn. */
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

/** The worst a car may do: up at once, and at every instant the most it was offered within the last `settleMs`. */
export class LateReaction implements Reaction {
  readonly #settleMs: number;
  #pilotA: number;
  /** Offers withdrawn, the largest first, which is the oldest: smaller and older ones tell nothing. */
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
