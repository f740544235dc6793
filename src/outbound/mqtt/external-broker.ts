// A bus over a broker of the operator: this service is one of its clients and
// receives messages of the chargers of all tenants.
import type { MqttClient } from 'mqtt';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { withoutSecrets } from '../../broker-url.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus } from '../../ports/telemetry.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { TO_THE_SERVICE, toTheServiceOf } from '../../wire/topics.js';

const RECONNECT_EVERY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEPALIVE_S = 30;
/** In one packet: brokers limit its size. */
const FILTERS_AT_ONCE = 100;

/** Loaded on demand: it takes a sixth of the start of a service with its own broker. */
export const loadMqttClient = () => import('mqtt');

/**
 * A bus over the broker at `url`. `start` resolves after the first attempt to connect, good or bad.
 * Attempts go on until `stop`, and `isHealthy` returns the present state. Messages without a connection are
 * dropped, because they would be out of date later.
 */
export class ExternalBroker implements MessageBus {
  readonly #url: string;
  readonly #ca: string | undefined;
  readonly #clientId: string;
  readonly #log: Log;
  readonly #rareLog: RareLog;
  #client: MqttClient | undefined;
  /** undefined: all. */
  #tenants: Set<TenantUuid> | undefined;
  #isSubscribed = false;

  constructor(options: {
    readonly url: string;
    /** PEM of the authorities that may sign the broker's certificate; undefined for the system's own. */
    readonly ca?: string | undefined;
    /** Unique to this process. */
    readonly clientId: string;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#url = options.url;
    this.#ca = options.ca;
    this.#clientId = options.clientId;
    this.#log = options.log;
    this.#rareLog = createRareLog(options.clock);
  }

  async start(onMessage: (topic: string, payload: Buffer) => void): Promise<{ readonly url: string }> {
    const { connect } = await loadMqttClient();
    const client = connect(this.#url, {
      clientId: this.#clientId,
      clean: true,
      resubscribe: false,
      keepalive: KEEPALIVE_S,
      reconnectPeriod: RECONNECT_EVERY_MS,
      // By default the library treats a refusal as final; attempts go on.
      reconnectOnConnackError: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
    });
    this.#client = client;
    client.on('message', (topic, payload) => onMessage(topic, payload));
    client.on('error', (error) => this.#logFault('MQTT broker cannot be reached', error));
    await new Promise<void>((resolve) => {
      client.on('close', () => {
        this.#isSubscribed = false;
        resolve();
      });
      // A session starts clean, so each connection subscribes again.
      client.on('connect', () => void this.#subscribe(client, this.#filters()).then(resolve));
    });
    return { url: withoutSecrets(this.#url) };
  }

  listenTo(tenants: readonly TenantUuid[]): void {
    const known = this.#tenants ?? new Set();
    const added = tenants.filter((tenantUuid) => !known.has(tenantUuid));
    this.#tenants = new Set([...known, ...added]);
    if (added.length > 0 && this.#client?.connected === true)
      void this.#subscribe(this.#client, added.flatMap(toTheServiceOf));
  }

  publish(topic: string, payload: string, { qos, retain }: Parameters<MessageBus['publish']>[2]): void {
    if (this.#client?.connected !== true) return;
    this.#client.publish(topic, payload, { qos, retain }, (error) => {
      if (error) this.#logFault('MQTT broker did not take a message', error);
    });
  }

  isHealthy(): boolean {
    return this.#client?.connected === true && this.#isSubscribed;
  }

  async stop(): Promise<void> {
    await this.#client?.endAsync(this.#client.connected !== true);
  }

  #filters(): readonly string[] {
    return this.#tenants === undefined ? TO_THE_SERVICE : [...this.#tenants].flatMap(toTheServiceOf);
  }

  async #subscribe(client: MqttClient, filters: readonly string[]): Promise<void> {
    try {
      let isGranted = true;
      for (let at = 0; at < filters.length; at += FILTERS_AT_ONCE) {
        const granted = await client.subscribeAsync(filters.slice(at, at + FILTERS_AT_ONCE), { qos: 1 });
        isGranted &&= granted.every(({ qos }) => qos < 128);
      }
      this.#isSubscribed = client.connected && isGranted;
    } catch (error) {
      this.#isSubscribed = false;
      this.#logFault('MQTT broker refused the subscription', error);
    }
  }

  #logFault(what: string, error: unknown): void {
    this.#rareLog(what, () => this.#log.warn({ err: error }, what));
  }
}
