// The alarms of a location or of the whole tenant, open ones included. Operators acknowledge and mute them.

import { DomainError } from '../../../machines/values/errors.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { type Asked, type Core, findConnector, findLocation, findLocationId } from '../../actors/core.js';
import type { LocationEntity } from '../../actors/directory.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { AlarmMuteRecord, AlarmRecord } from '../../ports/records.js';
import { toInstant } from '../../wire/instants.js';
import { newestFirst, type SpanPageQuery, spanPageQuerySchema } from '../../wire/spans.js';
import {
  type AlarmList,
  type AlarmView,
  acknowledgeRequestSchema,
  alarmListSchema,
  alarmSchema,
  type MuteView,
  muteDeletedSchema,
  muteListSchema,
  muteRequestSchema,
  muteSchema,
} from './contract.js';
import { readAlarms } from './rows.js';

const OF_LOCATION = '/v1/locations/{locationId}/alarms';
const MUTES = '/v1/locations/{locationId}/alarm-mutes';
const LONGEST_MUTE_MS = 366 * 86_400_000;

export const listAlarms = endpoint({
  operationId: 'listAlarms',
  method: 'get',
  path: '/v1/alarms',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List the alarms of all locations, newest first',
  querySchema: spanPageQuerySchema,
  responseSchema: alarmListSchema,
  errors: [],
  handle: (core, asked) => alarmsOf(core, undefined, asked),
});

export const listLocationAlarms = endpoint({
  operationId: 'listLocationAlarms',
  method: 'get',
  path: OF_LOCATION,
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List the alarms of a location, newest first',
  querySchema: spanPageQuerySchema,
  responseSchema: alarmListSchema,
  errors: ['LOCATION_NOT_FOUND'],
  handle: (core, asked) => alarmsOf(core, asked.path.locationId, asked),
});

/** It ends with the alarm: the next alarm of the kind needs another. A second one replaces the first. */
export const acknowledgeAlarm = endpoint({
  operationId: 'acknowledgeAlarm',
  method: 'put',
  path: `${OF_LOCATION}/{alarmId}/acknowledgement`,
  ...EXTENSION,
  scope: 'locations:write',
  summary: 'Acknowledge an open alarm',
  requestSchema: acknowledgeRequestSchema,
  responseSchema: alarmSchema,
  errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
  handle: (core, { tenantUuid, by, path, body }) => {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    return inTurn(core, location, async () => {
      // The row of the alarm may be on its way to the disk.
      await core.written(tenantUuid);
      const open = [...location.alarms.values()].find(({ alarmId }) => alarmId === path.alarmId);
      if (open === undefined)
        throw new DomainError(
          'NOT_FOUND',
          `No such open alarm: ${path.alarmId.slice(0, 128)}; an alarm that has ended needs no acknowledgement.`,
        );
      const acknowledgement = { atMs: core.clock.nowMs(), by, note: body.note ?? null };
      const alarm = { ...open, acknowledgement };
      await core.store.append(tenantUuid, [{ kind: 'alarm.acknowledge', alarm }], by);
      return viewOfAlarm(core.alarms.acknowledge(location, alarm));
    });
  },
});

export const listMutes = endpoint({
  operationId: 'listAlarmMutes',
  method: 'get',
  path: MUTES,
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List the mutes of a location, the first to end first',
  responseSchema: muteListSchema,
  errors: ['LOCATION_NOT_FOUND'],
  handle({ directory, clock }, { tenantUuid, path }) {
    const { record, mutes } = findLocation(directory, tenantUuid, path.locationId);
    const now = clock.nowMs();
    const present = [...mutes.values()].filter(({ untilMs }) => untilMs > now);
    present.sort((a, b) => a.untilMs - b.untilMs);
    return { locationId: record.locationId, mutes: present.map(viewOfMute) };
  },
});

/** One mute for each kind and place: a second one replaces the first. */
export const muteAlarms = endpoint({
  operationId: 'muteAlarms',
  method: 'post',
  path: MUTES,
  ...EXTENSION,
  scope: 'locations:write',
  summary: 'Withhold alarms of a kind from webhooks and mails until an instant',
  status: 201,
  requestSchema: muteRequestSchema,
  responseSchema: muteSchema,
  errors: ['LOCATION_NOT_FOUND', 'CHARGER_NOT_FOUND'],
  handle: (core, { tenantUuid, by, path, body, keep }) => {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    const muteId = core.newId();
    return inTurn(core, location, async () => {
      const mutedAtMs = core.clock.nowMs();
      const mute: AlarmMuteRecord = {
        muteId,
        kind: body.kind,
        locationId: location.record.locationId,
        ...placeOf(core, location, body),
        untilMs: endOf(body.until, mutedAtMs),
        note: body.note ?? null,
        mutedAtMs,
        mutedBy: by,
      };
      const kept = keep(() => viewOfMute(mute));
      await core.store.append(tenantUuid, [{ kind: 'mute.put', mute }, ...kept], by);
      core.alarms.mute(location, mute);
      return viewOfMute(mute);
    });
  },
});

export const unmuteAlarms = endpoint({
  operationId: 'unmuteAlarms',
  method: 'delete',
  path: `${MUTES}/{muteId}`,
  ...EXTENSION,
  scope: 'locations:write',
  summary: 'Withdraw a mute; webhooks and mails receive the open alarms that it withheld',
  responseSchema: muteDeletedSchema,
  errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
  handle: (core, { tenantUuid, by, path }) => {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    return inTurn(core, location, async () => {
      const mute = [...location.mutes.values()].find(({ muteId }) => muteId === path.muteId);
      if (mute === undefined)
        throw new DomainError('NOT_FOUND', `No such mute: ${path.muteId.slice(0, 128)}; it may have ended.`);
      const atMs = core.clock.nowMs();
      await core.store.append(tenantUuid, [{ kind: 'mute.end', mute, atMs }], by);
      core.alarms.unmute(location, mute);
      return { muteId: mute.muteId, deleted: true as const };
    });
  },
});

/** One command at a time for each location, so that its checks still hold at its write. */
function inTurn<T>(
  { clusterQueue }: Core,
  { tenant, record }: LocationEntity,
  work: () => Promise<T>,
): Promise<T> {
  return clusterQueue.run(`${tenant.tenantUuid}/${record.locationId}/alarms`, work);
}

/** @throws DomainError INVALID_REQUEST_BODY, CHARGER_NOT_FOUND */
function placeOf(
  { directory }: Core,
  location: LocationEntity,
  body: {
    readonly controllerUuid?: string | null | undefined;
    readonly connectorId?: string | null | undefined;
  },
): Pick<AlarmMuteRecord, 'controllerUuid' | 'connectorId'> {
  const { controllerUuid, connectorId } = body;
  if (controllerUuid == null && connectorId == null) return { controllerUuid: null, connectorId: null };
  if (controllerUuid == null || connectorId == null)
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `${controllerUuid == null ? 'controllerUuid' : 'connectorId'}: required beside ${controllerUuid == null ? 'connectorId' : 'controllerUuid'}; leave both out to mute the whole location`,
    );
  const { record, location: itsLocation } = findConnector(directory, location.tenant.tenantUuid, {
    controllerUuid,
    connectorId,
  });
  if (itsLocation !== location)
    throw new DomainError('CHARGER_NOT_FOUND', 'The connector belongs to another location.');
  return { controllerUuid: record.controllerUuid, connectorId: record.connectorId };
}

/** @throws DomainError INVALID_REQUEST_BODY */
function endOf(until: string, now: EpochMs): EpochMs {
  const untilMs = Date.parse(until);
  if (untilMs > now && untilMs <= now + LONGEST_MUTE_MS) return untilMs;
  throw new DomainError(
    'INVALID_REQUEST_BODY',
    `until: must be in the future and at most 366 days ahead; the service's clock reads ${toInstant(now)}`,
  );
}

/** Newest first. */
async function alarmsOf(
  { directory, clock, read }: Core,
  locationText: string | undefined,
  { tenantUuid, query }: Asked<unknown, unknown, SpanPageQuery>,
): Promise<AlarmList> {
  const { span, rows, nextCursor } = await newestFirst(
    query,
    clock.nowMs(),
    (window, count) => {
      const locationId = findLocationId(directory, tenantUuid, locationText);
      return read((trx) => readAlarms(trx, tenantUuid, { locationId, window, count }));
    },
    ({ beganAtMs }) => beganAtMs,
  );
  const locations = directory.tenants.get(tenantUuid)?.locations;
  const open = new Map(
    [...new Set(rows.flatMap((row) => (row.endedAtMs === null ? row.locationId : [])))].flatMap(
      (locationId) =>
        [...(locations?.get(locationId)?.alarms.values() ?? [])].map(
          (alarm) => [alarm.alarmId, alarm] as const,
        ),
    ),
  );
  // A row has no mute.
  const alarms = rows.map((row) =>
    viewOfAlarm({ ...row, mutedUntilMs: open.get(row.alarmId)?.mutedUntilMs ?? null }),
  );
  return { ...span, alarms, nextCursor };
}

export function viewOfAlarm(alarm: AlarmRecord): AlarmView {
  const { acknowledgement } = alarm;
  return {
    alarmId: alarm.alarmId,
    kind: alarm.kind,
    locationId: alarm.locationId,
    controllerUuid: alarm.controllerUuid,
    connectorId: alarm.connectorId,
    reason: alarm.reason,
    firstReason: alarm.firstReason,
    beganAt: toInstant(alarm.beganAtMs),
    endedAt: alarm.endedAtMs === null ? null : toInstant(alarm.endedAtMs),
    acknowledgement: acknowledgement && {
      at: toInstant(acknowledgement.atMs),
      by: acknowledgement.by,
      note: acknowledgement.note,
    },
    mutedUntil: alarm.mutedUntilMs === null ? null : toInstant(alarm.mutedUntilMs),
    isWithheld: alarm.isWithheld,
  };
}

export function viewOfMute(mute: AlarmMuteRecord): MuteView {
  return {
    muteId: mute.muteId,
    kind: mute.kind,
    locationId: mute.locationId,
    controllerUuid: mute.controllerUuid,
    connectorId: mute.connectorId,
    until: toInstant(mute.untilMs),
    note: mute.note,
    mutedAt: toInstant(mute.mutedAtMs),
    mutedBy: mute.mutedBy,
  };
}
