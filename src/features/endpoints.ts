// All operations of the API, in the order of the contract, then of its extensions: one list for routes and OpenAPI.
import type { Endpoint } from '../inbound/http/endpoint.js';
import {
  acknowledgeAlarm,
  listAlarms,
  listLocationAlarms,
  listMutes,
  muteAlarms,
  unmuteAlarms,
} from './alarms/alarms.js';
import {
  createCluster,
  deleteCluster,
  getCluster,
  listClusters,
  removeClusterMember,
  updateCluster,
} from './clusters/clusters.js';
import { deleteSession, getSession, putSession } from './departures/departures.js';
import { getLocationPlan } from './departures/plan.js';
import { listEnergy } from './energy/energy.js';
import { listEvents } from './events/events.js';
import { getLocationLive } from './live-views.js';
import { getLocation, getLocationTimeline, listLocations } from './locations/locations.js';
import {
  getOperatorLimit,
  getOperatorLimitHistory,
  setOperatorLimit,
} from './operator-limit/operator-limit.js';
import { getConnectorPower } from './power-history/connector-power.js';
import { getLocationPower } from './power-history/power-history.js';
import {
  cancelConnectorSchedule,
  cancelLocationSchedule,
  cancelOrganizationSchedule,
  getConnectorHistory,
  getConnectorSchedules,
  getLocationHistory,
  getLocationLimits,
  getOrganizationHistory,
  getOrganizationLimits,
  scheduleCluster,
  scheduleConnector,
  scheduleLocation,
  scheduleOrganization,
  setPermanentLimit,
} from './profiles/profiles.js';
import { listSessions } from './sessions/sessions.js';
import { getSiteMeter, putSiteReading } from './site-meter/site-meter.js';
import {
  createMailSubscription,
  deleteMailSubscription,
  getMailSubscription,
  listMailDeliveries,
  listMailSubscriptions,
  replayMails,
  updateMailSubscription,
} from './webhooks/mail-subscriptions.js';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listDeliveries,
  listWebhooks,
  replayWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from './webhooks/webhooks.js';

export const ENDPOINTS: readonly Endpoint[] = [
  scheduleConnector,
  scheduleLocation,
  setPermanentLimit,
  getLocationLimits,
  scheduleOrganization,
  getOrganizationLimits,
  createCluster,
  listClusters,
  getCluster,
  updateCluster,
  deleteCluster,
  removeClusterMember,
  scheduleCluster,
  listLocations,
  getLocation,
  getLocationLive,
  getLocationTimeline,
  getLocationHistory,
  getLocationPower,
  getLocationPlan,
  listLocationAlarms,
  listAlarms,
  acknowledgeAlarm,
  listMutes,
  muteAlarms,
  unmuteAlarms,
  listSessions,
  listEnergy,
  listEvents,
  getConnectorSchedules,
  getConnectorHistory,
  getConnectorPower,
  getSession,
  putSession,
  getOrganizationHistory,
  getOperatorLimit,
  setOperatorLimit,
  getOperatorLimitHistory,
  getSiteMeter,
  putSiteReading,
  cancelConnectorSchedule,
  cancelLocationSchedule,
  cancelOrganizationSchedule,
  deleteSession,
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  listDeliveries,
  replayWebhook,
  listMailSubscriptions,
  createMailSubscription,
  getMailSubscription,
  updateMailSubscription,
  deleteMailSubscription,
  listMailDeliveries,
  replayMails,
];
