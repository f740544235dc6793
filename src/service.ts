// The composition root: connects the parts, starts them in order and stops them in reverse.
import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Shard } from '../machines/values/shards.js';
import { busServersOf, withoutSecrets } from './broker-url.js';
import { systemClock } from './clock.js';
import { type Config, databaseUrlOf } from './config.js';
import { followFiles } from './follow-files.js';
import type { Exchanges } from './inbound/http/exchange.js';
import { NodeTokens } from './inbound/http/node-tokens.js';
import { HttpServer } from './inbound/http/server.js';
import { createTokenKeys } from './inbound/http/token-keys.js';
import { createTokens } from './inbound/http/tokens.js';
import { createLogger } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { pause, within } from './nodes/within.js';
import { openSharedDatabase } from './outbound/knex/shared-database.js';
import { createStore } from './outbound/knex/store.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import type { SharedDatabase } from './ports/shared-database.js';
import type { Store } from './ports/store.js';
import { exposureOf, makePrivateDirectory } from './private-files.js';
import { Term, type TermSeams } from './term.js';
import { openTlsFiles, warnOfPlainText } from './tls-files.js';

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
interface Parts extends Pick<ConstructorParameters<typeof Term>[0], 'tokens' | 'nodeTokens' | 'tlsFiles'> {
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
      const parts = await this.#openParts();
      if (this.#config.sharded) return await this.#share(parts);
      const store = await this.#openStore();
      return this.#config.standby ? await this.#standBy(parts, store) : await this.#run(parts, store);
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

  async #openStore(): Promise<Store> {
    const { node, ...options } = this.#storeOptions();
    const leaseMs = this.#config.standby ? node.leaseMs : undefined;
    const store = await createStore({ ...options, node: { ...node, leaseMs } });
    const wrapped = this.#seams.wrapStore?.(store) ?? store;
    this.#undo.push(() => wrapped.close());
    return wrapped;
  }

  #storeOptions() {
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

  /** A node that shares the tenants with others: it answers all callers, and runs the shards that it owns. */
  async #share(parts: Parts): Promise<ServiceUrls> {
    // It imports the client for other nodes, which a single service does not load.
    const { ShardSet } = await import('./shard-set.js');
    const opened = await openSharedDatabase(this.#storeOptions());
    const database = this.#seams.wrapDatabase?.(opened) ?? opened;
    this.#undo.push(() => database.close());
    const { onShards = () => {} } = this.#seams;
    const shards = new ShardSet({
      config: this.#config,
      ...this.#common,
      seams: this.#seams,
      ...parts,
      database,
      onShards,
      nodeId: this.#nodeId,
    });
    this.#undo.push(() => shards.stop());
    await shards.start();
    await this.#listen(
      parts.http,
      (exchanges) => shards.answering(exchanges),
      () => shards.handOver(),
    );
    await shards.join();
    const urls = { httpUrl: this.#httpUrl ?? '', mqttUrl: this.#plannedMqttUrl() };
    this.#common.log.info(urls, 'ready');
    return urls;
  }

  /** Listens as one of several nodes. Requests during `handOver` are for the nodes that follow. */
  async #listen(
    http: HttpServer,
    listener: (exchanges: Exchanges) => RequestListener,
    handOver: () => Promise<void>,
  ): Promise<void> {
    const { clock } = this.#common;
    await http.answerWith(listener);
    this.#httpUrl = (await http.start()).url;
    this.#undo.push(() => http.stop());
    this.#undo.push(async () => {
      http.drain();
      await handOver();
      // Other nodes still forward to this one for a moment.
      await pause(clock, STILL_ASKED_MS);
      await within(clock, HAND_OVER_WITHIN_MS, http.answered());
    });
  }

  /** The only node: it owns the database from now until another one starts on it. */
  async #run(parts: Parts, store: Store): Promise<ServiceUrls> {
    const ownerTerm = await store.ownership.claim();
    const term = new Term({
      config: this.#config,
      seams: this.#seams,
      ...this.#common,
      ...parts,
      store,
      ownerTerm,
      ownershipLease: { isHeld: () => true, mayAnswer: () => true },
      onTakenOver: () => {
        this.#common.log.error({}, 'another service has taken over this database; this one stops');
        void this.stop().then(this.#seams.onTakenOver);
      },
    });
    this.#undo.push(() => term.stop());
    const { mqttUrl } = await term.start();
    await parts.http.answerWith((exchanges) => term.answering(exchanges));
    const { url: httpUrl } = await parts.http.start();
    this.#undo.push(() => parts.http.stop());
    this.#common.metrics.nodeActive.set(1);
    this.#common.log.info({ httpUrl, mqttUrl }, 'ready');
    return { httpUrl, mqttUrl };
  }

  /** A node of several that stand by for each other. */
  async #standBy(parts: Parts, store: Store): Promise<ServiceUrls> {
    // It imports the client for other nodes, which a single service does not load.
    const { StandbyNode } = await import('./standby-node.js');
    const node = new StandbyNode({
      config: this.#config,
      ...this.#common,
      seams: this.#seams,
      ...parts,
      store,
      // A stop empties the list before it begins.
      isStopping: () => this.#undo.length === 0,
      onRole: (role, mqttUrl = this.#plannedMqttUrl()) => this.#tellRole(role, mqttUrl),
    });
    this.#undo.push(() => node.stop());
    await this.#listen(
      parts.http,
      (exchanges) => node.answering(exchanges),
      () => node.handOver(),
    );
    this.#tellRole('standby', this.#plannedMqttUrl());
    await node.start();
    return { httpUrl: this.#httpUrl ?? '', mqttUrl: this.#plannedMqttUrl() };
  }

  #tellRole(role: 'active' | 'standby', mqttUrl: string): void {
    const urls = { httpUrl: this.#httpUrl ?? '', mqttUrl };
    this.#common.metrics.nodeActive.set(role === 'active' ? 1 : 0);
    this.#common.log.info(urls, role === 'active' ? 'ready' : 'stands by');
    this.#seams.onRole?.(role, urls);
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
