// The service that writes events: one process on SQLite or PostgreSQL, or two nodes of which one stands by.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import type { TenantUuid } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { loadConfig } from '../../src/config.js';
import type { Dice } from './attack-dice.js';
import { AttackedProcess } from './attack-process.js';
import { pause } from './chaos-parts.js';
import { ownersOf, sitesOf } from './cluster-plan.js';
import { freePort } from './cut-wire.js';
import { postgresUrlOf, startPostgres } from './postgres.js';
import { provision } from './site.js';

export const ENGINES = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;
export type Engine = keyof typeof ENGINES;

const TENANTS = 4;
const LIMIT_KW = 50;
/** A start of the service takes about a second; a kill in this time often meets it. */
const KILLED_IN_START_WITHIN_MS = 1_000;
const TAKEN_OVER_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;

export interface EventTenant {
  readonly tenantUuid: TenantUuid;
  readonly apiKey: string;
  readonly locationIds: readonly string[];
}

interface EventNode {
  readonly process: AttackedProcess;
  readonly url: string;
}

export class EventSite {
  readonly tenants: readonly EventTenant[];
  readonly #nodes: readonly EventNode[];
  readonly #undo: (() => unknown)[];
  #isUp = false;

  private constructor(
    tenants: readonly EventTenant[],
    nodes: readonly EventNode[],
    undo: readonly (() => unknown)[],
  ) {
    this.tenants = tenants;
    this.#nodes = nodes;
    this.#undo = [...undo];
  }

  static async start(engine: Engine, nodeCount: number, locationsEach: number): Promise<EventSite> {
    const directory = mkdtempSync(join(tmpdir(), 'headroom-events-'));
    const remove = () => rmSync(directory, { recursive: true, force: true });
    process.once('exit', remove);
    const undo: (() => unknown)[] = [remove];
    const environment: Record<string, string> = {
      PATH: '/usr/bin:/bin',
      HEADROOM_DATA_DIR: directory,
      HEADROOM_WEBHOOK_PRIVATE: 'true',
    };
    if (engine === 'postgres') {
      const { server, port } = await startPostgres(directory);
      undo.unshift(() => server.stop());
      environment.HEADROOM_DATABASE_URL = postgresUrlOf(port);
    }
    const plan = { tenants: TENANTS, locationsEach, chargersEach: 0, limitKw: LIMIT_KW };
    const shape = { chargersEach: 0, permanentLimitKw: LIMIT_KW, gridLimitKw: LIMIT_KW, isOperated: true };
    const owners = ownersOf(plan);
    for (const owner of owners) await provision(loadConfig({}, environment), locationsEach, 0, shape, owner);
    if (nodeCount > 1) environment.HEADROOM_STANDBY = 'true';
    const nodes: EventNode[] = [];
    for (let i = 1; i <= nodeCount; i++) {
      const [http, mqtt] = [String(await freePort()), String(await freePort())];
      const words = ['serve', '--http-port', http, '--mqtt-port', mqtt];
      const log = join(directory, `node-${i}.log`);
      const service = new AttackedProcess(`node-${i}`, words, environment, log);
      nodes.push({ process: service, url: `http://127.0.0.1:${http}` });
    }
    const tenants = owners.map((owner) => {
      const sites = sitesOf(owner, plan);
      const [first] = sites;
      if (first === undefined) throw new Error('a tenant without a location has no events');
      const { tenantUuid, apiKey } = first;
      return { tenantUuid, apiKey, locationIds: sites.map(({ locationId }) => locationId as string) };
    });
    const site = new EventSite(tenants, nodes, undo);
    for (const node of nodes) await node.process.start();
    if (nodeCount > 1) await site.#active();
    site.#isUp = true;
    return site;
  }

  /** Address of a node, another one in each turn. Waits while the only process is down. */
  async urlAt(turn: number): Promise<string> {
    while (!this.#isUp) await pause(LOOK_EVERY_MS / 5);
    const { url } = this.#nodes[turn % this.#nodes.length] ?? {};
    if (url === undefined) throw new Error('the site has no node');
    return url;
  }

  /** Kills the only process and starts it again, sometimes after another kill in the middle of its start. */
  async killAndStart(dice: Dice): Promise<number> {
    const [node] = this.#nodes;
    let kills = 1;
    this.#isUp = false;
    await node?.process.kill();
    if (dice.isOneIn(8)) {
      const starting = node?.process.start().catch(() => undefined);
      await pause(dice.below(KILLED_IN_START_WITHIN_MS));
      await node?.process.kill();
      await starting;
      kills++;
    }
    await node?.process.start();
    this.#isUp = true;
    return kills;
  }

  /** Kills the node that runs; resolves after the other one has taken over and the killed one stands by. */
  async killOwner(): Promise<void> {
    const owner = await this.#active();
    await owner.process.kill();
    await this.#active();
    await owner.process.start();
  }

  /** @returns the number of unrequested ends */
  async stop(): Promise<number> {
    for (const { process } of this.#nodes) await process.kill();
    for (const step of this.#undo) await step();
    return this.#nodes.reduce((sum, { process }) => sum + process.crashes, 0);
  }

  async #active(): Promise<EventNode> {
    const untilMs = systemClock.monotonicMs() + TAKEN_OVER_WITHIN_MS;
    while (systemClock.monotonicMs() < untilMs) {
      for (const node of this.#nodes) if ((await roleOf(node)) === 'active') return node;
      await pause(LOOK_EVERY_MS);
    }
    throw new Error('no node has taken over in a minute');
  }
}

async function roleOf({ url }: EventNode): Promise<unknown> {
  try {
    const { body } = await request(`${url}/health`);
    const health = (await body.json()) as { readonly role?: unknown };
    return health.role;
  } catch {
    return undefined;
  }
}
