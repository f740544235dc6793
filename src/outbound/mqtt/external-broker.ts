// A broker the operator runs: this service is one of its clients and hears the chargers of all tenants.
import type { MqttClient } from 'mqtt';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus } from '../../ports/telemetry.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { TO_THE_SERVICE } from '../../wire/topics.js';

const RECONNECT_EVERY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEPALIVE_S = 30;

/**
 * A bus over the broker at `url`. `start` resolves after the first attempt to connect, good or bad: attempts go on until
 * `stop`, and `isHealthy` tells how it stands. What is published while there is no connection is dropped, because it would
 * be out of date by the time there is one.
 */
export class ExternalBroker implements MessageBus {
  readonly #url: string;
  readonly #ca: string | undefined;
  readonly #clientId: string;
  readonly #log: Log;
  readonly #rareLog: RareLog;
  #client: MqttClient | undefined;
  #isSubscribed = false;

  constructor(options: {
    readonly url: string;
    /** Who may have signed its certificate, as PEM; undefined for whom the system trusts. */
    readonly ca?: string | undefined;
    /** This process's own. */
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
    // Loaded where it is used: it takes a sixth of the time in which a service with its own broker starts.
    const { connect } = await import('mqtt');
    const client = connect(this.#url, {
      clientId: this.#clientId,
      clean: true,
      resubscribe: false,
      keepalive: KEEPALIVE_S,
      reconnectPeriod: RECONNECT_EVERY_MS,
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
      // A session starts clean, so each connection subscribes anew.
      client.on('connect', () => void this.#subscribe(client).then(resolve));
    });
    return { url: withoutSecrets(this.#url) };
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

  async #subscribe(client: MqttClient): Promise<void> {
    try {
      const granted = await client.subscribeAsync([...TO_THE_SERVICE], { qos: 1 });
      this.#isSubscribed = client.connected && granted.every(({ qos }) => qos < 128);
    } catch (error) {
      this.#logFault('MQTT broker refused the subscription', error);
    }
  }

  #logFault(what: string, error: unknown): void {
    this.#rareLog(what, () => this.#log.warn({ err: error }, what));
  }
}

function withoutSecrets(url: string): string {
  const parsed = new URL(url);
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
