// The tenant endpoints of contract section 4: one table for the routes and for OpenAPI.

import { asOfQuerySchema } from '../../wire/operator-queries.js';
import {
  clusterDeletedSchema,
  clusterDetailSchema,
  clusterListSchema,
  clusterScheduleSchema,
  clusterSchema,
  connectorScheduleSchema,
  createClusterRequestSchema,
  locationLimitsSchema,
  locationScheduleSchema,
  organizationLimitsSchema,
  organizationScheduleSchema,
  permanentLimitRequestSchema,
  permanentLimitSchema,
  profileRequestSchema,
  updateClusterRequestSchema,
} from '../../wire/rest.js';
import { type Endpoint, withBody, withoutBody, withQuery } from './endpoint.js';

/** Answer to a DELETE of all schedules of a target: profiles are cancelled one by one. */
const CANCEL_BY_PRIORITY = 'name the priority of the profile to cancel: DELETE …/schedules/{priority}.';
/** The same for a cluster, whose schedule is a profile of each member. */
const CANCEL_BY_MEMBER =
  'each member has a profile of its own: DELETE /v1/locations/{locationId}/schedules/{priority} for each.';

/** In the order of the contract. */
export const ENDPOINTS: readonly Endpoint[] = [
  withBody(
    {
      operationId: 'scheduleConnector',
      method: 'post',
      path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules',
      tag: 'chargers',
      summary: 'Lock a connector at a limit for a time window',
      scope: 'chargers:write',
      responseSchema: connectorScheduleSchema,
      mayWarn: true,
      errors: ['TARGET_INACTIVE', 'CHARGER_NOT_FOUND'],
      insteadOfDelete: CANCEL_BY_PRIORITY,
    },
    profileRequestSchema,
    ({ application, tenantUuid, param, warn }, request) =>
      application.submitConnectorProfile(
        tenantUuid,
        param('controllerUuid'),
        param('connectorId'),
        request,
        warn,
      ),
  ),
  withBody(
    {
      operationId: 'scheduleLocation',
      method: 'post',
      path: '/v1/locations/{locationId}/schedules',
      tag: 'locations',
      summary: 'Limit a location for a time window',
      scope: 'locations:write',
      responseSchema: locationScheduleSchema,
      mayWarn: true,
      errors: ['TARGET_INACTIVE', 'LOCATION_NOT_FOUND'],
      insteadOfDelete: CANCEL_BY_PRIORITY,
    },
    profileRequestSchema,
    ({ application, tenantUuid, param, warn }, request) =>
      application.submitLocationProfile(tenantUuid, param('locationId'), request, warn),
  ),
  withBody(
    {
      operationId: 'setPermanentLimit',
      method: 'put',
      path: '/v1/locations/{locationId}/limit',
      tag: 'locations',
      summary: 'Set the permanent limit of a location',
      scope: 'locations:write',
      responseSchema: permanentLimitSchema,
      mayWarn: true,
      errors: ['TARGET_INACTIVE', 'LOCATION_NOT_FOUND'],
    },
    permanentLimitRequestSchema,
    ({ application, tenantUuid, param, warn }, { limitKw }) =>
      application.setPermanentLimit(tenantUuid, param('locationId'), limitKw, warn),
  ),
  withQuery(
    {
      operationId: 'getLocationLimits',
      method: 'get',
      path: '/v1/locations/{locationId}/limits',
      tag: 'locations',
      summary: 'Read the limits and profiles of a location',
      scope: 'locations:read',
      responseSchema: locationLimitsSchema,
      errors: ['LOCATION_NOT_FOUND'],
      isAnswerStable: true,
    },
    asOfQuerySchema,
    ({ application, tenantUuid, param }, { at }) =>
      at === undefined
        ? application.locationLimits(tenantUuid, param('locationId'))
        : application.locationLimitsAt(tenantUuid, param('locationId'), at),
  ),
  withBody(
    {
      operationId: 'scheduleOrganization',
      method: 'post',
      path: '/v1/organizations/schedules',
      tag: 'organizations',
      summary: 'Record a limit for the whole organization (not enforced)',
      scope: 'org:write',
      responseSchema: organizationScheduleSchema,
      errors: [],
      insteadOfDelete: CANCEL_BY_PRIORITY,
    },
    profileRequestSchema,
    ({ application, tenantUuid }, request) => application.submitOrganizationProfile(tenantUuid, request),
  ),
  withQuery(
    {
      operationId: 'getOrganizationLimits',
      method: 'get',
      path: '/v1/organizations/limits',
      tag: 'organizations',
      summary: 'Read the recorded limits of the organization',
      scope: 'org:write',
      responseSchema: organizationLimitsSchema,
      errors: [],
    },
    asOfQuerySchema,
    ({ application, tenantUuid }, { at }) =>
      at === undefined
        ? application.organizationLimits(tenantUuid)
        : application.organizationLimitsAt(tenantUuid, at),
  ),
  withBody(
    {
      operationId: 'createCluster',
      method: 'post',
      path: '/v1/clusters',
      tag: 'clusters',
      summary: 'Group locations under one optional cap',
      scope: 'clusters:write',
      status: 201,
      responseSchema: clusterSchema,
      mayWarn: true,
      errors: ['LOCATION_NOT_FOUND'],
    },
    createClusterRequestSchema,
    ({ application, tenantUuid, warn }, request) => application.createCluster(tenantUuid, request, warn),
  ),
  withoutBody(
    {
      operationId: 'listClusters',
      method: 'get',
      path: '/v1/clusters',
      tag: 'clusters',
      summary: 'List the clusters, newest first',
      scope: 'clusters:read',
      responseSchema: clusterListSchema,
      errors: [],
    },
    ({ application, tenantUuid }) => application.listClusters(tenantUuid),
  ),
  withoutBody(
    {
      operationId: 'getCluster',
      method: 'get',
      path: '/v1/clusters/{clusterId}',
      tag: 'clusters',
      summary: 'Read a cluster with its live status',
      scope: 'clusters:read',
      responseSchema: clusterDetailSchema,
      errors: ['CLUSTER_NOT_FOUND'],
    },
    ({ application, tenantUuid, param }) => application.clusterDetail(tenantUuid, param('clusterId')),
  ),
  withBody(
    {
      operationId: 'updateCluster',
      method: 'patch',
      path: '/v1/clusters/{clusterId}',
      tag: 'clusters',
      summary: 'Change the supplied fields of a cluster',
      scope: 'clusters:write',
      responseSchema: clusterSchema,
      mayWarn: true,
      errors: ['CLUSTER_EMPTY', 'CLUSTER_NOT_FOUND', 'LOCATION_NOT_FOUND'],
    },
    updateClusterRequestSchema,
    ({ application, tenantUuid, param, warn }, request) =>
      application.updateCluster(tenantUuid, param('clusterId'), request, warn),
  ),
  withoutBody(
    {
      operationId: 'deleteCluster',
      method: 'delete',
      path: '/v1/clusters/{clusterId}',
      tag: 'clusters',
      summary: 'Delete a cluster; its locations stay',
      scope: 'clusters:write',
      responseSchema: clusterDeletedSchema,
      errors: ['CLUSTER_NOT_FOUND'],
    },
    ({ application, tenantUuid, param }) => application.deleteCluster(tenantUuid, param('clusterId')),
  ),
  withoutBody(
    {
      operationId: 'removeClusterMember',
      method: 'delete',
      path: '/v1/clusters/{clusterId}/locations/{locationId}',
      tag: 'clusters',
      summary: 'Remove one location from a cluster',
      scope: 'clusters:write',
      responseSchema: clusterSchema,
      errors: ['CLUSTER_EMPTY', 'CLUSTER_NOT_FOUND', 'LOCATION_NOT_FOUND'],
    },
    ({ application, tenantUuid, param }) =>
      application.removeClusterMember(tenantUuid, param('clusterId'), param('locationId')),
  ),
  withBody(
    {
      operationId: 'scheduleCluster',
      method: 'post',
      path: '/v1/clusters/{clusterId}/schedules',
      tag: 'clusters',
      summary: 'Limit every member location for a time window',
      scope: 'clusters:write',
      responseSchema: clusterScheduleSchema,
      mayWarn: true,
      errors: ['CLUSTER_INACTIVE', 'CLUSTER_NOT_FOUND'],
      insteadOfDelete: CANCEL_BY_MEMBER,
    },
    profileRequestSchema,
    ({ application, tenantUuid, requestId, param, warn }, request) =>
      application.submitClusterProfile(tenantUuid, param('clusterId'), request, requestId, warn),
  ),
];
