// The composition root: puts the parts together, starts them in order and stops them in reverse.
import { randomUUID } from 'node:crypto';
import type { GrantTiming } from '../machines/power/grant-ledger.js';
import { type ActorSystem, createActorSystem } from './actor-system.js';
import { systemClock } from './clock.js';
import { type Config, databaseUrlOf, variableOf } from './config.js';
import { createHealth } from './health.js';
import { createCredentialDirectory } from './inbound/http/credentials.js';
import { createHttpServer } from './inbound/http/server.js';
import { createTokenKeys } from './inbound/http/token-keys.js';
import { createTokens } from './inbound/http/tokens.js';
import { createMqttLogins } from './inbound/mqtt/logins.js';
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

export interface Service {
  /** Resolves when requests are answered and chargers may connect; a start that fails leaves nothing behind. */
  start(): Promise<{ readonly httpUrl: string; readonly mqttUrl: string }>;
  /** Takes nothing new, finishes what was accepted, and lets go of everything, of a start under way too. */
  stop(): Promise<void>;
}

/** What tests, benchmarks and the simulator put in the place of the real thing. */
export interface Seams {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly metrics?: Metrics;
  readonly newId?: () => string;
  /** Called when the service stopped because another one, started later, took over its database. */
  readonly onTakenOver?: () => void;
  /** How many callers may share a commit, and how many may wait for one. */
  readonly journal?: { readonly maxBatch?: number; readonly maxPending?: number };
  /** Reaches the chargers in the place of MQTT. */
  readonly gateway?: ChargerGateway;
  /** Stands between the service and its broker. */
  readonly wrapBus?: (bus: MessageBus) => MessageBus;
  /** Builds the actors; a test, recorder or replay puts itself between them and their ports here. */
  readonly createActors?: typeof createActorSystem;
  /** Stands between the service and the store that was opened. */
  readonly wrapStore?: (store: Store) => Store;
}

const STALE_AFTER_HEARTBEATS = 3;
const LOOK_AT_FILES_EVERY_MS = 1_000;
const NO_CREDENTIALS: CredentialSet = { tenants: [], apiKeys: [], oauthClients: [], mqttLogins: [] };

export function createService(config: Config, seams: Seams = {}): Service {
  const clock = seams.clock ?? systemClock;
  const metrics = seams.metrics ?? createMetrics({ processMetrics: true });
  const ownLog = seams.log === undefined ? createLogger({ level: config.logLevel }) : undefined;
  const log = seams.log ?? ownLog;
  if (log === undefined) throw new Error('a service needs a log');
  const common = { clock, log, metrics };
  const undo: (() => Promise<void>)[] = [];
  let starting: Promise<unknown> = Promise.resolve();
  let stopping: Promise<unknown> = Promise.resolve();

  /** Everything stops in the reverse order of its start, even if one part fails to stop. */
  async function letGo(): Promise<void> {
    for (const step of undo.splice(0).reverse()) {
      await step().catch((error) => log?.error({ err: error }, 'a part of the service did not stop cleanly'));
    }
    ownLog?.flush();
  }

  function stop(): Promise<void> {
    // After a start under way, which would go on opening, and after a stop under way.
    const stopped = Promise.allSettled([starting, stopping]).then(letGo);
    stopping = stopped;
    return stopped;
  }

  function warnOfExposure(path: string): void {
    const exposure = exposureOf(path);
    if (exposure !== undefined) log?.warn({ path }, exposure);
  }

  async function openStore(): Promise<{ readonly store: Store; readonly epoch: number }> {
    makePrivateDirectory(config.dataDir);
    warnOfExposure(config.dataDir);
    const store = await createStore({
      databaseUrl: databaseUrlOf(config),
      ...common,
      ...(seams.journal && { journal: seams.journal }),
    });
    undo.push(() => store.close());
    const epoch = await store.claim();
    return { store: seams.wrapStore?.(store) ?? store, epoch };
  }

  /** What was replaced in its file comes into force without a restart. */
  function follow(what: string, files: { refresh(): void }): void {
    const rareLog = createRareLog(clock);
    let cancel: Cancel;
    const look = () => {
      try {
        files.refresh();
      } catch (error) {
        rareLog(what, () =>
          log?.error({ err: error }, `the ${what} cannot be used; those of before stay in force`),
        );
      }
      cancel = clock.after(LOOK_AT_FILES_EVERY_MS, look);
    };
    look();
    undo.push(async () => cancel());
  }

  function createBroker(logins: MqttLogins, tlsFiles: TlsFiles | undefined): MessageBus {
    const { mqttUrl: url, mqttCa } = config;
    if (url === undefined) return new EmbeddedBroker({ config, ...common, logins, tlsFiles });
    const ca = mqttCa === undefined ? undefined : readCertificates(variableOf('mqttCa'), mqttCa);
    return new ExternalBroker({ url, ca, clientId: `headroom-${randomUUID()}`, ...common });
  }

  function createMqttGateway(broker: MessageBus): ChargerGateway {
    const bus = seams.wrapBus?.(broker) ?? broker;
    return {
      ...createLimitPublisher(bus),
      start: (sink) => {
        const telemetry = new Telemetry({ sink, ...common });
        return bus.start((topic, payload) => telemetry.receive(topic, payload));
      },
      isHealthy: () => bus.isHealthy(),
      stop: () => bus.stop(),
    };
  }

  async function startAll() {
    warnOfPlainText(config, common.log);
    const tlsFiles = openTlsFiles(config, common);
    const logins = createMqttLogins(NO_CREDENTIALS);
    const gateway = seams.gateway ?? createMqttGateway(createBroker(logins, tlsFiles));
    const { store, epoch } = await openStore();
    const credentials = createCredentialDirectory(NO_CREDENTIALS);
    const tokenKeys = createTokenKeys(config);
    if (tokenKeys.file !== undefined) warnOfExposure(tokenKeys.file);
    const timing = timingOf(config);
    const createActors = seams.createActors ?? createActorSystem;
    const actors: ActorSystem = createActors({
      ...common,
      store,
      newId: seams.newId ?? randomUUID,
      staleAfterMs: STALE_AFTER_HEARTBEATS * timing.heartbeatMs,
      ...{ timing, epoch, publisher: gateway },
      powerRetentionDays: config.powerRetentionDays,
      onTakenOver() {
        log?.error({}, 'another service has taken over this database; this one stops');
        void stop().then(seams.onTakenOver);
      },
      onCredentials(set) {
        credentials.replace(set);
        logins.replace(set);
      },
    });
    const health = createHealth({
      clock,
      store,
      broker: gateway,
      overdueMs: () => actors.overdueMs(),
      version: VERSION,
    });
    const http = createHttpServer({
      config,
      ...common,
      application: actors.application,
      credentials,
      tokens: createTokens({ keys: tokenKeys, clock }),
      health,
      version: VERSION,
      tlsFiles,
    });
    await actors.start();
    undo.push(() => actors.stop());
    const { url: mqttUrl } = await gateway.start(actors.meterSink);
    undo.push(() => gateway.stop());
    actors.syncChargers();
    follow('token keys', tokenKeys);
    if (tlsFiles !== undefined) follow('files for TLS', tlsFiles);
    const { url: httpUrl } = await http.start();
    undo.push(() => http.stop());
    return { httpUrl, mqttUrl };
  }

  async function start() {
    try {
      const urls = await startAll();
      log?.info(urls, 'ready');
      return urls;
    } catch (error) {
      await letGo();
      throw error;
    }
  }

  return {
    start() {
      const started = start();
      starting = started;
      return started;
    },
    stop,
  };
}

/** @throws TlsFileError */
function openTlsFiles(
  { tlsCert, tlsKey, tlsClientCa }: Config,
  parts: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics },
): TlsFiles | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return new TlsFiles({ tlsCert, tlsKey, tlsClientCa }, parts);
}

/** Says so where credentials would cross a network unencrypted. */
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
