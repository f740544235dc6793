// What a location draws in the minute that runs: time-weighted, so that uneven meter values weigh what they lasted.
import type { PowerRecord } from '../ports/records.js';

/** What a location draws. Powers in W. */
export interface DrawnPower {
  readonly actualW: number;
  /** How much of it is an estimate; undefined where everything is measured. */
  readonly estimatedW: number | undefined;
}

/** Times of the monotonic clock in ms, powers in W, sums in W ms. */
export interface PowerMinute {
  /** Since when it has been as it is. */
  sinceMs: number;
  actualW: number;
  estimatedW: number | undefined;
  /** undefined before it is known. */
  limitW: number | undefined;
  actualWms: number;
  estimatedWms: number;
  limitWms: number;
  lastedMs: number;
  maxW: number;
  lowestLimitW: number;
  /** Something in it was estimated. */
  isEstimated: boolean;
  /** Something is known of its power: before that there is nothing to say. */
  isHeardOf: boolean;
}

export function createPowerMinute(): PowerMinute {
  return {
    sinceMs: 0,
    actualW: 0,
    estimatedW: undefined,
    limitW: undefined,
    actualWms: 0,
    estimatedWms: 0,
    limitWms: 0,
    lastedMs: 0,
    maxW: 0,
    lowestLimitW: Number.MAX_SAFE_INTEGER,
    isEstimated: false,
    isHeardOf: false,
  };
}

/** The location draws `power` from `nowMs` on. */
export function notePower(minute: PowerMinute, power: DrawnPower, nowMs: number): void {
  passTime(minute, nowMs);
  minute.isHeardOf = true;
  minute.actualW = power.actualW;
  minute.estimatedW = power.estimatedW;
  minute.isEstimated ||= power.estimatedW !== undefined;
  if (power.actualW > minute.maxW) minute.maxW = power.actualW;
}

/** The location's limit is `limitW` from `nowMs` on. */
export function noteLimit(minute: PowerMinute, limitW: number, nowMs: number): void {
  passTime(minute, nowMs);
  minute.limitW = limitW;
  if (limitW < minute.lowestLimitW) minute.lowestLimitW = limitW;
}

/** The minute that began at the instant `atMs` as it ended at `nowMs`, and a new one begun; undefined where nothing is known. */
export function endMinute(minute: PowerMinute, atMs: number, nowMs: number): PowerRecord | undefined {
  passTime(minute, nowMs);
  const { actualWms, estimatedWms, limitWms, lastedMs, maxW, lowestLimitW, isEstimated } = minute;
  minute.actualWms = 0;
  minute.estimatedWms = 0;
  minute.limitWms = 0;
  minute.lastedMs = 0;
  minute.maxW = minute.actualW;
  minute.lowestLimitW = minute.limitW ?? Number.MAX_SAFE_INTEGER;
  minute.isEstimated = minute.estimatedW !== undefined;
  if (lastedMs === 0) return undefined;
  return {
    atMs,
    meanW: Math.round(actualWms / lastedMs),
    maxW,
    estimatedW: isEstimated ? Math.round(estimatedWms / lastedMs) : null,
    limitW: lowestLimitW,
    meanLimitW: Math.round(limitWms / lastedMs),
  };
}

/** Power and limit are kept for the same stretches of time, so that their means can be compared. */
function passTime(minute: PowerMinute, nowMs: number): void {
  const { actualW, estimatedW = 0, limitW, isHeardOf } = minute;
  if (isHeardOf && limitW !== undefined) {
    const elapsedMs = Math.max(0, nowMs - minute.sinceMs);
    minute.actualWms += actualW * elapsedMs;
    minute.estimatedWms += estimatedW * elapsedMs;
    minute.limitWms += limitW * elapsedMs;
    minute.lastedMs += elapsedMs;
  }
  minute.sinceMs = nowMs;
}
