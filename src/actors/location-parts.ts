// Parts of a location's machine, from its rows: the connectors, the building beside them, the billed window.
import { isDeepStrictEqual } from 'node:util';
import { type BilledSoFar, BilledWindow } from '../../machines/limits/billed-window.js';
import { BuildingLoad, type MeteredConnection } from '../../machines/limits/building-load.js';
import type { OperatorStanding } from '../../machines/limits/lpc.machine.js';
import type { ProfileStack } from '../../machines/limits/profile-stack.js';
import { MOST_VOLTAGE } from '../../machines/power/connector-readings.js';
import type { Connection } from '../../machines/power/fuses.js';
import type { LocationConnector } from '../../machines/power/location.machine.js';
import { connectorKey } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ConnectorRecord, LocationRecord, ReservationRecord } from '../ports/records.js';
import { buildingLoadOf, type LocationEntity } from './directory.js';

/** Phase to neutral, if the provisioning file names no voltage. */
const NOMINAL_VOLTAGE_V = 230;

/** Rows from which one location's actor system is built. */
export interface LocationRows {
  readonly own: ProfileStack;
  ofConnector(connector: ConnectorRecord): ProfileStack;
  /** Persisted outstanding grant of a connector; undefined without one. */
  reservationOf(connector: ConnectorRecord): ReservationRecord | undefined;
  /** True if the connector did not comply at the end of the last service. */
  isDistrusted(connector: ConnectorRecord): boolean;
  /** Last state of the grid operator's limit; undefined without one. */
  readonly operatorStanding: OperatorStanding | undefined;
  /** Count of the billed window so far; undefined if there never was one. */
  readonly billedSoFar: BilledSoFar | undefined;
}

export function connectorOf(
  location: LocationRecord,
  record: ConnectorRecord,
  rows: LocationRows,
): LocationConnector {
  return {
    key: connectorKey(record),
    stack: rows.ofConnector(record),
    spec: specOf(record, location),
    promised: rows.reservationOf(record),
    isDistrusted: rows.isDistrusted(record),
  };
}

/**
 * Each field by itself: V8 gives every copy by a spread a shape of its own, and code that meets many shapes is slow.
 */
function specOf(record: ConnectorRecord, location: LocationRecord): LocationConnector['spec'] {
  const { phases, voltageV, maxCurrentA, dc, failsafeA, timing } = record;
  const { rotation, feeder, neverPause, operatorMayPause } = record;
  const isActive = record.status === 'ACTIVE' && location.status === 'ACTIVE';
  return {
    phases,
    voltageV,
    maxCurrentA,
    dc,
    failsafeA,
    timing,
    rotation,
    feeder,
    neverPause,
    operatorMayPause,
    isActive,
  };
}

/**
 * The present load if its meter is provisioned as before: its readings still count. A new load has no readings, so the
 * building counts as its maximum.
 */
export function buildingLoadFor(
  record: LocationRecord,
  held: LocationEntity | undefined,
  now: EpochMs,
): BuildingLoad | undefined {
  const { siteMeter, gridLimitKw, connection } = record;
  if (siteMeter === null) return undefined;
  const { covers, maxBuildingKw, reserveKw, pvRaisesHeadroom } = siteMeter;
  const rule = { covers, maxBuildingKw, reserveKw, pvRaisesHeadroom };
  const metered = connectionOf(gridLimitKw, connection);
  const known = held && buildingLoadOf(held);
  if (isDeepStrictEqual([known?.rule, known?.connection], [rule, metered])) return known;
  return new BuildingLoad(rule, metered, now);
}

/** The present window if it is provisioned as before. */
export function billedWindowFor(
  record: LocationRecord,
  held: LocationEntity | undefined,
  soFar: BilledSoFar | undefined,
  now: EpochMs,
): BilledWindow | undefined {
  const { peakShaving, siteMeter, gridLimitKw, connectors } = record;
  if (peakShaving === null) return undefined;
  const known = held?.actor.getSnapshot().context.billedWindow;
  if (known !== undefined && isDeepStrictEqual(known.rule, peakShaving)) return known;
  const chargersW = connectors.reduce(
    (sumW, { phases, voltageV, maxCurrentA }) => sumW + phases * voltageV * MOST_VOLTAGE * maxCurrentA,
    0,
  );
  const siteW = chargersW + 1000 * (siteMeter?.maxBuildingKw ?? 0);
  const mostEverW = gridLimitKw === null ? siteW : Math.min(siteW, 1000 * gridLimitKw);
  return new BilledWindow(peakShaving, mostEverW, now, known?.soFar ?? soFar);
}

/** W from the provisioned kW, or else from the amperes at their voltage. */
function connectionOf(gridLimitKw: number | null, connection: Connection | null): MeteredConnection {
  const { currentA, voltageV = NOMINAL_VOLTAGE_V } = connection ?? {};
  const sumA = currentA?.reduce((sum, current) => sum + current, 0) ?? 0;
  const limitW = gridLimitKw === null ? sumA * voltageV : gridLimitKw * 1000;
  return { limitW, currentA, voltageV };
}
