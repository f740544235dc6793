// Where what chargers report reaches the locations: finds the connector, keeps its link mode true as time passes.
import type { Ack } from '../../machines/power/grant.js';
import type { RecordResult } from '../../machines/power/meter-ledger.js';
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../machines/values/ids.js';
import type { Directory } from '../actors/directory.js';
import type { ConnectorEntity, LocationEntity } from '../actors/entities.js';
import type { Clock } from '../ports/clock.js';
import type { ChargerState, ConnectorMeter, MeterSink } from '../ports/telemetry.js';
import { tellLink } from './connector-meter.js';
import type { Enforcement } from './enforcement.js';

export class ConnectorMeterSink implements MeterSink {
  readonly #directory: Directory;
  readonly #enforcement: Enforcement;
  readonly #clock: Clock;

  constructor(directory: Directory, enforcement: Enforcement, clock: Clock) {
    this.#directory = directory;
    this.#enforcement = enforcement;
    this.#clock = clock;
  }

  connectorMeter(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
  ): ConnectorMeter | undefined {
    return this.#connectorAt(tenantUuid, locationId, controllerUuid, connectorId)?.meter;
  }

  recordAck(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
    ack: Ack,
  ): RecordResult | undefined {
    const connector = this.#connectorAt(tenantUuid, locationId, controllerUuid, connectorId);
    if (connector === undefined) return undefined;
    return this.#enforcement.hearAck(connector, ack, this.#clock.monotonicMs()) ? 'accepted' : 'refused';
  }

  recordState(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    state: ChargerState,
  ): RecordResult | undefined {
    const location = this.#directory.tenant(tenantUuid)?.locations.get(locationId);
    const connectors = [...(location?.connectors.values() ?? [])].filter(
      ({ record }) => record.controllerUuid === controllerUuid,
    );
    if (connectors.length === 0) return undefined;
    const results = connectors.map((connector) => this.#recordState(connector, state));
    return results.includes('accepted') ? 'accepted' : 'refused';
  }

  #connectorAt(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
  ): ConnectorEntity | undefined {
    const key = connectorKey({ controllerUuid, connectorId });
    const connector = this.#directory.tenant(tenantUuid)?.connectors.get(key);
    return connector?.location.record.locationId === locationId ? connector : undefined;
  }

  #recordState(connector: ConnectorEntity, state: ChargerState): RecordResult {
    const { location, record, slot, control } = connector;
    const result = location.meters.recordState(slot, state.online, state.boot);
    if (result === 'refused') return result;
    const own = state.connectors?.find(({ id }) => id === record.connectorId);
    if (own !== undefined) {
      const { failsafeA, lease, keepsThen = false } = own;
      location.enforcement.supervisor.describe(control, { failsafeA, lease, keepsThen, boot: state.boot });
      this.#enforcement.decideSoon(location);
    }
    const type = state.online ? 'charger.connected' : 'charger.disconnected';
    tellLink(this.#directory, this.#enforcement, connector, { type });
    return result;
  }
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
