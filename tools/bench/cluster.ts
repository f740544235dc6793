// `npm run cluster`: several nodes on this machine, live: a table of ownership, and keys to kill, freeze and start
// them.
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { systemClock } from '../../src/clock.js';
import type { ClusterFronts } from './cluster-fronts.js';
import { Cluster, type Node } from './cluster-parts.js';

const SHOW_EVERY_MS = 1_000;
const NODES_AT_MOST = 9;
const KEYS =
  '1-9 choose a node · k kill -9 · t SIGTERM · p pause · r resume or start · c cut from the database · m mend · q quit';

const FRONT_KEYS =
  'f kill -9 a front, the next each time · b kill -9 the NATS; both start again by themselves';

interface OwnerRow {
  /** null: the whole database. */
  readonly shard: number | null;
  readonly epoch: number;
  readonly node_url: string | null;
  readonly left_s: string | null;
}

const LEFT_S = 'round((alive_until_ms - extract(epoch from clock_timestamp()) * 1000) / 1000, 1) as left_s';
const WHOLE = `select null as shard, epoch, node_url, ${LEFT_S} from owner`;
const SHARDS = `select shard, epoch, node_url, ${LEFT_S} from shards where node_url is not null order by shard`;

/** The ownership of a node by these rows of the database. */
function ownedBy(httpUrl: string, rows: readonly OwnerRow[]): string {
  const owned = rows.filter(({ node_url }) => node_url === httpUrl);
  const [first] = owned;
  if (first === undefined) return '';
  if (first.shard === null) return `the database, term ${first.epoch}, lease ${first.left_s} s`;
  const leastS = Math.min(...owned.map(({ left_s }) => Number(left_s)));
  return `shards ${owned.map(({ shard }) => shard).join(' ')}, leases ${leastS.toFixed(1)} s and more`;
}

/** Output and keys of the terminal. */
class Console {
  readonly #cluster: Cluster;
  #chosen = 0;
  #note = '';
  #shownLines = 0;
  #frontsKilled = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async show(): Promise<void> {
    const rows = await this.#cluster.ask<OwnerRow>(this.#cluster.isSharded ? SHARDS : WHOLE);
    const table = new Table({ head: ['', 'node', 'process', 'role', 'REST', 'owns'] });
    for (const [i, node] of this.#cluster.nodes.entries()) {
      const owns = ownedBy(node.httpUrl, rows ?? []);
      const state = node.role === 'stopped' ? 'ended' : node.isPaused ? 'frozen' : 'runs';
      table.push([i === this.#chosen ? '>' : '', node.name, state, node.role, node.httpUrl, owns]);
    }
    const { connectors, leased, powerKw, allowedKw } = this.#cluster.fleet.summary();
    const lines = [
      ...table.toString().split('\n'),
      `${leased} of ${connectors} connectors hold a lease, ${Math.abs(powerKw).toFixed(1)} of ${allowedKw.toFixed(1)} kW`,
      rows === undefined ? 'The database does not answer.' : this.#note,
      ...(this.#cluster.fronts === undefined ? [] : [this.#cluster.fronts.names().join(' · '), FRONT_KEYS]),
      KEYS,
    ];
    this.#draw(lines);
  }

  /** False if the key ends the program. */
  press(key: string): boolean {
    const place = Number(key) - 1;
    const node = this.#cluster.nodes[this.#chosen];
    if (key === 'q' || key === '\u0003') return false;
    if (this.#cluster.nodes[place] !== undefined) this.#chosen = place;
    else if (this.#cluster.fronts !== undefined && (key === 'f' || key === 'b'))
      this.#note = this.#doToFronts(key, this.#cluster.fronts);
    else if (node !== undefined) this.#note = this.#do(key, node);
    return true;
  }

  #doToFronts(key: 'f' | 'b', fronts: ClusterFronts): string {
    const { name, done } =
      key === 'f'
        ? fronts.restartFront(this.#frontsKilled++)
        : { name: 'the NATS', done: fronts.restartBus() };
    void done.catch((error: unknown) => {
      this.#note = String(error);
    });
    return `SIGKILL to ${name}`;
  }

  #do(key: string, node: Node): string {
    const cluster = this.#cluster;
    const complain = (error: unknown) => {
      this.#note = String(error);
    };
    if (key === 'k' || key === 't') {
      const signal = key === 'k' ? 'SIGKILL' : 'SIGTERM';
      if (node.isPaused && signal === 'SIGTERM') return `${node.name} is frozen: resume it first`;
      void cluster.end(node, signal).catch(complain);
      return `${signal} to ${node.name}`;
    }
    if (node.role === 'stopped') {
      if (key !== 'r') return `${node.name} has ended: r starts it`;
      void cluster.startNode(node.name).catch(complain);
      return `${node.name} starts`;
    }
    if (key === 'p') cluster.pause(node);
    else if (key === 'r') cluster.resume(node);
    else if (key === 'c') cluster.cut(node);
    else if (key === 'm') cluster.mend(node);
    else return '';
    return {
      p: `${node.name} is frozen`,
      r: `${node.name} goes on`,
      c: `${node.name} does not reach the database`,
      m: `${node.name} reaches the database`,
    }[key];
  }

  /** In a terminal, overwrites the previous output. */
  #draw(lines: readonly string[]): void {
    const back = process.stdout.isTTY && this.#shownLines > 0 ? `\u001b[${this.#shownLines}A\u001b[J` : '';
    process.stdout.write(`${back}${lines.join('\n')}\n`);
    this.#shownLines = lines.length;
  }
}

function countOf(flag: string, text: string, least: number): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= least && count <= NODES_AT_MOST) return count;
  process.stderr.write(`${flag} ${text}: must be a whole number from ${least} to ${NODES_AT_MOST}\n`);
  process.exit(2);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '3' },
      sharded: { type: 'boolean', default: false },
      fronts: { type: 'string', default: '0' },
    },
  });
  const count = countOf('--nodes', values.nodes, 1);
  const fronts = countOf('--fronts', values.fronts, 0);
  const cluster = new Cluster({ isSharded: values.sharded, fronts });
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  try {
    process.stdout.write(
      `A PostgreSQL, ${fronts > 0 ? `a NATS, ${fronts} fronts` : 'a broker'}, ${count} nodes and virtual chargers start on this machine.\n`,
    );
    await cluster.start(count);
    const console = new Console(cluster);
    process.stdout.write(
      `Ask any node: curl -sS ${cluster.nodes[0]?.httpUrl}/v1/locations -H "x-api-key: ${cluster.sites[0]?.apiKey}"\n\n`,
    );
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    process.stdin.on('data', (bytes) => {
      for (const key of bytes.toString()) if (!console.press(key)) end();
    });
    let cancel = () => {};
    const show = async () => {
      await console.show();
      cancel = systemClock.after(SHOW_EVERY_MS, show);
    };
    await show();
    await ended;
    cancel();
  } finally {
    await cluster.stop();
  }
  process.exit(0);
}

await main();
