// The composition root: puts the parts together, starts them in order and stops them in reverse.
import { randomUUID } from 'node:crypto';
import type { GrantTiming } from '../machines/power/grant.js';
import { type ActorSystem, createActorSystem } from './actor-system.js';
import { systemClock } from './clock.js';
import { type Config, databaseUrlOf, variableOf } from './config.js';
import { createHealth } from './health.js';
import { type CredentialDirectory, createCredentialDirectory } from './inbound/http/credentials.js';
import { HttpServer } from './inbound/http/server.js';
import { createTokenKeys } from './inbound/http/token-keys.js';
import { createTokens } from './inbound/http/tokens.js';
import { createMqttLogins, type ReplaceableMqttLogins } from './inbound/mqtt/logins.js';
import { Telemetry } from './inbound/mqtt/telemetry.js';
import { createLogger } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { createStore } from './outbound/knex/store.js';
import { EmbeddedBroker } from './outbound/mqtt/embedded-broker.js';
import { ExternalBroker } from './outbound/mqtt/external-broker.js';
import { createLimitPublisher } from './outbound/mqtt/limit-publisher.js';
import type { Cancel, Clock } from './ports/clock.js';
import type { CredentialSet } from './ports/credentials.js';
import type { Log } from './ports/log.js';
import type { Store } from './ports/store.js';
import type { ChargerGateway, MessageBus, MqttLogins } from './ports/telemetry.js';
import { exposureOf, makePrivateDirectory } from './private-files.js';
import { createRareLog } from './rare-log.js';
import { readCertificates, TlsFiles } from './tls-files.js';
import { VERSION } from './version.js';

/** What tests, benchmarks and the simulator replace. */
export interface Seams {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly metrics?: Metrics;
  readonly newId?: () => string;
  /** Called when the service stopped because another one, started later, took over its database. */
  readonly onTakenOver?: () => void;
  /** How many callers may share a commit, and how many may wait for one. */
  readonly journal?: { readonly maxBatch?: number; readonly maxPending?: number };
  /** Reaches the chargers instead of MQTT. */
  readonly gateway?: ChargerGateway;
  /** Stands between the service and its broker. */
  readonly wrapBus?: (bus: MessageBus) => MessageBus;
  /** Builds the actors; a test, recorder or replay puts itself between them and their ports here. */
  readonly createActors?: typeof createActorSystem;
  /** Stands between the service and the store that was opened. */
  readonly wrapStore?: (store: Store) => Store;
}

type ActorOptions = Parameters<typeof createActorSystem>[0];

const LOOK_AT_FILES_EVERY_MS = 1_000;
const NO_CREDENTIALS: CredentialSet = { tenants: [], apiKeys: [], oauthClients: [], mqttLogins: [] };

/** What every part needs. */
interface Common {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What is filled with the credentials of all tenants, and replaced whole when any of them changes. */
interface CredentialHolders {
  readonly credentials: CredentialDirectory;
  readonly logins: ReplaceableMqttLogins;
}

export class Service {
  readonly #config: Config;
  readonly #seams: Seams;
  readonly #common: Common;
  /** Of this process, among those that may own its database. */
  readonly #nodeId = randomUUID();
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

  /** Resolves when requests are answered and chargers may connect; a start that fails leaves nothing behind. */
  start(): Promise<{ readonly httpUrl: string; readonly mqttUrl: string }> {
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

  async #start() {
    try {
      const urls = await this.#startAll();
      this.#common.log.info(urls, 'ready');
      return urls;
    } catch (error) {
      await this.#letGo();
      throw error;
    }
  }

  async #startAll() {
    warnOfPlainText(this.#config, this.#common.log);
    const tlsFiles = openTlsFiles(this.#config, this.#common);
    if (this.#config.tlsKey !== undefined) this.#warnOfExposure(this.#config.tlsKey);
    const logins = createMqttLogins(NO_CREDENTIALS);
    const gateway = this.#seams.gateway ?? this.#createMqttGateway(this.#createBroker(logins, tlsFiles));
    const { store, ownerTerm } = await this.#openStore();
    const credentials = createCredentialDirectory(NO_CREDENTIALS);
    const tokenKeys = createTokenKeys(this.#config);
    if (tokenKeys.file !== undefined) this.#warnOfExposure(tokenKeys.file);
    const actors = this.#createActors({ store, ownerTerm, publisher: gateway }, { credentials, logins });
    const http = new HttpServer({
      config: this.#config,
      ...this.#common,
      application: actors.application,
      credentials,
      tokens: createTokens({ keys: tokenKeys, clock: this.#common.clock }),
      health: this.#createHealth(store, gateway, actors),
      version: VERSION,
      tlsFiles,
    });
    await actors.start();
    this.#undo.push(() => actors.stop());
    const { url: mqttUrl } = await gateway.start(actors.meterSink);
    this.#undo.push(() => gateway.stop());
    actors.syncChargers();
    if (tokenKeys.file !== undefined) this.#follow('token keys', tokenKeys);
    if (tlsFiles !== undefined) this.#follow('files for TLS', tlsFiles);
    const { url: httpUrl } = await http.start();
    this.#undo.push(() => http.stop());
    return { httpUrl, mqttUrl };
  }

  #createBroker(logins: MqttLogins, tlsFiles: TlsFiles | undefined): MessageBus {
    const { mqttUrl: url, mqttCa } = this.#config;
    if (url === undefined)
      return new EmbeddedBroker({ config: this.#config, ...this.#common, logins, tlsFiles });
    const ca = mqttCa === undefined ? undefined : readCertificates(variableOf('mqttCa'), mqttCa);
    return new ExternalBroker({ url, ca, clientId: `headroom-${randomUUID()}`, ...this.#common });
  }

  #createMqttGateway(broker: MessageBus): ChargerGateway {
    const bus = this.#seams.wrapBus?.(broker) ?? broker;
    return {
      ...createLimitPublisher(bus),
      start: (sink) => {
        const telemetry = new Telemetry({ sink, ...this.#common });
        return bus.start((topic, payload) => telemetry.receive(topic, payload));
      },
      isHealthy: () => bus.isHealthy(),
      stop: () => bus.stop(),
    };
  }

  async #openStore(): Promise<{ readonly store: Store; readonly ownerTerm: number }> {
    const { dataDir } = this.#config;
    const { journal, wrapStore } = this.#seams;
    makePrivateDirectory(dataDir);
    this.#warnOfExposure(dataDir);
    const store = await createStore({
      databaseUrl: databaseUrlOf(this.#config),
      ...this.#common,
      node: { nodeId: this.#nodeId, url: () => undefined, leaseMs: undefined },
      ...(journal && { journal }),
    });
    const wrapped = wrapStore?.(store) ?? store;
    this.#undo.push(() => wrapped.close());
    return { store: wrapped, ownerTerm: await store.ownership.claim() };
  }

  #createActors(
    ports: Pick<ActorOptions, 'store' | 'ownerTerm' | 'publisher'>,
    { credentials, logins }: CredentialHolders,
  ): ActorSystem {
    const timing = timingOf(this.#config);
    const createActors = this.#seams.createActors ?? createActorSystem;
    return createActors({
      ...this.#common,
      ...ports,
      timing,
      newId: this.#seams.newId ?? randomUUID,
      powerRetentionDays: this.#config.powerRetentionDays,
      onTakenOver: () => {
        this.#common.log.error({}, 'another service has taken over this database; this one stops');
        void this.stop().then(this.#seams.onTakenOver);
      },
      onCredentials(set) {
        credentials.replace(set);
        logins.replace(set);
      },
    });
  }

  #createHealth(store: Store, broker: ChargerGateway, actors: ActorSystem): ReturnType<typeof createHealth> {
    const { clock } = this.#common;
    return createHealth({ clock, store, broker, overdueMs: () => actors.overdueMs(), version: VERSION });
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

/** @throws TlsFileError */
function openTlsFiles({ tlsCert, tlsKey, tlsClientCa }: Config, common: Common): TlsFiles | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return new TlsFiles({ tlsCert, tlsKey, tlsClientCa }, common);
}

/** Warns where credentials would cross a network unencrypted. */
function warnOfPlainText({ tlsCert, httpHost, mqttHost, mqttUrl }: Config, log: Log): void {
  if (tlsCert !== undefined) return;
  const exposed = [httpHost, ...(mqttUrl === undefined ? [mqttHost] : [])].filter(
    (host) => !isLoopback(host),
  );
  if (exposed.length === 0) return;
  log.warn(
    { hosts: exposed },
    `keys and passwords travel unencrypted: let nobody but a TLS proxy reach these addresses, or set ${variableOf('tlsCert')} and ${variableOf('tlsKey')}`,
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function timingOf({ heartbeatS, leaseTtlS, settleS }: Config): GrantTiming {
  const inMs = (seconds: number) => Math.round(seconds * 1000);
  return { heartbeatMs: inMs(heartbeatS), ttlMs: inMs(leaseTtlS), settleMs: inMs(settleS) };
}
