// The stretch of time that chart and profile bars show: it follows now until the reader moves it.
import type { EpochMs } from '../../machines/values/time.js';

export const RANGES = {
  '1 h': 3_600_000,
  '6 h': 21_600_000,
  '24 h': 86_400_000,
  '7 d': 604_800_000,
} as const;
export type RangeName = keyof typeof RANGES;

const SHORTEST_MS = 120_000;
/** What the extensions answer at most, less a margin. */
const LONGEST_MS = 30 * 86_400_000;
/** Two thirds of the stretch have been, one third is to come. */
const PAST_SHARE = 2 / 3;
const POINTS_AT_MOST = 720;

export interface TimeView {
  readonly lengthMs: number;
  /** Where the stretch begins; undefined while it follows now. */
  readonly startsAtMs: EpochMs | undefined;
}

export interface Span {
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs;
}

export function following(lengthMs: number): TimeView {
  return { lengthMs, startsAtMs: undefined };
}

export function spanOf({ lengthMs, startsAtMs }: TimeView, nowMs: EpochMs): Span {
  const fromMs = startsAtMs ?? Math.round(nowMs - lengthMs * PAST_SHARE);
  return { fromMs, toMs: fromMs + lengthMs };
}

/** Exactly this stretch, no shorter than two minutes and no longer than 30 days around its middle. */
export function showing({ fromMs, toMs }: Span): TimeView {
  const lengthMs = Math.round(Math.min(Math.max(toMs - fromMs, SHORTEST_MS), LONGEST_MS));
  return { lengthMs, startsAtMs: Math.round((fromMs + toMs - lengthMs) / 2) };
}

/** `factor` times as much time around the middle of what is shown. */
export function zoomed({ fromMs, toMs }: Span, factor: number): TimeView {
  const middle = (fromMs + toMs) / 2;
  const half = ((toMs - fromMs) * factor) / 2;
  return showing({ fromMs: middle - half, toMs: middle + half });
}

/** Moved by a share of its length: later where positive. */
export function moved({ fromMs, toMs }: Span, share: number): TimeView {
  const byMs = (toMs - fromMs) * share;
  return showing({ fromMs: fromMs + byMs, toMs: toMs + byMs });
}

/** Seconds a roll-up should cover: whole minutes, few enough points to draw. */
export function stepSecondsOf({ fromMs, toMs }: Span): number {
  return 60 * Math.max(1, Math.ceil((toMs - fromMs) / 60_000 / POINTS_AT_MOST));
}
