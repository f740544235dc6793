// Where what chargers report reaches the locations: finds the connector, keeps its link mode true as time passes.
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../machines/ids.js';
import type { RecordResult } from '../../machines/meter-ledger.js';
import type { Clock } from '../ports/clock.js';
import type { ChargerState, MeterSink } from '../ports/telemetry.js';
import { tellLink } from './connector-meter.js';
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

  function recordState(connector: ConnectorEntity, state: ChargerState): RecordResult {
    const { location, record, slot, control } = connector;
    const result = location.meters.recordState(slot, state.online, state.boot);
    if (result === 'refused') return result;
    const own = state.connectors?.find(({ id }) => id === record.connectorId);
    if (own !== undefined) {
      const { failsafeA, lease, keepsThen = false } = own;
      location.enforcement.supervisor.describe(control, { failsafeA, lease, keepsThen, boot: state.boot });
      enforcement.decideSoon(location);
    }
    const type = state.online ? 'charger.connected' : 'charger.disconnected';
    tellLink(directory, enforcement, connector, { type });
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
      return results.includes('accepted') ? 'accepted' : 'refused';
    },
  };
}

/** Turns stale the connectors of a location that fell silent by `nowMs` (monotonic). */
export function expireReadings(
  directory: Directory,
  enforcement: Enforcement,
  location: LocationEntity,
  nowMs: number,
): void {
  location.meters.expire(nowMs, ({ key }) => {
    const connector = location.connectors.get(key);
    if (connector !== undefined) tellLink(directory, enforcement, connector, { type: 'meter.missed' });
  });
}
