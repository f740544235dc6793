// One location, kept up to date: its current state, and its own profiles.
import type { ConnectorLive } from '../../src/features/live/contract.js';
import type { LocationLive } from '../../src/features/live-contract.js';
import type { LocationLimits } from '../../src/features/profiles/contract.js';
import { path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { useEvery } from './server-clock.js';

/** Interval of reads for data without events: power and lease of each connector, and changes by others. */
const LIVE_EVERY_MS = 2_000;
const REST_EVERY_MS = 30_000;
/** Events come in groups: one read follows all of them. */
const SOON_MS = 400;

export interface LocationState {
  readonly live: Resource<LocationLive>;
  readonly limits: Resource<LocationLimits>;
  /** Reads both again at once, after a write. */
  reread(): void;
}

export function useLocation(locationId: string, onLimitChange: () => void): LocationState {
  const live = useResource(
    (client, signal) => client.get<LocationLive>(path`/locations/${locationId}/live`, signal),
    [locationId],
  );
  const limits = useResource(
    (client, signal) => client.get<LocationLimits>(path`/locations/${locationId}/limits`, signal),
    [locationId],
  );
  const reread = () => {
    live.reread();
    limits.reread();
    onLimitChange();
  };
  const limitChanged = () => {
    live.reread(SOON_MS);
    limits.reread(SOON_MS);
    onLimitChange();
  };

  useLiveEvents(locationId, live, limitChanged);
  // After a refusal the interval is longer.
  useEvery(LIVE_EVERY_MS, () => {
    if (live.error === undefined) live.reread();
  });
  useEvery(REST_EVERY_MS, () => reread());

  return { live, limits, reread };
}

/** Updates `live` with the events about the location. */
function useLiveEvents(locationId: string, live: Resource<LocationLive>, limitChanged: () => void): void {
  const ofThis = <E extends { readonly locationId: string }>(events: readonly E[]) =>
    events.filter((event) => event.locationId === locationId);
  const set = (values: Partial<LocationLive>) => live.update((before) => ({ ...before, ...values }));

  useEvents('power', (events) => {
    const last = ofThis(events).at(-1);
    if (last !== undefined) set({ actualKw: last.actualKw, estimatedKw: last.estimatedKw, at: last.at });
  });
  useEvents('fuses', (events) => {
    const last = ofThis(events).at(-1);
    if (last !== undefined) set({ fuses: last.fuses });
  });
  useEvents('gridLimit', (events) => {
    // The limit is read together with its cause, so that figures and sentences agree.
    if (ofThis(events).length > 0) limitChanged();
  });
  useEvents('effectiveLimit', (events) => {
    if (ofThis(events).length > 0) limitChanged();
  });
  useEvents('building', (events) => {
    if (ofThis(events).length > 0) live.reread(SOON_MS);
  });
  useEvents('peakShaving', (events) => {
    if (ofThis(events).length > 0) live.reread(SOON_MS);
  });
  useEvents('operatorLimit', (events) => {
    if (ofThis(events).length > 0) limitChanged();
  });
  useEvents('profile', (events) => {
    if (ofThis(events).length > 0) limitChanged();
  });
  useEvents('profileCancelled', (events) => {
    if (ofThis(events).length > 0) limitChanged();
  });
  useEvents('connectorLimit', (events) => {
    if (ofThis(events).length > 0) live.reread(SOON_MS);
  });
  useEvents('lock', (events) => {
    if (ofThis(events).length > 0) live.reread(SOON_MS);
  });
  useEvents('alarm', (events) => {
    if (ofThis(events).length > 0) live.reread(SOON_MS);
  });
}

export function keyOfConnector({
  controllerUuid,
  connectorId,
}: Pick<ConnectorLive, 'controllerUuid' | 'connectorId'>) {
  return JSON.stringify([controllerUuid, connectorId]);
}
