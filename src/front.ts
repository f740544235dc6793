// The composition root of a front: a process to which chargers connect in place of a node. It checks
// logins, and carries messages to the nodes and back.
import { RowChangeWatcher } from './actors/row-change-watcher.js';
import { systemClock } from './clock.js';
import { type Config, ConfigError, databaseUrlOf, variableOf } from './config.js';
import { followFiles } from './follow-files.js';
import { createFrontHealth } from './health.js';
import { createFrontApp } from './inbound/http/front-app.js';
import { HttpServer } from './inbound/http/server.js';
import { createMqttLogins } from './inbound/mqtt/logins.js';
import { createLogger } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { createStore } from './outbound/knex/store.js';
import { EmbeddedBroker } from './outbound/mqtt/embedded-broker.js';
import { FrontBus } from './outbound/nats/front-bus.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import type { Store } from './ports/store.js';
import { openTlsFiles, readCertificates, type TlsFiles, warnOfPlainText } from './tls-files.js';
import { VERSION } from './version.js';

interface FrontSeams {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly metrics?: Metrics;
}

/** The settings of a front, which has its own broker. @throws ConfigError if they do not fit a front */
export function frontConfigOf(config: Config): Config & { readonly busUrl: string } {
  const { busUrl, databaseUrl, standby, sharded, mqttUrl } = config;
  const name = variableOf;
  if (mqttUrl !== undefined)
    throw new ConfigError(`${name('mqttUrl')}: a front is a broker itself; leave it out with --front`);
  if (busUrl === undefined)
    throw new ConfigError(`--front: needs NATS between it and the nodes; name it in ${name('busUrl')}`);
  if (databaseUrl === undefined || databaseUrl.startsWith('sqlite:'))
    throw new ConfigError(
      `--front: reads who may sign in from the PostgreSQL of the nodes; name it in ${name('databaseUrl')}`,
    );
  if (standby || sharded)
    throw new ConfigError(
      `--front: a front runs no tenants; leave ${name(standby ? 'standby' : 'sharded')} out, and start nodes beside it`,
    );
  return { ...config, busUrl };
}

export class Front {
  readonly #config: ReturnType<typeof frontConfigOf>;
  readonly #common: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics };
  readonly #logins = createMqttLogins({ tenants: [], credentials: [], mqttLogins: [] });
  readonly #undo: (() => Promise<void>)[] = [];
  #flushLog = () => Promise.resolve();
  #starting: Promise<unknown> = Promise.resolve();

  /** @throws ConfigError */
  constructor(config: Config, seams: FrontSeams = {}) {
    this.#config = frontConfigOf(config);
    const metrics = seams.metrics ?? createMetrics({ processMetrics: true });
    this.#common = {
      clock: seams.clock ?? systemClock,
      log: seams.log ?? this.#createLog(metrics),
      metrics,
    };
  }

  /** Resolves when chargers may connect; a failed start leaves nothing behind. */
  start(): Promise<{ readonly httpUrl: string; readonly mqttUrl: string }> {
    const started = this.#start().catch(async (error) => {
      await this.#letGo();
      throw error;
    });
    this.#starting = started;
    return started;
  }

  /** Ends the connections of its chargers, which go to another front. */
  async stop(): Promise<void> {
    await Promise.allSettled([this.#starting]);
    await this.#letGo();
  }

  #createLog(metrics: Metrics): Log {
    const log = createLogger({ level: this.#config.logLevel, metrics });
    this.#flushLog = () => log.flush();
    return log;
  }

  async #letGo(): Promise<void> {
    for (const step of this.#undo.splice(0).reverse())
      await step().catch((error) =>
        this.#common.log.error({ err: error }, 'a part of the front did not stop cleanly'),
      );
    await this.#flushLog();
  }

  async #start(): Promise<{ readonly httpUrl: string; readonly mqttUrl: string }> {
    const { log } = this.#common;
    const config = this.#config;
    warnOfPlainText({ ...config, busUrl: undefined }, log);
    const tlsFiles = openTlsFiles(config, this.#common);
    if (tlsFiles !== undefined) this.#undo.push(followFiles('files for TLS', tlsFiles, this.#common));
    await this.#followLogins();
    const { bus, broker } = this.#createBroker(tlsFiles);
    this.#undo.push(() => bus.stop());
    await bus.start((topic, payload, how) => broker.publish(topic, payload, how));
    this.#undo.push(() => broker.stop());
    const { url: mqttUrl } = await broker.start((topic, payload) => bus.send(topic, payload));
    const { metrics } = this.#common;
    metrics.measures.front = () => metrics.frontOpen.set(Number(bus.isHealthy() && broker.isHealthy()));
    const http = new HttpServer({ config, ...this.#common, tlsFiles });
    const health = createFrontHealth({ ...this.#common, broker, bus, version: VERSION });
    http.answerWith((exchanges) =>
      createFrontApp({
        trustProxy: config.trustProxy,
        metricsToken: config.metricsToken,
        ...this.#common,
        health,
        ...exchanges,
      }),
    );
    const { url: httpUrl } = await http.start();
    this.#undo.push(() => http.stop());
    log.info({ httpUrl, mqttUrl }, 'ready');
    return { httpUrl, mqttUrl };
  }

  /** Loads logins, now and after each change. While the database is away, the loaded ones stay in force. */
  async #followLogins(): Promise<void> {
    const store: Store = await createStore({ databaseUrl: databaseUrlOf(this.#config), ...this.#common });
    this.#undo.push(() => store.close());
    const never = () => Promise.reject(new Error('a front reads no tenant'));
    const follower = new RowChangeWatcher({
      ...this.#common,
      store: { ...store, isOwner: async () => true, loadTenant: never },
    });
    this.#undo.push(() => follower.stop());
    await follower.start({
      onTakenOver() {},
      onCredentials: (set) => this.#logins.replace(set),
    });
  }

  #createBroker(tlsFiles: TlsFiles | undefined): { readonly bus: FrontBus; readonly broker: EmbeddedBroker } {
    const { busUrl, busCa } = this.#config;
    const ca = busCa === undefined ? undefined : readCertificates(variableOf('busCa'), busCa);
    const bus = new FrontBus({ url: busUrl, ca, name: 'headroom front', ...this.#common });
    const broker = new EmbeddedBroker({
      config: this.#config,
      ...this.#common,
      connectionClock: systemClock,
      logins: this.#logins,
      tlsFiles,
      siblings: bus,
    });
    return { bus, broker };
  }
}
