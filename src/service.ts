// The composition root: puts the parts together, starts them in order and stops them in reverse.
import { randomUUID } from 'node:crypto';
import { systemClock } from './clock.js';
import { type Config, databaseUrlOf } from './config.js';
import { createStandbyHealth } from './health.js';
import type { Forwarding } from './inbound/http/forwarding.js';
import { NodeTokens } from './inbound/http/node-tokens.js';
import { HttpServer } from './inbound/http/server.js';
import { createTokenKeys } from './inbound/http/token-keys.js';
import { createTokens } from './inbound/http/tokens.js';
import { createLogger } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { type Running, Standby } from './nodes/standby.js';
import { createStore } from './outbound/knex/store.js';
import type { Cancel, Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import type { Store } from './ports/store.js';
import { exposureOf, makePrivateDirectory } from './private-files.js';
import { createRareLog } from './rare-log.js';
import { Term, type TermSeams } from './term.js';
import { openTlsFiles, warnOfPlainText } from './tls-files.js';
import { VERSION } from './version.js';

/** Where a service is reached. */
export interface ServiceUrls {
  readonly httpUrl: string;
  /** Of a node that stands by: where chargers reach it once it runs. */
  readonly mqttUrl: string;
}

/** What tests, benchmarks and the simulator replace. */
export interface Seams extends TermSeams {
  readonly clock?: Clock;
  /** Of the host that an SQLite database is on, where that is not this one's. */
  readonly databaseClock?: Clock;
  readonly log?: Log;
  readonly metrics?: Metrics;
  /** Called when the service stopped because another one, started later, took over its database. */
  readonly onTakenOver?: () => void;
  /** Called whenever a node of several begins to run, or stands by again. */
  readonly onRole?: (role: 'active' | 'standby', urls: ServiceUrls) => void;
  /** How many callers may share a commit, and how many may wait for one. */
  readonly journal?: { readonly maxBatch?: number; readonly maxPending?: number };
  /** Stands between the service and the store that was opened. */
  readonly wrapStore?: (store: Store) => Store;
}

const LOOK_AT_FILES_EVERY_MS = 1_000;
/** What a node was asked before it stopped to run has this long to be answered. */
const FINISH_WITHIN_MS = 3_000;
/** Requests that came during a handover have this long to be answered by the next node. */
const HAND_OVER_WITHIN_MS = 3_000;
/** Longer than other nodes take to ask again who runs. */
const STILL_ASKED_MS = 600;

/** What every part needs. */
interface Common {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What lives as long as the process does. */
interface Parts extends Pick<ConstructorParameters<typeof Term>[0], 'tokens' | 'nodeTokens' | 'tlsFiles'> {
  readonly store: Store;
  readonly http: HttpServer;
}

export class Service {
  readonly #config: Config;
  readonly #seams: Seams;
  readonly #common: Common;
  /** Of this process, among those that may own its database. */
  readonly #nodeId = randomUUID();
  #httpUrl: string | undefined;
  #flushLog = () => {};
  readonly #undo: (() => Promise<void>)[] = [];
  #starting: Promise<unknown> = Promise.resolve();
  #stopping: Promise<unknown> = Promise.resolve();

  constructor(config: Config, seams: Seams = {}) {
    this.#config = config;
    this.#seams = seams;
    this.#common = {
      clock: seams.clock ?? systemClock,
      log: seams.log ?? this.#createLog(),
      metrics: seams.metrics ?? createMetrics({ processMetrics: true }),
    };
  }

  /**
   * Resolves when requests are answered and chargers may connect, or, of a node of several, when it stands by; a start that
   * fails leaves nothing behind.
   */
  start(): Promise<ServiceUrls> {
    const started = this.#start();
    this.#starting = started;
    return started;
  }

  /** Takes nothing new, finishes what was accepted, and lets go of everything, of a start under way too. */
  stop(): Promise<void> {
    // After a start under way, which would go on opening, and after a stop under way.
    const stopped = Promise.allSettled([this.#starting, this.#stopping]).then(() => this.#letGo());
    this.#stopping = stopped;
    return stopped;
  }

  #createLog(): Log {
    const log = createLogger({ level: this.#config.logLevel });
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
    this.#flushLog();
  }

  async #start(): Promise<ServiceUrls> {
    try {
      const parts = await this.#openParts();
      return this.#config.standby ? await this.#standBy(parts) : await this.#run(parts);
    } catch (error) {
      await this.#letGo();
      throw error;
    }
  }

  async #openParts(): Promise<Parts> {
    warnOfPlainText(this.#config, this.#common.log);
    const tlsFiles = openTlsFiles(this.#config, this.#common);
    if (this.#config.tlsKey !== undefined) this.#warnOfExposure(this.#config.tlsKey);
    const store = await this.#openStore();
    const tokenKeys = createTokenKeys(this.#config);
    if (tokenKeys.file !== undefined) this.#warnOfExposure(tokenKeys.file);
    const keys = { keys: tokenKeys, clock: this.#common.clock };
    if (tokenKeys.file !== undefined) this.#follow('token keys', tokenKeys);
    if (tlsFiles !== undefined) this.#follow('files for TLS', tlsFiles);
    return {
      ...{ store, tlsFiles },
      tokens: createTokens(keys),
      nodeTokens: new NodeTokens(keys),
      http: new HttpServer({ config: this.#config, ...this.#common, tlsFiles }),
    };
  }

  async #openStore(): Promise<Store> {
    const { dataDir, standby, ownerTtlS, nodeUrl } = this.#config;
    const { journal, wrapStore, databaseClock } = this.#seams;
    makePrivateDirectory(dataDir);
    this.#warnOfExposure(dataDir);
    const store = await createStore({
      databaseUrl: databaseUrlOf(this.#config),
      ...this.#common,
      node: {
        nodeId: this.#nodeId,
        url: () => nodeUrl ?? this.#httpUrl,
        leaseMs: standby ? 1000 * ownerTtlS : undefined,
      },
      ...(journal && { journal }),
      ...(databaseClock && { databaseClock }),
    });
    const wrapped = wrapStore?.(store) ?? store;
    this.#undo.push(() => wrapped.close());
    return wrapped;
  }

  /** The only node: it owns the database from now until another one is started on it. */
  async #run(parts: Parts): Promise<ServiceUrls> {
    const ownerTerm = await parts.store.ownership.claim();
    const term = this.#createTerm(
      parts,
      ownerTerm,
      () => true,
      () => {
        this.#common.log.error({}, 'another service has taken over this database; this one stops');
        void this.stop().then(this.#seams.onTakenOver);
      },
    );
    this.#undo.push(() => term.stop());
    const { mqttUrl } = await term.start();
    await parts.http.answerWith((exchanges) => term.answering(exchanges));
    const { url: httpUrl } = await parts.http.start();
    this.#undo.push(() => parts.http.stop());
    this.#common.metrics.nodeActive.set(1);
    this.#common.log.info({ httpUrl, mqttUrl }, 'ready');
    return { httpUrl, mqttUrl };
  }

  /** One of several nodes: it forwards what it is asked while it stands by. */
  async #standBy(parts: Parts): Promise<ServiceUrls> {
    const { clock, log } = this.#common;
    const { store, http } = parts;
    const { ownership } = store;
    const forwarding = await this.#createForwarding(parts, () => standby.isClockOff);
    const standby: Standby = new Standby({
      ...{ clock, log, ownership },
      leaseMs: 1000 * this.#config.ownerTtlS,
      begin: (ownerTerm, tenure, onLost) =>
        this.#beginTerm(
          parts,
          forwarding,
          this.#createTerm(parts, ownerTerm, () => tenure.isHeld(), onLost),
        ),
    });
    this.#undo.push(() => forwarding.close());
    await http.answerWith((exchanges) => forwarding.answering(exchanges));
    const { url } = await http.start();
    this.#httpUrl = url;
    this.#undo.push(() => http.stop());
    this.#undo.push(async () => {
      await standby.stop();
      // What comes meanwhile is for the node that runs next; the others believe for a moment that it is this one.
      await this.#within(STILL_ASKED_MS, new Promise(() => {}));
      await this.#within(HAND_OVER_WITHIN_MS, http.answered());
    });
    this.#tellRole('standby', this.#plannedMqttUrl());
    standby.start();
    return { httpUrl: url, mqttUrl: this.#plannedMqttUrl() };
  }

  async #beginTerm({ http }: Parts, forwarding: Forwarding, term: Term): Promise<Running> {
    try {
      const { mqttUrl } = await term.start();
      void http.answerWith((exchanges) => term.answering(exchanges));
      this.#tellRole('active', mqttUrl);
    } catch (error) {
      await term.stop();
      throw error;
    }
    return {
      stop: async () => {
        const finished = http.answerWith((exchanges) => forwarding.answering(exchanges));
        await this.#within(FINISH_WITHIN_MS, finished);
        await term.stop();
        this.#tellRole('standby', this.#plannedMqttUrl());
      },
    };
  }

  #tellRole(role: 'active' | 'standby', mqttUrl: string): void {
    const urls = { httpUrl: this.#httpUrl ?? '', mqttUrl };
    this.#common.metrics.nodeActive.set(role === 'active' ? 1 : 0);
    this.#common.log.info(urls, role === 'active' ? 'ready' : 'stands by');
    this.#seams.onRole?.(role, urls);
  }

  #plannedMqttUrl(): string {
    const { mqttUrl, mqttHost, mqttPort, tlsCert } = this.#config;
    return mqttUrl ?? `${tlsCert === undefined ? 'mqtt' : 'mqtts'}://${mqttHost}:${mqttPort}`;
  }

  async #createForwarding({ store, nodeTokens }: Parts, isClockOff: () => boolean): Promise<Forwarding> {
    // With what it asks other nodes by: not loaded by a service that has none.
    const { Forwarding } = await import('./inbound/http/forwarding.js');
    // A stop takes everything off before it begins.
    const isStopping = () => this.#undo.length === 0;
    const { clock } = this.#common;
    return new Forwarding({
      config: this.#config,
      ...this.#common,
      ...{ ownership: store.ownership, nodeTokens },
      health: createStandbyHealth({ clock, store, isClockOff, isStopping, version: VERSION }),
    });
  }

  #createTerm(parts: Parts, ownerTerm: number, isHeld: () => boolean, onTakenOver: () => void): Term {
    const { store, tokens, nodeTokens, tlsFiles } = parts;
    return new Term({
      config: this.#config,
      ...this.#common,
      seams: this.#seams,
      ...{ store, tokens, nodeTokens, tlsFiles, ownerTerm, isHeld, onTakenOver },
    });
  }

  /** Resolves when `work` is over, or the time is. */
  async #within(timeMs: number, work: Promise<void>): Promise<void> {
    let cancel: Cancel = () => {};
    const over = new Promise<void>((resolve) => {
      cancel = this.#common.clock.after(timeMs, resolve);
    });
    await Promise.race([work, over]);
    cancel();
  }

  /** Looks at `files` every second: what has changed in them applies without a restart. */
  #follow(what: string, files: { refresh(): void }): void {
    const { clock, log } = this.#common;
    const rareLog = createRareLog(clock);
    let cancel: Cancel;
    const look = () => {
      try {
        files.refresh();
      } catch (error) {
        rareLog(what, () =>
          log.error({ err: error }, `the ${what} cannot be used; those of before stay in force`),
        );
      }
      cancel = clock.after(LOOK_AT_FILES_EVERY_MS, look);
    };
    look();
    this.#undo.push(async () => cancel());
  }

  #warnOfExposure(path: string): void {
    const exposure = exposureOf(path);
    if (exposure !== undefined) this.#common.log.warn({ path }, exposure);
  }
}
