// The span of time of chart and profile bars: it follows the current time until the user moves it.
import type { EpochMs } from '../../machines/values/time.js';

export const RANGES = {
  '1 h': 3_600_000,
  '6 h': 21_600_000,
  '24 h': 86_400_000,
  '7 d': 604_800_000,
} as const;
export type RangeName = keyof typeof RANGES;

const SHORTEST_MS = 120_000;
/** Longest span of the extension endpoints, less a margin. */
const LONGEST_MS = 30 * 86_400_000;
/** Two thirds of the span lie in the past, one third in the future. */
const PAST_SHARE = 2 / 3;
const POINTS_AT_MOST = 720;

export interface TimeView {
  readonly lengthMs: number;
  /** Start of the span; undefined while it follows the current time. */
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

/** This span; its length is limited to two minutes up to 30 days around its middle. */
export function showing({ fromMs, toMs }: Span): TimeView {
  const lengthMs = Math.round(Math.min(Math.max(toMs - fromMs, SHORTEST_MS), LONGEST_MS));
  return { lengthMs, startsAtMs: Math.round((fromMs + toMs - lengthMs) / 2) };
}

/** Multiplies the visible time around its middle by `factor`. */
export function zoomed({ fromMs, toMs }: Span, factor: number): TimeView {
  const middle = (fromMs + toMs) / 2;
  const half = ((toMs - fromMs) * factor) / 2;
  return showing({ fromMs: middle - half, toMs: middle + half });
}

/** Moved by a share of its length; a positive share moves to later times. */
export function moved({ fromMs, toMs }: Span, share: number): TimeView {
  const byMs = (toMs - fromMs) * share;
  return showing({ fromMs: fromMs + byMs, toMs: toMs + byMs });
}

/** Length of a roll-up in seconds: whole minutes, and few enough points to draw. */
export function stepSecondsOf({ fromMs, toMs }: Span): number {
  return 60 * Math.max(1, Math.ceil((toMs - fromMs) / 60_000 / POINTS_AT_MOST));
}
