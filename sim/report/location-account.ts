// Sums up the power of one location against its limit, event by event.
import type { EpochMs } from '../../machines/values/time.js';

export interface PowerSummary {
  readonly peakW: number;
  /** The limit at the time of the peak; absent if there was none. */
  readonly limitAtPeakW?: number;
  /** Highest ratio of power to limit; absent if there was never a limit. */
  readonly highestShare?: number;
  readonly energyWh: number;
  /** Energy as a share of the energy that the limit would have allowed, over the time with a limit. */
  readonly utilisation?: number;
  /** Integral of the power above the limit, in kWs. */
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

  /** Adds up the state that lasted until `atMs`. Of two changes at one instant, the first has no duration. */
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
