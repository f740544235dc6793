// Breaks a cluster repeatedly while clients write and cars charge, and counts violations.

import { Command } from 'commander';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { SHARDS, shardOf } from '../../machines/values/shards.js';
import { systemClock } from '../../src/clock.js';
import { readProfileHistory } from '../../src/features/profiles/rows.js';
import { createMetrics } from '../../src/metrics.js';
import { createStore } from '../../src/outbound/knex/store.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Gaps, pause, type Tally, Watch, Writers } from './chaos-parts.js';
import { Cluster, type Node } from './cluster-parts.js';
import type { ClusterSite } from './cluster-plan.js';
import { silentLog } from './site.js';

const NODE_FAULTS = [
  'kill',
  'terminate',
  'freeze',
  'freezeInCommit',
  'restartDatabase',
  'cutDatabase',
] as const;
/** Faults of the fronts and their NATS, for a cluster with fronts. */
const FRONT_FAULTS = ['killFront', 'killBus'] as const;
type FrontFault = (typeof FRONT_FAULTS)[number];
type Fault = (typeof NODE_FAULTS)[number] | FrontFault;

interface Options {
  readonly rounds: string;
  readonly nodes: string;
  readonly seed: string;
  readonly faults?: string;
  readonly sharded?: boolean;
  readonly fronts: string;
}

/** The cluster, the writers, the watch, and their counts. */
interface RunTimeline {
  readonly cluster: Cluster;
  readonly writers: Writers;
  readonly watch: Watch;
  readonly tally: Tally;
}

const SETTLED_MS = 4_000;
const ACTIVE_WITHIN_MS = 60_000;
/**
 * Records each accepted change of an ownership row in the order of the commits: its session, and its ownership term.
 */
function auditOf(table: 'owner' | 'shards'): string {
  return `
  create table audit (id bigserial primary key, shard int not null, term bigint not null, session text not null);
  create function note_owner() returns trigger language plpgsql as $$
    begin
      insert into audit (shard, term, session)
      values (${table === 'shards' ? 'new.shard' : '0'}, new.epoch, current_setting('application_name'));
      return new;
    end $$;
  create trigger note_owner after update on ${table} for each row execute function note_owner();`;
}

async function until<T>(look: () => T | undefined | Promise<T | undefined>, what: string): Promise<T> {
  const untilMs = systemClock.monotonicMs() + ACTIVE_WITHIN_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (systemClock.monotonicMs() > untilMs) throw new Error(`this took more than a minute: ${what}`);
    await pause(50);
  }
}

/** Transactions that wait for their node in the middle of a write. */
async function openCommits(cluster: Cluster): Promise<readonly string[]> {
  const rows = await cluster.ask<{ commit: string }>(
    `select pid || ' ' || xact_start as commit from pg_stat_activity where state = 'idle in transaction'
     and backend_xid is not null and application_name like 'headroom %'`,
  );
  return rows?.map(({ commit }) => commit) ?? [];
}

async function freezeInCommit(cluster: Cluster, node: Node): Promise<void> {
  await until(async () => {
    cluster.pause(node);
    const before = await openCommits(cluster);
    // Transactions of other nodes end in this time.
    if (before.length > 0) await pause(100);
    const still = before.length > 0 ? await openCommits(cluster) : [];
    if (still.some((commit) => before.includes(commit))) return true;
    cluster.resume(node);
    return undefined;
  }, 'a commit to freeze in');
}

/** Other nodes now own all shards of the node, or its role. */
function isReplaced(cluster: Cluster, hit: Node): boolean {
  const others = cluster.nodes.filter((node) => node !== hit && !node.isPaused);
  if (!cluster.isSharded) return others.some(({ role }) => role === 'active');
  return new Set(others.flatMap(({ held }) => held)).size === SHARDS;
}

/** The node has its share of the work again, in addition to the others. */
function isBack(cluster: Cluster, { name }: Node): boolean {
  const node = cluster.nodes.find((another) => another.name === name);
  if (!cluster.isSharded) return node?.role === 'standby';
  const held = cluster.nodes.flatMap((each) => each.held);
  return (node?.held.length ?? 0) > 0 && held.length === SHARDS && new Set(held).size === SHARDS;
}

/** As a supervisor does: restarts a node that cannot start because the database answers too late. */
async function startAgain(cluster: Cluster, { name }: Node): Promise<void> {
  await until(
    () =>
      cluster.startNode(name).catch((error) => {
        process.stdout.write(`${error.message}\n`);
        return undefined;
      }),
    `${name} to start`,
  );
}

/** Applies the fault to the node until others have replaced it, and then removes the fault. */
async function play(cluster: Cluster, fault: Exclude<Fault, FrontFault>, hit: Node): Promise<void> {
  const replaced = () =>
    until(() => isReplaced(cluster, hit) || undefined, `${fault}: other nodes to follow`);
  if (fault === 'restartDatabase') {
    await cluster.restartDatabase();
    await until(() => cluster.nodes.find(({ role }) => role === 'active'), 'a node to run');
  } else if (fault === 'cutDatabase') {
    cluster.cut(hit);
    await replaced();
    cluster.mend(hit);
  } else if (fault === 'kill' || fault === 'terminate') {
    await cluster.end(hit, fault === 'kill' ? 'SIGKILL' : 'SIGTERM');
    await replaced();
    await startAgain(cluster, hit);
  } else {
    if (fault === 'freeze') cluster.pause(hit);
    else await freezeInCommit(cluster, hit);
    await replaced();
    cluster.resume(hit);
  }
  if (fault !== 'restartDatabase' || cluster.isSharded)
    await until(() => isBack(cluster, hit) || undefined, `${fault}: ${hit.name} to be back`);
}

async function countLost(cluster: Cluster, { acknowledged }: Writers): Promise<number> {
  const store = await createStore({
    databaseUrl: cluster.databaseUrl,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
  const written = new Set<string>();
  for (const { tenantUuid, locationId } of cluster.sites) {
    const allTime = { startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER };
    const rows = await store.read((trx) =>
      readProfileHistory(trx, tenantUuid, { kind: 'location', locationId }, allTime),
    );
    for (const { limitKw } of rows) written.add(`${locationId} ${limitKw}`);
  }
  await store.close();
  return acknowledged.filter(({ site, limitKw }) => !written.has(`${site.locationId} ${limitKw}`)).length;
}

/** Terms that decreased, and terms in which the changes of more than one node were accepted. */
async function countDoubleWriters(cluster: Cluster): Promise<number> {
  const [row] = (await cluster.ask<{ backwards: string; shared: string }>(
    `select (select count(*) from (select term < lag(term) over (partition by shard order by id) as went_back from audit) as steps where went_back)
       as backwards,
     (select count(*) from (select term from audit where session like 'headroom %' group by shard, term
       having count(distinct session) > 1) as terms) as shared`,
  )) ?? [{ backwards: 'NaN', shared: 'NaN' }];
  return Number(row?.backwards) + Number(row?.shared);
}

function report(tally: Tally, rounds: number): void {
  const { gapsMs, refused, ...counts } = tally;
  const refusals = [...refused.values()].reduce((sum, count) => sum + count, 0);
  process.stdout.write(`${JSON.stringify({ rounds, ...counts, refused: refusals })}\n`);
  for (const [what, count] of refused) process.stdout.write(`${count} × ${what}\n`);
  const at = (gaps: readonly number[], share: number) => {
    const sorted = [...gaps].sort((a, b) => a - b);
    return ((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1000).toFixed(1);
  };
  for (const [fault, { hitMs, othersMs, silentMs }] of gapsMs) {
    const others = othersMs.length === 0 ? '' : `; of other nodes' tenants ${at(othersMs, 1)} s (longest)`;
    process.stdout.write(
      `${fault} × ${hitMs.length}: REST without success for ${at(hitMs, 0.5)} s (median), ${at(hitMs, 1)} s (longest)${others}; a connector without an answered heartbeat for ${at(silentMs, 0.5)} s (median), ${at(silentMs, 1)} s (longest)\n`,
    );
  }
}

/**
 * One round: the fault hits one node. Returns the time without an answer for the clients of its tenants and for its
 * chargers.
 */
async function playRound(
  { cluster, writers, watch, tally }: RunTimeline,
  fault: Fault,
  draw: number,
): Promise<{ readonly restMs: number; readonly silentMs: number } | undefined> {
  const running = await until(() => {
    const found = cluster.nodes.filter(({ role, isPaused }) => role === 'active' && !isPaused);
    return found.length > 0 ? found : undefined;
  }, 'a node to run');
  const hit = running[draw % running.length];
  if (hit === undefined) return;
  const held = new Set(hit.held);
  const isHit = ({ tenantUuid }: ClusterSite) =>
    !cluster.isSharded || fault === 'restartDatabase' || held.has(shardOf(tenantUuid));
  writers.during(fault);
  writers.takeLongestMs();
  watch.takeLongestMs();
  if (fault === 'killFront') await cluster.fronts?.restartFront(draw).done;
  else if (fault === 'killBus') await cluster.fronts?.restartBus();
  else await play(cluster, fault, hit);
  const overAtMs = systemClock.monotonicMs();
  await until(() => watch.areRenewedSince(overAtMs) || undefined, `${fault}: every lease to be renewed`);
  await pause(SETTLED_MS);
  const longestMs = writers.takeLongestMs();
  const gaps: Gaps = tally.gapsMs.get(fault) ?? { hitMs: [], othersMs: [], silentMs: [] };
  tally.gapsMs.set(fault, gaps);
  const restMs = longestMs(isHit);
  gaps.hitMs.push(restMs);
  const isOfFronts = fault === 'killFront' || fault === 'killBus';
  const silentMs = watch.takeLongestMs()((site) => isOfFronts || isHit(site));
  gaps.silentMs.push(silentMs);
  if (cluster.isSharded && fault !== 'restartDatabase') gaps.othersMs.push(longestMs((site) => !isHit(site)));
  return { restMs, silentMs };
}

/** Plays `rounds`, or fewer after a request to stop; returns the number of rounds played. */
async function playRounds(course: RunTimeline, { rounds, seed, faults }: Options): Promise<number> {
  const { cluster, tally, watch } = course;
  const known: readonly Fault[] =
    cluster.fronts === undefined ? NODE_FAULTS : [...NODE_FAULTS, ...FRONT_FAULTS];
  const drawn = known.filter((fault) => faults?.split(',').includes(fault) ?? true);
  const rng = mersenne(Number(seed));
  let isAskedToStop = false;
  process.once('SIGUSR2', () => {
    isAskedToStop = true;
  });
  const inSeconds = (ms = 0) => `${(ms / 1000).toFixed(1)} s`;
  for (let round = 1; round <= Number(rounds); round++) {
    if (isAskedToStop) return round - 1;
    const fault = drawn[uniformInt(rng, 0, drawn.length - 1)] ?? 'kill';
    const gaps = await playRound(course, fault, uniformInt(rng, 0, 999));
    const { leasesLost, limitsBroken } = tally;
    process.stdout.write(
      `${toInstant(systemClock.nowMs())} round ${round}: ${fault}, REST ${inSeconds(gaps?.restMs)}, heartbeats ${inSeconds(gaps?.silentMs)}, leased ${watch.leased}, lost ${leasesLost}, broken ${limitsBroken}\n`,
    );
  }
  return Number(rounds);
}

async function run(options: Options): Promise<void> {
  const { sharded = false, fronts, nodes } = options;
  const tally: Tally = {
    leasesLost: 0,
    limitsBroken: 0,
    writesLost: 0,
    doubleWriters: 0,
    acknowledged: 0,
    refused: new Map(),
    unanswered: 0,
    gapsMs: new Map(),
  };
  const cluster = new Cluster({ isSharded: sharded, fronts: Number(fronts) });
  try {
    await cluster.start(Number(nodes));
    await cluster.ask(auditOf(sharded ? 'shards' : 'owner'));
    await until(
      () => cluster.nodes.every((node) => !sharded || isBack(cluster, node)) || undefined,
      'every node to run',
    );
    const watch = new Watch(cluster, tally);
    watch.start();
    await until(
      () => (watch.leased === cluster.fleet.summary().connectors ? true : undefined),
      'every charger to hold a lease',
    );
    const writers = new Writers(cluster, tally);
    writers.start();
    const rounds = await playRounds({ cluster, writers, watch, tally }, options);
    await writers.stop();
    watch.stop();
    tally.writesLost = await countLost(cluster, writers);
    tally.doubleWriters = await countDoubleWriters(cluster);
    report(tally, rounds);
  } finally {
    await cluster.stop();
  }
  const { leasesLost, limitsBroken, writesLost, doubleWriters } = tally;
  process.exit(leasesLost + limitsBroken + writesLost + doubleWriters === 0 ? 0 : 1);
}

await new Command('chaos')
  .description(
    'Breaks one of several nodes again and again while clients write and cars charge; SIGUSR2 ends it after the round',
  )
  .option('--rounds <n>', 'how often', '20')
  .option('--nodes <n>', 'processes on one PostgreSQL', '3')
  .option('--seed <n>', 'what is drawn: which fault, and which node', '1')
  .option('--faults <names>', `only these, with commas: ${[...NODE_FAULTS, ...FRONT_FAULTS].join(', ')}`)
  .option('--sharded', 'the nodes share eight tenants; they stand by for each other if left out')
  .option('--fronts <n>', 'with a NATS and as many fronts in the place of a broker', '0')
  .action(run)
  .parseAsync();
