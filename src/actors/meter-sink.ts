// Where what chargers report reaches the locations: finds the connector, keeps its link mode true as time passes.
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../machines/ids.js';
import type { Link, MeterSlot, RecordResult } from '../../machines/meter-ledger.js';
import type { Clock } from '../ports/clock.js';
import type { ChargerState, MeterSink } from '../ports/telemetry.js';
import { tellModes } from './connector-meter.js';
import type { Directory } from './directory.js';
import type { Enforcement } from './enforcement/enforcement.js';
import type { ConnectorEntity, LocationEntity } from './entities.js';

export function createMeterSink(directory: Directory, enforcement: Enforcement, clock: Clock): MeterSink {
  function connectorAt(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
  ): ConnectorEntity | undefined {
    const key = connectorKey({ controllerUuid, connectorId });
    const connector = directory.tenant(tenantUuid)?.connectors.get(key);
    return connector?.location.record.locationId === locationId ? connector : undefined;
  }

  function recordState(
    { location, record, slot, control }: ConnectorEntity,
    state: ChargerState,
  ): RecordResult {
    const before = slot.link;
    const result = location.meters.recordState(slot, state.online, state.boot);
    const own = state.connectors?.find(({ id }) => id === record.connectorId);
    if (own !== undefined && result !== 'refused') {
      const { failsafeA, lease, keepsThen = false } = own;
      location.enforcement.supervisor.describe(control, { failsafeA, lease, keepsThen, boot: state.boot });
      enforcement.decideSoon(location);
    }
    if (slot.link !== before) changeLink(directory, enforcement, location, slot, before);
    return result;
  }

  return {
    connectorMeter: (tenantUuid, locationId, controllerUuid, connectorId) =>
      connectorAt(tenantUuid, locationId, controllerUuid, connectorId)?.meter,
    recordAck(tenantUuid, locationId, controllerUuid, connectorId, ack) {
      const connector = connectorAt(tenantUuid, locationId, controllerUuid, connectorId);
      if (connector === undefined) return undefined;
      return enforcement.hearAck(connector, ack, clock.monotonicMs()) ? 'accepted' : 'refused';
    },
    recordState(tenantUuid, locationId, controllerUuid, state) {
      const location = directory.tenant(tenantUuid)?.locations.get(locationId);
      const connectors = [...(location?.connectors.values() ?? [])].filter(
        ({ record }) => record.controllerUuid === controllerUuid,
      );
      if (connectors.length === 0) return undefined;
      const results = connectors.map((connector) => recordState(connector, state));
      if (results.includes('changed')) return 'changed';
      return results.includes('accepted') ? 'accepted' : 'refused';
    },
  };
}

function changeLink(
  directory: Directory,
  enforcement: Enforcement,
  location: LocationEntity,
  slot: MeterSlot,
  before: Link,
): void {
  tellModes(directory, location, slot);
  enforcement.hearLink(location, slot, before);
}

/** Turns stale the connectors that fell silent by `nowMs` (monotonic) and counts all connectors by link. */
export function expireReadings(
  directory: Directory,
  enforcement: Enforcement,
  nowMs: number,
): Readonly<Record<Link, number>> {
  const counts = { online: 0, stale: 0, offline: 0 };
  for (const tenant of directory.tenants.values()) {
    for (const location of tenant.locations.values()) {
      location.meters.expire(nowMs, (slot) => changeLink(directory, enforcement, location, slot, 'online'));
      for (const { link } of location.meters.connectors()) counts[link]++;
    }
  }
  return counts;
}
