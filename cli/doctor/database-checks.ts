// Checks of the database, which other processes may use at the same time.
import { counted } from '../../machines/values/counted.js';
import {
  type Inspection,
  type SeenOwner,
  type SeenServer,
  UnreadableWithoutWritingError,
} from '../../src/outbound/knex/inspection.js';
import type { Clock } from '../../src/ports/clock.js';
import { DatabaseLostError } from '../../src/ports/store.js';
import { type Finding, fail, messageOf, ok, warn } from './finding.js';

const SLOW_ROUND_TRIP_MS = 20;
const CLOCKS_APART_AT_MOST_MS = 2_000;

/** Findings about a database that cannot be opened. */
export function checkUnopened(error: unknown): readonly Finding[] {
  if (error instanceof UnreadableWithoutWritingError)
    return [warn(error.message, 'start the service, then check again')];
  return [
    fail(
      messageOf(error),
      error instanceof DatabaseLostError
        ? 'see its message'
        : 'bring it back, or correct HEADROOM_DATABASE_URL',
    ),
  ];
}

/** Checks schema, damage, lost writes and the duration of a query, and the durability settings of PostgreSQL. */
export async function checkDatabase(inspection: Inspection, clock: Clock): Promise<readonly Finding[]> {
  const { missing, unknown } = await inspection.schema();
  if (unknown.length > 0)
    return [
      fail(
        `its schema is of a newer version (${unknown.join(', ')})`,
        'start that version, or restore a backup from before the upgrade',
      ),
    ];
  await inspection.checkWhole();
  const server = await inspection.server();
  const found: Finding[] = server === undefined ? [ok('SQLite, whole')] : [...judgeServer(server)];
  if (missing.length > 0)
    found.push(
      warn(`its schema is older (lacks ${missing.join(', ')})`, 'run headroom migrate, or start the service'),
    );
  if (server !== undefined) found.push(judgeRoundTrip(await inspection.roundTripMs(clock)));
  return found;
}

export function judgeServer({ isReplica, flushes, asynchronousReplicas }: SeenServer): readonly Finding[] {
  if (isReplica)
    return [fail('PostgreSQL, a replica that takes no writes', 'name the primary in HEADROOM_DATABASE_URL')];
  if (!flushes)
    return [
      fail(
        'PostgreSQL with fsync off: acknowledged writes may be lost',
        'set fsync = on in its postgresql.conf',
      ),
    ];
  if (asynchronousReplicas > 0)
    return [
      warn(
        `PostgreSQL with ${counted(asynchronousReplicas, 'asynchronous replica')}: an answer may be lost with the primary`,
        'set synchronous_standby_names, or treat a failover as a restore',
      ),
    ];
  return [ok('PostgreSQL, and it flushes commits')];
}

export function judgeRoundTrip(ms: number): Finding {
  const said = `a query takes ${ms.toFixed(1)} ms there and back`;
  if (ms < SLOW_ROUND_TRIP_MS) return ok(said);
  return warn(said, 'a write takes several of these: run service and database in one data centre');
}

export function judgeOwner(owner: SeenOwner, isStandby: boolean): Finding {
  const { ownerTerm, nodeUrl, leaseLeftMs, isConnected, isVacant } = owner;
  const term = ownerTerm === 0 ? 'no service has run on it' : `term ${ownerTerm}`;
  const node = nodeUrl ?? 'a node';
  if (leaseLeftMs !== undefined && leaseLeftMs <= 0)
    return warn(
      `${term}: the lease of ${node} ended ${Math.round(-leaseLeftMs / 1000)} s ago, and no node took over`,
      'start a node; the log of standby nodes has the reason why they do not run',
    );
  if (leaseLeftMs !== undefined && !isStandby)
    return warn(
      `${term}: ${node} runs on it, with standby nodes`,
      'set HEADROOM_STANDBY=true: a service without it takes the database from that node',
    );
  if (leaseLeftMs !== undefined) return ok(`${term}, ${node} runs on it`);
  if (isConnected === true && isStandby)
    return warn(
      `${term}: a service without HEADROOM_STANDBY runs on it`,
      'set it there too: with a lease, other nodes notice its end at once',
    );
  if (isConnected === true) return ok(`${term}, a service runs on it`);
  return ok(isVacant && ownerTerm > 0 ? `${term}, no service runs on it` : term);
}

/** @param aheadMs lead of the database's clock; undefined if it has no clock of its own. */
export function judgeDatabaseClock(aheadMs: number | undefined, isStandby: boolean): readonly Finding[] {
  if (aheadMs === undefined) return [];
  const apart = `the database's clock is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead'}`;
  if (Math.abs(aheadMs) <= CLOCKS_APART_AT_MOST_MS) return [ok(apart)];
  const wayOut = 'synchronize both (NTP)';
  if (isStandby) return [fail(`${apart}: this node would not take over`, wayOut)];
  return [warn(`${apart}: one of the two clocks is wrong`, wayOut)];
}
