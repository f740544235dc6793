// The broker in this process: chargers connect to it directly, and each may say and hear only what concerns itself.
import { type EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Aedes, type AedesOptions, type Client, type PublishPacket } from 'aedes';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus, MqttLogins } from '../../ports/telemetry.js';
import { createRareLog } from '../../rare-log.js';
import { createGatekeeper, type Gatekeeper, type GatekeeperSettings } from './gatekeeper.js';
import { createPacketGuard } from './packet-guard.js';

/** Settings of the same names. */
export interface BrokerSettings extends GatekeeperSettings {
  readonly mqttHost: string;
  readonly mqttPort: number;
  readonly mqttConnectTimeoutS: number;
  readonly mqttTopicLevels: number;
  readonly mqttConnections: number;
}

type Done = (error?: Error) => void;

const DRAIN_TIMEOUT_MS = 10_000;

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
}): MessageBus {
  const { config, log } = options;
  const rareLog = createRareLog(options.clock);
  const sockets = new Set<Socket>();
  let deliver: (topic: string, payload: Buffer) => void = () => {};
  const gatekeeper = createGatekeeper({
    ...options,
    settings: config,
    onMessage: (topic, payload) => deliver(topic, payload),
  });
  const broker = createChargerBroker(config, gatekeeper);
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    accept(socket, broker, gatekeeper, config.mqttPacketLimitBytes);
  });
  server.maxConnections = config.mqttConnections;
  server.on('drop', () => options.metrics.mqttRefusals.inc({ reason: 'connections' }));

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
      return { url: urlOf(server) };
    },
    publish(topic, payload, { qos, retain }) {
      broker.publish({ cmd: 'publish', topic, payload, qos, retain, dup: false }, (error) => {
        if (error) logFault(error);
      });
    },
    isHealthy: () => server.listening,
    async stop() {
      // Chargers did not go away because the service does: their last wills are not news.
      deliver = () => {};
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await closeBroker();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
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

function accept(socket: Socket, broker: Aedes, gatekeeper: Gatekeeper, packetLimitBytes: number): void {
  const session = gatekeeper.open(socket.remoteAddress ?? 'unknown');
  socket.once('close', () => gatekeeper.close(session));
  const guard = createPacketGuard(packetLimitBytes, () => gatekeeper.takePacket(session));
  const read = socket.read.bind(socket);
  // aedes takes its bytes by `read`: what the guard refuses never reaches the parser.
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read(size);
    const fault = chunk === null ? undefined : guard.check(chunk);
    if (fault === undefined) return chunk;
    socket.destroy(gatekeeper.refuse(session, fault));
    return null;
  };
  gatekeeper.bind(session, broker.handle(socket));
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `mqtt://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
