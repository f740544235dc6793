// Carries one virtual charger's messages over real MQTT, as a charger's modem would, and wakes it when it has to act.
import { connect, type MqttClient } from 'mqtt';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import { deliver, topicsFor } from './charger-inbox.js';
import type { ChargerMessage } from './charger-message.js';
import type { VirtualCharger } from './virtual-charger.js';

export interface ChargerLink {
  /** Connected, and its topics subscribed. */
  isOnline(): boolean;
  /** Why the last attempt to connect or to subscribe failed. */
  lastError(): string | undefined;
  /** The network is gone, without a goodbye, until `restore`; the charger goes on by itself. */
  cut(): void;
  restore(): void;
  /** The charger starts again as `boot`: its connection breaks and comes back. */
  reboot(boot: string): void;
  /** Says goodbye (`online: false`) and closes. */
  stop(): Promise<void>;
}

/** Where to connect, and as whom. */
export interface ChargerLogin {
  readonly url: string;
  /** `{tenantUuid}/{controllerUuid}` unless the broker has logins of its own. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls?: ChargerTls | undefined;
}

/** For a broker that speaks TLS, all as PEM: whom the charger trusts in the place of the system's own, and its certificate. */
export interface ChargerTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

const KEEPALIVE_S = 30;
const RECONNECT_MS = 2000;
const GOODBYE_MS = 2000;
/** What is due is found late by at most the first, and not looked for more often than the second. */
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
    // A charger is often installed before its login is: it asks again.
    reconnectOnConnackError: true,
    // It subscribes by itself, before it says that it is there.
    resubscribe: false,
    // Meter values of a minute ago are worth nothing once the link is back.
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

/** Connects `charger` to the broker and keeps it connected until `stop`. */
export function connectCharger(
  options: ChargerLogin & { readonly charger: VirtualCharger; readonly clock: Clock },
): ChargerLink {
  const { charger, clock } = options;
  const topics = [...topicsFor(charger)];
  const client = open(options, charger);
  let lastError: string | undefined;
  let isListening = false;
  let cancelWake: Cancel = () => {};

  function send({ topic, payload, qos, retain }: ChargerMessage): void {
    client.publish(topic, payload, { qos, retain });
  }

  function wake(): void {
    cancelWake();
    const nowMs = clock.monotonicMs();
    charger.advance(nowMs);
    if (isListening) charger.takeMessages(nowMs, clock.nowMs()).forEach(send);
    const sleepMs = Math.ceil(charger.nextDueMs(nowMs) - nowMs);
    cancelWake = clock.after(Math.min(LONGEST_SLEEP_MS, Math.max(SHORTEST_SLEEP_MS, sleepMs)), wake);
  }

  /** What it is told in answer to its state must find it listening. */
  async function begin(): Promise<void> {
    lastError = undefined;
    if (topics.length > 0) {
      await client.subscribeAsync(topics, { qos: 1 }).catch((error: Error) => {
        // It goes on unheard of, held to its fail-safe.
        lastError = error.message;
      });
    }
    if (!client.connected) return;
    isListening = true;
    charger.connected(clock.monotonicMs());
    wake();
  }

  async function sayGoodbye(): Promise<void> {
    for (const { topic, payload, qos, retain } of charger.goodbye(clock.monotonicMs(), clock.nowMs())) {
      await client.publishAsync(topic, payload, { qos, retain });
    }
    // With the DISCONNECT of an orderly end the broker does not speak the last will as well.
    await client.endAsync(false);
  }

  client.on('connect', () => void begin());
  client.on('close', () => {
    isListening = false;
  });
  client.on('message', (topic, payload) => {
    if (deliver(charger, topic, payload.toString(), clock.monotonicMs())) wake();
  });
  client.on('error', (error) => {
    lastError = error.message;
  });
  wake();

  return {
    isOnline: () => isListening,
    lastError: () => lastError,
    cut() {
      isListening = false;
      client.end(true);
    },
    restore: () => void client.reconnect(),
    reboot(boot) {
      isListening = false;
      charger.reboot(boot, clock.monotonicMs());
      Object.assign(client.options, willOf(charger));
      client.stream.destroy();
    },
    async stop() {
      cancelWake();
      if (isListening) {
        // A broker that is gone by now must not hold up the stop.
        const givenUp = new Promise<void>((done) => void clock.after(GOODBYE_MS, done));
        await Promise.race([sayGoodbye().catch(() => {}), givenUp]);
      }
      client.stream.destroy();
      await client.endAsync(true);
    },
  };
}
