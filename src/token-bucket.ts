// A token bucket: limits the rate of an event, with a burst at once. Pure: the caller passes the time.

export interface TokenBucket {
  /** Takes one token if there is one; false at the limit. */
  take(nowMs: number): boolean;
  /** Milliseconds until a token is available; 0 if one is. */
  waitMs(nowMs: number): number;
  /** Whole tokens at hand, and milliseconds until there is one more; 0 for a full bucket. */
  look(nowMs: number): { readonly left: number; readonly moreInMs: number };
}

/** A full bucket of `burst` tokens, refilled with `ratePerS` a second. Pass a monotonic time in milliseconds. */
export function createTokenBucket(limits: {
  readonly ratePerS: number;
  readonly burst: number;
}): TokenBucket {
  const perMs = limits.ratePerS / 1000;
  let tokens = limits.burst;
  let filledAtMs: number | undefined;

  function fill(nowMs: number): void {
    if (filledAtMs !== undefined) tokens = Math.min(limits.burst, tokens + (nowMs - filledAtMs) * perMs);
    filledAtMs = nowMs;
  }

  return {
    take(nowMs) {
      fill(nowMs);
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    waitMs(nowMs) {
      fill(nowMs);
      return tokens < 1 ? (1 - tokens) / perMs : 0;
    },
    look(nowMs) {
      fill(nowMs);
      const left = Math.floor(tokens);
      return { left, moreInMs: left >= limits.burst ? 0 : (left + 1 - tokens) / perMs };
    },
  };
}
