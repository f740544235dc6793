// Telemetry handler: passes the chargers' reports to the locations, and keeps the connectors' link modes up to date.

import type { Ack } from '../../machines/ledger/grant.js';
import { linkOf } from '../../machines/power/connector.js';
import type { ConnectorEvent } from '../../machines/power/connector.machine.js';
import { noteForOperators } from '../../machines/power/connector-readings.js';
import type { MeterReading, RecordResult } from '../../machines/power/meter-ledger.js';
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../machines/values/ids.js';
import { type DcUnit, gridWOfDcW, tenthsOfDcW } from '../../machines/values/units.js';
import type { Directory } from '../actors/directory.js';
import { type ConnectorEntity, type LocationEntity, supervisorOf } from '../actors/directory.js';
import type { Clock } from '../ports/clock.js';
import type { ChargerState, ConnectorMeter, TelemetryHandler } from '../ports/telemetry.js';
import type { SiteKind } from '../wire/topics.js';
import type { Enforcement } from './enforcement.js';

/** Passes a message about a whole location to its feature. */
type ReceiveSite = (
  kind: SiteKind,
  location: LocationEntity,
  message: unknown,
) => 'accepted' | 'outdated' | 'ahead' | undefined;

export class ConnectorTelemetryHandler implements TelemetryHandler {
  readonly #directory: Directory;
  readonly #enforcement: Enforcement;
  readonly #clock: Clock;

  readonly #receiveSite: ReceiveSite;

  constructor(parts: {
    readonly directory: Directory;
    readonly enforcement: Enforcement;
    readonly clock: Clock;
    readonly receiveSite: ReceiveSite;
  }) {
    this.#directory = parts.directory;
    this.#enforcement = parts.enforcement;
    this.#clock = parts.clock;
    this.#receiveSite = parts.receiveSite;
  }

  connectorMeter(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
  ): ConnectorMeter | undefined {
    const key = connectorKey({ controllerUuid, connectorId });
    const connector = this.#directory.tenants.get(tenantUuid)?.connectors.get(key);
    if (connector?.location.record.locationId !== locationId) return undefined;
    return new Meter(connector, this.#directory, this.#enforcement);
  }

  recordSite(
    kind: SiteKind,
    tenantUuid: TenantUuid,
    locationId: LocationId,
    message: unknown,
  ): RecordResult | undefined {
    const location = this.#directory.tenants.get(tenantUuid)?.locations.get(locationId);
    const verdict = location && this.#receiveSite(kind, location, message);
    return verdict && (verdict === 'accepted' ? 'accepted' : 'refused');
  }

  recordState(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    state: ChargerState,
  ): RecordResult | undefined {
    const location = this.#directory.tenants.get(tenantUuid)?.locations.get(locationId);
    const connectors = [...(location?.connectors.values() ?? [])].filter(
      ({ record }) => record.controllerUuid === controllerUuid,
    );
    if (connectors.length === 0) return undefined;
    const results = connectors.map((connector) => this.#recordState(connector, state));
    return results.includes('accepted') ? 'accepted' : 'refused';
  }

  #recordState(connector: ConnectorEntity, state: ChargerState): RecordResult {
    const { location, record, control } = connector;
    const supervisor = supervisorOf(location);
    const nowMs = this.#clock.monotonicMs();
    const result = supervisor.meters.recordState(control.telemetry.slot, state, nowMs);
    if (result === 'refused') return result;
    const own = state.connectors?.find(({ id }) => id === record.connectorId);
    const whyNoLease = own?.lease === 'none' ? own.whyNoLease : undefined;
    noteForOperators(control, state.online ? { ocppState: own?.ocppState, whyNoLease } : {});
    const failsafeA = own === undefined ? undefined : failsafeAOf(own, unitOf(connector));
    if (own !== undefined && failsafeA !== undefined) {
      const { lease, keepsThen = false, endsWithSession, switchesPhases } = own;
      const said = { failsafeA, lease, keepsThen, endsWithSession, switchesPhases, boot: state.boot };
      supervisor.describe(control, said, nowMs);
      this.#enforcement.receiveLease(connector, whyNoLease);
      this.#enforcement.decideSoon(location);
    }
    const type = state.online ? 'charger.connected' : 'charger.disconnected';
    tellLink(this.#directory, this.#enforcement, connector, { type });
    return result;
  }
}

/** Inbound path of one connector. Numbers go into the ledgers; the machine receives only changes of mode. */
class Meter implements ConnectorMeter {
  readonly #connector: ConnectorEntity;
  readonly #directory: Directory;
  readonly #enforcement: Enforcement;

  constructor(connector: ConnectorEntity, directory: Directory, enforcement: Enforcement) {
    this.#connector = connector;
    this.#directory = directory;
    this.#enforcement = enforcement;
  }

  get isCurrent(): boolean {
    return this.#connector.control.telemetry.slot.isCurrent;
  }

  record(said: MeterReading, nowMs: number): RecordResult {
    const connector = this.#connector;
    const unit = unitOf(connector);
    const reading = unit === undefined ? said : inAmperes(said, unit);
    const result = supervisorOf(connector.location).meters.record(
      connector.control.telemetry.slot,
      reading,
      nowMs,
    );
    if (result === 'refused') return result;
    if (result === 'resumed')
      tellLink(this.#directory, this.#enforcement, connector, { type: 'meter.received' });
    this.#enforcement.receive(connector, reading, nowMs);
    return result;
  }

  acknowledge(said: Ack, nowMs: number): RecordResult {
    const unit = unitOf(this.#connector);
    const { appliedW } = said;
    const isInW = unit !== undefined && appliedW !== undefined;
    const ack = isInW ? { ...said, appliedA: tenthsOfDcW(appliedW, unit) / 10 } : said;
    return this.#enforcement.applyAck(this.#connector, ack, nowMs) ? 'accepted' : 'refused';
  }
}

/** Values that convert W at the car of a DC connector into amperes; undefined for AC. */
function unitOf({ record: { dc, voltageV } }: ConnectorEntity): DcUnit | undefined {
  return dc === null ? undefined : { dc, voltageV };
}

/** Converts the W at the car of a DC connector into power and current from the grid: only these count from here on. */
function inAmperes(said: MeterReading, unit: DcUnit): MeterReading {
  const { powerW, limitW } = said;
  return {
    ...said,
    powerW: gridWOfDcW(powerW, unit.dc),
    limitA: limitW === undefined ? said.limitA : tenthsOfDcW(limitW, unit) / 10,
  };
}

/** Undefined if a charger reports W of an AC connector: its fail-safe current is unknown then. */
function failsafeAOf(
  {
    failsafeA,
    failsafeW,
  }: { readonly failsafeA?: number | undefined; readonly failsafeW?: number | undefined },
  unit: DcUnit | undefined,
): number | undefined {
  if (failsafeW === undefined) return failsafeA;
  return unit && tenthsOfDcW(failsafeW, unit) / 10;
}

/** Passes an event to the connector's machine, and a change of link to enforcement. */
function tellLink(
  directory: Directory,
  enforcement: Enforcement,
  connector: ConnectorEntity,
  event: ConnectorEvent,
): void {
  const { location, control } = connector;
  const before = linkOf(control);
  directory.sendToLocation(location, { type: 'connector.event', key: control.key, event });
  if (linkOf(control) !== before) enforcement.receiveLink(connector, before);
}

/** Connectors of the location that fell silent by `nowMs` (monotonic) become stale. */
export function expireReadings(
  directory: Directory,
  enforcement: Enforcement,
  location: LocationEntity,
  nowMs: number,
): void {
  supervisorOf(location).meters.expire(nowMs, ({ key }) => {
    const connector = location.connectors.get(key);
    if (connector !== undefined) tellLink(directory, enforcement, connector, { type: 'meter.missed' });
  });
}
