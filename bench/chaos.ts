// Breaks a cluster again and again while clients write and cars charge, and counts what must never happen.
import { parseArgs } from 'node:util';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { systemClock } from '../src/clock.js';
import { createMetrics } from '../src/metrics.js';
import { createStore } from '../src/outbound/knex/store.js';
import { Cluster, LIMIT_KW, LOCATIONS, type Node } from './cluster-parts.js';
import { API_KEY, locationIdOf, silentLog, TENANT } from './site.js';

const FAULTS = ['kill', 'terminate', 'freeze', 'freezeInCommit', 'restartDatabase', 'cutDatabase'] as const;
type Fault = (typeof FAULTS)[number];

const WRITERS = 4;
const SAMPLE_EVERY_MS = 200;
const SETTLED_MS = 4_000;
const ACTIVE_WITHIN_MS = 60_000;
/** Far ahead, so that no write moves a limit: what is written is looked up at the end. */
const WINDOW = { startTime: '2090-01-01T00:00:00.000Z', endTime: '2090-01-02T00:00:00.000Z' };
/** Each accepted change of the owner's row, in the order of the commits: who made it, and in which term. */
const AUDIT = `
  create table audit (id bigserial primary key, term bigint not null, session text not null);
  create function note_owner() returns trigger language plpgsql as $$
    begin
      insert into audit (term, session) values (new.epoch, current_setting('application_name'));
      return new;
    end $$;
  create trigger note_owner after update on owner for each row execute function note_owner();`;

/** What has to be 0 at the end, and how long things took. */
interface Tally {
  leasesLost: number;
  limitsBroken: number;
  writesLost: number;
  doubleWriters: number;
  acknowledged: number;
  refused: number;
  unanswered: number;
  readonly gapsMs: Map<Fault, number[]>;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
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

/** Clients that each go on with the next node where one does not answer. */
class Writers {
  readonly acknowledged: { readonly locationId: string; readonly limitKw: number }[] = [];
  readonly #cluster: Cluster;
  readonly #tally: Tally;
  #lastKw = 0;
  #answeredAtMs = systemClock.monotonicMs();
  #longestMs = 0;
  #isOver = false;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(cluster: Cluster, tally: Tally) {
    this.#cluster = cluster;
    this.#tally = tally;
  }

  start(): void {
    this.#writing = Promise.all(Array.from({ length: WRITERS }, (_, i) => this.#write(i)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#writing;
  }

  /** The longest time without a successful answer since it was asked last. */
  takeLongestMs(): number {
    const longestMs = Math.max(this.#longestMs, systemClock.monotonicMs() - this.#answeredAtMs);
    this.#longestMs = 0;
    return longestMs;
  }

  async #write(first: number): Promise<void> {
    for (let turn = first; !this.#isOver; turn++) {
      const node = this.#cluster.nodes[turn % this.#cluster.nodes.length];
      if (node === undefined || node.role === 'stopped' || node.isPaused) {
        await pause(20);
        continue;
      }
      const locationId = locationIdOf(turn % LOCATIONS);
      const limitKw = ++this.#lastKw;
      const status = await this.#put(node, locationId, { ...WINDOW, limitKw, priority: limitKw % 10 });
      if (status === 200) this.#take(locationId, limitKw);
      else if (status === undefined) this.#tally.unanswered++;
      else this.#tally.refused++;
      await pause(20);
    }
  }

  #take(locationId: string, limitKw: number): void {
    const nowMs = systemClock.monotonicMs();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#answeredAtMs);
    this.#answeredAtMs = nowMs;
    this.#tally.acknowledged++;
    this.acknowledged.push({ locationId, limitKw });
  }

  async #put(node: Node, locationId: string, body: object): Promise<number | undefined> {
    const leaving = new AbortController();
    const cancel = systemClock.after(10_000, () => leaving.abort());
    const answer = await fetch(`${node.httpUrl}/v1/locations/${locationId}/schedules`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    }).catch(() => undefined);
    cancel();
    return answer?.status;
  }
}

/** Looks at the chargers many times a second: who lost a lease that ran, and whether limits add up to too much. */
class Watch {
  readonly #cluster: Cluster;
  readonly #tally: Tally;
  readonly #leased = new Set<string>();
  #cancel = () => {};

  constructor(cluster: Cluster, tally: Tally) {
    this.#cluster = cluster;
    this.#tally = tally;
  }

  start(): void {
    const allowedW = new Map<string, number>();
    for (const { locationId, controllerUuid, limitW, leaseLeftS } of this.#cluster.fleet.connectors()) {
      allowedW.set(locationId, (allowedW.get(locationId) ?? 0) + limitW);
      if (leaseLeftS !== null) this.#leased.add(controllerUuid);
      else if (this.#leased.delete(controllerUuid)) this.#tally.leasesLost++;
    }
    for (const sumW of allowedW.values()) if (sumW > 1000 * LIMIT_KW + 1) this.#tally.limitsBroken++;
    this.#cancel = systemClock.after(SAMPLE_EVERY_MS, () => this.start());
  }

  get leased(): number {
    return this.#leased.size;
  }

  stop(): void {
    this.#cancel();
  }
}

async function freezeInCommit(cluster: Cluster, node: Node): Promise<void> {
  await until(async () => {
    cluster.pause(node);
    const holding = await cluster.ask(
      `select pid from pg_stat_activity where state = 'idle in transaction' and backend_xid is not null
       and application_name like 'headroom %'`,
    );
    if ((holding?.length ?? 0) > 0) return true;
    cluster.resume(node);
    return undefined;
  }, 'a commit to freeze in');
}

/** Does it to the node that runs, until another one does; then puts right what it did. */
async function play(cluster: Cluster, fault: Fault): Promise<void> {
  const active = await until(
    () => cluster.nodes.find(({ role, isPaused }) => role === 'active' && !isPaused),
    'a node to run',
  );
  const another = () =>
    until(
      () => cluster.nodes.find((node) => node !== active && node.role === 'active'),
      `${fault}: another node to run`,
    );
  if (fault === 'restartDatabase') {
    await cluster.restartDatabase();
    await until(() => cluster.nodes.find(({ role }) => role === 'active'), 'a node to run');
  } else if (fault === 'cutDatabase') {
    cluster.cut(active);
    await another();
    cluster.mend(active);
    await until(
      () => (active.role === 'standby' ? active : undefined),
      'the node that was cut off to stand by',
    );
  } else if (fault === 'kill' || fault === 'terminate') {
    await cluster.end(active, fault === 'kill' ? 'SIGKILL' : 'SIGTERM');
    await another();
    await cluster.startNode(active.name);
  } else {
    if (fault === 'freeze') cluster.pause(active);
    else await freezeInCommit(cluster, active);
    await another();
    cluster.resume(active);
    await until(
      () => (active.role === 'standby' ? active : undefined),
      'the node that was frozen to stand by',
    );
  }
}

async function countLost(cluster: Cluster, { acknowledged }: Writers): Promise<number> {
  const store = await createStore({
    databaseUrl: cluster.databaseUrl,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
  const written = new Set<string>();
  for (let i = 0; i < LOCATIONS; i++) {
    const locationId = locationIdOf(i);
    const allTime = { startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER };
    const rows = await store.profileHistory(TENANT, { kind: 'location', locationId }, allTime);
    for (const { limitKw } of rows) written.add(`${locationId} ${limitKw}`);
  }
  await store.close();
  return acknowledged.filter(({ locationId, limitKw }) => !written.has(`${locationId} ${limitKw}`)).length;
}

/** Terms that went back, and terms in which more than one node had a change accepted. */
async function countDoubleWriters(cluster: Cluster): Promise<number> {
  const [row] = (await cluster.ask<{ backwards: string; shared: string }>(
    `select (select count(*) from (select term < lag(term) over (order by id) as went_back from audit) as steps where went_back)
       as backwards,
     (select count(*) from (select term from audit where session like 'headroom %' group by term
       having count(distinct session) > 1) as terms) as shared`,
  )) ?? [{ backwards: 'NaN', shared: 'NaN' }];
  return Number(row?.backwards) + Number(row?.shared);
}

function report(tally: Tally, rounds: number): void {
  const { gapsMs, ...counts } = tally;
  process.stdout.write(`${JSON.stringify({ rounds, ...counts })}\n`);
  for (const [fault, gaps] of gapsMs) {
    const sorted = [...gaps].sort((a, b) => a - b);
    const at = (share: number) => ((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1000).toFixed(1);
    process.stdout.write(
      `${fault} × ${gaps.length}: REST without success for ${at(0.5)} s (median), ${at(1)} s (longest)\n`,
    );
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '20' },
      nodes: { type: 'string', default: '3' },
      seed: { type: 'string', default: '1' },
      faults: { type: 'string', default: FAULTS.join(',') },
    },
  });
  const faults = values.faults.split(',').filter((name): name is Fault => FAULTS.includes(name as Fault));
  const rng = mersenne(Number(values.seed));
  const tally: Tally = {
    leasesLost: 0,
    limitsBroken: 0,
    writesLost: 0,
    doubleWriters: 0,
    acknowledged: 0,
    refused: 0,
    unanswered: 0,
    gapsMs: new Map(),
  };
  const cluster = new Cluster();
  try {
    await cluster.start(Number(values.nodes));
    await cluster.ask(AUDIT);
    const watch = new Watch(cluster, tally);
    watch.start();
    await until(
      () => (watch.leased === cluster.fleet.summary().connectors ? true : undefined),
      'every charger to hold a lease',
    );
    const writers = new Writers(cluster, tally);
    writers.start();
    for (let round = 1; round <= Number(values.rounds); round++) {
      const fault = faults[uniformInt(rng, 0, faults.length - 1)] ?? 'kill';
      writers.takeLongestMs();
      await play(cluster, fault);
      await pause(SETTLED_MS);
      const gapMs = writers.takeLongestMs();
      tally.gapsMs.set(fault, [...(tally.gapsMs.get(fault) ?? []), gapMs]);
      process.stdout.write(
        `round ${round}: ${fault}, ${(gapMs / 1000).toFixed(1)} s, leased ${watch.leased}\n`,
      );
    }
    await writers.stop();
    watch.stop();
    tally.writesLost = await countLost(cluster, writers);
    tally.doubleWriters = await countDoubleWriters(cluster);
    report(tally, Number(values.rounds));
  } finally {
    await cluster.stop();
  }
  const { leasesLost, limitsBroken, writesLost, doubleWriters } = tally;
  process.exit(leasesLost + limitsBroken + writesLost + doubleWriters === 0 ? 0 : 1);
}

await main();
