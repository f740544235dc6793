// Writes the changes of one commit, from all its callers, in as few statements as their kinds allow.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { BilledWindowRecord, PowerRecord, ReservationRecord } from '../../ports/records.js';
import type { Change } from '../../ports/store.js';
import {
  type AlarmBegin,
  type AlarmChange,
  type AlarmEnd,
  beginAlarms,
  changeAlarms,
  endAlarms,
} from './alarms.js';
import { putBilledWindows } from './billed-windows.js';
import { deleteCluster, putCluster } from './clusters.js';
import { type OperatorChange, putOperatorEvents } from './operator-limits.js';
import { type PermanentLimitChange, setPermanentLimits } from './permanent-limits.js';
import { putPowerMinutes } from './power-minutes.js';
import { type ProfileChange, writeProfiles } from './profiles.js';
import { putReservations } from './reservations.js';
import { lockTenants } from './transaction.js';

/** Changes of one caller, written all or none. */
export interface Submission {
  readonly tenantUuid: TenantUuid;
  readonly changes: readonly Change[];
}

/** Changes by the statements that write them. */
interface Sorted {
  readonly profiles: ProfileChange[];
  readonly permanentLimits: PermanentLimitChange[];
  readonly clusters: ((trx: Knex.Transaction) => Promise<void>)[];
  readonly reservations: { readonly tenantUuid: TenantUuid; readonly reservation: ReservationRecord }[];
  readonly alarmBegins: AlarmBegin[];
  readonly alarmChanges: AlarmChange[];
  readonly alarmEnds: AlarmEnd[];
  readonly operatorEvents: OperatorChange[];
  readonly billedWindows: { readonly tenantUuid: TenantUuid; readonly billedWindow: BilledWindowRecord }[];
  readonly powerMinutes: {
    readonly tenantUuid: TenantUuid;
    readonly locationId: LocationId;
    readonly minute: PowerRecord;
  }[];
}

/**
 * Writes all submissions, in order within each kind of change. Kinds are independent, except that an
 * alarm's end needs its begin. Clusters change rarely and are written one by one. Every other kind takes
 * one or two statements, for any number of changes.
 */
export async function writeChanges(trx: Knex.Transaction, submissions: readonly Submission[]): Promise<void> {
  const sorted = sort(submissions);
  await lockTenants(
    trx,
    submissions.map(({ tenantUuid }) => tenantUuid),
  );
  await write(trx, sorted.profiles, writeProfiles);
  await write(trx, sorted.permanentLimits, setPermanentLimits);
  for (const writeCluster of sorted.clusters) await writeCluster(trx);
  await write(trx, sorted.reservations, putReservations);
  await write(trx, sorted.alarmBegins, beginAlarms);
  await write(trx, sorted.alarmChanges, changeAlarms);
  await write(trx, sorted.alarmEnds, endAlarms);
  await write(trx, sorted.operatorEvents, putOperatorEvents);
  await write(trx, sorted.billedWindows, putBilledWindows);
  await write(trx, sorted.powerMinutes, putPowerMinutes);
}

/** Most commits have changes of one kind: no statement runs for the others. */
async function write<C>(
  trx: Knex.Transaction,
  changes: readonly C[],
  writer: (trx: Knex.Transaction, changes: readonly C[]) => Promise<void>,
): Promise<void> {
  if (changes.length > 0) await writer(trx, changes);
}

function sort(submissions: readonly Submission[]): Sorted {
  const sorted: Sorted = {
    profiles: [],
    permanentLimits: [],
    clusters: [],
    reservations: [],
    alarmBegins: [],
    alarmChanges: [],
    alarmEnds: [],
    operatorEvents: [],
    billedWindows: [],
    powerMinutes: [],
  };
  for (const { tenantUuid, changes } of submissions) {
    for (const change of changes) add(sorted, tenantUuid, change);
  }
  return sorted;
}

function add(sorted: Sorted, tenantUuid: TenantUuid, change: Change): void {
  switch (change.kind) {
    case 'profile.put':
    case 'profile.cancel':
      sorted.profiles.push({ tenantUuid, change });
      break;
    case 'permanentLimit.set':
      sorted.permanentLimits.push({ tenantUuid, ...change });
      break;
    case 'cluster.put':
      sorted.clusters.push((trx) => putCluster(trx, tenantUuid, change.cluster));
      break;
    case 'cluster.delete':
      sorted.clusters.push((trx) => deleteCluster(trx, tenantUuid, change.clusterId));
      break;
    case 'reservation.put':
      sorted.reservations.push({ tenantUuid, reservation: change.reservation });
      break;
    case 'alarm.begin':
      sorted.alarmBegins.push({ tenantUuid, alarm: change.alarm });
      break;
    case 'alarm.change':
      sorted.alarmChanges.push({ tenantUuid, alarmId: change.alarmId, reason: change.reason });
      break;
    case 'alarm.end':
      sorted.alarmEnds.push({ tenantUuid, alarmId: change.alarmId, atMs: change.atMs });
      break;
    case 'operator.put':
      sorted.operatorEvents.push({ tenantUuid, event: change.event });
      break;
    case 'billedWindow.put':
      sorted.billedWindows.push({ tenantUuid, billedWindow: change.billedWindow });
      break;
    case 'power.put':
      sorted.powerMinutes.push({ tenantUuid, locationId: change.locationId, minute: change.minute });
      break;
  }
}
