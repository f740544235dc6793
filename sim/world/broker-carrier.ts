// Carries messages through the production's broker, bytes over real connections, in no virtual time: when they arrive is up
// to the wires. What comes out on the other side is kept until then, and only that is handed over.
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { Log } from '../../src/ports/log.js';
import type { MessageBus } from '../../src/ports/telemetry.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { limitSchema } from '../../src/wire/mqtt.js';
import { parseTopic } from '../../src/wire/topics.js';
import { deliver } from '../charger/charger-inbox.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import { type BrokerSession, KEEPALIVE_S, openBrokerSession } from './broker-session.js';
import type { Carrier, CarrierEvents, CarrierLife } from './carrier.js';
import type { Outstanding } from './outstanding.js';
import type { Wire } from './wire.js';

type OnMessage = (topic: string, payload: Buffer) => void;

/** One publication: `payload` is what came out of the broker, undefined where nothing did. */
interface Copy {
  payload?: Buffer;
}

/** A charger's end of its wire. What it has to do is done one by one, so that all of it happens in the order it was told. */
interface Line {
  readonly wire: Wire;
  readonly topics: ReadonlySet<string>;
  done: Promise<void>;
  session: BrokerSession | undefined;
  lastWill: ChargerMessage | undefined;
  /** What the broker said when the newest session broke; the service hears it later. */
  spokenWill: Copy;
}

/** What the broker refuses a client that says too much, or nothing, for true seconds means nothing in virtual time. */
export const BROKER_ENVIRONMENT: Readonly<Record<string, string>> = {
  HEADROOM_MQTT_MESSAGES_PER_S: '1000000000',
  HEADROOM_MQTT_MESSAGE_BURST: '1000000000',
  HEADROOM_MQTT_SUBSCRIPTIONS: '1000',
  HEADROOM_MQTT_KEEPALIVE_MAX_S: `${KEEPALIVE_S}`,
  HEADROOM_MQTT_CONNECT_TIMEOUT_S: '600',
};

/**
 * @param options.tenants with the password of every charger.
 * @param options.topicsOf what the charger subscribes to.
 * @param options.outstanding counts what is under way in true time.
 */
export function createBrokerCarrier(options: {
  readonly tenants: readonly TenantEntry[];
  /** Who signed the certificate of a broker that speaks TLS, as PEM. */
  readonly ca: string | undefined;
  readonly wireOf: (charger: ChargerAddress) => Wire | undefined;
  readonly topicsOf: (charger: ChargerAddress) => readonly string[];
  readonly monotonicMs: () => number;
  readonly outstanding: Outstanding;
  readonly log: Log;
  readonly events: CarrierEvents;
}): Carrier {
  const { ca, wireOf, topicsOf, monotonicMs, outstanding, log, events } = options;
  const passwords = passwordsOf(options.tenants);
  const lines = new Map<Wire, Line>();
  /** Who waits for what comes out of the broker, by topic: a line waits for one message at a time. */
  const awaited = new Map<string, { readonly line: Line; readonly arrived: (payload?: Buffer) => void }>();
  /** The broker of this life of the service, and the service behind it. */
  let url = '';
  let hear: OnMessage = () => {};

  function lineOf(wire: Wire): Line {
    const known = lines.get(wire);
    if (known !== undefined) return known;
    const made: Line = {
      wire,
      topics: new Set(topicsOf(wire.address)),
      done: Promise.resolve(),
      session: undefined,
      lastWill: undefined,
      spokenWill: {},
    };
    lines.set(wire, made);
    return made;
  }

  function inTurn(line: Line, work: () => Promise<void>): void {
    outstanding.begin();
    line.done = line.done
      .then(work)
      .catch((error) => log.error({ err: error }, 'a virtual charger and the broker failed each other'))
      .finally(() => {
        outstanding.end();
      });
  }

  /** In its turn, does what makes the broker put out a message on `topic`, and waits for that. */
  function pass(line: Line, topic: string, send: (session: BrokerSession) => void, copy: Copy = {}): Copy {
    inTurn(line, async () => {
      const { session } = line;
      if (session === undefined) return;
      await new Promise<void>((resolve) => {
        awaited.set(topic, {
          line,
          arrived(payload) {
            awaited.delete(topic);
            if (payload !== undefined) copy.payload = payload;
            resolve();
          },
        });
        send(session);
      });
    });
    return copy;
  }

  function passAll(count: number, line: Line, topic: string, send: (session: BrokerSession) => void): Copy[] {
    return Array.from({ length: count }, () => pass(line, topic, send));
  }

  function comeOut(topic: string, payload: Buffer): void {
    const waiting = awaited.get(topic);
    waiting?.arrived(payload);
    if (waiting !== undefined) return;
    // Nobody made the broker say this: it ended a session by itself, and speaks the last will.
    for (const line of lines.values()) if (line.lastWill?.topic === topic) line.spokenWill.payload = payload;
  }

  async function connect(line: Line): Promise<void> {
    const { address } = line.wire;
    line.session = await openBrokerSession({
      url,
      ca,
      charger: address,
      lastWill: line.lastWill,
      topics: [...line.topics],
      onMessage: comeOut,
      password: passwords.get(usernameOf(address)) ?? '',
      onClose() {
        line.session = undefined;
        for (const waiting of [...awaited.values()]) if (waiting.line === line) waiting.arrived();
        events.cutOff(address);
      },
    });
  }

  /** The broker speaks the last will of a connection that breaks; who has none is gone without a word. */
  function cut(line: Line): void {
    const end = (session: BrokerSession) => {
      line.session = undefined;
      session.cut();
    };
    if (line.lastWill !== undefined) {
      pass(line, line.lastWill.topic, end, line.spokenWill);
    } else {
      inTurn(line, async () => {
        if (line.session !== undefined) end(line.session);
      });
    }
  }

  function deliverTo(wire: Wire, topic: string, payload: Buffer): void {
    const { address, receiver } = wire;
    const charger = { address, receiveLimit: receiver.limit, receiveSync: receiver.sync };
    if (!deliver(charger, topic, payload.toString(), monotonicMs()))
      log.error({ topic }, 'a charger cannot read what it was sent');
  }

  async function letGo(): Promise<void> {
    await Promise.all([...lines.values()].map(({ done }) => done));
    for (const line of lines.values()) {
      line.session?.cut();
      line.session = undefined;
    }
  }

  function wrap(bus: MessageBus, isLiving: () => boolean): MessageBus {
    return {
      async start(onMessage) {
        const started = await bus.start(comeOut);
        url = started.url;
        hear = onMessage;
        return started;
      },
      publish(topic, payload, how) {
        const to = parseTopic(topic);
        if (!isLiving() || to === undefined) return;
        if (to.kind === 'limit') events.limitLeft(to, limitSchema.parse(JSON.parse(payload)));
        const wire = wireOf(to);
        if (wire === undefined) return;
        const line = lineOf(wire);
        const count = wire.travelDown(() => {
          const bytes = copies.pop()?.payload;
          if (bytes !== undefined) deliverTo(wire, topic, bytes);
        });
        const send = () => bus.publish(topic, payload, how);
        // Who listens to nothing gets nothing out of the broker.
        const copies = passAll(line.topics.has(topic) ? count : 0, line, topic, send);
      },
      isHealthy: () => bus.isHealthy(),
      async stop() {
        await letGo();
        await bus.stop();
      },
    };
  }

  function open(): CarrierLife {
    let isLiving = true;
    return {
      seams: { wrapBus: (bus) => wrap(bus, () => isLiving) },
      end() {
        isLiving = false;
        hear = () => {};
      },
    };
  }

  return {
    open,
    say(wire, message) {
      const { topic } = message;
      const count = wire.travelUp(() => {
        const bytes = copies.pop()?.payload;
        if (bytes === undefined) return;
        events.heard(wire.address, message);
        hear(topic, bytes);
      });
      const copies = passAll(count, lineOf(wire), topic, (session) => session.publish(message));
    },
    connect(wire, lastWill) {
      const line = lineOf(wire);
      Object.assign(line, { lastWill, spokenWill: {} });
      inTurn(line, () => connect(line));
    },
    cut: (wire) => cut(lineOf(wire)),
    lose(wire) {
      const { lastWill, spokenWill } = lineOf(wire);
      if (lastWill === undefined || spokenWill.payload === undefined) return;
      events.heard(wire.address, lastWill);
      hear(lastWill.topic, spokenWill.payload);
    },
    loseAll() {
      for (const line of lines.values()) cut(line);
    },
    close: letGo,
  };
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
