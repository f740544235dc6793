// Carries messages through the production broker over real connections, in no virtual time. The wires decide the
// instants of arrival. Until then the carrier keeps the bytes that the broker delivered, and then hands over exactly
// those bytes.

import { Socket } from 'node:net';
import { connectAsync, type MqttClient } from 'mqtt';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { MessageBus } from '../../src/ports/telemetry.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { limitSchema } from '../../src/wire/mqtt.js';
import { parseTopic } from '../../src/wire/topics.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import { deliver } from '../charger/virtual-charger.js';
import type { Carrier, CarrierEvents, CarrierLife } from './carrier.js';
import type { Outstanding } from './pace.js';
import type { Wire } from './wire.js';

// One virtual charger's session with the real broker: its client, its last will and its subscriptions.
interface BrokerSession {
  publish(message: ChargerMessage): void;
  /** Breaks the connection without a goodbye, so that the broker publishes the last will. */
  cut(): void;
  /** Ends the session in order: the broker publishes no last will. */
  leave(): Promise<void>;
}

/** Virtual time runs at any speed, keepalives in true time, so neither side may treat a long wait as silence. */
const KEEPALIVE_S = 65_535;

/**
 * Connects as the contract requires, and resolves once `topics` are subscribed.
 * @param options.onClose called when the broker ends the session, not after `cut` or `leave`
 */
async function openBrokerSession(options: {
  readonly url: string;
  readonly ca: string | undefined;
  readonly charger: ChargerAddress;
  readonly password: string;
  readonly lastWill: ChargerMessage | undefined;
  readonly topics: readonly string[];
  readonly onMessage: (topic: string, payload: Buffer) => void;
  readonly onClose: () => void;
}): Promise<BrokerSession> {
  const { url, ca, charger, password, lastWill, topics, onMessage, onClose } = options;
  const client = await connectAsync(
    url,
    {
      clientId: charger.controllerUuid,
      username: `${charger.tenantUuid}/${charger.controllerUuid}`,
      password,
      protocolVersion: 4,
      clean: true,
      keepalive: KEEPALIVE_S,
      reschedulePings: false,
      reconnectPeriod: 0,
      ...(ca === undefined ? {} : { ca }),
      ...(lastWill === undefined ? {} : { will: willOf(lastWill) }),
    },
    false,
  );
  sendAtOnce(client);
  client.on('message', onMessage);
  // `close` follows every error.
  client.on('error', () => {});
  if (topics.length > 0) await client.subscribeAsync([...topics], { qos: 1 });
  client.on('close', onClose);
  return {
    publish({ topic, payload, qos, retain }) {
      client.publish(topic, payload, { qos, retain });
    },
    cut() {
      client.off('close', onClose);
      client.end(true);
    },
    async leave() {
      client.off('close', onClose);
      await client.endAsync();
    },
  };
}

function willOf({ topic, payload, qos, retain }: ChargerMessage) {
  return { topic, payload: Buffer.from(payload), qos, retain };
}

/** Otherwise a small packet waits 40 ms of true time for the answer to the packet before it. */
function sendAtOnce({ stream }: MqttClient): void {
  if (stream instanceof Socket) stream.setNoDelay(true);
}

type OnMessage = (topic: string, payload: Buffer) => void;

/** One publication; `payload` is the broker's output, undefined if there was none. */
interface Copy {
  payload?: Buffer;
}

/** A charger's end of its wire. Its tasks run one after another, in the order of their creation. */
interface Line {
  readonly wire: Wire;
  readonly topics: ReadonlySet<string>;
  done: Promise<void>;
  session: BrokerSession | undefined;
  lastWill: ChargerMessage | undefined;
  /** Last will that the broker published when the newest session broke; the service receives it later. */
  spokenWill: Copy;
}

/** Limits on messages and silence per true second mean nothing in virtual time, so they are set out of reach. */
export const BROKER_ENVIRONMENT: Readonly<Record<string, string>> = {
  HEADROOM_MQTT_MESSAGES_PER_S: '1000000000',
  HEADROOM_MQTT_MESSAGE_BURST: '1000000000',
  HEADROOM_MQTT_SUBSCRIPTIONS: '1000',
  HEADROOM_MQTT_KEEPALIVE_MAX_S: `${KEEPALIVE_S}`,
  HEADROOM_MQTT_CONNECT_TIMEOUT_S: '600',
};

interface BrokerCarrierOptions {
  /** Must include the password of every charger. */
  readonly tenants: readonly TenantEntry[];
  /** Certificate that signed the certificate of a broker with TLS, as PEM. */
  readonly ca: string | undefined;
  readonly wireOf: (charger: ChargerAddress) => Wire | undefined;
  /** Topics that the charger subscribes to. */
  readonly topicsOf: (charger: ChargerAddress) => readonly string[];
  readonly clock: Clock;
  /** Counts the work that is under way in true time. */
  readonly outstanding: Outstanding;
  readonly log: Log;
  readonly events: CarrierEvents;
}

export class BrokerCarrier implements Carrier {
  readonly #options: BrokerCarrierOptions;
  readonly #passwords: ReadonlyMap<string, string>;
  readonly #lines = new Map<Wire, Line>();
  /** Lines that await a message from the broker, by topic; each awaits one message at a time. */
  readonly #awaited = new Map<
    string,
    { readonly line: Line; readonly arrived: (payload?: Buffer) => void }
  >();
  /** The broker of this life of the service; `#receive` is the service behind it. */
  #url = '';
  #receive: OnMessage = () => {};

  constructor(options: BrokerCarrierOptions) {
    this.#options = options;
    this.#passwords = passwordsOf(options.tenants);
  }

  open(): CarrierLife {
    let isLiving = true;
    return {
      seams: { wrapBus: (bus) => this.#wrap(bus, () => isLiving) },
      end: () => {
        isLiving = false;
        this.#receive = () => {};
      },
    };
  }

  say(wire: Wire, message: ChargerMessage): void {
    const { topic } = message;
    const arrive = () => {
      const bytes = copies.pop()?.payload;
      if (bytes === undefined) return;
      this.#options.events.received(wire.address, message);
      this.#receive(topic, bytes);
    };
    const count = wire.travelUp({ arrive });
    const copies = this.#passAll(count, this.#lineOf(wire), topic, (session) => session.publish(message));
  }

  // The message goes straight to the service, as from a broker: its sender is no charger of this world.
  receiveOfSite(topic: string, payload: string): boolean {
    this.#receive(topic, Buffer.from(payload));
    return true;
  }

  connect(wire: Wire, lastWill: ChargerMessage | undefined): void {
    const line = this.#lineOf(wire);
    Object.assign(line, { lastWill, spokenWill: {} });
    this.#inTurn(line, () => this.#beginSession(line));
  }

  cut(wire: Wire): void {
    this.#endSession(this.#lineOf(wire));
  }

  lose(wire: Wire): void {
    const { lastWill, spokenWill } = this.#lineOf(wire);
    if (lastWill === undefined || spokenWill.payload === undefined) return;
    this.#options.events.received(wire.address, lastWill);
    this.#receive(lastWill.topic, spokenWill.payload);
  }

  loseAll(): void {
    for (const line of this.#lines.values()) this.#endSession(line);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lines.values()].map(({ done }) => done));
    for (const line of this.#lines.values()) {
      line.session?.cut();
      line.session = undefined;
    }
  }

  #lineOf(wire: Wire): Line {
    const known = this.#lines.get(wire);
    if (known !== undefined) return known;
    const made: Line = {
      wire,
      topics: new Set(this.#options.topicsOf(wire.address)),
      done: Promise.resolve(),
      session: undefined,
      lastWill: undefined,
      spokenWill: {},
    };
    this.#lines.set(wire, made);
    return made;
  }

  #inTurn(line: Line, work: () => Promise<void>): void {
    this.#options.outstanding.begin();
    line.done = line.done
      .then(work)
      .catch((error) =>
        this.#options.log.error({ err: error }, 'a virtual charger and the broker failed each other'),
      )
      .finally(() => {
        this.#options.outstanding.end();
      });
  }

  /** In its turn, calls `send`, which makes the broker deliver a message on `topic`, and waits for that message. */
  #pass(line: Line, topic: string, send: (session: BrokerSession) => void, copy: Copy = {}): Copy {
    this.#inTurn(line, async () => {
      const { session } = line;
      if (session === undefined) return;
      await new Promise<void>((resolve) => {
        this.#awaited.set(topic, {
          line,
          arrived: (payload) => {
            this.#awaited.delete(topic);
            if (payload !== undefined) copy.payload = payload;
            resolve();
          },
        });
        send(session);
      });
    });
    return copy;
  }

  #passAll(count: number, line: Line, topic: string, send: (session: BrokerSession) => void): Copy[] {
    return Array.from({ length: count }, () => this.#pass(line, topic, send));
  }

  #comeOut(topic: string, payload: Buffer): void {
    const waiting = this.#awaited.get(topic);
    waiting?.arrived(payload);
    if (waiting !== undefined) return;
    // No line caused this message: the broker ended a session by itself, and publishes its last will.
    for (const line of this.#lines.values())
      if (line.lastWill?.topic === topic) line.spokenWill.payload = payload;
  }

  async #beginSession(line: Line): Promise<void> {
    const { address } = line.wire;
    // A session that did not break ends in order.
    await line.session?.leave();
    line.session = await openBrokerSession({
      url: this.#url,
      ca: this.#options.ca,
      charger: address,
      lastWill: line.lastWill,
      topics: [...line.topics],
      onMessage: (topic, payload) => this.#comeOut(topic, payload),
      password: this.#passwords.get(usernameOf(address)) ?? '',
      onClose: () => {
        line.session = undefined;
        for (const waiting of [...this.#awaited.values()]) if (waiting.line === line) waiting.arrived();
        this.#options.events.cutOff(address);
      },
    });
  }

  /** The broker publishes the last will of a connection that breaks, if there is one. */
  #endSession(line: Line): void {
    const end = (session: BrokerSession) => {
      line.session = undefined;
      session.cut();
    };
    if (line.lastWill !== undefined) {
      this.#pass(line, line.lastWill.topic, end, line.spokenWill);
    } else {
      this.#inTurn(line, async () => {
        if (line.session !== undefined) end(line.session);
      });
    }
  }

  #deliverTo(wire: Wire, topic: string, payload: Buffer): void {
    const { address, receiver } = wire;
    const charger = { address, receiveLimit: receiver.limit, receiveSync: receiver.sync };
    if (!deliver(charger, topic, payload.toString(), this.#options.clock.monotonicMs()))
      this.#options.log.error({ topic }, 'a charger cannot read its message');
  }

  #wrap(bus: MessageBus, isLiving: () => boolean): MessageBus {
    return {
      start: async (onMessage) => {
        const started = await bus.start((topic, payload) => this.#comeOut(topic, payload));
        this.#url = started.url;
        this.#receive = onMessage;
        return started;
      },
      publish: (topic, payload, how) => {
        if (isLiving()) this.#sendDown(topic, payload, () => bus.publish(topic, payload, how));
      },
      isHealthy: () => bus.isHealthy(),
      stop: async () => {
        await this.close();
        await bus.stop();
      },
    };
  }

  /** @param publish makes the broker deliver the message once */
  #sendDown(topic: string, payload: string, publish: () => void): void {
    const to = parseTopic(topic);
    if (to === undefined) return;
    if (to.kind === 'limit') this.#options.events.limitLeft(to, limitSchema.parse(JSON.parse(payload)));
    const wire = this.#options.wireOf(to);
    if (wire === undefined) return;
    const line = this.#lineOf(wire);
    const arrive = () => {
      const bytes = copies.pop()?.payload;
      if (bytes !== undefined) this.#deliverTo(wire, topic, bytes);
    };
    const count = wire.travelDown({ arrive });
    // The broker delivers nothing to a charger without a subscription.
    const copies = this.#passAll(line.topics.has(topic) ? count : 0, line, topic, publish);
  }
}

function usernameOf({ tenantUuid, controllerUuid }: ChargerAddress): string {
  return `${tenantUuid}/${controllerUuid}`;
}

function passwordsOf(tenants: readonly TenantEntry[]): ReadonlyMap<string, string> {
  const chargers = tenants.flatMap(({ tenantUuid, locations }) =>
    locations.flatMap(({ locationId, chargers }) =>
      chargers.map(({ controllerUuid, mqttPassword = '' }) => ({
        address: { tenantUuid, locationId, controllerUuid },
        mqttPassword,
      })),
    ),
  );
  return new Map(chargers.map(({ address, mqttPassword }) => [usernameOf(address), mqttPassword]));
}
