// Profiles of locations, connectors and the organization, and the permanent limit that a location falls back to:
// commands, and queries of now and of the past.
import { spansOfPermanentLimit, spansOfProfile } from '../../../machines/limits/attainability.js';
import { type ProfileHolder, statusOf } from '../../../machines/limits/profile.machine.js';
import {
  activeProfileAt,
  EMPTY_STACK,
  effectiveLimitKwAt,
  type LimitProfile,
  type ProfileStack,
  profileAtPriority,
  putProfile,
} from '../../../machines/limits/profile-stack.js';
import { DomainError } from '../../../machines/values/errors.js';
import { connectorKey, type TenantUuid } from '../../../machines/values/ids.js';
import { type EpochMs, type ProfileStatus, statusAt } from '../../../machines/values/time.js';
import {
  type Core,
  findCluster,
  findConnector,
  findLocation,
  findTenant,
  requireActiveConnector,
  requireActiveLocation,
} from '../../actors/core.js';
import {
  connectorActorOf,
  connectorProfilesOf,
  connectorStackOf,
  effectiveLimitKwOf,
  type LocationEntity,
} from '../../actors/directory.js';
import { adviseOn, adviseOnLock, type Outlook } from '../../actors/look-ahead.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { ProfileHistoryRecord, ProfileTarget } from '../../ports/records.js';
import { errorEnvelope } from '../../wire/error-envelope.js';
import { brokenWindowRule, fromInstant, toInstant } from '../../wire/instants.js';
import { PRIORITY_RULE, prioritySchema } from '../../wire/rest.js';
import { askedHistory, historyQuerySchema, nextCursorOf, rowsOfPage } from '../../wire/spans.js';
import {
  asOfQuerySchema,
  type ClusterSchedule,
  cancelledConnectorScheduleSchema,
  cancelledLocationScheduleSchema,
  cancelledOrganizationScheduleSchema,
  clusterScheduleSchema,
  connectorHistorySchema,
  connectorScheduleSchema,
  connectorSchedulesSchema,
  type LocationLimits,
  type LocationSchedule,
  locationHistorySchema,
  locationLimitsSchema,
  locationScheduleSchema,
  organizationHistorySchema,
  organizationLimitsSchema,
  organizationScheduleSchema,
  type ProfileRequest,
  type ProfileView,
  permanentLimitRequestSchema,
  permanentLimitSchema,
  profileRequestSchema,
  type Submission,
} from './contract.js';
import { readPermanentLimits, readProfileHistory, readProfilesAt } from './rows.js';

/** Answer to a DELETE of all schedules of a target: profiles are cancelled one by one. */
const CANCEL_BY_PRIORITY = 'name the priority of the profile to cancel: DELETE …/schedules/{priority}.';
/** The same for a cluster, whose schedule is a profile of each member. */
const CANCEL_BY_MEMBER =
  'each member has a profile of its own: DELETE /v1/locations/{locationId}/schedules/{priority} for each.';

// Of a location.

export const scheduleLocation = endpoint({
  operationId: 'scheduleLocation',
  method: 'post',
  path: '/v1/locations/{locationId}/schedules',
  tag: 'locations',
  scope: 'locations:write',
  summary: 'Limit a location for a time window',
  requestSchema: profileRequestSchema,
  responseSchema: locationScheduleSchema,
  mayWarn: true,
  errors: ['TARGET_INACTIVE', 'LOCATION_NOT_FOUND'],
  insteadOfDelete: CANCEL_BY_PRIORITY,
  async handle(core, { tenantUuid, by, path, body, warn, keep }) {
    const now = core.clock.nowMs();
    const profile = profileOf(body, now);
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    requireActiveLocation(location);
    const target = { kind: 'location', locationId: location.record.locationId } as const;
    const kept = keep(() => expectedSchedule(location, profile, now));
    await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: now }, ...kept], by);
    const { schedule, outlook } = applyLocationProfile(core, location, profile);
    adviseOn(core, [outlook], warn);
    return schedule;
  },
});

/** The answer, unless another write of the location comes before this one. */
function expectedSchedule(
  { record, actor }: LocationEntity,
  profile: LimitProfile,
  now: EpochMs,
): LocationSchedule {
  const { stack, permanentLimitKw } = actor.getSnapshot().context;
  return {
    locationId: record.locationId,
    ...viewOfProfile(profile, statusAt(profile, now)),
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwAt(putProfile(stack, profile), permanentLimitKw, now),
  };
}

/** Passes a profile that is on disk to its location. @returns the answer, and the spans for the preview */
function applyLocationProfile(
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

export const cancelLocationSchedule = endpoint({
  operationId: 'cancelLocationSchedule',
  method: 'delete',
  path: '/v1/locations/{locationId}/schedules/{priority}',
  tag: 'locations',
  scope: 'locations:write',
  isExtension: true,
  summary: 'Cancel a profile of a location, which is rolled back at once',
  responseSchema: cancelledLocationScheduleSchema,
  mayWarn: true,
  errors: ['INVALID_REQUEST_BODY', 'TARGET_INACTIVE', 'LOCATION_NOT_FOUND', 'PROFILE_NOT_FOUND'],
  async handle(core, { tenantUuid, by, path, warn }) {
    const priority = priorityOf(path);
    const atMs = core.clock.nowMs();
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    requireActiveLocation(location);
    const { locationId } = location.record;
    const target = { kind: 'location', locationId } as const;
    requireUnended(location.actor.getSnapshot().context.stack, priority, atMs);
    await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }], by);
    const now = core.clock.nowMs();
    // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
    const profile = findHeldProfile(location.actor.getSnapshot().context.stack, priority);
    core.directory.sendToLocation(location, { type: 'profile.cancelled', priority, now });
    const { stack, permanentLimitKw } = location.actor.getSnapshot().context;
    adviseOn(core, [{ location, spans: spansOfProfile(stack, profile, undefined, now) }], warn);
    return {
      locationId,
      ...viewOfProfile(profile, statusAt(profile, atMs)),
      permanentLimitKw,
      effectiveLimitKw: effectiveLimitKwOf(location),
      supersededAt: toInstant(atMs),
    };
  },
});

/** Sets the limit that a location falls back to without an active profile. */
export const setPermanentLimit = endpoint({
  operationId: 'setPermanentLimit',
  method: 'put',
  path: '/v1/locations/{locationId}/limit',
  tag: 'locations',
  scope: 'locations:write',
  summary: 'Set the permanent limit of a location',
  requestSchema: permanentLimitRequestSchema,
  responseSchema: permanentLimitSchema,
  mayWarn: true,
  isKeyed: true,
  errors: ['TARGET_INACTIVE', 'LOCATION_NOT_FOUND'],
  async handle(core, { tenantUuid, by, path, body: { limitKw }, warn, keep }) {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    requireActiveLocation(location);
    const { locationId } = location.record;
    const atMs = core.clock.nowMs();
    const kept = keep(() => {
      const { stack } = location.actor.getSnapshot().context;
      const effectiveLimitKw = effectiveLimitKwAt(stack, limitKw, atMs);
      return { locationId, permanentLimitKw: limitKw, effectiveLimitKw };
    });
    await core.store.append(
      tenantUuid,
      [{ kind: 'permanentLimit.set', locationId, limitKw, atMs }, ...kept],
      by,
    );
    const now = core.clock.nowMs();
    location.record = { ...location.record, permanentLimitKw: limitKw };
    core.directory.sendToLocation(location, { type: 'permanentLimit.set', limitKw, now });
    const spans = spansOfPermanentLimit(location.actor.getSnapshot().context.stack, now);
    adviseOn(core, [{ location, spans }], warn);
    return { locationId, permanentLimitKw: limitKw, effectiveLimitKw: effectiveLimitKwOf(location) };
  },
});

/** A location's own stack. It returns the same object until an event changes the answer. */
export const getLocationLimits = endpoint({
  operationId: 'getLocationLimits',
  method: 'get',
  path: '/v1/locations/{locationId}/limits',
  tag: 'locations',
  scope: 'locations:read',
  summary: 'Read the limits and profiles of a location',
  querySchema: asOfQuerySchema,
  responseSchema: locationLimitsSchema,
  errors: ['LOCATION_NOT_FOUND'],
  isAnswerStable: true,
  handle(core, { tenantUuid, path, query: { at } }) {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    if (at !== undefined) return locationLimitsAt(core, tenantUuid, location, at);
    const { context } = location.actor.getSnapshot();
    location.limitsView ??= {
      locationId: location.record.locationId,
      permanentLimitKw: context.permanentLimitKw,
      effectiveLimitKw: effectiveLimitKwOf(location),
      profiles: viewsOfProfiles(context),
    } satisfies LocationLimits;
    return location.limitsView as LocationLimits;
  },
});

/** From rows that are never deleted. @throws DomainError LOCATION_NOT_FOUND if the location did not exist yet */
async function locationLimitsAt(
  core: Core,
  tenantUuid: TenantUuid,
  location: LocationEntity,
  atText: string,
): Promise<LocationLimits> {
  const atMs = fromInstant(atText);
  const { locationId } = location.record;
  const [limits, stack] = await Promise.all([
    core.read((trx) => readPermanentLimits(trx, tenantUuid, locationId)),
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

/** Submissions with a window that meets the span, in order of arrival. Rows are only added, so pages stay the same. */
export const getLocationHistory = endpoint({
  operationId: 'getLocationHistory',
  method: 'get',
  path: '/v1/locations/{locationId}/history',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List every limit ever submitted for a location',
  querySchema: historyQuerySchema,
  responseSchema: locationHistorySchema,
  errors: ['LOCATION_NOT_FOUND'],
  async handle(core, { tenantUuid, path, query }) {
    const { window, page } = askedHistory(query);
    const { locationId } = findLocation(core.directory, tenantUuid, path.locationId).record;
    const [profiles, limits] = await Promise.all([
      core.read((trx) => readProfileHistory(trx, tenantUuid, { kind: 'location', locationId }, window, page)),
      core.read((trx) => readPermanentLimits(trx, tenantUuid, locationId, window, page)),
    ]);
    return {
      locationId,
      from: toInstant(window.startsAtMs),
      to: toInstant(window.endsAtMs),
      submissions: rowsOfPage(page, profiles).map(submissionOf),
      permanentLimits: rowsOfPage(page, limits).map(({ limitKw, setAtMs }) => ({
        limitKw,
        setAt: toInstant(setAtMs),
      })),
      nextCursor: nextCursorOf(page, profiles, limits),
    };
  },
});

// Of a connector, which is locked while the window is active.

export const scheduleConnector = endpoint({
  operationId: 'scheduleConnector',
  method: 'post',
  path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules',
  tag: 'chargers',
  scope: 'chargers:write',
  summary: 'Lock a connector at a limit for a time window',
  requestSchema: profileRequestSchema,
  responseSchema: connectorScheduleSchema,
  mayWarn: true,
  errors: ['TARGET_INACTIVE', 'CHARGER_NOT_FOUND'],
  insteadOfDelete: CANCEL_BY_PRIORITY,
  async handle(core, { tenantUuid, by, path, body, warn, keep }) {
    const submittedAtMs = core.clock.nowMs();
    const profile = profileOf(body, submittedAtMs);
    const connector = findConnector(core.directory, tenantUuid, path);
    requireActiveConnector(connector);
    const { controllerUuid, connectorId } = connector.record;
    const target = { kind: 'connector', controllerUuid, connectorId } as const;
    const viewAs = (status: ProfileStatus) => ({
      controllerUuid,
      connectorId,
      limitKw: profile.limitKw,
      startTime: toInstant(profile.startsAtMs),
      endTime: toInstant(profile.endsAtMs),
      status,
    });
    const kept = keep(() => viewAs(statusAt(profile, submittedAtMs)));
    const change = { kind: 'profile.put', target, profile, atMs: submittedAtMs } as const;
    await core.store.append(tenantUuid, [change, ...kept], by);
    const now = core.clock.nowMs();
    const event = { type: 'profile.submitted', profile, now } as const;
    const key = connectorKey(connector.record);
    const { location } = connector;
    const replaced = connectorStackOf(location, key).find(({ priority }) => priority === profile.priority);
    core.directory.sendToLocation(location, { type: 'connector.event', key, event });
    const spans = spansOfProfile(connectorStackOf(location, key), profile, replaced, now);
    adviseOnLock(core, connector, profile, { location, spans }, warn);
    return viewAs(statusOf(connectorProfilesOf(location, key), profile));
  },
});

/** It unlocks the connector at once if no other profile locks it. */
export const cancelConnectorSchedule = endpoint({
  operationId: 'cancelConnectorSchedule',
  method: 'delete',
  path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules/{priority}',
  tag: 'chargers',
  scope: 'chargers:write',
  isExtension: true,
  summary: 'Cancel a profile of a connector, which unlocks it at once',
  responseSchema: cancelledConnectorScheduleSchema,
  mayWarn: true,
  errors: ['INVALID_REQUEST_BODY', 'TARGET_INACTIVE', 'CHARGER_NOT_FOUND', 'PROFILE_NOT_FOUND'],
  async handle(core, { tenantUuid, by, path, warn }) {
    const priority = priorityOf(path);
    const atMs = core.clock.nowMs();
    const connector = findConnector(core.directory, tenantUuid, path);
    requireActiveConnector(connector);
    const { location } = connector;
    const { controllerUuid, connectorId } = connector.record;
    const key = connectorKey(connector.record);
    const target = { kind: 'connector', controllerUuid, connectorId } as const;
    requireUnended(connectorStackOf(location, key), priority, atMs);
    const { locationId } = location.record;
    await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, locationId, priority, atMs }], by);
    const now = core.clock.nowMs();
    // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
    const profile = findHeldProfile(connectorStackOf(location, key), priority);
    const event = { type: 'profile.cancelled', priority, now } as const;
    core.directory.sendToLocation(location, { type: 'connector.event', key, event });
    const spans = spansOfProfile(connectorStackOf(location, key), profile, undefined, now);
    adviseOn(core, [{ location, spans }], warn);
    return {
      controllerUuid,
      connectorId,
      ...viewOfProfile(profile, statusAt(profile, atMs)),
      supersededAt: toInstant(atMs),
    };
  },
});

export const getConnectorSchedules = endpoint({
  operationId: 'getConnectorSchedules',
  method: 'get',
  path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read the profiles of a connector',
  querySchema: asOfQuerySchema,
  responseSchema: connectorSchedulesSchema,
  errors: ['CHARGER_NOT_FOUND'],
  handle(core, { tenantUuid, path, query: { at } }) {
    const { record, location } = findConnector(core.directory, tenantUuid, path);
    const { controllerUuid, connectorId } = record;
    const target = { kind: 'connector', controllerUuid, connectorId } as const;
    const names = { controllerUuid, connectorId, locationId: location.record.locationId };
    if (at !== undefined) {
      // Before its first lock a connector had none, also before it was provisioned.
      const atMs = fromInstant(at);
      return stackAt(core, tenantUuid, target, atMs).then((stack) => ({
        ...names,
        lockLimitKw: activeProfileAt(stack, atMs)?.limitKw ?? null,
        profiles: viewsAt(stack, atMs),
      }));
    }
    const actor = connectorActorOf(location, connectorKey(record));
    return {
      ...names,
      lockLimitKw: actor?.getSnapshot().context.lockLimitKw ?? null,
      profiles: actor === undefined ? [] : viewsOfProfiles(actor.getSnapshot().context),
    };
  },
});

export const getConnectorHistory = endpoint({
  operationId: 'getConnectorHistory',
  method: 'get',
  path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/history',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List every profile ever submitted for a connector',
  querySchema: historyQuerySchema,
  responseSchema: connectorHistorySchema,
  errors: ['CHARGER_NOT_FOUND'],
  async handle(core, { tenantUuid, path, query }) {
    const asked = askedHistory(query);
    const { record, location } = findConnector(core.directory, tenantUuid, path);
    const { controllerUuid, connectorId } = record;
    const target = { kind: 'connector', controllerUuid, connectorId } as const;
    const page = await pageOfSubmissions(core, tenantUuid, target, asked);
    return { controllerUuid, connectorId, locationId: location.record.locationId, ...page };
  },
});

// Of the organization: recorded, and not enforced (contract section 2.7).

const ORGANIZATION_NOTE =
  'Organization limits are not enforced yet: the profile is recorded for future use and does not change any charging.';

export const scheduleOrganization = endpoint({
  operationId: 'scheduleOrganization',
  method: 'post',
  path: '/v1/organizations/schedules',
  tag: 'organizations',
  scope: 'org:write',
  summary: 'Record a limit for the whole organization (not enforced)',
  requestSchema: profileRequestSchema,
  responseSchema: organizationScheduleSchema,
  errors: [],
  insteadOfDelete: CANCEL_BY_PRIORITY,
  async handle(core, { tenantUuid, by, body, keep }) {
    const submittedAtMs = core.clock.nowMs();
    const profile = profileOf(body, submittedAtMs);
    const { organization } = findTenant(core.directory, tenantUuid);
    const target = { kind: 'organization' } as const;
    const viewAs = (status: ProfileStatus) => ({
      tenantUuid,
      ...viewOfProfile(profile, status),
      note: ORGANIZATION_NOTE,
    });
    const kept = keep(() => viewAs(statusAt(profile, submittedAtMs)));
    const change = { kind: 'profile.put', target, profile, atMs: submittedAtMs } as const;
    await core.store.append(tenantUuid, [change, ...kept], by);
    const now = core.clock.nowMs();
    core.directory.sendToOrganization(organization, { type: 'profile.submitted', profile, now });
    return viewAs(statusOf(organization.actor.getSnapshot().context, profile));
  },
});

export const cancelOrganizationSchedule = endpoint({
  operationId: 'cancelOrganizationSchedule',
  method: 'delete',
  path: '/v1/organizations/schedules/{priority}',
  tag: 'organizations',
  scope: 'org:write',
  isExtension: true,
  summary: 'Cancel a recorded profile of the organization',
  responseSchema: cancelledOrganizationScheduleSchema,
  errors: ['INVALID_REQUEST_BODY', 'PROFILE_NOT_FOUND'],
  async handle(core, { tenantUuid, by, path }) {
    const priority = priorityOf(path);
    const atMs = core.clock.nowMs();
    const { organization } = findTenant(core.directory, tenantUuid);
    const target = { kind: 'organization' } as const;
    requireUnended(organization.actor.getSnapshot().context.stack, priority, atMs);
    await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }], by);
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
  },
});

export const getOrganizationLimits = endpoint({
  operationId: 'getOrganizationLimits',
  method: 'get',
  path: '/v1/organizations/limits',
  tag: 'organizations',
  scope: 'org:write',
  summary: 'Read the recorded limits of the organization',
  querySchema: asOfQuerySchema,
  responseSchema: organizationLimitsSchema,
  errors: [],
  handle(core, { tenantUuid, query: { at } }) {
    if (at !== undefined) {
      const atMs = fromInstant(at);
      return stackAt(core, tenantUuid, { kind: 'organization' }, atMs).then((stack) => ({
        tenantUuid,
        profiles: viewsAt(stack, atMs),
        note: ORGANIZATION_NOTE,
      }));
    }
    const { organization } = findTenant(core.directory, tenantUuid);
    core.directory.catchUp([organization]);
    return {
      tenantUuid,
      profiles: viewsOfProfiles(organization.actor.getSnapshot().context),
      note: ORGANIZATION_NOTE,
    };
  },
});

export const getOrganizationHistory = endpoint({
  operationId: 'getOrganizationHistory',
  method: 'get',
  path: '/v1/organizations/history',
  ...EXTENSION,
  // As for `GET /v1/organizations/limits`: a credential without access to the recorded limits has none to earlier ones.
  scope: 'org:write',
  summary: 'List every limit ever recorded for the organization',
  querySchema: historyQuerySchema,
  responseSchema: organizationHistorySchema,
  errors: [],
  async handle(core, { tenantUuid, query }) {
    const asked = askedHistory(query);
    const page = await pageOfSubmissions(core, tenantUuid, { kind: 'organization' }, asked);
    return { tenantUuid, ...page, note: ORGANIZATION_NOTE };
  },
});

// Of each member of a cluster (contract section 4.1, endpoint 13): each member succeeds or fails on its own.

export const scheduleCluster = endpoint({
  operationId: 'scheduleCluster',
  method: 'post',
  path: '/v1/clusters/{clusterId}/schedules',
  tag: 'clusters',
  scope: 'clusters:write',
  summary: 'Limit every member location for a time window',
  requestSchema: profileRequestSchema,
  responseSchema: clusterScheduleSchema,
  mayWarn: true,
  errors: ['CLUSTER_INACTIVE', 'CLUSTER_NOT_FOUND'],
  insteadOfDelete: CANCEL_BY_MEMBER,
  async handle(core, { tenantUuid, by, path: { clusterId }, body, requestId, warn, keep }) {
    const profile = profileOf(body, core.clock.nowMs());
    return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
      const { record } = findCluster(core.directory, tenantUuid, clusterId);
      if (record.status === 'INACTIVE') {
        throw new DomainError(
          'CLUSTER_INACTIVE',
          'The cluster is not active; set its status to ACTIVE first.',
        );
      }
      const members: LocationEntity[] = [];
      const errors: ClusterSchedule['errors'] = [];
      for (const locationId of record.locationIds) {
        try {
          const location = findLocation(core.directory, tenantUuid, locationId);
          requireActiveLocation(location);
          members.push(location);
        } catch (error) {
          if (!(error instanceof DomainError)) throw error;
          errors.push({ locationId, error: errorEnvelope(error.code, error.message, requestId) });
        }
      }
      // Instant of its turn in the queue: writes during its wait were submitted before it.
      const submittedAtMs = core.clock.nowMs();
      const viewOf = (applied: LocationSchedule[]) => ({
        clusterId,
        applied,
        errors,
        totalLocations: record.locationIds.length,
      });
      const kept = keep(() =>
        viewOf(members.map((location) => expectedSchedule(location, profile, submittedAtMs))),
      );
      const puts = members.map(({ record: { locationId } }) => {
        const target = { kind: 'location', locationId } as const;
        return {
          kind: 'profile.put',
          target,
          clusterId: record.clusterId,
          profile,
          atMs: submittedAtMs,
        } as const;
      });
      await core.store.append(tenantUuid, [...puts, ...kept], by);
      const applied = core.directory.together(() =>
        members.map((location) => applyLocationProfile(core, location, profile)),
      );
      const outlooks = applied.map(({ outlook }) => outlook);
      adviseOn(core, outlooks, warn);
      return viewOf(applied.map(({ schedule }) => schedule));
    });
  },
});

// Common to all targets.

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
  { window, page }: ReturnType<typeof askedHistory>,
): Promise<{ from: string; to: string; submissions: Submission[]; nextCursor: string | null }> {
  const profiles = await core.read((trx) => readProfileHistory(trx, tenantUuid, target, window, page));
  return {
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    submissions: rowsOfPage(page, profiles).map(submissionOf),
    nextCursor: nextCursorOf(page, profiles),
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
  const profiles = await core.read((trx) => readProfilesAt(trx, tenantUuid, target, atMs));
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
function profileOf(request: ProfileRequest, now: EpochMs): LimitProfile {
  const window = { startsAtMs: fromInstant(request.startTime), endsAtMs: fromInstant(request.endTime) };
  const broken = brokenWindowRule(window, now, 'startTime');
  if (broken !== undefined) throw new DomainError('INVALID_REQUEST_BODY', `endTime: ${broken}`);
  return { priority: request.priority, limitKw: request.limitKw, ...window };
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

const DIGITS = /^(?:0|[1-9]\d?)$/;

/** @throws DomainError INVALID_REQUEST_BODY */
function priorityOf({ priority: text }: { readonly priority: string }): number {
  const priority = prioritySchema.safeParse(DIGITS.test(text) ? Number(text) : undefined).data;
  if (priority === undefined)
    throw new DomainError('INVALID_REQUEST_BODY', `priority: must be ${PRIORITY_RULE}`);
  return priority;
}

/** @throws DomainError PROFILE_NOT_FOUND */
function findHeldProfile(stack: ProfileStack, priority: number): LimitProfile {
  const profile = profileAtPriority(stack, priority);
  if (profile === undefined)
    throw new DomainError('PROFILE_NOT_FOUND', `There is no profile of priority ${priority} to cancel.`);
  return profile;
}

/** @throws DomainError PROFILE_NOT_FOUND without such a profile, and after its end: nothing of it is left to cancel. */
function requireUnended(stack: ProfileStack, priority: number, now: EpochMs): void {
  const profile = findHeldProfile(stack, priority);
  if (statusAt(profile, now) === 'EXPIRED')
    throw new DomainError(
      'PROFILE_NOT_FOUND',
      `The profile of priority ${priority} ended at ${toInstant(profile.endsAtMs)}: there is nothing left to cancel.`,
    );
}
