// All that a node runs while it owns a shard: actors, and the bus to the chargers.
import { randomUUID } from 'node:crypto';
import type { GrantTiming } from '../machines/ledger/grant.js';
import type { TenantUuid } from '../machines/values/ids.js';
import { type ActorSystem, createActorSystem } from './actor-system.js';
import { systemClock } from './clock.js';
import { type Config, variableOf } from './config.js';
import { viewOfEvent } from './features/events/events.js';
import { readEvents } from './features/events/rows.js';
import { SiteFeed } from './features/home-assistant/site-feed.js';
import { Retention } from './features/retention.js';
import { Courier } from './features/webhooks/courier.js';
import type { Hop } from './inbound/http/forwarding.js';
import { createMqttLogins } from './inbound/mqtt/logins.js';
import { Telemetry } from './inbound/mqtt/telemetry.js';
import type { Metrics } from './metrics.js';
import { createWebhookSender, urlProblemOf } from './outbound/http/webhook-sender.js';
import { EmbeddedBroker } from './outbound/mqtt/embedded-broker.js';
import { ExternalBroker, loadMqttClient } from './outbound/mqtt/external-broker.js';
import { createLimitPublisher } from './outbound/mqtt/limit-publisher.js';
import { NatsBus } from './outbound/nats/nats-bus.js';
import { loadNatsClient } from './outbound/nats/nats-link.js';
import { createMailSender } from './outbound/smtp/mail-sender.js';
import type { Clock } from './ports/clock.js';
import type { CredentialSet } from './ports/credentials.js';
import type { Log } from './ports/log.js';
import type { Held } from './ports/ownership.js';
import type { Store } from './ports/store.js';
import type { ChargerGateway, LimitPublisher, MessageBus, MqttLogins } from './ports/telemetry.js';
import { readCertificates, type TlsFiles } from './tls-files.js';
import { VERSION } from './version.js';

/** Parts of a term that tests, benchmarks and the simulator replace. */
export interface TermSeams {
  readonly newId?: () => string;
  /** Replaces MQTT to the chargers. */
  readonly createGateway?: () => ChargerGateway;
  /** Wraps the broker. */
  readonly wrapBus?: (bus: MessageBus) => MessageBus;
  /** Between a node and the nodes to which it forwards. */
  readonly hop?: Hop;
  /** Builds the actors; a test, recorder or replay wraps their ports here. */
  readonly createActors?: typeof createActorSystem;
}

export interface TermOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly seams: TermSeams;
  readonly store: Store;
  readonly ownerTerm: number;
  readonly tlsFiles: TlsFiles | undefined;
  /** Rights of this node to send limits to chargers, and to answer requests. */
  readonly ownershipLease: Held;
  readonly onTakenOver: () => void;
  /** The term is for some tenants of the database, and receives messages of no others. */
  readonly isShard: boolean;
  /** Called with all credentials of the owned tenants, at the start and after each change. */
  readonly onCredentials: (set: CredentialSet) => void;
}

const NO_CREDENTIALS: CredentialSet = { tenants: [], credentials: [], mqttLogins: [] };

/**
 * Loads the client library for the chargers: otherwise the first term of a
 * node would wait for that, and requests with it.
 */
export async function loadBus({ busUrl, mqttUrl }: Pick<Config, 'busUrl' | 'mqttUrl'>): Promise<void> {
  if (busUrl !== undefined) await loadNatsClient();
  else if (mqttUrl !== undefined) await loadMqttClient();
}

export class Term {
  readonly #options: TermOptions;
  readonly #logins = createMqttLogins(NO_CREDENTIALS);
  readonly #gateway: ChargerGateway;
  readonly actors: ActorSystem;
  readonly #courier: Courier;
  readonly #retention: Retention;
  readonly #siteFeed: SiteFeed;
  #tenants: ReadonlySet<TenantUuid> = new Set();
  #areActorsStarted = false;
  #isGatewayStarted = false;

  constructor(options: TermOptions) {
    this.#options = options;
    this.#gateway =
      options.seams.createGateway?.() ?? this.#createMqttGateway(this.#createBroker(this.#logins));
    this.#courier = this.#createCourier();
    this.#retention = new Retention(options);
    this.#siteFeed = new SiteFeed({
      clock: options.clock,
      version: VERSION,
      canSend: () => options.ownershipLease.isHeld() && this.#gateway.isHealthy(),
      send: (topic, payload) => this.#gateway.retain?.(topic, payload),
    });
    this.#gateway.onReader?.((prefix) => this.#siteFeed.resend(prefix));
    this.actors = this.#createActors();
  }

  /** Resolves when chargers may connect; after a failure, `stop` releases all started parts. */
  async start(): Promise<{ readonly mqttUrl: string }> {
    this.#areActorsStarted = true;
    await this.actors.start();
    await this.#courier.start((tenantUuid) => this.#tenants.has(tenantUuid));
    this.#retention.start();
    this.#isGatewayStarted = true;
    const { url } = await this.#gateway.start(this.actors.telemetryHandler, () => this.actors.syncChargers());
    this.actors.syncChargers();
    return { mqttUrl: url };
  }

  get isBrokerHealthy(): boolean {
    return this.#gateway.isHealthy();
  }

  async stop(): Promise<void> {
    this.#retention.stop();
    this.#siteFeed.stop(false);
    await this.#courier.stop();
    if (this.#isGatewayStarted) await this.#quietly(() => this.#gateway.stop());
    if (this.#areActorsStarted) await this.#quietly(() => this.actors.stop());
  }

  async #quietly(step: () => Promise<void>): Promise<void> {
    await step().catch((error) =>
      this.#options.log.error({ err: error }, 'a part of the service did not stop cleanly'),
    );
  }

  #createBroker(logins: MqttLogins): MessageBus {
    const { config, clock, log, metrics, tlsFiles } = this.#options;
    const { mqttUrl: url, mqttCa, busUrl } = config;
    if (busUrl !== undefined) {
      const ca = config.busCa === undefined ? undefined : readCertificates(variableOf('busCa'), config.busCa);
      return new NatsBus({ url: busUrl, ca, name: 'headroom node', clock, log, metrics });
    }
    if (url === undefined)
      return new EmbeddedBroker({
        config,
        clock,
        connectionClock: systemClock,
        log,
        metrics,
        logins,
        tlsFiles,
      });
    const ca = mqttCa === undefined ? undefined : readCertificates(variableOf('mqttCa'), mqttCa);
    return new ExternalBroker({ url, ca, clientId: `headroom-${randomUUID()}`, clock, log });
  }

  #createMqttGateway(broker: MessageBus): ChargerGateway {
    const { clock, log, metrics, seams } = this.#options;
    const bus = seams.wrapBus?.(broker) ?? broker;
    return {
      ...createLimitPublisher(bus),
      retain: (topic, payload) => bus.publish(topic, payload, { qos: 0, retain: true }),
      onReader: (listener) => bus.onReader?.(listener),
      listenTo: (tenants) => bus.listenTo?.(tenants),
      start: (sink, onBack) => {
        const telemetry = new Telemetry({ sink, clock, log, metrics });
        return bus.start((topic, payload, memo) => telemetry.receive(topic, payload, memo), onBack);
      },
      isHealthy: () => bus.isHealthy(),
      stop: () => bus.stop(),
    };
  }

  /**
   * After the end of its lease an owner sends nothing: another node may own
   * the database already, and grant the same power.
   */
  #publisher(): LimitPublisher {
    const { ownershipLease } = this.#options;
    return {
      publishLimit: (connector, grant) => {
        if (ownershipLease.isHeld()) this.#gateway.publishLimit(connector, grant);
      },
      requestSync: (charger, ownerTerm) => {
        if (ownershipLease.isHeld()) this.#gateway.requestSync(charger, ownerTerm);
      },
    };
  }

  /** Events leave only from the owner, so that they stay in order over a takeover. */
  #createCourier(): Courier {
    const { config, clock, log, metrics, store, ownershipLease } = this.#options;
    // A receiver is a machine of its own: on a virtual clock its answers still take true time.
    const send = createWebhookSender({ clock: systemClock, isPrivateAllowed: config.webhookPrivate });
    const { smtpUrl: url, mailFrom: from } = config;
    const sendMail =
      url === undefined || from === undefined
        ? undefined
        : createMailSender({ url, from, clock: systemClock });
    const away = { error: 'another node may own the events' };
    return new Courier({
      clock,
      log,
      store,
      readEvents,
      viewOfEvent,
      onResult: (result) => metrics.webhookDeliveries.inc({ result }),
      send: async (message) => (ownershipLease.isHeld() ? send(message) : away),
      sendMail:
        sendMail &&
        (async (mail) =>
          ownershipLease.isHeld() ? sendMail(mail) : { ...away, refused: [], delayed: mail.receivers }),
    });
  }

  #createActors(): ActorSystem {
    const { config, clock, log, metrics, seams, store, ownerTerm, onTakenOver, isShard, onCredentials } =
      this.#options;
    const createActors = seams.createActors ?? createActorSystem;
    return createActors({
      clock,
      log,
      metrics,
      store,
      ownerTerm,
      onTakenOver: () => {
        this.#siteFeed.stop(true);
        onTakenOver();
      },
      onSites: (tenant) => this.#siteFeed.follow(tenant),
      publisher: this.#publisher(),
      timing: timingOf(config),
      newId: seams.newId ?? randomUUID,
      powerRetentionDays: config.powerRetentionDays,
      energyRetentionDays: config.energyRetentionDays,
      connectorPowerRetentionDays: config.connectorPowerRetentionDays,
      chargerOfflineMs: 1000 * config.chargerOfflineS,
      urlProblem: (url) => urlProblemOf(url, config.webhookPrivate),
      isMailOn: config.smtpUrl !== undefined,
      onChange: (tenantUuid) => this.#courier.look(tenantUuid),
      onWebhooks: (tenantUuid) => this.#courier.reload(tenantUuid),
      onCredentials: (set) => {
        onCredentials(set);
        this.#tenants = new Set(set.tenants.map(({ tenantUuid }) => tenantUuid));
        this.#logins.replace(set);
        if (isShard) this.#gateway.listenTo?.(set.tenants.map(({ tenantUuid }) => tenantUuid));
      },
    });
  }
}

export function timingOf({ heartbeatS, leaseTtlS, settleS }: Config): GrantTiming {
  const inMs = (seconds: number) => Math.round(seconds * 1000);
  return { heartbeatMs: inMs(heartbeatS), ttlMs: inMs(leaseTtlS), settleMs: inMs(settleS) };
}
