// Converts a location's meter, and the capacity that the building leaves, into the form of answers and of the event
// stream.
import type { SiteMeterReport } from '../../machines/limits/site-meter.machine.js';
import { DomainError } from '../../machines/values/errors.js';
import { kwText } from '../../machines/values/figures.js';
import type { LocationEntity } from '../actors/directory.js';
import { toInstant } from '../wire/instants.js';
import { SITE_METER_STATE_NAMES, type SiteMeterView } from '../wire/site-meter.js';

/** @throws DomainError NOT_FOUND if the location has no meter */
export function requireSiteMeter(location: LocationEntity): SiteMeterView {
  const view = viewOfSiteMeter(location);
  if (view === undefined)
    throw new DomainError(
      'NOT_FOUND',
      'This location has no meter; name one as "siteMeter" of the location in the provisioning file.',
    );
  return view;
}

/** Undefined if the location has no meter. */
export function viewOfSiteMeter(location: LocationEntity): SiteMeterView | undefined {
  const { siteMeter, building } = location.actor.getSnapshot().context;
  if (siteMeter === undefined || building === undefined) return undefined;
  const { load } = siteMeter.getSnapshot().context;
  const { rule, connection, reading, receivedAtMs, cadenceMs } = load;
  return {
    locationId: location.record.locationId,
    meterUuid: location.record.siteMeter?.meterUuid ?? '',
    covers: rule.covers,
    ...viewOfBuilding(building),
    leavesA: leavesAOf(connection.currentA, building.occupiedTenthsA),
    explanation: explanationOfBuilding(building, connection.limitW, load.isReserveLearnt),
    isReserveLearnt: load.isReserveLearnt,
    powerKw: reading === undefined ? null : reading.powerW / 1000,
    currentA: reading?.currentA === undefined ? null : [...reading.currentA],
    energyWh: reading?.energyWh ?? null,
    lastHeardAt: receivedAtMs === undefined ? null : toInstant(receivedAtMs),
    cadenceS: cadenceMs / 1000,
    staleAt: receivedAtMs === undefined ? null : toInstant(load.staleAtMs),
    connectionKw: connection.limitW / 1000,
    maxBuildingKw: rule.maxBuildingKw,
    reserveBoundsKw: [...rule.reserveKw],
    pvRaisesHeadroom: rule.pvRaisesHeadroom,
  };
}

export function viewOfBuilding({ state, buildingW, reserveW, headroomW }: SiteMeterReport) {
  return {
    state: SITE_METER_STATE_NAMES[state],
    buildingKw: buildingW / 1000,
    reserveKw: reserveW / 1000,
    leavesKw: headroomW / 1000,
  };
}

function leavesAOf(
  currentA: readonly number[] | undefined,
  occupiedTenthsA: readonly number[] | undefined,
): number[] | null {
  if (currentA === undefined || occupiedTenthsA === undefined) return null;
  return currentA.map((current, i) => Math.max(0, Math.round(current * 10) - (occupiedTenthsA[i] ?? 0)) / 10);
}

function explanationOfBuilding(
  { state, buildingW, reserveW, headroomW }: SiteMeterReport,
  connectionW: number,
  isReserveLearnt: boolean,
): string {
  const kw = (watts: number) => kwText(watts / 1000);
  const left = `so of the ${kw(connectionW)} of the connection chargers may use ${kw(headroomW)}.`;
  if (state === 'stale')
    return `The meter is silent and the building counts as ${kw(buildingW)}, its maximum, ${left}`;
  if (state === 'distrusted')
    return `The meter’s readings are implausible and the building counts as ${kw(buildingW)}, its maximum, ${left}`;
  const why = isReserveLearnt
    ? 'as it rose before at this time of day'
    : 'its maximum, until its past is recorded';
  const building = state === 'fading' ? 'A reading is late: the building counts as' : 'The building takes';
  return `${building} ${kw(buildingW)} and may rise by ${kw(reserveW)} (${why}), ${left}`;
}
