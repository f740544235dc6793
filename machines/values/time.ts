// Instants and windows: the only notion of time in the domain, so that no rule reads a clock.

/** An instant in integer milliseconds since the Unix epoch (UTC). */
export type EpochMs = number;

/** A half-open window `[startsAtMs, endsAtMs)`: the start belongs to it, the end does not. */
export interface TimeWindow {
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
}

/** The contract's `ProfileStatus` (section 2.2). */
export type ProfileStatus = 'SCHEDULED' | 'ACTIVE' | 'EXPIRED';

/** Exact to the millisecond (contract section 3.1). */
export function statusAt(window: TimeWindow, now: EpochMs): ProfileStatus {
  if (now >= window.endsAtMs) return 'EXPIRED';
  return now >= window.startsAtMs ? 'ACTIVE' : 'SCHEDULED';
}

/** First boundary of the window strictly after `now`; undefined once the window has ended. */
export function nextBoundaryOf(window: TimeWindow, now: EpochMs): EpochMs | undefined {
  if (now < window.startsAtMs && window.startsAtMs < window.endsAtMs) return window.startsAtMs;
  return now < window.endsAtMs ? window.endsAtMs : undefined;
}
