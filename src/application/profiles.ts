// Profiles of locations, connectors and the organization: commands, and queries of now and of the past.
import { spansOfProfile } from '../../machines/limits/attainability.js';
import { type ProfileHolder, statusOf } from '../../machines/limits/profile.machine.js';
import {
  activeProfileAt,
  EMPTY_STACK,
  effectiveLimitKwAt,
  type LimitProfile,
  type ProfileStack,
  putProfile,
} from '../../machines/limits/profile-stack.js';
import { DomainError } from '../../machines/values/errors.js';
import { connectorKey, type TenantUuid } from '../../machines/values/ids.js';
import { type EpochMs, type ProfileStatus, statusAt, type TimeWindow } from '../../machines/values/time.js';
import {
  connectorActorOf,
  connectorProfilesOf,
  connectorStackOf,
  effectiveLimitKwOf,
  type LocationEntity,
} from '../actors/directory.js';
import type { ProfileHistoryRecord, ProfileTarget } from '../ports/records.js';
import { fromInstant, toInstant } from '../wire/instants.js';
import type {
  ConnectorHistory,
  LocationHistory,
  OrganizationHistory,
  Submission,
} from '../wire/operator-history.js';
import type { ConnectorSchedules } from '../wire/operator-locations.js';
import type { SpanPageQuery } from '../wire/operator-queries.js';
import type {
  CancelledConnectorSchedule,
  CancelledLocationSchedule,
  CancelledOrganizationSchedule,
  ConnectorSchedule,
  LocationLimits,
  LocationSchedule,
  OrganizationLimits,
  OrganizationSchedule,
  ProfileRequest,
  ProfileView,
} from '../wire/rest.js';
import {
  type Core,
  findConnector,
  findHeldProfile,
  findLocation,
  findTenant,
  requireActiveConnector,
  requireActiveLocation,
  requireUnended,
} from './core.js';
import { type Advise, adviseOn, adviseOnLock, type Outlook } from './look-ahead.js';
import { type AskedHistory, askedHistory, nextCursorOf, rowsOfPage } from './query-spans.js';

// Past of a target from rows: its stack at an instant, and every submission, page by page.
function submissionOf(profile: ProfileHistoryRecord): Submission {
  return {
    priority: profile.priority,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    submittedAt: toInstant(profile.submittedAtMs),
    supersededAt: profile.supersededAtMs === null ? null : toInstant(profile.supersededAtMs),
  };
}

/** A page of submissions for a target that has no limit but its profiles, in the form of its history. */
async function pageOfSubmissions(
  core: Core,
  tenantUuid: TenantUuid,
  target: ProfileTarget,
  asked: AskedHistory,
): Promise<{ from: string; to: string; submissions: Submission[]; nextCursor: string | null }> {
  const { window, page } = asked;
  const profiles = await core.archive.profileHistory(tenantUuid, target, window, page);
  return {
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    submissions: rowsOfPage(asked, profiles).map(submissionOf),
    nextCursor: nextCursorOf(asked, profiles),
  };
}

/**
 * Profiles known at the instant: submitted by then, neither replaced nor cancelled. For a future instant, the profiles
 * known now.
 */
async function stackAt(
  core: Core,
  tenantUuid: TenantUuid,
  target: ProfileTarget,
  atMs: EpochMs,
): Promise<ProfileStack> {
  const profiles = await core.archive.profilesAt(tenantUuid, target, atMs);
  // In order of submission: if a clock went back, the later submission holds the slot.
  return profiles.reduce(
    (held, { priority, limitKw, startsAtMs, endsAtMs }) =>
      putProfile(held, { priority, limitKw, startsAtMs, endsAtMs }),
    EMPTY_STACK,
  );
}

/** Each profile with its status at the instant. */
function viewsAt(stack: ProfileStack, atMs: EpochMs): ProfileView[] {
  return stack.map((profile) => viewOfProfile(profile, statusAt(profile, atMs)));
}

/**
 * Checks the window against `now` (contract section 2.1).
 * @throws DomainError INVALID_REQUEST_BODY naming `endTime`
 */
export function profileOf(request: ProfileRequest, now: EpochMs): LimitProfile {
  const window = { startsAtMs: fromInstant(request.startTime), endsAtMs: fromInstant(request.endTime) };
  const broken = brokenWindowRule(window, now, 'startTime');
  if (broken !== undefined) throw new DomainError('INVALID_REQUEST_BODY', `endTime: ${broken}`);
  return { priority: request.priority, limitKw: request.limitKw, ...window };
}

/** The rule for its end that the window breaks; undefined if the profile can be submitted. */
export function brokenWindowRule(
  { startsAtMs, endsAtMs }: TimeWindow,
  now: EpochMs,
  startName: string,
): string | undefined {
  if (endsAtMs <= startsAtMs) return `must be after ${startName}`;
  return endsAtMs <= now ? 'must be in the future' : undefined;
}

export function viewOfProfile(profile: LimitProfile, status: ProfileStatus): ProfileView {
  return {
    priority: profile.priority,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    status,
  };
}

/** Each profile with the status of its actor. */
function viewsOfProfiles(holder: ProfileHolder): ProfileView[] {
  return holder.stack.map((profile) => viewOfProfile(profile, statusOf(holder, profile)));
}

// Note in every answer about an organization (contract section 2.7).
const ORGANIZATION_NOTE =
  'Organization limits are not enforced yet: the profile is recorded for future use and does not change any charging.';

// Endpoint 2: creates or replaces a location's profile at its priority.
export async function submitLocationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  request: ProfileRequest,
  advise: Advise,
): Promise<LocationSchedule> {
  const now = core.clock.nowMs();
  const profile = profileOf(request, now);
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireActiveLocation(location);
  const target = { kind: 'location', locationId: location.record.locationId } as const;
  await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: now }]);
  const { schedule, outlook } = applyLocationProfile(core, location, profile);
  adviseOn(core, [outlook], advise);
  return schedule;
}

/** Passes a profile that is on disk to its location. @returns the answer, and the spans for the preview */
export function applyLocationProfile(
  core: Core,
  location: LocationEntity,
  profile: LimitProfile,
): { readonly schedule: LocationSchedule; readonly outlook: Outlook } {
  const now = core.clock.nowMs();
  const before = location.actor.getSnapshot().context.stack;
  const replaced = before.find(({ priority }) => priority === profile.priority);
  core.directory.sendToLocation(location, { type: 'profile.submitted', profile, now });
  const { context } = location.actor.getSnapshot();
  const { stack, permanentLimitKw } = context;
  const schedule = {
    locationId: location.record.locationId,
    ...viewOfProfile(profile, statusOf(context, profile)),
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location),
  };
  return { schedule, outlook: { location, spans: spansOfProfile(stack, profile, replaced, now) } };
}

// Extension: cancels a location's profile at a priority; an active one is rolled back at once.
export async function cancelLocationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  priority: number,
  advise: Advise,
): Promise<CancelledLocationSchedule> {
  const atMs = core.clock.nowMs();
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireActiveLocation(location);
  const { locationId } = location.record;
  const target = { kind: 'location', locationId } as const;
  requireUnended(location.actor.getSnapshot().context.stack, priority, atMs);
  await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }]);
  const now = core.clock.nowMs();
  // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
  const profile = findHeldProfile(location.actor.getSnapshot().context.stack, priority);
  core.directory.sendToLocation(location, { type: 'profile.cancelled', priority, now });
  const { stack, permanentLimitKw } = location.actor.getSnapshot().context;
  adviseOn(core, [{ location, spans: spansOfProfile(stack, profile, undefined, now) }], advise);
  return {
    locationId,
    ...viewOfProfile(profile, statusAt(profile, atMs)),
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location),
    supersededAt: toInstant(atMs),
  };
}

// Endpoint 1: creates or replaces a connector's profile; while its window is active the connector is locked.
export async function submitConnectorProfile(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  request: ProfileRequest,
  advise: Advise,
): Promise<ConnectorSchedule> {
  const submittedAtMs = core.clock.nowMs();
  const profile = profileOf(request, submittedAtMs);
  const connector = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  requireActiveConnector(connector);
  const { controllerUuid, connectorId } = connector.record;
  const target = { kind: 'connector', controllerUuid, connectorId } as const;
  await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: submittedAtMs }]);
  const now = core.clock.nowMs();
  const event = { type: 'profile.submitted', profile, now } as const;
  const key = connectorKey(connector.record);
  const { location } = connector;
  const replaced = connectorStackOf(location, key).find(({ priority }) => priority === profile.priority);
  core.directory.sendToLocation(location, { type: 'connector.event', key, event });
  const spans = spansOfProfile(connectorStackOf(location, key), profile, replaced, now);
  adviseOnLock(core, connector, profile, { location, spans }, advise);
  return {
    controllerUuid,
    connectorId,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    status: statusOf(connectorProfilesOf(location, key), profile),
  };
}

// Extension: cancels a connector's profile at a priority. It unlocks the connector at once if no other profile locks
// it.
export async function cancelConnectorProfile(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  priority: number,
  advise: Advise,
): Promise<CancelledConnectorSchedule> {
  const atMs = core.clock.nowMs();
  const connector = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  requireActiveConnector(connector);
  const { location } = connector;
  const { controllerUuid, connectorId } = connector.record;
  const key = connectorKey(connector.record);
  const target = { kind: 'connector', controllerUuid, connectorId } as const;
  requireUnended(connectorStackOf(location, key), priority, atMs);
  await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }]);
  const now = core.clock.nowMs();
  // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
  const profile = findHeldProfile(connectorStackOf(location, key), priority);
  const event = { type: 'profile.cancelled', priority, now } as const;
  core.directory.sendToLocation(location, { type: 'connector.event', key, event });
  const spans = spansOfProfile(connectorStackOf(location, key), profile, undefined, now);
  adviseOn(core, [{ location, spans }], advise);
  return {
    controllerUuid,
    connectorId,
    ...viewOfProfile(profile, statusAt(profile, atMs)),
    supersededAt: toInstant(atMs),
  };
}

// Endpoint 5: records a profile of the whole organization, which is not enforced.
export async function submitOrganizationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  request: ProfileRequest,
): Promise<OrganizationSchedule> {
  const submittedAtMs = core.clock.nowMs();
  const profile = profileOf(request, submittedAtMs);
  const { organization } = findTenant(core.directory, tenantUuid);
  const target = { kind: 'organization' } as const;
  await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: submittedAtMs }]);
  const now = core.clock.nowMs();
  core.directory.sendToOrganization(organization, { type: 'profile.submitted', profile, now });
  return {
    tenantUuid,
    ...viewOfProfile(profile, statusOf(organization.actor.getSnapshot().context, profile)),
    note: ORGANIZATION_NOTE,
  };
}

// Extension: cancels a recorded profile of the organization.
export async function cancelOrganizationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  priority: number,
): Promise<CancelledOrganizationSchedule> {
  const atMs = core.clock.nowMs();
  const { organization } = findTenant(core.directory, tenantUuid);
  const target = { kind: 'organization' } as const;
  requireUnended(organization.actor.getSnapshot().context.stack, priority, atMs);
  await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }]);
  const now = core.clock.nowMs();
  // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
  const profile = findHeldProfile(organization.actor.getSnapshot().context.stack, priority);
  core.directory.sendToOrganization(organization, { type: 'profile.cancelled', priority, now });
  return {
    tenantUuid,
    ...viewOfProfile(profile, statusAt(profile, atMs)),
    note: ORGANIZATION_NOTE,
    supersededAt: toInstant(atMs),
  };
}

// Endpoint 4: a location's own stack with every status as of now.
/** Returns the same object until an event changes the answer. */
export function locationLimits(core: Core, tenantUuid: TenantUuid, locationText: string): LocationLimits {
  const location = findLocation(core.directory, tenantUuid, locationText);
  const { context } = location.actor.getSnapshot();
  location.limitsView ??= {
    locationId: location.record.locationId,
    permanentLimitKw: context.permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location),
    profiles: viewsOfProfiles(context),
  };
  return location.limitsView;
}

// Extension: a location's limits as of any instant, from rows that are never deleted.

/** @throws DomainError LOCATION_NOT_FOUND, also if the location did not exist yet. */
export async function locationLimitsAt(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  atText: string,
): Promise<LocationLimits> {
  const atMs = fromInstant(atText);
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const [limits, stack] = await Promise.all([
    core.archive.permanentLimitHistory(tenantUuid, locationId),
    stackAt(core, tenantUuid, { kind: 'location', locationId }, atMs),
  ]);
  const permanentLimitKw = limits.findLast(({ setAtMs }) => setAtMs <= atMs)?.limitKw;
  if (permanentLimitKw === undefined)
    throw new DomainError('LOCATION_NOT_FOUND', `Location ${locationId} did not exist at ${atText}.`);
  return {
    locationId,
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwAt(stack, permanentLimitKw, atMs),
    profiles: viewsAt(stack, atMs),
  };
}

// Extension: a connector's own stack with every status as of now.
export function connectorSchedules(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
): ConnectorSchedules {
  const { record, location } = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  const actor = connectorActorOf(location, connectorKey(record));
  return {
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    locationId: location.record.locationId,
    lockLimitKw: actor?.getSnapshot().context.lockLimitKw ?? null,
    profiles: actor === undefined ? [] : viewsOfProfiles(actor.getSnapshot().context),
  };
}

// Extension: a connector's locks as of any instant, from rows that are never deleted.

/** Before its first lock a connector had none, also before it was provisioned. @throws DomainError CHARGER_NOT_FOUND */
export async function connectorSchedulesAt(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  atText: string,
): Promise<ConnectorSchedules> {
  const atMs = fromInstant(atText);
  const { record, location } = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  const { controllerUuid, connectorId } = record;
  const stack = await stackAt(core, tenantUuid, { kind: 'connector', controllerUuid, connectorId }, atMs);
  return {
    controllerUuid,
    connectorId,
    locationId: location.record.locationId,
    lockLimitKw: activeProfileAt(stack, atMs)?.limitKw ?? null,
    profiles: viewsAt(stack, atMs),
  };
}

// Endpoint 6: the organization's recorded profiles.
export function organizationLimits(core: Core, tenantUuid: TenantUuid): OrganizationLimits {
  const { organization } = findTenant(core.directory, tenantUuid);
  core.directory.catchUp([organization]);
  return {
    tenantUuid,
    profiles: viewsOfProfiles(organization.actor.getSnapshot().context),
    note: ORGANIZATION_NOTE,
  };
}

// Extension: the organization's recorded limits as of any instant, from rows that are never deleted.
export async function organizationLimitsAt(
  core: Core,
  tenantUuid: TenantUuid,
  atText: string,
): Promise<OrganizationLimits> {
  const atMs = fromInstant(atText);
  const stack = await stackAt(core, tenantUuid, { kind: 'organization' }, atMs);
  return { tenantUuid, profiles: viewsAt(stack, atMs), note: ORGANIZATION_NOTE };
}

// Extension: every limit ever submitted for a location, and every permanent limit it had.
/** Submissions with a window that meets the span, in order of arrival. Rows are only added, so pages stay the same. */
export async function locationHistory(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  query: SpanPageQuery,
): Promise<LocationHistory> {
  const asked = askedHistory(query);
  const { window, page } = asked;
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const [profiles, limits] = await Promise.all([
    core.archive.profileHistory(tenantUuid, { kind: 'location', locationId }, window, page),
    core.archive.permanentLimitHistory(tenantUuid, locationId, window, page),
  ]);
  return {
    locationId,
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    submissions: rowsOfPage(asked, profiles).map(submissionOf),
    permanentLimits: rowsOfPage(asked, limits).map(({ limitKw, setAtMs }) => ({
      limitKw,
      setAt: toInstant(setAtMs),
    })),
    nextCursor: nextCursorOf(asked, profiles, limits),
  };
}

// Extension: every lock ever submitted for a connector.

/** Pages as in the history of a location. @throws DomainError CHARGER_NOT_FOUND */
export async function connectorHistory(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  query: SpanPageQuery,
): Promise<ConnectorHistory> {
  const asked = askedHistory(query);
  const { record, location } = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  const { controllerUuid, connectorId } = record;
  const target = { kind: 'connector', controllerUuid, connectorId } as const;
  const page = await pageOfSubmissions(core, tenantUuid, target, asked);
  return { controllerUuid, connectorId, locationId: location.record.locationId, ...page };
}

// Extension: every limit ever recorded for the organization.

/** Pages as in the history of a location. */
export async function organizationHistory(
  core: Core,
  tenantUuid: TenantUuid,
  query: SpanPageQuery,
): Promise<OrganizationHistory> {
  const asked = askedHistory(query);
  const page = await pageOfSubmissions(core, tenantUuid, { kind: 'organization' }, asked);
  return { tenantUuid, ...page, note: ORGANIZATION_NOTE };
}
