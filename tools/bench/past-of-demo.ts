// Writes a past for the demo's tenant: some hours of measured power under limits that came and went.
import type { LocationId, TenantUuid } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { createMetrics } from '../../src/metrics.js';
import { createStore } from '../../src/outbound/knex/store.js';
import type { PowerRecord } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import { silentLog } from './site.js';

const DEMO_TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10' as TenantUuid;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const HOURS = 8;

/** Profiles in the past; instants in hours before now. */
const PAST_WINDOWS = [
  { priority: 4, limitKw: 0.5, fromH: 4.5, toH: 3 },
  { priority: 7, limitKw: 0.3, fromH: 1.5, toH: 0.75 },
] as const;

/** Writes the past. `sites` have the permanent limit of each location, kW; windows are shares of it. */
export async function writePast(
  databaseUrl: string,
  sites: readonly { readonly locationId: string; readonly limitKw: number }[],
): Promise<void> {
  const nowMs = systemClock.nowMs();
  const store = await createStore({
    databaseUrl,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
  for (const { locationId, limitKw } of sites) {
    await store.append(DEMO_TENANT, pastOf(locationId as LocationId, limitKw, nowMs));
  }
  await store.close();
}

function pastOf(locationId: LocationId, limitKw: number, nowMs: number): readonly Change[] {
  const profiles = PAST_WINDOWS.map(({ priority, limitKw: share, fromH, toH }): Change => {
    const [startsAtMs, endsAtMs] = [Math.round(nowMs - fromH * HOUR_MS), Math.round(nowMs - toH * HOUR_MS)];
    const profile = { priority, limitKw: share * limitKw, startsAtMs, endsAtMs };
    return { kind: 'profile.put', target: { kind: 'location', locationId }, profile, atMs: startsAtMs };
  });
  const first = Math.floor(nowMs / MINUTE_MS) - HOURS * 60;
  const minutes = Array.from({ length: HOURS * 60 }, (_, i): Change => {
    const minute = minuteOf((first + i) * MINUTE_MS, i, limitKw, nowMs);
    return { kind: 'power.put', locationId, minute };
  });
  return [...profiles, ...minutes];
}

/** Cars come in the morning, exceed the limit at noon, and leave: a smooth curve, with a ripple of single cars. */
function minuteOf(atMs: number, i: number, limitKw: number, nowMs: number): PowerRecord {
  const window = PAST_WINDOWS.find(
    ({ fromH, toH }) => atMs >= nowMs - fromH * HOUR_MS && atMs < nowMs - toH * HOUR_MS,
  );
  const limitW = 1000 * limitKw * (window?.limitKw ?? 1);
  const swell = 0.75 + 0.4 * Math.sin((i / (HOURS * 60)) * 5);
  const ripple = 0.08 * Math.sin(i / 7) + 0.05 * Math.sin(i / 2.3);
  const meanW = Math.round(Math.min(0.97 * limitW, 1000 * limitKw * Math.max(0, swell + ripple)));
  const maxW = Math.round(Math.min(limitW, meanW * 1.02));
  return {
    atMs,
    meanW,
    maxW,
    estimatedW: null,
    limitW,
    meanLimitW: limitW,
    currents: null,
    feeders: [],
    building: null,
  };
}
