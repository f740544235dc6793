// The building of the demo: its load behind the connection of a location, reported by a meter over MQTT as a real one
// would.
import { connectAsync } from 'mqtt';
import type { Fleet } from '../sim/charger/fleet.js';
import type { Building } from '../sim/scenario/scenario.js';
import { buildingWAt } from '../sim/world/building.js';
import { systemClock } from '../src/clock.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';
import { siteTopicOf } from '../src/wire/topics.js';

const READ_EVERY_MS = 2_000;
const BUILDING_SEED = 4;
const MINUTE_MS = 60_000;

/** Shops, lifts, and a kitchen with peaks of several minutes. */
function buildingAt(locationId: string): Building {
  const always = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER };
  return {
    tenantUuid: '',
    locationId,
    connectionKw: 0,
    maxBuildingKw: 0,
    leastReserveKw: 0,
    base: [{ fromMs: 0, kw: 18 }],
    lift: { kw: 7, everyMs: 2 * MINUTE_MS, lastsMs: 25_000 },
    peaks: [{ kw: 12, everyMs: 10 * MINUTE_MS, lastsMs: 4 * MINUTE_MS, ...always }],
    pv: undefined,
    pvRaisesHeadroom: false,
    meterEveryMs: READ_EVERY_MS,
    meterFaults: [],
  };
}

/**
 * Reports the meter of the first location with a meter; without one, it does nothing. @returns a function that stops
 * it.
 */
export async function startDemoMeter(
  file: ProvisioningFile,
  mqttUrl: string,
  fleet: Pick<Fleet, 'connectors'>,
): Promise<() => Promise<void>> {
  const [tenant] = file.tenants;
  const location = tenant?.locations.find(({ siteMeter }) => siteMeter !== undefined);
  if (tenant === undefined || location?.siteMeter === undefined) return async () => {};
  const { tenantUuid } = tenant;
  const { locationId, siteMeter } = location;
  const building = buildingAt(locationId);
  const topic = siteTopicOf({ kind: 'siteMeter', tenantUuid, locationId });
  const client = await connectAsync(mqttUrl, {
    clientId: siteMeter.meterUuid,
    username: `${tenantUuid}/${siteMeter.meterUuid}`,
    password: siteMeter.mqttPassword ?? '',
    protocolVersion: 4,
    reconnectOnConnackError: true,
  });
  client.on('error', () => {});
  let hb = 0;
  let cancel = () => {};
  const read = () => {
    const now = systemClock.nowMs();
    let powerW = buildingWAt(building, BUILDING_SEED, now);
    for (const connector of fleet.connectors())
      if (connector.locationId === locationId) powerW += Math.round(connector.powerW);
    client.publish(topic, JSON.stringify({ v: 1, hb: ++hb, at: new Date(now).toISOString(), powerW }));
    cancel = systemClock.after(READ_EVERY_MS, read);
  };
  read();
  return async () => {
    cancel();
    await client.endAsync(true);
  };
}
