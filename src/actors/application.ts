// What can be asked of the service, one function per endpoint: the door between the ways in and the actors.
import type { TenantUuid } from '../../machines/ids.js';
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

/**
 * Identifiers arrive as the raw text of the path: what could name nothing is unknown. Every function rejects with
 * DomainError for what the contract refuses and with StoreUnavailableError when nothing could be written.
 */
export interface Application {
  submitConnectorProfile(
    tenantUuid: TenantUuid,
    controllerUuid: string,
    connectorId: string,
    request: ProfileRequest,
  ): Promise<ConnectorSchedule>;
  submitLocationProfile(
    tenantUuid: TenantUuid,
    locationId: string,
    request: ProfileRequest,
  ): Promise<LocationSchedule>;
  setPermanentLimit(tenantUuid: TenantUuid, locationId: string, limitKw: number): Promise<PermanentLimit>;
  /** The same object for as long as the answer is the same, so that its serialized form may be kept with it. */
  locationLimits(tenantUuid: TenantUuid, locationId: string): LocationLimits;
  submitOrganizationProfile(tenantUuid: TenantUuid, request: ProfileRequest): Promise<OrganizationSchedule>;
  organizationLimits(tenantUuid: TenantUuid): OrganizationLimits;
  createCluster(tenantUuid: TenantUuid, request: CreateClusterRequest): Promise<Cluster>;
  listClusters(tenantUuid: TenantUuid): ClusterList;
  clusterDetail(tenantUuid: TenantUuid, clusterId: string): ClusterDetail;
  updateCluster(tenantUuid: TenantUuid, clusterId: string, request: UpdateClusterRequest): Promise<Cluster>;
  deleteCluster(tenantUuid: TenantUuid, clusterId: string): Promise<ClusterDeleted>;
  removeClusterMember(tenantUuid: TenantUuid, clusterId: string, locationId: string): Promise<Cluster>;
  /** `requestId` goes into the envelope of every member that failed. */
  submitClusterProfile(
    tenantUuid: TenantUuid,
    clusterId: string,
    request: ProfileRequest,
    requestId: string,
  ): Promise<ClusterSchedule>;
}
