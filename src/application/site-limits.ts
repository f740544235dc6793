// Other limits of a location: the permanent one, the grid operator's, the building's, and peak shaving.
import { spansOfPermanentLimit } from '../../machines/limits/attainability.js';
import {
  nextOperatorBoundary,
  type OperatorActor,
  type OperatorStanding,
  operatorStandingOf,
} from '../../machines/limits/lpc.machine.js';
import type { SiteMeterReport } from '../../machines/limits/site-meter.machine.js';
import { DomainError } from '../../machines/values/errors.js';
import { kwText } from '../../machines/values/figures.js';
import type { TenantUuid } from '../../machines/values/ids.js';
import { effectiveLimitKwOf, type LocationEntity } from '../actors/directory.js';
import { receiveOperator } from '../enforcement/grid-operator.js';
import { receiveSiteMeter } from '../enforcement/site-meter.js';
import type { OperatorMessage, SiteMeterMessage } from '../ports/telemetry.js';
import { OPERATOR_STATE_NAMES, type OperatorHistory, type OperatorLimitView } from '../wire/grid-operator.js';
import { toInstant } from '../wire/instants.js';
import type { PeakShavingView } from '../wire/operator-locations.js';
import type { SpanPageQuery } from '../wire/operator-queries.js';
import type { PermanentLimit } from '../wire/rest.js';
import { SITE_METER_STATE_NAMES, type SiteMeterView } from '../wire/site-meter.js';
import { type Core, findLocation, requireActiveLocation } from './core.js';
import { type Advise, adviseOn } from './look-ahead.js';
import { askedHistory, nextCursorOf, rowsOfPage } from './query-spans.js';

// Converts a location's meter, and the capacity that the building leaves, into the form of answers and of the event
// stream.

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

// Converts the grid operator's limit into the form of answers and of the event stream.

/** @throws DomainError NOT_FOUND if no grid operator may limit the location */
function requireOperator(location: LocationEntity): OperatorActor {
  const { operator } = location.actor.getSnapshot().context;
  if (operator === undefined)
    throw new DomainError(
      'NOT_FOUND',
      'No grid operator may limit this location; name one as "operator" of the location in the provisioning file.',
    );
  return operator;
}

export function viewOfOperatorLimit(location: LocationEntity, operator: OperatorActor): OperatorLimitView {
  const { rule, receivedAtMs } = operator.getSnapshot().context;
  return {
    locationId: location.record.locationId,
    operatorUuid: location.record.operator?.operatorUuid ?? '',
    ...viewOfStanding(operatorStandingOf(operator)),
    lastHeardAt: instantOrNull(receivedAtMs),
    nextChangeAt: instantOrNull(finite(nextOperatorBoundary(operator))),
    failsafeKw: rule.failsafeKw,
    failsafeMinS: rule.failsafeMinMs / 1000,
    heartbeatS: rule.missingAfterMs / 2000,
  };
}

export function viewOfStanding({
  state,
  sinceMs,
  limitKw,
  order,
}: OperatorStanding): Omit<OperatorHistory['events'][number], 'recordedAt'> {
  return {
    state: OPERATOR_STATE_NAMES[state],
    since: toInstant(sinceMs),
    limitKw: limitKw ?? null,
    source: order?.source ?? null,
    sentAt: instantOrNull(order?.sentAtMs),
    endsAt: instantOrNull(order?.endsAtMs),
  };
}

function instantOrNull(atMs: number | undefined): string | null {
  return atMs === undefined ? null : toInstant(atMs);
}

function finite(atMs: number | undefined): number | undefined {
  return atMs === Number.POSITIVE_INFINITY ? undefined : atMs;
}

// Endpoint 3: sets the limit that a location falls back to without an active profile.
export async function setPermanentLimit(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  limitKw: number,
  advise: Advise,
): Promise<PermanentLimit> {
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireActiveLocation(location);
  const { locationId } = location.record;
  const atMs = core.clock.nowMs();
  await core.store.append(tenantUuid, [{ kind: 'permanentLimit.set', locationId, limitKw, atMs }]);
  const now = core.clock.nowMs();
  location.record = { ...location.record, permanentLimitKw: limitKw };
  core.directory.sendToLocation(location, { type: 'permanentLimit.set', limitKw, now });
  const spans = spansOfPermanentLimit(location.actor.getSnapshot().context.stack, now);
  adviseOn(core, [{ location, spans }], advise);
  return { locationId, permanentLimitKw: limitKw, effectiveLimitKw: effectiveLimitKwOf(location) };
}

// Extension: the grid operator limits a location, frees it, or sends a heartbeat.

/**
 * The limit holds before its answer leaves, even if it cannot be written: a limit must not wait for a disk. An inactive
 * location takes it too: no charger may draw there, and the operator is not to be refused.
 * @throws StoreUnavailableError if the limit holds but could not be written yet; the write follows
 */
export async function setOperatorLimit(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  message: OperatorMessage,
): Promise<OperatorLimitView> {
  const location = findLocation(core.directory, tenantUuid, locationText);
  const operator = requireOperator(location);
  const verdict = receiveOperator(core.directory, location, message, core.clock.nowMs());
  if (verdict === 'ahead')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `sentAt: must not be in the future; the service's clock reads ${toInstant(core.clock.nowMs())}`,
    );
  if (verdict === 'outdated')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      'sentAt: must be later than that of the last order, and a heartbeat must be recent',
    );
  await core.written(tenantUuid);
  return viewOfOperatorLimit(location, operator);
}

// Extension: a back end sends a reading of a location's meter.

/** The reading counts before its answer leaves, and is not persisted: after a restart the next reading counts. */
export async function putSiteReading(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  message: SiteMeterMessage,
): Promise<SiteMeterView> {
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireSiteMeter(location);
  core.expireReadings(location);
  const instant = { now: core.clock.nowMs(), nowMs: core.clock.monotonicMs() };
  const verdict = receiveSiteMeter(core.directory, location, message, instant);
  if (verdict === 'ahead')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `at: must not be in the future; the service's clock reads ${toInstant(instant.now)}`,
    );
  if (verdict === 'outdated')
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `at: must be later than that of the last reading, and within a minute of ${toInstant(instant.now)}`,
    );
  return requireSiteMeter(location);
}

// Extension: the present state of the grid operator's limit of a location.
export function operatorLimit(core: Core, tenantUuid: TenantUuid, locationText: string): OperatorLimitView {
  const location = findLocation(core.directory, tenantUuid, locationText);
  return viewOfOperatorLimit(location, requireOperator(location));
}

// Extension: every state of the grid operator's limit of a location, to prove each order and the time in which it held.
export async function operatorLimitHistory(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  query: SpanPageQuery,
): Promise<OperatorHistory> {
  const asked = askedHistory(query);
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const events = await core.archive.operatorEvents(tenantUuid, locationId, asked.window, asked.page);
  return {
    locationId,
    from: toInstant(asked.window.startsAtMs),
    to: toInstant(asked.window.endsAtMs),
    events: rowsOfPage(asked, events).map((event) => ({
      recordedAt: toInstant(event.recordedAtMs),
      ...viewOfStanding(event),
    })),
    nextCursor: nextCursorOf(asked, events),
  };
}

// Extension: a location's meter, and the capacity that the building leaves for the chargers by its readings.
export function siteMeter(core: Core, tenantUuid: TenantUuid, locationText: string): SiteMeterView {
  return requireSiteMeter(findLocation(core.directory, tenantUuid, locationText));
}

// Converts the average import that a tariff bills into the form of the live view and of the event stream.
const WS_PER_KWH = 3_600_000;

/** Undefined if the average is not limited. */
export function viewOfPeakShaving({ actor }: LocationEntity): PeakShavingView | undefined {
  const { billedWindow, building } = actor.getSnapshot().context;
  if (billedWindow === undefined) return undefined;
  const { rule, startsAtMs, endsAtMs, usedWs } = billedWindow;
  const windowS = rule.windowMs / 1000;
  const view = {
    limitKw: rule.limitKw,
    windowS,
    windowStartsAt: toInstant(startsAtMs),
    windowEndsAt: toInstant(endsAtMs),
    usedKwh: round(usedWs / WS_PER_KWH),
    allowedKwh: round((1000 * rule.limitKw * windowS) / WS_PER_KWH),
    leavesKw: billedWindow.leavesW / 1000,
    nextLeavesKw:
      billedWindow.leavesAtFirstW(building === undefined ? 0 : building.buildingW + building.reserveW) / 1000,
  };
  return { ...view, explanation: explanationOfAverage(view, building !== undefined) };
}

/** The part that changes. */
export function viewOfBilledWindow(location: LocationEntity) {
  const view = viewOfPeakShaving(location);
  if (view === undefined) return undefined;
  const { windowStartsAt, windowEndsAt, usedKwh, leavesKw } = view;
  return { windowStartsAt, windowEndsAt, usedKwh, leavesKw };
}

function explanationOfAverage(
  { limitKw, usedKwh, allowedKwh, windowEndsAt, leavesKw }: Omit<PeakShavingView, 'explanation'>,
  hasBuilding: boolean,
): string {
  const beside = hasBuilding ? 'beside the building and its reserve ' : '';
  const used = `Of the ${allowedKwh} kWh that an average of ${kwText(limitKw)} allows until ${windowEndsAt}, ${usedKwh} kWh are used`;
  if (leavesKw === 0) return `${used}: ${beside}nothing is left for chargers in this window.`;
  return `${used}: ${beside}chargers may use ${kwText(leavesKw)} for the rest of the window.`;
}

function round(kwh: number): number {
  return Math.round(kwh * 1000) / 1000;
}
