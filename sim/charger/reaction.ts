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
export function createPromptReaction(offeredA: number, reactionMs: () => number): Reaction {
  let pilotA = offeredA;
  let followedA = offeredA;
  let dueMs = Number.POSITIVE_INFINITY;
  return {
    offer(newA, nowMs) {
      if (newA !== pilotA && dueMs === Number.POSITIVE_INFINITY) dueMs = nowMs + reactionMs();
      pilotA = newA;
    },
    cut() {
      pilotA = followedA = 0;
      dueMs = Number.POSITIVE_INFINITY;
    },
    followedA(nowMs) {
      if (nowMs >= dueMs) {
        followedA = pilotA;
        dueMs = Number.POSITIVE_INFINITY;
      }
      return followedA;
    },
    get nextDueMs() {
      return dueMs;
    },
  };
}

/** The worst a car may do: up at once, and at every instant the most it was offered within the last `settleMs`. */
export function createLateReaction(offeredA: number, settleMs: number): Reaction {
  let pilotA = offeredA;
  /** Offers withdrawn, the largest first, which is the oldest: smaller and older ones tell nothing. */
  const withdrawn: { readonly offeredA: number; readonly untilMs: number }[] = [];
  return {
    offer(newA, nowMs) {
      if (newA === pilotA) return;
      while ((withdrawn.at(-1)?.offeredA ?? Number.POSITIVE_INFINITY) <= pilotA) withdrawn.pop();
      withdrawn.push({ offeredA: pilotA, untilMs: nowMs + settleMs });
      pilotA = newA;
    },
    cut() {
      pilotA = 0;
      withdrawn.length = 0;
    },
    followedA(nowMs) {
      while ((withdrawn[0]?.untilMs ?? Number.POSITIVE_INFINITY) <= nowMs) withdrawn.shift();
      return Math.max(pilotA, withdrawn[0]?.offeredA ?? 0);
    },
    get nextDueMs() {
      return withdrawn[0]?.untilMs ?? Number.POSITIVE_INFINITY;
    },
  };
}
