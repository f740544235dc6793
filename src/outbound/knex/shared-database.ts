// Implements the SharedDatabase port: one database, opened once, and a
// store for each shard with its own owner and fence.
import type { TenantUuid } from '../../../machines/values/ids.js';
import { ALL_SHARDS, type Shard, shardOf } from '../../../machines/values/shards.js';
import { loadTenants } from '../../features/credentials/rows.js';
import type { Clock } from '../../ports/clock.js';
import type { SharedDatabase } from '../../ports/shared-database.js';
import type { Store } from '../../ports/store.js';
import { openDatabase } from './connection.js';
import { Database } from './database.js';
import { DatabaseClock } from './database-clock.js';
import type { OwnNode } from './database-ownership.js';
import { WHOLE_DATABASE } from './ownership.js';
import { DatabaseMembership, Renewals, shardRow } from './shards.js';
import { type StoreOptions, storeOver } from './store.js';
import { inSnapshot } from './transaction.js';
import { orUnavailable } from './unavailable.js';

/** Claims of several shards run at the same time, beside renewals. */
const OWNER_CONNECTIONS = 3;
/** Shorter than the time after which an outside change has to be noticed. */
const ASKED_ONCE_MS = 500;
/** The owner of this shard deletes old power minutes for all. */
const HOUSEKEEPING_SHARD: Shard = 0;
const THE_ONLY_SHARD: Shard = 0;

interface SharedOptions extends Omit<StoreOptions, 'node'> {
  readonly node: OwnNode & { readonly leaseMs: number };
}

/** Opens the database as `createStore` does, for a node that shares its tenants with others. */
export async function openSharedDatabase(options: SharedOptions): Promise<SharedDatabase> {
  const { databaseUrl, log, clock, databaseClock: hostClock = clock, node } = options;
  const opening = { log, nodeId: node.nodeId };
  const database = await Database.open(databaseUrl, { ...opening, isChecked: true });
  const { knex, migrations } = database;
  if (migrations.length > 0) log.info({ migrations }, 'database schema brought up to date');
  // Leases must not wait for reads and writes: they have a connection of their own.
  const ownerKnex = openDatabase(databaseUrl, { ...opening, connections: OWNER_CONNECTIONS });
  const loadNames = () => orUnavailable(() => inSnapshot(knex, (trx) => loadTenants(trx)));
  const renewals = new Renewals();
  const common = storeOver(knex, { ...options, part: { owned: WHOLE_DATABASE, ownerKnex } });
  const revisionSince = askedOnce(clock, common.revisionSince);
  const shards = ALL_SHARDS.map((shard) => {
    const store = storeOver(knex, { ...options, part: { owned: shardRow(shard, renewals), ownerKnex } });
    return narrowed({ ...store, revisionSince }, shard, loadNames);
  });
  return {
    shards: ALL_SHARDS,
    shardOf,
    membership: new DatabaseMembership(ownerKnex, new DatabaseClock(ownerKnex, { clock, hostClock }), node),
    common,
    shard(shard) {
      const store = shards[shard];
      if (store === undefined) throw new Error(`there is no shard ${shard}`);
      return store;
    },
    async close() {
      for (const store of [...shards, common]) await store.close();
      await ownerKnex.destroy();
      await database.close();
    },
  };
}

/** A database that is not divided: its only shard goes to any node that finds it vacant, so nobody has to be a member. */
export function asOneShard(store: Store, nodeId: string): SharedDatabase {
  const self = { nodeId, url: undefined, declined: [] };
  const noMember = async () => {};
  return {
    shards: [THE_ONLY_SHARD],
    shardOf: () => THE_ONLY_SHARD,
    membership: {
      join: noMember,
      renew: noMember,
      leave: noMember,
      async view() {
        const holder = await store.ownership.holder();
        const isOthers = holder !== undefined && holder.nodeId !== nodeId;
        return { members: isOthers ? [{ ...holder, declined: [] }, self] : [self], holders: [holder] };
      },
    },
    common: store,
    shard: () => store,
    close: () => store.close(),
  };
}

/** Answers of a moment ago are reused: every shard asks for changes of the same rows. */
function askedOnce(clock: Clock, ask: Store['revisionSince']): Store['revisionSince'] {
  const known = new Map<
    number | undefined,
    { readonly atMs: number; readonly found: ReturnType<typeof ask> }
  >();
  return (since) => {
    const atMs = clock.monotonicMs();
    const before = known.get(since);
    if (before !== undefined && atMs - before.atMs < ASKED_ONCE_MS) return before.found;
    const found = ask(since);
    // Only the newest is kept: older revisions are not asked for again.
    known.clear();
    known.set(since, { atMs, found });
    return found;
  };
}

/** A store with the tenants of `shard` alone. It loads no secrets, so it is of no use for sign-ins. */
function narrowed(store: Store, shard: Shard, loadNames: () => ReturnType<typeof loadTenants>): Store {
  const isOurs = (tenantUuid: TenantUuid) => shardOf(tenantUuid) === shard;
  return {
    ...store,
    async loadCredentials() {
      const tenants = (await loadNames()).filter(({ tenantUuid }) => isOurs(tenantUuid));
      return { tenants, credentials: [], mqttLogins: [] };
    },
    async revisionSince(since) {
      const revision = await store.revisionSince(since);
      return { ...revision, tenants: revision.tenants.filter(isOurs) };
    },
    async forgetPowerBefore(beforeMs) {
      if (shard === HOUSEKEEPING_SHARD) await store.forgetPowerBefore(beforeMs);
    },
    async forgetAnswersBefore(beforeMs) {
      if (shard === HOUSEKEEPING_SHARD) await store.forgetAnswersBefore(beforeMs);
    },
    async forgetEventsBefore(beforeMs) {
      if (shard === HOUSEKEEPING_SHARD) await store.forgetEventsBefore(beforeMs);
    },
    async forgetEnergyBefore(day) {
      if (shard === HOUSEKEEPING_SHARD) await store.forgetEnergyBefore(day);
    },
    async forgetConnectorPowerBefore(day) {
      if (shard === HOUSEKEEPING_SHARD) await store.forgetConnectorPowerBefore(day);
    },
  };
}
