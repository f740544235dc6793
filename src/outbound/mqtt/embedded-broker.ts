// The broker in this process: chargers connect to it directly, and each may say and hear only what concerns itself.
import { type EventEmitter, once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Aedes, type AedesOptions, type Client, type PublishPacket } from 'aedes';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus, MqttLogins } from '../../ports/telemetry.js';
import { createRareLog } from '../../rare-log.js';
import type { TlsFiles } from '../../tls-files.js';
import { createGatekeeper, type Gatekeeper, type GatekeeperSettings } from './gatekeeper.js';
import { createMqttListener } from './mqtt-listener.js';
import { PacketGuard } from './packet-guard.js';
import type { Session } from './session.js';

/** Settings of the same names. */
export interface BrokerSettings extends GatekeeperSettings {
  readonly mqttHost: string;
  readonly mqttPort: number;
  readonly mqttConnectTimeoutS: number;
  readonly mqttTopicLevels: number;
}

type Done = (error?: Error) => void;

const DRAIN_TIMEOUT_MS = 10_000;
// CONNACK with return code 1, unacceptable protocol version (MQTT 3.1.1, section 3.1.2.2).
const WRONG_VERSION = Buffer.from([0x20, 2, 0, 1]);

/** Chargers talk to the service and never to each other, so what they publish needs no way through the broker. */
class ChargerBroker extends Aedes {
  readonly #consume: (packet: PublishPacket, client: Client) => void;

  constructor(options: AedesOptions, consume: (packet: PublishPacket, client: Client) => void) {
    super(options);
    this.#consume = consume;
  }

  // aedes itself passes the client that published, which its declarations leave out.
  override publish(packet: PublishPacket, client: Client | Done | null | undefined, done?: Done): void {
    if (typeof client === 'function') {
      super.publish(packet, client);
    } else if (client === null || client === undefined) {
      super.publish(packet, done ?? (() => {}));
    } else {
      this.#consume(packet, client);
      done?.();
    }
  }
}

/** A broker over the contract's topics and limits. What it refuses is counted, and logged once a minute per source. */
export function createEmbeddedBroker(options: {
  readonly config: BrokerSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly logins: MqttLogins;
  /** With them it speaks TLS. */
  readonly tlsFiles?: TlsFiles | undefined;
}): MessageBus {
  const { config, log, tlsFiles } = options;
  const rareLog = createRareLog(options.clock);
  let deliver: (topic: string, payload: Buffer) => void = () => {};
  const gatekeeper = createGatekeeper({
    ...options,
    settings: config,
    onMessage: (topic, payload) => deliver(topic, payload),
  });
  const broker = createChargerBroker(config, gatekeeper);
  const { server, dropConnections } = createMqttListener({
    gatekeeper,
    tlsFiles,
    handshakeTimeoutMs: config.mqttConnectTimeoutS * 1000,
    serve: (socket, session) => serve(socket, session, broker, gatekeeper, config.mqttPacketLimitBytes),
  });
  const outgoing = new Outgoing();

  function closeBroker(): Promise<void> {
    return new Promise((resolve) => broker.close(resolve));
  }

  function logFault(error: unknown): void {
    rareLog('broker', () => log.error({ err: error }, 'MQTT broker failed'));
  }
  (broker as EventEmitter).on('error', logFault);

  return {
    async start(onMessage) {
      deliver = onMessage;
      await broker.listen();
      server.listen(config.mqttPort, config.mqttHost);
      await once(server, 'listening').catch(async (error: unknown) => {
        await closeBroker();
        throw error;
      });
      server.on('error', logFault);
      return { url: urlOf(server, tlsFiles === undefined ? 'mqtt' : 'mqtts') };
    },
    publish(topic, payload, { qos, retain }) {
      // While it stops, nobody is left to hear it.
      if (!server.listening) return;
      const handedOver = outgoing.begin();
      broker.publish({ cmd: 'publish', topic, payload, qos, retain, dup: false }, (error) => {
        handedOver();
        if (error) logFault(error);
      });
    },
    isHealthy: () => server.listening,
    async stop() {
      // Chargers did not go away because the service does: their last wills are not news.
      deliver = () => {};
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      dropConnections();
      // aedes fails what is still on its way when it closes; without a connection none of it waits for long.
      await outgoing.settled();
      await closeBroker();
      await closed;
    },
  };
}

/** Messages that were handed to aedes and are not yet with every charger that listens. */
class Outgoing {
  #count = 0;
  #onSettled: (() => void) | undefined;

  /** What it returns is called once the message has left or was given up. */
  begin(): () => void {
    this.#count++;
    return () => {
      this.#count--;
      if (this.#count === 0) this.#onSettled?.();
    };
  }

  settled(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onSettled = resolve;
    });
  }
}

function createChargerBroker(config: BrokerSettings, gatekeeper: Gatekeeper): ChargerBroker {
  const broker = new ChargerBroker(
    {
      ...gatekeeper.hooks,
      connectTimeout: config.mqttConnectTimeoutS * 1000,
      drainTimeout: DRAIN_TIMEOUT_MS,
      // No queue in front of all chargers: a hundred that read slowly would hold up the limits of the others.
      concurrency: 0,
      maxTopicLevels: config.mqttTopicLevels,
    },
    gatekeeper.consume,
  );
  broker.on('clientError', gatekeeper.fail);
  broker.on('connectionError', gatekeeper.fail);
  broker.on('unsubscribe', gatekeeper.unsubscribe);
  return broker;
}

function serve(
  socket: Socket,
  session: Session,
  broker: Aedes,
  gatekeeper: Gatekeeper,
  packetLimitBytes: number,
): void {
  const guard = new PacketGuard(packetLimitBytes, () => gatekeeper.takePacket(session));
  const read = socket.read.bind(socket);
  // aedes takes its bytes by `read`: what the guard refuses never reaches the parser.
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read(size);
    if (session.isRefused) return null;
    const fault = chunk === null ? undefined : guard.check(chunk);
    if (fault === undefined) return chunk;
    const refusal = gatekeeper.refuse(session, fault);
    if (fault === 'version') socket.end(WRONG_VERSION, () => socket.destroy(refusal));
    else socket.destroy(refusal);
    return null;
  };
  gatekeeper.bind(session, broker.handle(socket));
}

function urlOf(server: Server, scheme: 'mqtt' | 'mqtts'): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
