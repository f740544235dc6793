// Departures: needs of the car at a connector, declared over REST.

import {
  isEmpty,
  isSameNeed,
  NEED_SOURCES,
  needOf,
  type SessionNeed,
} from '../../../machines/policy/session-needs.js';
import { linkOf } from '../../../machines/power/connector.js';
import { DomainError } from '../../../machines/values/errors.js';
import { type Asked, type Core, findConnector, requireActiveConnector } from '../../actors/core.js';
import { type ConnectorEntity, needsRecordOf } from '../../actors/directory.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import {
  chargingPreferencesSchema,
  needOfPreferences,
  preferencesOf,
} from '../../wire/charging-preferences.js';
import { toInstant } from '../../wire/instants.js';
import { type SessionView, sessionSchema } from './contract.js';
import { dropPlan, forecastOf } from './plan.js';

const PATH = '/v1/chargers/{controllerUuid}/connectors/{connectorId}/session';

export const getSession = endpoint({
  operationId: 'getSession',
  method: 'get',
  path: PATH,
  ...EXTENSION,
  tag: 'chargers',
  scope: 'locations:read',
  summary: 'Read the needs and the energy of the car at a connector',
  responseSchema: sessionSchema,
  errors: ['CHARGER_NOT_FOUND', 'SESSION_NOT_FOUND'],
  handle: (core, { tenantUuid, path }) => viewOfSession(core, requireCar(core, tenantUuid, path)),
});

/** Replaces the declarations over REST. They end with the car. */
export const putSession = endpoint({
  operationId: 'putSession',
  method: 'put',
  path: PATH,
  ...EXTENSION,
  tag: 'chargers',
  scope: 'chargers:write',
  summary: 'Declare the departure and the needs of the car at a connector',
  requestSchema: chargingPreferencesSchema,
  responseSchema: sessionSchema,
  errors: ['CHARGER_NOT_FOUND', 'SESSION_NOT_FOUND', 'TARGET_INACTIVE'],
  async handle(core, asked) {
    const { tenantUuid, path, body } = asked;
    const connector = requireCar(core, tenantUuid, path);
    requireActiveConnector(connector);
    const need = needOfPreferences(body);
    const now = core.clock.nowMs();
    if (need.departsAtMs !== undefined && need.departsAtMs <= now)
      throw new DomainError(
        'INVALID_REQUEST_BODY',
        `departureTime: must be in the future; the service's clock reads ${toInstant(now)}`,
      );
    await declareOverRest(core, connector, need, asked);
    return viewOfSession(core, connector);
  },
});

/** Withdraws the declarations over REST; those of other sources count again. */
export const deleteSession = endpoint({
  operationId: 'deleteSession',
  method: 'delete',
  path: PATH,
  ...EXTENSION,
  tag: 'chargers',
  scope: 'chargers:write',
  summary: 'Withdraw the needs that were declared over REST',
  responseSchema: sessionSchema,
  errors: ['CHARGER_NOT_FOUND', 'SESSION_NOT_FOUND'],
  async handle(core, asked) {
    const connector = requireCar(core, asked.tenantUuid, asked.path);
    await declareOverRest(core, connector, undefined, asked);
    return viewOfSession(core, connector);
  },
});

/** The declaration is on disk before it counts. The log has each change. */
async function declareOverRest(
  core: Core,
  connector: ConnectorEntity,
  need: SessionNeed | undefined,
  { tenantUuid, requestId, by }: Pick<Asked, 'tenantUuid' | 'requestId' | 'by'>,
): Promise<void> {
  const { location, control } = connector;
  // The row must not overtake energy that is on its way to the disk.
  await core.written(tenantUuid);
  const record = needsRecordOf(connector);
  const { api: _, ...others } = record.declared;
  const declared = need === undefined || isEmpty(need) ? others : { ...others, api: need };
  const change = { kind: 'needs.put', needs: { ...record, declared } } as const;
  const { arrivedAtMs } = control.needs;
  await core.store.append(tenantUuid, [change]);
  if (!control.car.demand.hasCar || control.needs.arrivedAtMs !== arrivedAtMs) {
    // The row must not come back for the next car.
    await core.written(tenantUuid);
    await core.store.append(tenantUuid, [{ kind: 'needs.put', needs: needsRecordOf(connector) }]);
    throw new DomainError('SESSION_NOT_FOUND', 'The car left while its needs were stored.');
  }
  const before = control.needs.declared.api;
  core.directory.sendToLocation(location, { type: 'need.declared', key: control.key, source: 'api', need });
  dropPlan(location);
  const after = control.needs.declared.api;
  if (isSameNeed(before, after)) return;
  const { controllerUuid, connectorId } = record;
  core.log.info(
    {
      tenantUuid,
      controllerUuid,
      connectorId,
      sessionId: control.needs.session,
      requestId,
      by,
      before: before && preferencesOf(before),
      after: after && preferencesOf(after),
    },
    after === undefined ? 'session needs withdrawn' : 'session needs declared',
  );
}

/** @throws DomainError SESSION_NOT_FOUND if no car is known to be there */
function requireCar(
  core: Core,
  tenantUuid: Parameters<typeof findConnector>[1],
  path: Parameters<typeof findConnector>[2],
): ConnectorEntity {
  const connector = findConnector(core.directory, tenantUuid, path);
  core.expireReadings(connector.location);
  const { control } = connector;
  const isKnown = control.telemetry.slot.receivedAtMs !== undefined && linkOf(control) !== 'offline';
  if (!isKnown || !control.car.demand.hasCar)
    throw new DomainError(
      'SESSION_NOT_FOUND',
      'No car is at this connector; declare its needs once it is plugged in.',
    );
  return connector;
}

async function viewOfSession(core: Core, connector: ConnectorEntity): Promise<SessionView> {
  const forecast = await forecastOf(core, connector);
  const { record, control } = connector;
  const { needs } = control;
  return {
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    sessionId: needs.session ?? null,
    idTag: needs.idTag ?? null,
    deliveredKwh: Math.round(needs.deliveredWh) / 1000,
    preferences: preferencesOf(needOf(needs)),
    declared: NEED_SOURCES.flatMap((source) => {
      const need = needs.declared[source];
      return need === undefined ? [] : [{ source, preferences: preferencesOf(need) }];
    }),
    forecast,
  };
}
