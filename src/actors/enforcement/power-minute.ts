// What a location draws in the minute that runs: time-weighted, so that uneven meter values weigh what they lasted.
import type { PowerRecord } from '../../ports/records.js';

/** Times of the monotonic clock in ms, powers in W. */
export interface PowerMinute {
  /** Since when `powerW` has been drawn. */
  sinceMs: number;
  powerW: number;
  energyWms: number;
  lastedMs: number;
  maxW: number;
  lowestLimitW: number;
  /** A charger has reported at least once: before that there is nothing to say. */
  isHeardOf: boolean;
}

export function createPowerMinute(): PowerMinute {
  return {
    sinceMs: 0,
    powerW: 0,
    energyWms: 0,
    lastedMs: 0,
    maxW: 0,
    lowestLimitW: Number.MAX_SAFE_INTEGER,
    isHeardOf: false,
  };
}

/** The location draws `powerW` from `nowMs` on. */
export function notePower(minute: PowerMinute, powerW: number, nowMs: number): void {
  passTime(minute, nowMs);
  minute.isHeardOf = true;
  minute.powerW = powerW;
  if (powerW > minute.maxW) minute.maxW = powerW;
}

/** The location's limit is `limitW` from now on. */
export function noteLimit(minute: PowerMinute, limitW: number): void {
  if (limitW < minute.lowestLimitW) minute.lowestLimitW = limitW;
}

/** The minute that began at the instant `atMs` as it ended at `nowMs`, and a new one begun; undefined where nothing is known. */
export function endMinute(
  minute: PowerMinute,
  atMs: number,
  limitW: number,
  nowMs: number,
): PowerRecord | undefined {
  passTime(minute, nowMs);
  noteLimit(minute, limitW);
  const { energyWms, lastedMs, maxW, lowestLimitW, isHeardOf, powerW } = minute;
  Object.assign(minute, { energyWms: 0, lastedMs: 0, maxW: powerW, lowestLimitW: limitW });
  if (!isHeardOf || lastedMs === 0) return undefined;
  return { atMs, meanW: Math.round(energyWms / lastedMs), maxW, limitW: lowestLimitW };
}

function passTime(minute: PowerMinute, nowMs: number): void {
  if (minute.isHeardOf) {
    const elapsedMs = Math.max(0, nowMs - minute.sinceMs);
    minute.energyWms += minute.powerW * elapsedMs;
    minute.lastedMs += elapsedMs;
  }
  minute.sinceMs = nowMs;
}
