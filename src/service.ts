// The composition root: connects the parts, starts them in order and stops them in reverse.
import { randomUUID } from 'node:crypto';
import type { Shard } from '../machines/values/shards.js';
import { busServersOf, withoutSecrets } from './broker-url.js';
import { systemClock } from './clock.js';
import { type Config, databaseUrlOf } from './config.js';
import { followFiles } from './follow-files.js';
import type { Forwarding } from './inbound/http/forwarding.js';
import { NodeTokens } from './inbound/http/node-tokens.js';
import { HttpServer } from './inbound/http/server.js';
import { createTokenKeys } from './inbound/http/token-keys.js';
import { createTokens, type Tokens } from './inbound/http/tokens.js';
import { createLogger } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { pause, within } from './nodes/within.js';
import { asOneShard, openSharedDatabase } from './outbound/knex/shared-database.js';
import { createStore } from './outbound/knex/store.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import type { SharedDatabase } from './ports/shared-database.js';
import type { Store } from './ports/store.js';
import { exposureOf, makePrivateDirectory } from './private-files.js';
import { ServiceNode } from './service-node.js';
import type { TermSeams } from './term.js';
import { openTlsFiles, type TlsFiles, warnOfPlainText } from './tls-files.js';

export interface ServiceUrls {
  readonly httpUrl: string;
  /** For a standby node: the planned address of its broker. */
  readonly mqttUrl: string;
}

/** Parts that tests, benchmarks and the simulator replace. */
export interface Seams extends TermSeams {
  readonly clock?: Clock;
  /** Clock of an SQLite database's host, if that is another one. */
  readonly databaseClock?: Clock;
  readonly log?: Log;
  readonly metrics?: Metrics;
  /** Called after the service stopped because a later one took over its database. */
  readonly onTakenOver?: () => void;
  /** Called whenever a node of several becomes active or standby. */
  readonly onRole?: (role: 'active' | 'standby', urls: ServiceUrls) => void;
  /** Most callers that share a commit, and most that wait for one. */
  readonly journal?: { readonly maxBatch?: number; readonly maxPending?: number };
  /** Called whenever the owned shards of a node that shares the tenants have changed. */
  readonly onShards?: (held: readonly Shard[]) => void;
  /** Wraps the database that the service shares with other nodes. */
  readonly wrapDatabase?: (database: SharedDatabase) => SharedDatabase;
  /** Wraps the opened store. */
  readonly wrapStore?: (store: Store) => Store;
}

/** Within this time the next node answers requests that came during a handover. */
const HAND_OVER_WITHIN_MS = 3_000;
/** Longer than other nodes take to look up the active node again. */
const STILL_ASKED_MS = 600;

/** Common parts of all components. */
interface Common {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Parts that live as long as the process. */
interface Parts {
  readonly tokens: Tokens;
  readonly nodeTokens: NodeTokens;
  readonly tlsFiles: TlsFiles | undefined;
  readonly http: HttpServer;
}

export class Service {
  readonly #config: Config;
  readonly #seams: Seams;
  readonly #common: Common;
  /** Identifies this process among the possible owners of its database. */
  readonly #nodeId = randomUUID();
  #httpUrl: string | undefined;
  #flushLog = () => Promise.resolve();
  readonly #undo: (() => Promise<void>)[] = [];
  #starting: Promise<unknown> = Promise.resolve();
  #stopping: Promise<unknown> = Promise.resolve();

  constructor(config: Config, seams: Seams = {}) {
    this.#config = config;
    this.#seams = seams;
    const metrics = seams.metrics ?? createMetrics({ processMetrics: true });
    this.#common = {
      clock: seams.clock ?? systemClock,
      log: seams.log ?? this.#createLog(metrics),
      metrics,
    };
  }

  /**
   * Resolves when requests are answered and chargers may connect or, for a node of several, when it
   * stands by. A failed start leaves nothing behind.
   */
  start(): Promise<ServiceUrls> {
    const started = this.#start();
    this.#starting = started;
    return started;
  }

  /** Accepts nothing new, finishes all accepted requests, and releases everything, also of a start under way. */
  stop(): Promise<void> {
    // After a start under way, which would go on opening, and after a stop under way.
    const stopped = Promise.allSettled([this.#starting, this.#stopping]).then(() => this.#letGo());
    this.#stopping = stopped;
    return stopped;
  }

  #createLog(metrics: Metrics): Log {
    const log = createLogger({ level: this.#config.logLevel, metrics });
    this.#flushLog = () => log.flush();
    return log;
  }

  /** Everything stops in the reverse order of its start, even if one part fails to stop. */
  async #letGo(): Promise<void> {
    for (const step of this.#undo.splice(0).reverse()) {
      await step().catch((error) =>
        this.#common.log.error({ err: error }, 'a part of the service did not stop cleanly'),
      );
    }
    await this.#flushLog();
  }

  async #start(): Promise<ServiceUrls> {
    try {
      const { http, ...parts } = await this.#openParts();
      const database = await this.#openDatabase();
      const forwarding = this.#isAlone ? undefined : await this.#openForwarding(parts);
      const node = new ServiceNode({
        config: this.#config,
        ...this.#common,
        seams: this.#seams,
        ...parts,
        database,
        forwarding,
        nodeId: this.#nodeId,
        onShards: (held, mqttUrl) => this.#announce(held, mqttUrl),
      });
      this.#undo.push(() => node.stop());
      http.answerWith((exchanges) => node.answering(exchanges));
      return this.#isAlone ? await this.#run(http, node) : await this.#join(http, node);
    } catch (error) {
      await this.#letGo();
      throw error;
    }
  }

  async #openParts(): Promise<Parts> {
    warnOfPlainText(this.#config, this.#common.log);
    const tlsFiles = openTlsFiles(this.#config, this.#common);
    if (this.#config.tlsKey !== undefined) this.#warnOfExposure(this.#config.tlsKey);
    const { dataDir } = this.#config;
    makePrivateDirectory(dataDir);
    this.#warnOfExposure(dataDir);
    const tokenKeys = createTokenKeys(this.#config);
    if (tokenKeys.file !== undefined) this.#warnOfExposure(tokenKeys.file);
    const keys = { keys: tokenKeys, clock: this.#common.clock };
    const follow = (what: string, files: { refresh(): void }) =>
      this.#undo.push(followFiles(what, files, this.#common));
    if (tokenKeys.file !== undefined) follow('token keys', tokenKeys);
    if (tlsFiles !== undefined) follow('files for TLS', tlsFiles);
    return {
      tlsFiles,
      tokens: createTokens(keys),
      nodeTokens: new NodeTokens(keys),
      http: new HttpServer({ config: this.#config, ...this.#common, tlsFiles }),
    };
  }

  /** No other node may run beside this one. */
  get #isAlone(): boolean {
    const { standby, sharded } = this.#config;
    return !standby && !sharded;
  }

  async #openDatabase(): Promise<SharedDatabase> {
    const { node, ...options } = this.#databaseOptions();
    const { wrapDatabase = (database) => database, wrapStore = (store) => store } = this.#seams;
    const opened = this.#config.sharded
      ? await openSharedDatabase({ ...options, node })
      : asOneShard(
          wrapStore(
            await createStore({
              ...options,
              node: { ...node, leaseMs: this.#isAlone ? undefined : node.leaseMs },
            }),
          ),
          this.#nodeId,
        );
    const database = wrapDatabase(opened);
    this.#undo.push(() => database.close());
    return database;
  }

  #databaseOptions() {
    const { ownerTtlS, nodeUrl } = this.#config;
    const { journal, databaseClock } = this.#seams;
    return {
      databaseUrl: databaseUrlOf(this.#config),
      ...this.#common,
      node: { nodeId: this.#nodeId, url: () => nodeUrl ?? this.#httpUrl, leaseMs: 1000 * ownerTtlS },
      ...(journal && { journal }),
      ...(databaseClock && { databaseClock }),
    };
  }

  /** Imports the client for other nodes, which a single service does not load. */
  async #openForwarding({ nodeTokens }: Pick<Parts, 'nodeTokens'>): Promise<Forwarding> {
    const { Forwarding } = await import('./inbound/http/forwarding.js');
    return new Forwarding({ config: this.#config, ...this.#common, seams: this.#seams, nodeTokens });
  }

  /** The only node: it answers requests once it runs, and ends when another service starts on its database. */
  async #run(http: HttpServer, node: ServiceNode): Promise<ServiceUrls> {
    const mqttUrl = await node.runAlone(() => {
      this.#common.log.error({}, 'another service has taken over this database; this one stops');
      void this.stop().then(this.#seams.onTakenOver);
    });
    const { url: httpUrl } = await http.start();
    this.#undo.push(() => {
      node.endWaits();
      return http.stop();
    });
    this.#common.log.info({ httpUrl, mqttUrl }, 'ready');
    return { httpUrl, mqttUrl };
  }

  /** One of several nodes: it answers requests at once. Requests during its stop are for the nodes that follow. */
  async #join(http: HttpServer, node: ServiceNode): Promise<ServiceUrls> {
    const { clock, log } = this.#common;
    await node.start();
    this.#httpUrl = (await http.start()).url;
    this.#undo.push(() => {
      node.endWaits();
      return http.stop();
    });
    this.#undo.push(async () => {
      http.drain();
      await node.handOver();
      // Other nodes still forward to this one for a moment.
      await pause(clock, STILL_ASKED_MS);
      await within(clock, HAND_OVER_WITHIN_MS, http.answered());
    });
    if (this.#config.standby) this.#announce([]);
    await node.join();
    const urls = { httpUrl: this.#httpUrl, mqttUrl: this.#plannedMqttUrl() };
    if (this.#config.sharded) log.info(urls, 'ready');
    return urls;
  }

  #announce(held: readonly Shard[], mqttUrl = this.#plannedMqttUrl()): void {
    const { metrics, log } = this.#common;
    const { onShards, onRole } = this.#seams;
    const { sharded, standby } = this.#config;
    const isActive = held.length > 0;
    metrics.nodeActive.set(isActive ? 1 : 0);
    if (sharded) {
      metrics.shardsHeld.set(held.length);
      onShards?.(held);
    } else if (standby) {
      const urls = { httpUrl: this.#httpUrl ?? '', mqttUrl };
      log.info(urls, isActive ? 'ready' : 'stands by');
      onRole?.(isActive ? 'active' : 'standby', urls);
    }
  }

  #plannedMqttUrl(): string {
    const { mqttUrl, busUrl, mqttHost, mqttPort, tlsCert } = this.#config;
    if (mqttUrl !== undefined) return withoutSecrets(mqttUrl);
    if (busUrl !== undefined) return busServersOf(busUrl).map(withoutSecrets).join(',');
    return `${tlsCert === undefined ? 'mqtt' : 'mqtts'}://${mqttHost}:${mqttPort}`;
  }

  #warnOfExposure(path: string): void {
    const exposure = exposureOf(path);
    if (exposure !== undefined) this.#common.log.warn({ path }, exposure);
  }
}
