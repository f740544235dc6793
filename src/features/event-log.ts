// Every event of the log: the committed change that it follows from, and the view that fills it.
import { asId, type LocationId, type TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ProvisionedTenant, ProvisioningAction } from '../ports/administration.js';
import type { CredentialChange, CredentialRecord } from '../ports/credentials.js';
import type { AlarmMuteRecord, EventType } from '../ports/records.js';
import type { Change } from '../ports/store.js';
import { credentialRef } from '../secrets.js';
import { toInstant } from '../wire/instants.js';
import { viewOfAlarm, viewOfMute } from './alarms/alarms.js';
import { viewOfCluster } from './clusters/clusters.js';
import type { NewEvent } from './events/rows.js';
import { viewOfStanding } from './operator-limit/operator-limit.js';
import { viewOfSession } from './sessions/sessions.js';
import { viewOfMailChange } from './webhooks/mail-subscriptions.js';
import { viewOfWebhookChange } from './webhooks/webhooks.js';

/**
 * Undefined for bookkeeping, and for a profile: its row is its event.
 * @param by the credential of the change; undefined without one
 */
export function eventOf(
  change: Change,
  tenantUuid: TenantUuid,
  by: string | undefined,
): NewEvent | undefined {
  const body = bodyOf(change, tenantUuid);
  return body && { ...NOWHERE, tenantUuid, key: undefined, by: by ?? null, ...body };
}

/** A deleted row of an ended credential is no event. */
export function eventsOfCredentials(changes: readonly CredentialChange[]): readonly NewEvent[] {
  return changes.flatMap(({ type, credential }): readonly NewEvent[] => {
    if (type === 'forget') return [];
    const { createdAtMs, createdBy, endedAtMs, endedBy } = credential;
    return [
      type === 'add'
        ? credentialEvent('credential.issued', credential, createdAtMs ?? 0, createdBy)
        : credentialEvent('credential.ended', credential, endedAtMs ?? 0, endedBy),
    ];
  });
}

type CredentialFields = Pick<CredentialRecord, 'kind' | 'id' | 'tenantUuid'> &
  Partial<Pick<CredentialRecord, 'name' | 'scopes' | 'expiresAtMs'>>;

/** It has no hash: one of a weak secret could be guessed. */
export function credentialEvent(
  type: EventType,
  { name, scopes, expiresAtMs, ...credential }: CredentialFields,
  atMs: EpochMs,
  by: string | null,
): NewEvent {
  const expiresAt = expiresAtMs == null ? null : toInstant(expiresAtMs);
  const data = {
    credential: credentialRef(credential),
    name: name ?? null,
    scopes: scopes ?? null,
    expiresAt,
  };
  return { ...NOWHERE, tenantUuid: credential.tenantUuid, key: undefined, type, atMs, by, data };
}

/** Changes that an event lists; it has the number of all. */
const LISTED_AT_MOST = 100;

/** One event for each changed location and credential, and one for the rest of the tenant. */
export function eventsOfProvisioning(
  { tenantUuid, apiKeys, oauthClients }: Pick<ProvisionedTenant, 'tenantUuid' | 'apiKeys' | 'oauthClients'>,
  actions: readonly ProvisioningAction[],
  atMs: EpochMs,
): readonly NewEvent[] {
  const changed = new Map<LocationId | null, ProvisioningAction[]>();
  const credentials: NewEvent[] = [];
  let locationId: LocationId | null = null;
  for (const { action, kind, id } of actions) {
    if (kind === 'location') locationId = asId<LocationId>(id) ?? null;
    if (action === 'unchanged') continue;
    const type = action === 'created' ? 'credential.issued' : 'credential.changed';
    if (kind === 'api-key') {
      const key = apiKeys.find((given) => given.id === id);
      credentials.push(credentialEvent(type, { ...key, kind: 'apiKey', id, tenantUuid }, atMs, null));
    } else if (kind === 'client') {
      const client = oauthClients.find((given) => given.id === id);
      credentials.push(credentialEvent(type, { ...client, kind: 'client', id, tenantUuid }, atMs, null));
    } else {
      const place = OF_TENANT.has(kind) ? null : locationId;
      changed.set(place, [...(changed.get(place) ?? []), { action, kind, id }]);
    }
  }
  const places = [...changed].map(([place, changes]): NewEvent => {
    const data = { changes: changes.slice(0, LISTED_AT_MOST), totalChanges: changes.length };
    return {
      ...NOWHERE,
      tenantUuid,
      key: undefined,
      type: 'provisioning.changed',
      atMs,
      locationId: place,
      by: null,
      data,
    };
  });
  return [...credentials, ...places];
}

const OF_TENANT: ReadonlySet<string> = new Set(['tenant', 'gateway', 'feature']);

/** Bookkeeping is no event. */
const LOGGED: ReadonlySet<Change['kind']> = new Set<Change['kind']>([
  'profile.put',
  'profile.cancel',
  'permanentLimit.set',
  'cluster.put',
  'cluster.delete',
  'alarm.begin',
  'alarm.end',
  'alarm.acknowledge',
  'alarm.announce',
  'mute.put',
  'mute.end',
  'operator.put',
  'session.put',
  'charger.offline',
  'charger.online',
  'webhook.put',
  'webhook.delete',
]);

/** The log has an event for such a change. */
export function isEvent({ kind }: Change): boolean {
  return LOGGED.has(kind);
}

const NOWHERE = { locationId: null, controllerUuid: null, connectorId: null } as const;

type EventBody = Pick<NewEvent, 'type' | 'atMs' | 'data'> &
  Partial<Pick<NewEvent, 'key' | 'locationId' | 'controllerUuid' | 'connectorId'>>;

function bodyOf(change: Change, tenantUuid: TenantUuid): EventBody | undefined {
  switch (change.kind) {
    case 'profile.cancel': {
      const { target, locationId = null, priority, atMs } = change;
      // Readers of the log may lack the scope for the limits of the organization.
      if (target.kind === 'organization') return undefined;
      const { kind: _, ...place } = { locationId, ...target };
      return { type: 'profile.cancelled', atMs, ...place, data: { priority } };
    }
    case 'permanentLimit.set': {
      const { locationId, limitKw, atMs } = change;
      return { type: 'permanentLimit.changed', atMs, locationId, data: { permanentLimitKw: limitKw } };
    }
    case 'cluster.put': {
      const { cluster } = change;
      const { locationIds, ...data } = viewOfCluster(tenantUuid, cluster);
      return {
        type: 'cluster.changed',
        atMs: cluster.updatedAtMs,
        data: { ...data, totalLocations: locationIds.length },
      };
    }
    case 'cluster.delete': {
      const { clusterId, atMs } = change;
      return { type: 'cluster.deleted', atMs, data: { clusterId } };
    }
    case 'alarm.begin': {
      const { alarm } = change;
      return {
        type: 'alarm.began',
        atMs: alarm.beganAtMs,
        ...placeOfAlarm(change),
        key: `began ${alarm.alarmId}`,
      };
    }
    case 'alarm.end': {
      const { alarm } = change;
      return {
        type: 'alarm.ended',
        atMs: alarm.endedAtMs ?? alarm.beganAtMs,
        ...placeOfAlarm(change),
        key: `ended ${alarm.alarmId}`,
      };
    }
    case 'alarm.acknowledge': {
      const { alarm } = change;
      const atMs = alarm.acknowledgement?.atMs ?? alarm.beganAtMs;
      return { type: 'alarm.acknowledged', atMs, ...placeOfAlarm(change) };
    }
    case 'alarm.announce':
      return {
        type: 'alarm.began',
        atMs: change.atMs,
        ...placeOfAlarm(change),
        key: `announced ${change.alarm.alarmId}`,
      };
    case 'mute.put':
      return { type: 'alarm.muted', atMs: change.mute.mutedAtMs, ...placeOfMute(change.mute) };
    case 'mute.end': {
      const { mute, atMs } = change;
      return { type: 'alarm.unmuted', atMs, ...placeOfMute(mute), key: `unmuted ${mute.muteId}` };
    }
    case 'operator.put': {
      const { event, nth } = change;
      const { locationId, recordedAtMs } = event;
      const key = `operator ${locationId} ${recordedAtMs} ${nth} ${event.state}`;
      return {
        type: 'operatorLimit.changed',
        atMs: recordedAtMs,
        locationId,
        key,
        data: viewOfStanding(event),
      };
    }
    case 'session.put': {
      const { session } = change;
      const { locationId, controllerUuid, connectorId, arrivedAtMs, leftAtMs } = session;
      const key = `session ${controllerUuid} ${connectorId} ${arrivedAtMs} ${session.session ?? ''}`;
      const data = viewOfSession(session);
      return { type: 'session.ended', atMs: leftAtMs, locationId, controllerUuid, connectorId, key, data };
    }
    case 'charger.offline':
    case 'charger.online': {
      const { kind, atMs, locationId, charger } = change;
      const { controllerUuid, sinceMs } = charger;
      const key = `${kind} ${controllerUuid} ${sinceMs}`;
      return {
        type: kind,
        atMs,
        locationId,
        controllerUuid,
        key,
        data: { offlineSince: toInstant(sinceMs) },
      };
    }
    case 'webhook.put': {
      const { webhook } = change;
      const isMail = webhook.mailTo !== null;
      return {
        type: isMail ? 'mailSubscription.changed' : 'webhook.changed',
        atMs: webhook.updatedAtMs,
        data: isMail ? viewOfMailChange(webhook) : viewOfWebhookChange(webhook),
      };
    }
    case 'webhook.delete': {
      const { webhookId, isMail, atMs } = change;
      return isMail
        ? { type: 'mailSubscription.deleted', atMs, data: { mailSubscriptionId: webhookId } }
        : { type: 'webhook.deleted', atMs, data: { webhookId } };
    }
    default:
      return undefined;
  }
}

type Place = Pick<NewEvent, 'locationId' | 'controllerUuid' | 'connectorId'>;

function placeOfAlarm({
  alarm,
}: Extract<Change, { readonly alarm: unknown }>): Place & Pick<NewEvent, 'data'> {
  const { locationId, controllerUuid, connectorId } = alarm;
  return { locationId, controllerUuid, connectorId, data: viewOfAlarm(alarm) };
}

function placeOfMute(mute: AlarmMuteRecord): Place & Pick<NewEvent, 'data'> {
  const { locationId, controllerUuid, connectorId } = mute;
  return { locationId, controllerUuid, connectorId, data: viewOfMute(mute) };
}
