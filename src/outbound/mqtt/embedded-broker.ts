// The broker in this process: chargers connect to it directly, and each may use its own topics only.
import { type EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { Aedes, type AedesOptions, type Client, type PublishPacket } from 'aedes';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus, MqttLogins, Siblings } from '../../ports/telemetry.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import type { TlsFiles } from '../../tls-files.js';
import { namesOf } from '../../tls-files.js';
import { type PublishedMessage, readMessages } from './data-packets.js';
import { MqttAuthorizer, type MqttAuthorizerSettings } from './mqtt-authorizer.js';
import { PacketGuard } from './packet-guard.js';
import type { Session } from './session.js';

// Accepts connections of chargers, with TLS or without. Each becomes a
// session of the MQTT authorizer before it is served.
type Serve = (socket: Socket, session: Session) => void;

interface MqttListener {
  readonly server: Server;
  /** Ends every connection, also during its TLS handshake. */
  dropConnections(): void;
}

/** `serve` is called once bytes of MQTT can be read from the socket. */
function createMqttListener(options: {
  readonly authorizer: MqttAuthorizer;
  readonly tlsFiles: TlsFiles | undefined;
  readonly handshakeTimeoutMs: number;
  readonly serve: Serve;
}): MqttListener {
  const { authorizer, tlsFiles, serve } = options;
  const sessions = new Map<Socket, Session>();

  function accept(socket: Socket): Session | undefined {
    const address = socket.remoteAddress ?? 'unknown';
    const session = authorizer.open({ address, giveWay: () => socket.destroy() });
    if (session === undefined) {
      socket.destroy();
      return undefined;
    }
    sessions.set(socket, session);
    socket.once('close', () => {
      sessions.delete(socket);
      authorizer.close(session);
    });
    return session;
  }

  const server =
    tlsFiles === undefined
      ? createServer({ noDelay: true }, (socket) => {
          const session = accept(socket);
          if (session !== undefined) serve(socket, session);
        })
      : createTlsListener({ ...options, tlsFiles, accept });
  return {
    server,
    dropConnections() {
      for (const [socket, session] of sessions) {
        // The broker ends the connection itself: that is not counted as an error.
        session.isRefused = true;
        socket.destroy();
      }
    },
  };
}

function createTlsListener(options: {
  readonly authorizer: MqttAuthorizer;
  readonly tlsFiles: TlsFiles;
  readonly handshakeTimeoutMs: number;
  readonly accept: (socket: Socket) => Session | undefined;
  readonly serve: Serve;
}): Server {
  const { authorizer, tlsFiles, accept, serve } = options;
  /** Node has no way from an encrypted socket to its TCP socket, but both have the same peer. */
  const handshakes = new Map<string, Session>();

  function claimSession(socket: Socket): Session | undefined {
    const peer = peerOf(socket);
    const session = handshakes.get(peer);
    handshakes.delete(peer);
    return session;
  }

  const server = createTlsServer({
    ...tlsFiles.brokerContext(),
    noDelay: true,
    handshakeTimeout: options.handshakeTimeoutMs,
    requestCert: tlsFiles.asksForCertificates(),
    // A client without a trusted certificate is refused below, which counts and logs it.
    rejectUnauthorized: false,
  });
  tlsFiles.onChange(() => server.setSecureContext(tlsFiles.brokerContext()));
  server.on('connection', (socket: Socket) => {
    const session = accept(socket);
    if (session === undefined) return;
    const peer = peerOf(socket);
    handshakes.set(peer, session);
    socket.once('close', () => {
      if (handshakes.get(peer) === session) handshakes.delete(peer);
    });
  });
  server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
    const session = claimSession(socket);
    if (session !== undefined) authorizer.failHandshake(session, error);
    socket.destroy();
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const session = claimSession(socket);
    if (session === undefined) {
      socket.destroy();
      return;
    }
    if (tlsFiles.asksForCertificates()) {
      if (!socket.authorized) {
        authorizer.failHandshake(session, socket.authorizationError);
        socket.destroy();
        return;
      }
      session.certificateNames = namesOf(socket.getPeerCertificate());
    }
    serve(socket, session);
  });
  return server;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Settings of the same names. */
export interface BrokerSettings extends MqttAuthorizerSettings {
  readonly mqttHost: string;
  readonly mqttPort: number;
  readonly mqttConnectTimeoutS: number;
  readonly mqttTopicLevels: number;
}

type OnMessage = Parameters<MessageBus['start']>[0];
type Done = (error?: Error) => void;

const DRAIN_TIMEOUT_MS = 10_000;
// CONNACK with return code 1, unacceptable protocol version (MQTT 3.1.1, section 3.1.2.2).
const WRONG_VERSION = Buffer.from([0x20, 2, 0, 1]);

/** Chargers send to the service and never to each other, so their messages need no way through the broker. */
class ChargerBroker extends Aedes {
  readonly #consume: (packet: PublishPacket, client: Client) => void;

  constructor(options: AedesOptions, consume: (packet: PublishPacket, client: Client) => void) {
    super(options);
    this.#consume = consume;
  }

  // aedes itself passes the publishing client, which its declarations leave out.
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

/** A broker over the contract's topics and limits. Refusals are counted, and logged once a minute for each source. */
export class EmbeddedBroker implements MessageBus {
  readonly #config: BrokerSettings;
  readonly #log: Log;
  readonly #rareLog: RareLog;
  readonly #gatekeeper: MqttAuthorizer;
  readonly #broker: ChargerBroker;
  readonly #listener: MqttListener;
  readonly #scheme: 'mqtt' | 'mqtts';
  #deliver: OnMessage = () => {};

  constructor(options: {
    readonly config: BrokerSettings;
    readonly clock: Clock;
    /** Clients stay silent and leave bytes unread in true time, also on a virtual clock. */
    readonly connectionClock: Clock;
    readonly log: Log;
    readonly metrics: Metrics;
    readonly logins: MqttLogins;
    /** With them the broker uses TLS. */
    readonly tlsFiles?: TlsFiles | undefined;
    /** Other brokers of the same service, if there are any. */
    readonly siblings?: Siblings | undefined;
  }) {
    const { config, tlsFiles } = options;
    this.#config = config;
    this.#log = options.log;
    this.#rareLog = createRareLog(options.clock);
    this.#scheme = tlsFiles === undefined ? 'mqtt' : 'mqtts';
    this.#gatekeeper = new MqttAuthorizer({
      ...options,
      settings: config,
      onMessage: (topic, payload, memo) => this.#deliver(topic, payload, memo),
    });
    this.#broker = createChargerBroker(config, this.#gatekeeper);
    (this.#broker as EventEmitter).on('error', (error) => this.#logFault(error));
    this.#listener = createMqttListener({
      authorizer: this.#gatekeeper,
      tlsFiles,
      handshakeTimeoutMs: config.mqttConnectTimeoutS * 1000,
      serve: (socket, session) => this.#serve(socket, session),
    });
  }

  async start(onMessage: OnMessage): Promise<{ readonly url: string }> {
    const { server } = this.#listener;
    this.#deliver = onMessage;
    await this.#broker.listen();
    server.listen(this.#config.mqttPort, this.#config.mqttHost);
    await once(server, 'listening').catch(async (error: unknown) => {
      await this.#closeBroker();
      throw error;
    });
    server.on('error', (error) => this.#logFault(error));
    return { url: urlOf(server, this.#scheme) };
  }

  publish(
    topic: string,
    payload: string | Buffer,
    { qos, retain }: Parameters<MessageBus['publish']>[2],
  ): void {
    // While the broker stops, no charger is connected any more.
    if (!this.#listener.server.listening) return;
    if (retain) this.#gatekeeper.retain(topic, payload.toString());
    else this.#gatekeeper.send(topic, payload, qos);
  }

  isHealthy(): boolean {
    return this.#listener.server.listening;
  }

  async stop(): Promise<void> {
    this.#gatekeeper.voidWills();
    this.#deliver = () => {};
    const closed = new Promise<void>((resolve) => this.#listener.server.close(() => resolve()));
    this.#listener.dropConnections();
    await this.#closeBroker();
    await closed;
  }

  #closeBroker(): Promise<void> {
    return new Promise((resolve) => this.#broker.close(resolve));
  }

  #logFault(error: unknown): void {
    this.#rareLog('broker', () => this.#log.error({ err: error }, 'MQTT broker failed'));
  }

  #serve(socket: Socket, session: Session): void {
    const authorizer = this.#gatekeeper;
    const guard = new PacketGuard(this.#config.mqttPacketLimitBytes, () => authorizer.admitPacket(session));
    const push = socket.push.bind(socket);
    const take = (message: PublishedMessage) => authorizer.receive(session, message);
    // Node passes received bytes by `push`. Refused bytes reach no parser. aedes receives only the messages that
    // `receive` leaves to it.
    socket.push = (chunk: Buffer | null) => {
      if (chunk === null) return push(null);
      if (session.isRefused) return false;
      const isAtPacket = guard.isBetweenPackets;
      const fault = guard.check(chunk);
      if (fault !== undefined) {
        const refusal = authorizer.refuse(session, fault);
        if (fault === 'version') socket.end(WRONG_VERSION, () => socket.destroy(refusal));
        else socket.destroy(refusal);
        return false;
      }
      // Earlier bytes that aedes has not read yet come first.
      if (!isAtPacket || session.client?.connected !== true || socket.readableLength > 0) return push(chunk);
      // An acknowledgement and a limit that answers leave by one write.
      socket.cork();
      const taken = readMessages(chunk, take);
      socket.uncork();
      return taken === chunk.length || push(chunk.subarray(taken));
    };
    authorizer.bind(session, this.#broker.handle(socket));
  }
}

function createChargerBroker(config: BrokerSettings, authorizer: MqttAuthorizer): ChargerBroker {
  const broker = new ChargerBroker(
    {
      ...authorizer.hooks,
      connectTimeout: config.mqttConnectTimeoutS * 1000,
      drainTimeout: DRAIN_TIMEOUT_MS,
      // No queue in front of all chargers: a hundred slow readers would delay the limits of the others.
      concurrency: 0,
      maxTopicLevels: config.mqttTopicLevels,
    },
    (packet, client) => authorizer.consume(packet, client),
  );
  broker.on('clientError', (client, error) => authorizer.fail(client, error));
  broker.on('connectionError', (client, error) => authorizer.fail(client, error));
  broker.on('subscribe', (subscriptions, client) => {
    const topics = subscriptions.map(({ topic }) => topic);
    authorizer.subscribed(topics, client);
  });
  broker.on('unsubscribe', (topics, client) => authorizer.unsubscribe(topics, client));
  return broker;
}

function urlOf(server: Server, scheme: 'mqtt' | 'mqtts'): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
