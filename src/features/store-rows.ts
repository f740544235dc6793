// The rows of all features: the statement for each kind of change, and the rows from which a tenant's actors are built.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../machines/values/ids.js';
import { loadLocations } from '../outbound/knex/sites.js';
import { lockTenants } from '../outbound/knex/transaction.js';
import type { TenantState } from '../ports/records.js';
import type { Change, ChangeOf, Submission } from '../ports/store.js';
import { loadMutes, writeMutes } from './alarms/mute-rows.js';
import {
  acknowledgeAlarms,
  announceAlarms,
  beginAlarms,
  changeAlarms,
  endAlarms,
  loadOpenAlarms,
} from './alarms/rows.js';
import { writeAnswers } from './answers/rows.js';
import { loadOfflineChargers, writeOfflineChargers } from './chargers/rows.js';
import { loadClusters, writeClusters } from './clusters/rows.js';
import { loadNeeds, putNeeds } from './departures/rows.js';
import { putEnergy } from './energy/rows.js';
import { loadReservations, putReservations } from './entitlements/rows.js';
import { eventOf } from './event-log.js';
import { appendEvents, type NewEvent } from './events/rows.js';
import { loadOperatorEvents, putOperatorEvents } from './operator-limit/rows.js';
import { loadBilledWindows, putBilledWindows } from './peak-shaving/rows.js';
import { putConnectorPower } from './power-history/connector-rows.js';
import { putPowerMinutes } from './power-history/rows.js';
import { loadProfiles, setPermanentLimits, writeProfiles } from './profiles/rows.js';
import { putSessions } from './sessions/rows.js';
import { writeWebhooks } from './webhooks/rows.js';

interface Writer<Kind extends Change['kind']> {
  write(trx: Knex.Transaction, changes: readonly ChangeOf<Kind>[]): Promise<void>;
}
type Write<Kind extends Change['kind'] = Change['kind']> = Writer<Kind>['write'];

/**
 * In the order of writing. Kinds are independent, except that the end of an alarm needs its begin. Each takes one or two
 * statements for any number of changes; clusters change rarely, and are written one by one.
 */
const WRITES: { readonly [Kind in Change['kind']]: Write<Kind> } = {
  'profile.put': writeProfiles,
  'profile.cancel': writeProfiles,
  'permanentLimit.set': setPermanentLimits,
  'cluster.put': writeClusters,
  'cluster.delete': writeClusters,
  'reservation.put': putReservations,
  'alarm.begin': beginAlarms,
  'alarm.change': changeAlarms,
  'alarm.acknowledge': acknowledgeAlarms,
  'alarm.announce': announceAlarms,
  'alarm.end': endAlarms,
  'mute.put': writeMutes,
  'mute.end': writeMutes,
  'operator.put': putOperatorEvents,
  'needs.put': putNeeds,
  'energy.put': putEnergy,
  'session.put': putSessions,
  'charger.offline': writeOfflineChargers,
  'charger.online': writeOfflineChargers,
  'webhook.put': writeWebhooks,
  'webhook.delete': writeWebhooks,
  'webhook.progress': writeWebhooks,
  'webhook.replay': writeWebhooks,
  'answer.put': writeAnswers,
  'answer.change': writeAnswers,
  'billedWindow.put': putBilledWindows,
  'power.put': putPowerMinutes,
  'connectorPower.put': putConnectorPower,
};
const IN_ORDER = new Set<Write>(Object.values(WRITES));

/** Writes the changes of one commit, from all its callers, in order within each statement, and their events. */
export async function writeChanges(trx: Knex.Transaction, submissions: readonly Submission[]): Promise<void> {
  const sorted = new Map<Write, ChangeOf<Change['kind']>[]>();
  for (const { tenantUuid, changes, by } of submissions) {
    for (const change of changes) {
      const write: Write = WRITES[change.kind];
      const alike = sorted.get(write);
      const ofTenant = { ...change, tenantUuid, by };
      if (alike === undefined) sorted.set(write, [ofTenant]);
      else alike.push(ofTenant);
    }
  }
  await lockTenants(
    trx,
    submissions.map(({ tenantUuid }) => tenantUuid),
  );
  for (const write of IN_ORDER) {
    const changes = sorted.get(write);
    if (changes !== undefined) await write(trx, changes);
  }
  await appendEvents(trx, eventsOf(submissions));
}

/**
 * Appends events of a transaction that is not the journal's. It locks the tenant late: a long transaction would delay
 * the journal. Nothing may be written after it that the journal locks before the tenant.
 */
export async function logEvents(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await lockTenants(trx, [tenantUuid]);
  await appendEvents(trx, events);
}

/** In the order of the submissions. */
function eventsOf(submissions: readonly Submission[]): readonly NewEvent[] {
  return submissions.flatMap(({ tenantUuid, changes, by }) =>
    changes.flatMap((change) => eventOf(change, tenantUuid, by) ?? []),
  );
}

export async function readTenant(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<TenantState> {
  return {
    locations: await loadLocations(trx, tenantUuid),
    clusters: await loadClusters(trx, tenantUuid),
    profiles: await loadProfiles(trx, tenantUuid),
    reservations: await loadReservations(trx, tenantUuid),
    openAlarms: await loadOpenAlarms(trx, tenantUuid),
    alarmMutes: await loadMutes(trx, tenantUuid),
    operatorEvents: await loadOperatorEvents(trx, tenantUuid),
    sessionNeeds: await loadNeeds(trx, tenantUuid),
    billedWindows: await loadBilledWindows(trx, tenantUuid),
    offlineChargers: await loadOfflineChargers(trx, tenantUuid),
  };
}
