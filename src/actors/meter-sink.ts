// Where what chargers report reaches the locations: finds the connector, keeps its link mode true as time passes.
import { connectorKey } from '../../machines/ids.js';
import type { Link } from '../../machines/meter-ledger.js';
import type { MeterSink } from '../ports/telemetry.js';
import { tellModes } from './connector-meter.js';
import type { Directory } from './directory.js';

export function createMeterSink(directory: Directory): MeterSink {
  return {
    connectorMeter(tenantUuid, locationId, controllerUuid, connectorId) {
      const key = connectorKey({ controllerUuid, connectorId });
      const connector = directory.tenant(tenantUuid)?.connectors.get(key);
      return connector?.location.record.locationId === locationId ? connector.meter : undefined;
    },
    recordState(tenantUuid, locationId, controllerUuid, { online, boot }) {
      const location = directory.tenant(tenantUuid)?.locations.get(locationId);
      const connectors = [...(location?.connectors.values() ?? [])].filter(
        ({ record }) => record.controllerUuid === controllerUuid,
      );
      if (location === undefined || connectors.length === 0) return undefined;
      const results = connectors.map(({ slot }) => {
        const result = location.meters.recordState(slot, online, boot);
        if (result === 'changed') tellModes(directory, location, slot);
        return result;
      });
      if (results.includes('changed')) return 'changed';
      return results.includes('accepted') ? 'accepted' : 'refused';
    },
  };
}

/** Turns stale the connectors that fell silent by `nowMs` (monotonic) and counts all connectors by link. */
export function expireReadings(directory: Directory, nowMs: number): Readonly<Record<Link, number>> {
  const counts = { online: 0, stale: 0, offline: 0 };
  for (const tenant of directory.tenants.values()) {
    for (const location of tenant.locations.values()) {
      location.meters.expire(nowMs, (slot) => tellModes(directory, location, slot));
      for (const { link } of location.meters.connectors()) counts[link]++;
    }
  }
  return counts;
}
