// State of a location at a past instant: the limits at that instant, and the power of its minute.
import { useEffect, useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationPower } from '../../src/features/power-history/contract.js';
import type { LocationLimits } from '../../src/features/profiles/contract.js';
import { path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';

const MINUTE_MS = 60_000;
/** A moving slider passes many instants; only the final one is read. */
const RESTS_AFTER_MS = 150;

export interface PastState {
  readonly atMs: EpochMs;
  readonly limits: LocationLimits;
  /** Power of its minute; undefined if none was recorded. */
  readonly power: LocationPower['points'][number] | undefined;
}

export function usePastState(locationId: string, atMs: EpochMs | undefined): Resource<PastState | undefined> {
  const restingMs = useResting(atMs);
  return useResource(
    async (client, signal) => {
      if (restingMs === undefined) return undefined;
      const [limits, power] = await Promise.all([
        client.get<LocationLimits>(path`/locations/${locationId}/limits?at=${iso(restingMs)}`, signal),
        client.get<LocationPower>(
          `${path`/locations/${locationId}/power`}?${minuteQuery(restingMs)}`,
          signal,
        ),
      ]);
      return { atMs: restingMs, limits, power: power.points[0] };
    },
    [locationId, restingMs],
  );
}

/** Query of the minute that contains `atMs`. */
export function minuteQuery(atMs: EpochMs): string {
  const startsAtMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  return path`from=${iso(startsAtMs)}&to=${iso(startsAtMs + MINUTE_MS)}`;
}

function iso(atMs: EpochMs): string {
  return new Date(atMs).toISOString();
}

function useResting(atMs: EpochMs | undefined): EpochMs | undefined {
  const [resting, setResting] = useState(atMs);
  useEffect(() => {
    const timer = window.setTimeout(() => setResting(atMs), RESTS_AFTER_MS);
    return () => window.clearTimeout(timer);
  }, [atMs]);
  return resting;
}
