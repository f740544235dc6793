// Carries the messages of one virtual charger over real MQTT, and wakes the charger at its due instants.
import { connect, type MqttClient } from 'mqtt';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import type { ChargerMessage } from './charger-message.js';
import type { VirtualCharger } from './virtual-charger.js';
import { deliver, topicsFor } from './virtual-charger.js';

interface ChargerLogin {
  readonly url: string;
  /** `{tenantUuid}/{controllerUuid}` unless the broker has logins of its own. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls?: ChargerTls | undefined;
}

/**
 * TLS material, all as PEM: `ca` replaces the system's trusted authorities; `cert` and `key` identify the charger.
 */
export interface ChargerTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

const KEEPALIVE_S = 30;
const RECONNECT_MS = 2000;
const GOODBYE_MS = 2000;
/** The link looks for due work at least every `LONGEST_SLEEP_MS`, and at most every `SHORTEST_SLEEP_MS`. */
const LONGEST_SLEEP_MS = 1000;
const SHORTEST_SLEEP_MS = 20;

function open({ url, username, password, tls }: ChargerLogin, charger: VirtualCharger): MqttClient {
  return connect(url, {
    clientId: charger.address.controllerUuid,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    protocolVersion: 4,
    clean: true,
    keepalive: KEEPALIVE_S,
    reconnectPeriod: RECONNECT_MS,
    // Installers often set up a charger before its login exists, so the client retries after a refusal.
    reconnectOnConnackError: true,
    // `#begin` subscribes itself, before the charger reports that it is online.
    resubscribe: false,
    // Meter values of a minute ago are worth nothing once the connection is back.
    queueQoSZero: false,
    ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls?.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls?.key === undefined ? {} : { key: tls.key }),
    ...willOf(charger),
  });
}

function willOf(charger: VirtualCharger) {
  const will = charger.lastWill();
  if (will === undefined) return {};
  const { topic, payload, qos, retain } = will;
  return { will: { topic, payload: Buffer.from(payload), qos, retain } };
}

/** Connects a charger to the broker and keeps it connected until `stop`. */
export class ChargerLink {
  readonly #charger: VirtualCharger;
  readonly #clock: Clock;
  readonly #topics: readonly string[];
  readonly #client: MqttClient;
  #lastError: string | undefined;
  #isListening = false;
  #cancelWake: Cancel = () => {};

  constructor(options: ChargerLogin & { readonly charger: VirtualCharger; readonly clock: Clock }) {
    this.#charger = options.charger;
    this.#clock = options.clock;
    this.#topics = topicsFor(options.charger);
    this.#client = open(options, options.charger);
    this.#client.on('connect', () => void this.#begin());
    this.#client.on('close', () => {
      this.#isListening = false;
    });
    this.#client.on('message', (topic, payload) => {
      if (deliver(this.#charger, topic, payload.toString(), this.#clock.monotonicMs())) this.#wake();
    });
    this.#client.on('error', (error) => {
      this.#lastError = error.message;
    });
    this.#wake();
  }

  /** True from the answer to the subscription until the connection closes. */
  isOnline(): boolean {
    return this.#isListening;
  }

  /** Reason for the last failure to connect or to subscribe. */
  lastError(): string | undefined {
    return this.#lastError;
  }

  /** Breaks the connection without a goodbye until `restore`; the charger goes on by itself. */
  cut(): void {
    this.#isListening = false;
    this.#client.end(true);
  }

  restore(): void {
    this.#client.reconnect();
  }

  /** Restarts the charger as `boot`: its connection breaks and comes back. */
  reboot(boot: string): void {
    this.#isListening = false;
    this.#charger.reboot(boot, this.#clock.monotonicMs());
    Object.assign(this.#client.options, willOf(this.#charger));
    this.#client.stream.destroy();
  }

  /** Publishes the goodbye (`online: false`) and closes. */
  async stop(): Promise<void> {
    this.#cancelWake();
    if (this.#isListening) {
      // A broker that is gone by now must not delay the stop.
      const givenUp = new Promise<void>((done) => void this.#clock.after(GOODBYE_MS, done));
      await Promise.race([this.#sayGoodbye().catch(() => {}), givenUp]);
    }
    this.#client.stream.destroy();
    await this.#client.endAsync(true);
  }

  #wake(): void {
    this.#cancelWake();
    const nowMs = this.#clock.monotonicMs();
    this.#charger.advance(nowMs);
    if (this.#isListening)
      for (const message of this.#charger.takeMessages(nowMs, this.#clock.nowMs())) this.#send(message);
    const sleepMs = Math.ceil(this.#charger.nextDueMs(nowMs) - nowMs);
    const boundedMs = Math.min(LONGEST_SLEEP_MS, Math.max(SHORTEST_SLEEP_MS, sleepMs));
    this.#cancelWake = this.#clock.after(boundedMs, () => this.#wake());
  }

  #send({ topic, payload, qos, retain }: ChargerMessage): void {
    this.#client.publish(topic, payload, { qos, retain });
  }

  /** The subscription precedes the state, so that the charger receives the limits sent in answer to its state. */
  async #begin(): Promise<void> {
    this.#lastError = undefined;
    if (this.#topics.length > 0) {
      await this.#client.subscribeAsync([...this.#topics], { qos: 1 }).catch((error: Error) => {
        // The charger goes on without receiving limits, and keeps to its fail-safe.
        this.#lastError = error.message;
      });
    }
    if (!this.#client.connected) return;
    this.#isListening = true;
    this.#charger.connected(this.#clock.monotonicMs());
    this.#wake();
  }

  async #sayGoodbye(): Promise<void> {
    const messages = this.#charger.goodbye(this.#clock.monotonicMs(), this.#clock.nowMs());
    for (const { topic, payload, qos, retain } of messages)
      await this.#client.publishAsync(topic, payload, { qos, retain });
    // The DISCONNECT of an orderly end keeps the broker from publishing the last will as well.
    await this.#client.endAsync(false);
  }
}
