// A location's meter: its readings, by REST or MQTT, and the capacity that the building leaves for the chargers.
import type { SiteMeterReport } from '../../../machines/limits/site-meter.machine.js';
import { chargersNowOf } from '../../../machines/power/chargers-draw.js';
import { DomainError } from '../../../machines/values/errors.js';
import { kwText } from '../../../machines/values/figures.js';
import { type Core, findLocation } from '../../actors/core.js';
import { buildingLoadOf, type LocationEntity, supervisorOf } from '../../actors/directory.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import { toInstant } from '../../wire/instants.js';
import {
  SITE_METER_STATE_NAMES,
  type SiteMeterView,
  type SiteReading,
  siteMeterSchema,
  siteReadingSchema,
} from './contract.js';

const PATH = '/v1/locations/{locationId}/site-meter';
/** A sender's clock may be wrong by this much. An older reading was delayed, and does not describe the present. */
const CLOCK_OFF_MS = 60_000;

export const getSiteMeter = endpoint({
  operationId: 'getSiteMeter',
  method: 'get',
  path: PATH,
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read the meter of a location, and the power that the building leaves for chargers',
  responseSchema: siteMeterSchema,
  errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
  handle: ({ directory }, { tenantUuid, path }) =>
    requireSiteMeter(findLocation(directory, tenantUuid, path.locationId)),
});

/** The reading counts before its answer leaves, and is not persisted: after a restart the next reading counts. */
export const putSiteReading = endpoint({
  operationId: 'putSiteReading',
  method: 'put',
  path: PATH,
  ...EXTENSION,
  scope: 'meter:write',
  summary: 'As the meter of a location: send a reading',
  requestSchema: siteReadingSchema,
  responseSchema: siteMeterSchema,
  errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
  handle(core, { tenantUuid, path, body }) {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    requireSiteMeter(location);
    const verdict = receiveSiteMeter(core, location, body);
    const readsMs = core.clock.nowMs();
    if (verdict === 'ahead')
      throw new DomainError(
        'INVALID_REQUEST_BODY',
        `at: must not be in the future; the service's clock reads ${toInstant(readsMs)}`,
      );
    if (verdict === 'outdated')
      throw new DomainError(
        'INVALID_REQUEST_BODY',
        `at: must be later than that of the last reading, and within a minute of ${toInstant(readsMs)}`,
      );
    return requireSiteMeter(location);
  },
});

/**
 * A reading counts at once, by any way in; undefined if the location has no meter. `outdated`: a newer reading was taken
 * before, or the reading is too old to show anything. `ahead`: the sender's clock is wrong.
 */
export function receiveSiteMeter(
  { directory, clock, expireReadings }: Pick<Core, 'directory' | 'clock' | 'expireReadings'>,
  location: LocationEntity,
  reading: SiteReading,
): 'accepted' | 'outdated' | 'ahead' | undefined {
  expireReadings(location);
  const load = buildingLoadOf(location);
  if (load === undefined) return undefined;
  const instant = { now: clock.nowMs(), nowMs: clock.monotonicMs() };
  const { now } = instant;
  if (reading.atMs > now + CLOCK_OFF_MS) return 'ahead';
  if (reading.atMs < now - CLOCK_OFF_MS || !load.isNews(reading)) return 'outdated';
  const chargers = chargersNowOf(supervisorOf(location), instant);
  directory.sendToLocation(location, {
    type: 'siteMeter.event',
    event: { type: 'reading.received', reading, chargers, now },
  });
  if (location.actor.getSnapshot().context.billedWindow !== undefined)
    directory.sendToLocation(location, { type: 'import.due', ...instant });
  return 'accepted';
}

/** @throws DomainError NOT_FOUND if the location has no meter */
function requireSiteMeter(location: LocationEntity): SiteMeterView {
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
