// What an operator can ask beyond the contract, one function per extension.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { OperatorMessage, SiteMeterMessage } from '../ports/telemetry.js';
import type { OperatorHistory, OperatorLimitView } from '../wire/grid-operator.js';
import type {
  AlarmList,
  ConnectorHistory,
  LocationHistory,
  LocationPower,
  OrganizationHistory,
} from '../wire/operator-history.js';
import type { ConnectorSchedules, LocationList, LocationLive } from '../wire/operator-locations.js';
import type { PageQuery, PowerQuery, SpanPageQuery, TimelineQuery } from '../wire/operator-queries.js';
import type { StreamEvent } from '../wire/operator-stream.js';
import type { LocationTimeline } from '../wire/operator-timeline.js';
import type { LocationLimits, OrganizationLimits } from '../wire/rest.js';
import type { SiteMeterView } from '../wire/site-meter.js';
import { putSiteReading } from './commands/put-site-reading.js';
import { setOperatorLimit } from './commands/set-operator-limit.js';
import type { Core } from './core.js';
import type { Unsubscribe } from './event-stream.js';
import { connectorHistory } from './queries/connector-history.js';
import { connectorSchedules } from './queries/connector-schedules.js';
import { connectorSchedulesAt } from './queries/connector-schedules-at.js';
import { listAlarms } from './queries/list-alarms.js';
import { listLocations } from './queries/list-locations.js';
import { locationHistory } from './queries/location-history.js';
import { locationLimitsAt } from './queries/location-limits-at.js';
import { locationLive } from './queries/location-live.js';
import { locationPower } from './queries/location-power.js';
import { locationTimeline } from './queries/location-timeline.js';
import { operatorLimit } from './queries/operator-limit.js';
import { operatorLimitHistory } from './queries/operator-limit-history.js';
import { organizationHistory } from './queries/organization-history.js';
import { organizationLimitsAt } from './queries/organization-limits-at.js';
import { siteMeter } from './queries/site-meter.js';
import { findLocation, findTenant } from './targets.js';

/** As in `Application`: identifiers are raw text of the path, instants raw text of the query that is well-formed. */
export interface OperatorView {
  /** In the order of their ids. */
  listLocations(tenantUuid: TenantUuid, page: PageQuery): LocationList;
  operatorLimit(tenantUuid: TenantUuid, locationId: string): OperatorLimitView;
  setOperatorLimit(
    tenantUuid: TenantUuid,
    locationId: string,
    message: OperatorMessage,
  ): Promise<OperatorLimitView>;
  operatorLimitHistory(
    tenantUuid: TenantUuid,
    locationId: string,
    asked: SpanPageQuery,
  ): Promise<OperatorHistory>;
  siteMeter(tenantUuid: TenantUuid, locationId: string): SiteMeterView;
  putSiteReading(tenantUuid: TenantUuid, locationId: string, message: SiteMeterMessage): SiteMeterView;
  locationLive(tenantUuid: TenantUuid, locationId: string): LocationLive;
  /** The limits view as of `at`, from what was known then. */
  locationLimitsAt(tenantUuid: TenantUuid, locationId: string, at: string): Promise<LocationLimits>;
  locationTimeline(tenantUuid: TenantUuid, locationId: string, asked: TimelineQuery): LocationTimeline;
  locationHistory(tenantUuid: TenantUuid, locationId: string, asked: SpanPageQuery): Promise<LocationHistory>;
  locationPower(tenantUuid: TenantUuid, locationId: string, asked: PowerQuery): Promise<LocationPower>;
  /** Of every location where `locationId` is undefined. */
  listAlarms(
    tenantUuid: TenantUuid,
    locationId: string | undefined,
    asked: SpanPageQuery,
  ): Promise<AlarmList>;
  connectorSchedules(tenantUuid: TenantUuid, controllerUuid: string, connectorId: string): ConnectorSchedules;
  /** The same as of `at`, from what was known then. */
  connectorSchedulesAt(
    tenantUuid: TenantUuid,
    controllerUuid: string,
    connectorId: string,
    at: string,
  ): Promise<ConnectorSchedules>;
  connectorHistory(
    tenantUuid: TenantUuid,
    controllerUuid: string,
    connectorId: string,
    asked: SpanPageQuery,
  ): Promise<ConnectorHistory>;
  /** The organization's recorded limits as of `at`, from what was known then. */
  organizationLimitsAt(tenantUuid: TenantUuid, at: string): Promise<OrganizationLimits>;
  organizationHistory(tenantUuid: TenantUuid, asked: SpanPageQuery): Promise<OrganizationHistory>;
  /** Calls `listener` with everything that happens from now on, of one location or of all; it must not throw. */
  subscribe(
    tenantUuid: TenantUuid,
    locationId: string | undefined,
    listener: (event: StreamEvent) => void,
  ): Unsubscribe;
}

export function createOperatorView(core: Core): OperatorView {
  return {
    operatorLimit: (tenantUuid, locationId) => operatorLimit(core, tenantUuid, locationId),
    setOperatorLimit: (tenantUuid, locationId, message) =>
      setOperatorLimit(core, tenantUuid, locationId, message),
    operatorLimitHistory: (tenantUuid, locationId, asked) =>
      operatorLimitHistory(core, tenantUuid, locationId, asked),
    siteMeter: (tenantUuid, locationId) => siteMeter(core, tenantUuid, locationId),
    putSiteReading: (tenantUuid, locationId, message) =>
      putSiteReading(core, tenantUuid, locationId, message),
    listLocations: (tenantUuid, page) => listLocations(core, tenantUuid, page),
    locationLive: (tenantUuid, locationId) => locationLive(core, tenantUuid, locationId),
    locationLimitsAt: (tenantUuid, locationId, at) => locationLimitsAt(core, tenantUuid, locationId, at),
    locationTimeline: (tenantUuid, locationId, asked) =>
      locationTimeline(core, tenantUuid, locationId, asked),
    locationHistory: (tenantUuid, locationId, asked) => locationHistory(core, tenantUuid, locationId, asked),
    locationPower: (tenantUuid, locationId, asked) => locationPower(core, tenantUuid, locationId, asked),
    listAlarms: (tenantUuid, locationId, asked) => listAlarms(core, tenantUuid, locationId, asked),
    connectorSchedules: (tenantUuid, controllerUuid, connectorId) =>
      connectorSchedules(core, tenantUuid, controllerUuid, connectorId),
    connectorSchedulesAt: (tenantUuid, controllerUuid, connectorId, at) =>
      connectorSchedulesAt(core, tenantUuid, controllerUuid, connectorId, at),
    connectorHistory: (tenantUuid, controllerUuid, connectorId, asked) =>
      connectorHistory(core, tenantUuid, controllerUuid, connectorId, asked),
    organizationLimitsAt: (tenantUuid, at) => organizationLimitsAt(core, tenantUuid, at),
    organizationHistory: (tenantUuid, asked) => organizationHistory(core, tenantUuid, asked),
    subscribe(tenantUuid, locationText, listener) {
      const location =
        locationText === undefined ? undefined : findLocation(core.directory, tenantUuid, locationText);
      return core.events.subscribe(findTenant(core.directory, tenantUuid), location, listener);
    },
  };
}
