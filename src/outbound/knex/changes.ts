// The changes of one commit, whoever asked for them, in as few statements as their kinds allow.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/ids.js';
import type { Change } from '../../ports/store.js';
import { deleteCluster, putCluster } from './clusters.js';
import { type PermanentLimitChange, setPermanentLimits } from './permanent-limits.js';
import { type ProfilePut, putProfiles } from './profiles.js';
import { lockTenants } from './tenant-lock.js';

/** What one caller wants written, all or nothing. */
export interface Submission {
  readonly tenantUuid: TenantUuid;
  readonly changes: readonly Change[];
}

/**
 * Writes all submissions, in order within each kind of change: no kind depends on another. Profiles and permanent
 * limits take two statements however many they are; clusters change rarely and go one by one.
 */
export async function writeChanges(trx: Knex.Transaction, submissions: readonly Submission[]): Promise<void> {
  const puts: { tenantUuid: TenantUuid; put: ProfilePut }[] = [];
  const limits: PermanentLimitChange[] = [];
  const clusters: (() => Promise<void>)[] = [];
  for (const { tenantUuid, changes } of submissions) {
    for (const change of changes) {
      switch (change.kind) {
        case 'profile.put':
          puts.push({ tenantUuid, put: change });
          break;
        case 'permanentLimit.set':
          limits.push({ tenantUuid, ...change });
          break;
        case 'cluster.put':
          clusters.push(() => putCluster(trx, tenantUuid, change.cluster));
          break;
        case 'cluster.delete':
          clusters.push(() => deleteCluster(trx, tenantUuid, change.clusterId));
          break;
      }
    }
  }
  await lockTenants(
    trx,
    submissions.map(({ tenantUuid }) => tenantUuid),
  );
  await putProfiles(trx, puts);
  await setPermanentLimits(trx, limits);
  for (const writeCluster of clusters) await writeCluster();
}
