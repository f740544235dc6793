// What one location drew against its limit, added up event by event.
import type { EpochMs } from '../../machines/values/time.js';

export interface PowerSummary {
  readonly peakW: number;
  /** The limit while the peak flowed; absent where there was none. */
  readonly limitAtPeakW?: number;
  /** The highest that power ever was as a share of the limit; absent where there never was one. */
  readonly highestShare?: number;
  readonly energyWh: number;
  /** Energy as a share of what the limit would have let through, while there was one. */
  readonly utilisation?: number;
  /** Power above the limit times how long, in kWs. */
  readonly overshootKws: number;
}

export interface LocationAccount {
  limit(atMs: EpochMs, limitW: number): void;
  power(atMs: EpochMs, powerW: number): void;
  total(endsAtMs: EpochMs): PowerSummary;
}

const MS_PER_HOUR = 3_600_000;
const WMS_PER_KWS = 1_000_000;

export function createLocationAccount(startsAtMs: EpochMs): LocationAccount {
  let limitW = Number.MAX_SAFE_INTEGER;
  let powerW = 0;
  let addedUpToMs = startsAtMs;
  let peakW = 0;
  let limitAtPeakW: number | undefined;
  let highestShare: number | undefined;
  let drawnWms = 0;
  let limitedWms = 0;
  let allowedWms = 0;
  let overWms = 0;

  /** Adds what lasted until `atMs`: what changes twice at one instant lasted for no time between. */
  function addUpTo(atMs: EpochMs): void {
    const ms = atMs - addedUpToMs;
    addedUpToMs = atMs;
    if (ms === 0) return;
    const isLimited = limitW < Number.MAX_SAFE_INTEGER;
    drawnWms += powerW * ms;
    if (powerW > peakW) {
      peakW = powerW;
      limitAtPeakW = isLimited ? limitW : undefined;
    }
    if (!isLimited) return;
    limitedWms += powerW * ms;
    allowedWms += limitW * ms;
    overWms += Math.max(powerW - limitW, 0) * ms;
    if (limitW > 0) highestShare = Math.max(powerW / limitW, highestShare ?? 0);
  }

  return {
    limit(atMs, changedW) {
      addUpTo(atMs);
      limitW = changedW;
    },
    power(atMs, changedW) {
      addUpTo(atMs);
      powerW = changedW;
    },
    total(endsAtMs) {
      addUpTo(endsAtMs);
      return {
        peakW,
        ...(limitAtPeakW === undefined ? {} : { limitAtPeakW }),
        ...(highestShare === undefined ? {} : { highestShare }),
        energyWh: Math.round(drawnWms / MS_PER_HOUR),
        ...(allowedWms === 0 ? {} : { utilisation: limitedWms / allowedWms }),
        overshootKws: overWms / WMS_PER_KWS,
      };
    },
  };
}
