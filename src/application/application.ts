// What can be asked of the service, one function per endpoint: the door between the ways in and the actors.
import type { TenantUuid } from '../../machines/values/ids.js';
import type {
  CancelledConnectorSchedule,
  CancelledLocationSchedule,
  CancelledOrganizationSchedule,
} from '../wire/cancelled-profiles.js';
import type { ClusterSchedule } from '../wire/cluster-schedule.js';
import type {
  Cluster,
  ClusterDeleted,
  ClusterDetail,
  ClusterList,
  ConnectorSchedule,
  CreateClusterRequest,
  LocationLimits,
  LocationSchedule,
  OrganizationLimits,
  OrganizationSchedule,
  PermanentLimit,
  ProfileRequest,
  UpdateClusterRequest,
} from '../wire/rest.js';
import { cancelConnectorProfile } from './commands/cancel-connector-profile.js';
import { cancelLocationProfile } from './commands/cancel-location-profile.js';
import { cancelOrganizationProfile } from './commands/cancel-organization-profile.js';
import { createCluster } from './commands/create-cluster.js';
import { deleteCluster } from './commands/delete-cluster.js';
import { removeClusterMember } from './commands/remove-cluster-member.js';
import { setPermanentLimit } from './commands/set-permanent-limit.js';
import { submitClusterProfile } from './commands/submit-cluster-profile.js';
import { submitConnectorProfile } from './commands/submit-connector-profile.js';
import { submitLocationProfile } from './commands/submit-location-profile.js';
import { submitOrganizationProfile } from './commands/submit-organization-profile.js';
import { updateCluster } from './commands/update-cluster.js';
import type { Core } from './core.js';
import type { Advise } from './look-ahead.js';
import { createOperatorView, type OperatorView } from './operator-view.js';
import { clusterDetail } from './queries/cluster-detail.js';
import { listClusters } from './queries/list-clusters.js';
import { locationLimits } from './queries/location-limits.js';
import { organizationLimits } from './queries/organization-limits.js';

/**
 * Identifiers arrive as the raw text of the path: what could name nothing is unknown. Every function rejects with
 * DomainError for what the contract refuses and with StoreUnavailableError when nothing could be written. `advise` is
 * called, before a write is answered, where it leads to a shortage of power.
 */
export interface Application extends OperatorView {
  submitConnectorProfile(
    tenantUuid: TenantUuid,
    controllerUuid: string,
    connectorId: string,
    request: ProfileRequest,
    advise: Advise,
  ): Promise<ConnectorSchedule>;
  submitLocationProfile(
    tenantUuid: TenantUuid,
    locationId: string,
    request: ProfileRequest,
    advise: Advise,
  ): Promise<LocationSchedule>;
  setPermanentLimit(
    tenantUuid: TenantUuid,
    locationId: string,
    limitKw: number,
    advise: Advise,
  ): Promise<PermanentLimit>;
  /** The same object for as long as the answer is the same, so that its serialized form may be kept with it. */
  locationLimits(tenantUuid: TenantUuid, locationId: string): LocationLimits;
  submitOrganizationProfile(tenantUuid: TenantUuid, request: ProfileRequest): Promise<OrganizationSchedule>;
  organizationLimits(tenantUuid: TenantUuid): OrganizationLimits;
  createCluster(tenantUuid: TenantUuid, request: CreateClusterRequest, advise: Advise): Promise<Cluster>;
  listClusters(tenantUuid: TenantUuid): ClusterList;
  clusterDetail(tenantUuid: TenantUuid, clusterId: string): ClusterDetail;
  updateCluster(
    tenantUuid: TenantUuid,
    clusterId: string,
    request: UpdateClusterRequest,
    advise: Advise,
  ): Promise<Cluster>;
  deleteCluster(tenantUuid: TenantUuid, clusterId: string): Promise<ClusterDeleted>;
  removeClusterMember(tenantUuid: TenantUuid, clusterId: string, locationId: string): Promise<Cluster>;
  /** Extension: the profile that holds the slot of `priority` ends now, and stays as history. */
  cancelConnectorProfile(
    tenantUuid: TenantUuid,
    controllerUuid: string,
    connectorId: string,
    priority: number,
    advise: Advise,
  ): Promise<CancelledConnectorSchedule>;
  cancelLocationProfile(
    tenantUuid: TenantUuid,
    locationId: string,
    priority: number,
    advise: Advise,
  ): Promise<CancelledLocationSchedule>;
  cancelOrganizationProfile(tenantUuid: TenantUuid, priority: number): Promise<CancelledOrganizationSchedule>;
  /** `requestId` goes into the envelope of every member that failed. */
  submitClusterProfile(
    tenantUuid: TenantUuid,
    clusterId: string,
    request: ProfileRequest,
    requestId: string,
    advise: Advise,
  ): Promise<ClusterSchedule>;
}

export function createApplication(core: Core): Application {
  return {
    ...createOperatorView(core),
    submitConnectorProfile: (tenantUuid, controllerUuid, connectorId, request, advise) =>
      submitConnectorProfile(core, tenantUuid, controllerUuid, connectorId, request, advise),
    submitLocationProfile: (tenantUuid, locationId, request, advise) =>
      submitLocationProfile(core, tenantUuid, locationId, request, advise),
    setPermanentLimit: (tenantUuid, locationId, limitKw, advise) =>
      setPermanentLimit(core, tenantUuid, locationId, limitKw, advise),
    locationLimits: (tenantUuid, locationId) => locationLimits(core, tenantUuid, locationId),
    submitOrganizationProfile: (tenantUuid, request) => submitOrganizationProfile(core, tenantUuid, request),
    cancelConnectorProfile: (tenantUuid, controllerUuid, connectorId, priority, advise) =>
      cancelConnectorProfile(core, tenantUuid, controllerUuid, connectorId, priority, advise),
    cancelLocationProfile: (tenantUuid, locationId, priority, advise) =>
      cancelLocationProfile(core, tenantUuid, locationId, priority, advise),
    cancelOrganizationProfile: (tenantUuid, priority) =>
      cancelOrganizationProfile(core, tenantUuid, priority),
    organizationLimits: (tenantUuid) => organizationLimits(core, tenantUuid),
    createCluster: (tenantUuid, request, advise) => createCluster(core, tenantUuid, request, advise),
    listClusters: (tenantUuid) => listClusters(core, tenantUuid),
    clusterDetail: (tenantUuid, clusterId) => clusterDetail(core, tenantUuid, clusterId),
    updateCluster: (tenantUuid, clusterId, request, advise) =>
      updateCluster(core, tenantUuid, clusterId, request, advise),
    deleteCluster: (tenantUuid, clusterId) => deleteCluster(core, tenantUuid, clusterId),
    removeClusterMember: (tenantUuid, clusterId, locationId) =>
      removeClusterMember(core, tenantUuid, clusterId, locationId),
    submitClusterProfile: (tenantUuid, clusterId, request, requestId, advise) =>
      submitClusterProfile(core, tenantUuid, clusterId, request, requestId, advise),
  };
}
