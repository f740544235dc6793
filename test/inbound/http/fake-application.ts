// An application in memory that records the calls of the REST side and gives it answers.
import { DomainError } from '../../../machines/values/errors.js';
import type { ClusterId, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { Application } from '../../../src/application/application.js';
import type { OperatorLimitView } from '../../../src/wire/grid-operator.js';
import type { LocationLive } from '../../../src/wire/operator-locations.js';
import type { StreamEvent } from '../../../src/wire/operator-stream.js';
import type { Cluster, ProfileRequest } from '../../../src/wire/rest.js';
import type { SiteMeterView } from '../../../src/wire/site-meter.js';

export const TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10' as TenantUuid;
export const OTHER_TENANT = '4f0f8f0e-13a1-4e57-bb0b-7d6e3f0c1b22' as TenantUuid;
export const LOCATION = 'quay-1' as LocationId;
export const CLUSTER = 'c-1' as ClusterId;

const INSTANT = '2026-06-01T12:00:00.000Z';

/** Calls in order: name, tenant and the rest. */
export type Asked = readonly [name: string, tenantUuid: string, ...rest: unknown[]];

export interface FakeApplication {
  readonly application: Application;
  readonly asked: Asked[];
  /** Listeners to the event stream, of any tenant. */
  readonly listeners: ReadonlySet<(event: StreamEvent) => void>;
}

export function createFakeApplication(): FakeApplication {
  const asked: Asked[] = [];
  const listeners = new Set<(event: StreamEvent) => void>();
  const limits = { locationId: LOCATION, permanentLimitKw: 50, effectiveLimitKw: 50, profiles: [] };

  function knownLocation(tenantUuid: string, locationId: string): void {
    if (tenantUuid !== TENANT || locationId !== LOCATION) {
      throw new DomainError('LOCATION_NOT_FOUND', 'No such location.');
    }
  }
  function knownConnector(controllerUuid: string, connectorId: string): void {
    if (controllerUuid !== 'q1-a' || connectorId !== '1') {
      throw new DomainError('CHARGER_NOT_FOUND', 'No such connector.');
    }
  }
  function knownCluster(tenantUuid: string, clusterId: string): Cluster {
    if (tenantUuid !== TENANT || clusterId !== CLUSTER) {
      throw new DomainError('CLUSTER_NOT_FOUND', 'No such cluster.');
    }
    return {
      clusterId,
      tenantUuid,
      name: 'Harbour',
      locationIds: [LOCATION],
      limitKw: null,
      status: 'ACTIVE',
      createdAt: INSTANT,
      updatedAt: INSTANT,
    };
  }
  const profile = (request: ProfileRequest) => ({ ...request, status: 'SCHEDULED' as const });

  const cancelled = (priority: number) => {
    const window = { startTime: INSTANT, endTime: INSTANT };
    return { ...profile({ ...window, priority, limitKw: 11 }), supersededAt: INSTANT };
  };

  const common = {
    locationId: LOCATION,
    name: 'Quay 1',
    status: 'ACTIVE' as const,
    permanentLimitKw: 50,
    effectiveLimitKw: 50,
    gridLimitKw: 50,
    actualKw: 7.4,
    estimatedKw: null,
  };
  const summary = { ...common, connectors: 1, silentConnectors: 0, lockedConnectors: 0, openAlarms: 0 };
  const live: LocationLive = {
    ...common,
    at: INSTANT,
    gridLimitCause: { kind: 'permanentLimit' },
    operatorLimit: null,
    siteMeter: null,
    peakShaving: null,
    budgetKw: 50,
    reservedKw: 22,
    fuses: [],
    connectors: [],
    alarms: [],
  };
  const span = { from: INSTANT, to: INSTANT };
  const operatorLimit: OperatorLimitView = {
    locationId: 'quay-1',
    operatorUuid: 'dso-1',
    state: 'LIMITED',
    since: INSTANT,
    limitKw: 4.2,
    source: 'DSO',
    sentAt: INSTANT,
    endsAt: null,
    lastHeardAt: INSTANT,
    nextChangeAt: INSTANT,
    failsafeKw: 4.2,
    failsafeMinS: 7200,
    heartbeatS: 60,
  };
  const siteMeter: SiteMeterView = {
    locationId: 'quay-1',
    meterUuid: 'meter-1',
    covers: 'connection',
    state: 'FRESH',
    buildingKw: 20,
    reserveKw: 5,
    leavesKw: 55,
    leavesA: null,
    explanation: 'So it is.',
    isReserveLearnt: false,
    powerKw: 20,
    currentA: null,
    energyWh: null,
    lastHeardAt: INSTANT,
    cadenceS: 10,
    staleAt: INSTANT,
    connectionKw: 80,
    maxBuildingKw: 40,
    reserveBoundsKw: [2, 5],
    pvRaisesHeadroom: false,
  };
  const application: Application = {
    listLocations(tenantUuid, page) {
      asked.push(['listLocations', tenantUuid, page]);
      return { locations: [summary], count: 1, nextCursor: null };
    },
    locationSummary(tenantUuid, locationId) {
      asked.push(['locationSummary', tenantUuid, locationId]);
      knownLocation(tenantUuid, locationId);
      return summary;
    },
    operatorLimit(tenantUuid, locationId) {
      asked.push(['operatorLimit', tenantUuid, locationId]);
      knownLocation(tenantUuid, locationId);
      return operatorLimit;
    },
    async setOperatorLimit(tenantUuid, locationId, message) {
      asked.push(['setOperatorLimit', tenantUuid, locationId, message]);
      knownLocation(tenantUuid, locationId);
      return operatorLimit;
    },
    siteMeter(tenantUuid, locationId) {
      asked.push(['siteMeter', tenantUuid, locationId]);
      knownLocation(tenantUuid, locationId);
      return siteMeter;
    },
    async putSiteReading(tenantUuid, locationId, message) {
      asked.push(['putSiteReading', tenantUuid, locationId, message]);
      knownLocation(tenantUuid, locationId);
      return siteMeter;
    },
    async operatorLimitHistory(tenantUuid, locationId, query) {
      asked.push(['operatorLimitHistory', tenantUuid, locationId, query]);
      knownLocation(tenantUuid, locationId);
      return { locationId: 'quay-1', ...span, events: [], nextCursor: null };
    },
    locationLive(tenantUuid, locationId) {
      asked.push(['locationLive', tenantUuid, locationId]);
      knownLocation(tenantUuid, locationId);
      return live;
    },
    async locationLimitsAt(tenantUuid, locationId, at) {
      asked.push(['locationLimitsAt', tenantUuid, locationId, at]);
      knownLocation(tenantUuid, locationId);
      return limits;
    },
    locationTimeline(tenantUuid, locationId, query) {
      asked.push(['locationTimeline', tenantUuid, locationId, query]);
      knownLocation(tenantUuid, locationId);
      return { locationId, ...span, nextFrom: null, segments: [] };
    },
    async locationHistory(tenantUuid, locationId, query) {
      asked.push(['locationHistory', tenantUuid, locationId, query]);
      knownLocation(tenantUuid, locationId);
      return { locationId, ...span, submissions: [], permanentLimits: [], nextCursor: null };
    },
    async locationPower(tenantUuid, locationId, query) {
      asked.push(['locationPower', tenantUuid, locationId, query]);
      knownLocation(tenantUuid, locationId);
      return { locationId, ...span, stepSeconds: query.step, feeder: null, points: [] };
    },
    async listAlarms(tenantUuid, locationId, query) {
      asked.push(['listAlarms', tenantUuid, locationId, query]);
      if (locationId !== undefined) knownLocation(tenantUuid, locationId);
      return { ...span, alarms: [], nextCursor: null };
    },
    connectorSchedules(tenantUuid, controllerUuid, connectorId) {
      asked.push(['connectorSchedules', tenantUuid, controllerUuid, connectorId]);
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, locationId: LOCATION, lockLimitKw: null, profiles: [] };
    },
    async connectorSchedulesAt(tenantUuid, controllerUuid, connectorId, at) {
      asked.push(['connectorSchedulesAt', tenantUuid, controllerUuid, connectorId, at]);
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, locationId: LOCATION, lockLimitKw: null, profiles: [] };
    },
    async connectorHistory(tenantUuid, controllerUuid, connectorId, query) {
      asked.push(['connectorHistory', tenantUuid, controllerUuid, connectorId, query]);
      knownConnector(controllerUuid, connectorId);
      const about = { controllerUuid, connectorId, locationId: LOCATION };
      return { ...about, ...span, submissions: [], nextCursor: null };
    },
    async organizationLimitsAt(tenantUuid, at) {
      asked.push(['organizationLimitsAt', tenantUuid, at]);
      return { tenantUuid, profiles: [], note: 'recorded' };
    },
    async organizationHistory(tenantUuid, query) {
      asked.push(['organizationHistory', tenantUuid, query]);
      return { tenantUuid, ...span, submissions: [], nextCursor: null, note: 'recorded' };
    },
    subscribe(tenantUuid, locationId, listener) {
      asked.push(['subscribe', tenantUuid, locationId]);
      if (locationId !== undefined) knownLocation(tenantUuid, locationId);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async submitConnectorProfile(tenantUuid, controllerUuid, connectorId, request) {
      asked.push(['submitConnectorProfile', tenantUuid, controllerUuid, connectorId, request]);
      knownConnector(controllerUuid, connectorId);
      const { priority: _, ...rest } = profile(request);
      return { controllerUuid, connectorId, ...rest };
    },
    async submitLocationProfile(tenantUuid, locationId, request) {
      asked.push(['submitLocationProfile', tenantUuid, locationId, request]);
      knownLocation(tenantUuid, locationId);
      return { locationId, ...profile(request), permanentLimitKw: 50, effectiveLimitKw: 50 };
    },
    async setPermanentLimit(tenantUuid, locationId, limitKw) {
      asked.push(['setPermanentLimit', tenantUuid, locationId, limitKw]);
      knownLocation(tenantUuid, locationId);
      return { locationId, permanentLimitKw: limitKw, effectiveLimitKw: limitKw };
    },
    locationLimits(tenantUuid, locationId) {
      asked.push(['locationLimits', tenantUuid, locationId]);
      knownLocation(tenantUuid, locationId);
      return limits;
    },
    async submitOrganizationProfile(tenantUuid, request) {
      asked.push(['submitOrganizationProfile', tenantUuid, request]);
      return { tenantUuid, ...profile(request), note: 'recorded' };
    },
    async cancelConnectorProfile(tenantUuid, controllerUuid, connectorId, priority) {
      asked.push(['cancelConnectorProfile', tenantUuid, controllerUuid, connectorId, priority]);
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, ...cancelled(priority) };
    },
    async cancelLocationProfile(tenantUuid, locationId, priority) {
      asked.push(['cancelLocationProfile', tenantUuid, locationId, priority]);
      knownLocation(tenantUuid, locationId);
      return { locationId, ...cancelled(priority), permanentLimitKw: 50, effectiveLimitKw: 50 };
    },
    async cancelOrganizationProfile(tenantUuid, priority) {
      asked.push(['cancelOrganizationProfile', tenantUuid, priority]);
      return { tenantUuid, ...cancelled(priority), note: 'recorded' };
    },
    organizationLimits(tenantUuid) {
      asked.push(['organizationLimits', tenantUuid]);
      return { tenantUuid, profiles: [], note: 'recorded' };
    },
    async createCluster(tenantUuid, request) {
      asked.push(['createCluster', tenantUuid, request]);
      return { ...knownCluster(tenantUuid, CLUSTER), name: request.name };
    },
    listClusters(tenantUuid) {
      asked.push(['listClusters', tenantUuid]);
      return { clusters: [knownCluster(tenantUuid, CLUSTER)], count: 1 };
    },
    clusterDetail(tenantUuid, clusterId) {
      asked.push(['clusterDetail', tenantUuid, clusterId]);
      return {
        ...knownCluster(tenantUuid, clusterId),
        liveStatus: {
          actualTotalKw: 7.4,
          clusterLimitKw: null,
          sumLocationLimits: 50,
          withinLimit: true,
          locations: [{ locationId: LOCATION, setLimitKw: 50, effectiveLimitKw: 50, actualKw: 7.4 }],
        },
      };
    },
    async updateCluster(tenantUuid, clusterId, request) {
      asked.push(['updateCluster', tenantUuid, clusterId, request]);
      return knownCluster(tenantUuid, clusterId);
    },
    async deleteCluster(tenantUuid, clusterId) {
      asked.push(['deleteCluster', tenantUuid, clusterId]);
      knownCluster(tenantUuid, clusterId);
      return { deleted: true, clusterId };
    },
    async removeClusterMember(tenantUuid, clusterId, locationId) {
      asked.push(['removeClusterMember', tenantUuid, clusterId, locationId]);
      const cluster = knownCluster(tenantUuid, clusterId);
      knownLocation(tenantUuid, locationId);
      return cluster;
    },
    async submitClusterProfile(tenantUuid, clusterId, request, requestId) {
      asked.push(['submitClusterProfile', tenantUuid, clusterId, request]);
      knownCluster(tenantUuid, clusterId);
      const error = { error: { code: 'TARGET_INACTIVE' as const, message: 'Not active.', requestId } };
      return { clusterId, applied: [], errors: [{ locationId: LOCATION, error }], totalLocations: 1 };
    },
  };
  return { application, asked, listeners };
}
