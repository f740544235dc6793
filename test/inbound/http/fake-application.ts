// An application in memory that records the calls of the REST side and gives it answers.
import { DomainError } from '../../../machines/values/errors.js';
import type { ClusterId, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { Asked } from '../../../src/actors/core.js';
import type { AlarmView, MuteView } from '../../../src/features/alarms/contract.js';
import type { Application } from '../../../src/features/application.js';
import type { Cluster } from '../../../src/features/clusters/contract.js';
import { createClusterRequestSchema } from '../../../src/features/clusters/contract.js';
import type { LocationLive } from '../../../src/features/live-contract.js';
import type { OperatorLimitView } from '../../../src/features/operator-limit/contract.js';
import { connectorPowerQuerySchema, powerQuerySchema } from '../../../src/features/power-history/contract.js';
import type { ProfileRequest } from '../../../src/features/profiles/contract.js';
import {
  permanentLimitRequestSchema,
  profileRequestSchema,
} from '../../../src/features/profiles/contract.js';
import type { SiteMeterView } from '../../../src/features/site-meter/contract.js';
import type { StreamEvent } from '../../../src/features/stream-contract.js';
import type { MailSubscriptionView, WebhookView } from '../../../src/features/webhooks/contract.js';

export const TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10' as TenantUuid;
export const OTHER_TENANT = '4f0f8f0e-13a1-4e57-bb0b-7d6e3f0c1b22' as TenantUuid;
export const LOCATION = 'quay-1' as LocationId;
export const CLUSTER = 'c-1' as ClusterId;

const INSTANT = '2026-06-01T12:00:00.000Z';

/** Calls in order: name, tenant and the rest. */
export type AskedAs = readonly [name: string, tenantUuid: string, ...rest: unknown[]];

export interface FakeApplication {
  readonly application: Application;
  readonly asked: AskedAs[];
  /** Listeners to the event stream, of any tenant. */
  readonly listeners: ReadonlySet<(event: StreamEvent) => void>;
}

/** By `operationId`. */
export type Answers = Readonly<Record<string, (asked: Asked) => object | Promise<object>>>;

export function createFakeApplication(overrides: Answers = {}): FakeApplication {
  const asked: AskedAs[] = [];
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
    departures: [],
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
  const session = {
    sessionId: null,
    idTag: null,
    deliveredKwh: 0,
    preferences: { departureTime: INSTANT, energyNeedKwh: 20 },
    declared: [],
    forecast: null,
  };
  const webhook: WebhookView = {
    webhookId: 'hook-1',
    url: 'https://receiver.invalid/events',
    types: null,
    locationIds: null,
    createdAt: INSTANT,
    createdBy: 'apiKey:a',
    updatedAt: INSTANT,
    previousSecretEndsAt: null,
    lastEventId: '0',
    waitingLocations: 0,
  };
  const alarm: AlarmView = {
    alarmId: 'alarm-1',
    kind: 'OFFLINE',
    locationId: 'quay-1',
    controllerUuid: null,
    connectorId: null,
    reason: 'So it is.',
    firstReason: 'So it is.',
    beganAt: INSTANT,
    endedAt: null,
    acknowledgement: { at: INSTANT, by: 'apiKey:a', note: null },
    mutedUntil: null,
    isWithheld: false,
  };
  const mute: MuteView = {
    muteId: 'mute-1',
    kind: 'OFFLINE',
    locationId: 'quay-1',
    controllerUuid: null,
    connectorId: null,
    until: INSTANT,
    note: null,
    mutedAt: INSTANT,
    mutedBy: 'apiKey:a',
  };
  const mails: MailSubscriptionView = {
    mailSubscriptionId: 'mails-1',
    to: ['alarms@receiver.example'],
    types: null,
    locationIds: null,
    createdAt: INSTANT,
    createdBy: 'apiKey:a',
    updatedAt: INSTANT,
    lastEventId: '0',
    isWaiting: false,
  };
  const answers: Answers = {
    getSession({ path: { controllerUuid = '', connectorId = '' } }) {
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, ...session };
    },
    async putSession({ path: { controllerUuid = '', connectorId = '' } }) {
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, ...session };
    },
    async deleteSession({ path: { controllerUuid = '', connectorId = '' } }) {
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, ...session };
    },
    listLocations() {
      return { locations: [summary], count: 1, nextCursor: null };
    },
    getLocation({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return summary;
    },
    async getLocationPlan({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { locationId: 'quay-1', policy: 'energy', at: INSTANT, steps: [], departures: [] };
    },
    getOperatorLimit({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return operatorLimit;
    },
    async setOperatorLimit({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return operatorLimit;
    },
    getSiteMeter({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return siteMeter;
    },
    async putSiteReading({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return siteMeter;
    },
    async getOperatorLimitHistory({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { locationId: 'quay-1', ...span, events: [], nextCursor: null };
    },
    getLocationLive({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return live;
    },
    getLocationTimeline({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { locationId, ...span, nextFrom: null, segments: [] };
    },
    async getLocationHistory({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { locationId, ...span, submissions: [], permanentLimits: [], nextCursor: null };
    },
    async getLocationPower({ tenantUuid, query, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return {
        locationId,
        ...span,
        stepSeconds: powerQuerySchema.parse(query).step,
        feeder: null,
        points: [],
      };
    },
    async listAlarms() {
      return { ...span, alarms: [], nextCursor: null };
    },
    async listEvents() {
      return { events: [], last: '0', isGapless: true };
    },
    async acknowledgeAlarm({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return alarm;
    },
    listAlarmMutes({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { locationId, mutes: [mute] };
    },
    async muteAlarms({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return mute;
    },
    async unmuteAlarms({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { muteId: 'mute-1', deleted: true };
    },
    async listWebhooks() {
      return { webhooks: [webhook] };
    },
    async createWebhook() {
      return { ...webhook, secret: 'whsec_AAAA' };
    },
    async getWebhook() {
      return webhook;
    },
    async updateWebhook() {
      return webhook;
    },
    async rotateWebhookSecret() {
      return { ...webhook, secret: 'whsec_AAAA' };
    },
    async listWebhookDeliveries() {
      return { deliveries: [] };
    },
    async replayWebhook() {
      return { deliveries: [] };
    },
    async deleteWebhook() {
      return { webhookId: 'hook-1', deleted: true };
    },
    async listMailSubscriptions() {
      return { mailSubscriptions: [mails] };
    },
    async createMailSubscription() {
      return mails;
    },
    async getMailSubscription() {
      return mails;
    },
    async updateMailSubscription() {
      return mails;
    },
    async listMailDeliveries() {
      return { deliveries: [] };
    },
    async replayMails() {
      return { deliveries: [] };
    },
    async deleteMailSubscription() {
      return { mailSubscriptionId: 'mails-1', deleted: true };
    },
    async listSessions() {
      return { ...span, sessions: [], nextCursor: null };
    },
    async listEnergy() {
      const shape = { from: '2026-06-01', to: '2026-06-02', resolution: 'day', groupBy: 'connector' };
      return { ...shape, energy: [], nextCursor: null };
    },
    getConnectorSchedules({ path: { controllerUuid = '', connectorId = '' } }) {
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, locationId: LOCATION, lockLimitKw: null, profiles: [] };
    },
    async getConnectorHistory({ path: { controllerUuid = '', connectorId = '' } }) {
      knownConnector(controllerUuid, connectorId);
      const about = { controllerUuid, connectorId, locationId: LOCATION };
      return { ...about, ...span, submissions: [], nextCursor: null };
    },
    async getConnectorPower({ query, path: { controllerUuid = '', connectorId = '' } }) {
      knownConnector(controllerUuid, connectorId);
      const about = { controllerUuid, connectorId, locationId: LOCATION };
      const { step } = connectorPowerQuerySchema.parse(query);
      return { ...about, ...span, stepSeconds: step, points: [], nextCursor: null };
    },
    async getOrganizationHistory({ tenantUuid }) {
      return { tenantUuid, ...span, submissions: [], nextCursor: null, note: 'recorded' };
    },
    async scheduleConnector({ body, path: { controllerUuid = '', connectorId = '' } }) {
      knownConnector(controllerUuid, connectorId);
      const { priority: _, ...rest } = profile(profileRequestSchema.parse(body));
      return { controllerUuid, connectorId, ...rest };
    },
    async scheduleLocation({ tenantUuid, body, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return {
        locationId,
        ...profile(profileRequestSchema.parse(body)),
        permanentLimitKw: 50,
        effectiveLimitKw: 50,
      };
    },
    async setPermanentLimit({ tenantUuid, body, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      const { limitKw } = permanentLimitRequestSchema.parse(body);
      return { locationId, permanentLimitKw: limitKw, effectiveLimitKw: limitKw };
    },
    getLocationLimits({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return limits;
    },
    async scheduleOrganization({ tenantUuid, body }) {
      return { tenantUuid, ...profile(profileRequestSchema.parse(body)), note: 'recorded' };
    },
    async cancelConnectorSchedule({ path: { controllerUuid = '', connectorId = '', priority = '' } }) {
      knownConnector(controllerUuid, connectorId);
      return { controllerUuid, connectorId, ...cancelled(Number(priority)) };
    },
    async cancelLocationSchedule({ tenantUuid, path: { locationId = '', priority = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { locationId, ...cancelled(Number(priority)), permanentLimitKw: 50, effectiveLimitKw: 50 };
    },
    async cancelOrganizationSchedule({ tenantUuid, path: { priority = '' } }) {
      return { tenantUuid, ...cancelled(Number(priority)), note: 'recorded' };
    },
    getOrganizationLimits({ tenantUuid }) {
      return { tenantUuid, profiles: [], note: 'recorded' };
    },
    async createCluster({ tenantUuid, body }) {
      return { ...knownCluster(tenantUuid, CLUSTER), name: createClusterRequestSchema.parse(body).name };
    },
    listClusters({ tenantUuid }) {
      return { clusters: [knownCluster(tenantUuid, CLUSTER)], count: 1 };
    },
    getCluster({ tenantUuid, path: { clusterId = '' } }) {
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
    async updateCluster({ tenantUuid, path: { clusterId = '' } }) {
      return knownCluster(tenantUuid, clusterId);
    },
    async deleteCluster({ tenantUuid, path: { clusterId = '' } }) {
      knownCluster(tenantUuid, clusterId);
      return { deleted: true, clusterId };
    },
    async removeClusterMember({ tenantUuid, path: { clusterId = '', locationId = '' } }) {
      const cluster = knownCluster(tenantUuid, clusterId);
      knownLocation(tenantUuid, locationId);
      return cluster;
    },
    async scheduleCluster({ tenantUuid, requestId, path: { clusterId = '' } }) {
      knownCluster(tenantUuid, clusterId);
      const error = { error: { code: 'TARGET_INACTIVE' as const, message: 'Not active.', requestId } };
      return { clusterId, applied: [], errors: [{ locationId: LOCATION, error }], totalLocations: 1 };
    },
    async listLocationAlarms({ tenantUuid, path: { locationId = '' } }) {
      knownLocation(tenantUuid, locationId);
      return { ...span, alarms: [], nextCursor: null };
    },
  };
  return {
    asked,
    listeners,
    application: {
      answer(operation, given) {
        const { operationId } = operation;
        const { tenantUuid, path, body } = given;
        asked.push([operationId, tenantUuid, ...Object.values(path), ...(body === undefined ? [] : [body])]);
        const answer = overrides[operationId] ?? answers[operationId];
        if (answer === undefined) throw new Error(`the test has no answer to ${operationId}`);
        return answer(given);
      },
      subscribe(tenantUuid, locationId, listener) {
        asked.push(['subscribe', tenantUuid, locationId]);
        if (locationId !== undefined) knownLocation(tenantUuid, locationId);
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
  };
}
