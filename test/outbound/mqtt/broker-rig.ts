// A real embedded broker on a free port, with two tenants' chargers and a gateway, and clients for it.
import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import type { IClientOptions, MqttClient } from 'mqtt';
import type { ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { systemClock } from '../../../src/clock.js';
import { createMqttLogins } from '../../../src/inbound/mqtt/logins.js';
import { createMetrics } from '../../../src/metrics.js';
import { type BrokerSettings, EmbeddedBroker } from '../../../src/outbound/mqtt/embedded-broker.js';
import type { CredentialSet, MqttLoginRecord } from '../../../src/ports/credentials.js';
import type { Log } from '../../../src/ports/log.js';
import { hashSecret } from '../../../src/secrets.js';
import { TlsFiles } from '../../../src/tls-files.js';
import { eventually } from '../../eventually.js';
import { connectOnce } from '../../mqtt-client.js';
import { silentLog } from '../../service/running-service.js';

export const HARBOUR = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';
export const STRANGER = '7d1f7a52-9a3e-4d9e-8d2b-1f1f2e5a6b01';

export const SETTINGS: BrokerSettings = {
  mqttHost: '127.0.0.1',
  mqttPort: 0,
  mqttPacketLimitBytes: 16_384,
  mqttConnectTimeoutS: 5,
  mqttTopicLevels: 10,
  mqttKeepaliveMaxS: 60,
  mqttMessagesPerS: 5,
  mqttMessageBurst: 20,
  mqttSubscriptions: 8,
  mqttConnections: 1_000,
  mqttPendingConnections: 100,
  authFailuresPerMin: 60,
};

export function loginOf(tenant: string, name: string, controllers: readonly string[] = [name]) {
  return {
    tenantUuid: tenant as TenantUuid,
    clientId: name,
    secretHash: hashSecret(`password of ${name}`),
    controllers: controllers.map((controller) => ({
      locationId: 'quay-1' as LocationId,
      controllerUuid: controller as ControllerUuid,
    })),
  } satisfies MqttLoginRecord;
}

export function credentialsOf(...mqttLogins: MqttLoginRecord[]): CredentialSet {
  return { tenants: [], credentials: [], mqttLogins };
}

// Both tenants have a charger `q1-a`: ids are unique only within a tenant.
export const CREDENTIALS = credentialsOf(
  loginOf(HARBOUR, 'q1-a'),
  loginOf(HARBOUR, 'q1-b'),
  loginOf(STRANGER, 'q1-a'),
  loginOf(HARBOUR, 'gateway-1', ['g-1', 'g-2', 'g-3']),
);

export function topicOf(rest: string, charger = 'q1-a', tenant = HARBOUR): string {
  return `ems/v1/${tenant}/quay-1/${charger}/${rest}`;
}

export interface LogLine {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

export function recordingLog(lines: LogLine[]): Log {
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export type BrokerRig = Awaited<ReturnType<typeof startBroker>>;

export interface BrokerFiles {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string;
}

/**
 * With `files` the broker uses TLS.
 * @param answer called with each received message
 */
export async function startBroker(
  settings: Partial<BrokerSettings> = {},
  files?: BrokerFiles,
  answer: (bus: EmbeddedBroker, text: string) => void = () => {},
) {
  const metrics = createMetrics();
  const logins = createMqttLogins(CREDENTIALS);
  const lines: LogLine[] = [];
  const config = { ...SETTINGS, ...settings };
  const log = recordingLog(lines);
  const tlsFiles =
    files === undefined
      ? undefined
      : new TlsFiles(
          { tlsCert: files.cert, tlsKey: files.key, tlsClientCa: files.clientCa },
          { clock: systemClock, log: silentLog, metrics },
        );
  const bus = new EmbeddedBroker({
    config,
    clock: systemClock,
    connectionClock: systemClock,
    log,
    metrics,
    logins,
    tlsFiles,
  });
  const received: { readonly topic: string; readonly text: string }[] = [];
  const { url } = await bus.start((topic, payload) => {
    received.push({ topic, text: payload.toString() });
    answer(bus, payload.toString());
  });
  const clients: MqttClient[] = [];
  const sockets: Socket[] = [];

  async function refusals(reason: string): Promise<number> {
    const { values } = await metrics.mqttRefusals.get();
    return values.find(({ labels }) => labels.reason === reason)?.value ?? 0;
  }

  async function connect(name = 'q1-a', options: IClientOptions & { tenant?: string } = {}) {
    const { tenant = HARBOUR, ...rest } = options;
    const client = await connectOnce(url, {
      clientId: name,
      username: `${tenant}/${name}`,
      password: `password of ${name}`,
      keepalive: 30,
      ...rest,
    });
    clients.push(client);
    return client;
  }

  return {
    bus,
    url,
    logins,
    metrics,
    tlsFiles,
    lines,
    received,
    refusals,
    connect,
    /** A bare socket that ignores errors. */
    async socket(): Promise<Socket> {
      const socket = connectSocket(Number(new URL(url).port), '127.0.0.1');
      socket.on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
      return socket;
    },
    /** Resolves when `count` connections are open. */
    async connections(count: number): Promise<void> {
      await eventually(async () => {
        const { values } = await metrics.mqttConnections.get();
        if (values[0]?.value !== count) throw new Error(`${values[0]?.value} connections, not ${count}`);
      });
    },
    async refused(reason: string, times = 1): Promise<void> {
      await eventually(async () => {
        if ((await refusals(reason)) < times) throw new Error(`not refused for ${reason} yet`);
      });
    },
    /** Resolves when the bus has received a message with this text. */
    async heard(text: string): Promise<void> {
      await eventually(() => {
        if (!received.some((message) => message.text === text)) throw new Error(`not heard: ${text}`);
      });
    },
    /** Proves that the broker serves another client: that client connects and publishes, and its message arrives. */
    async stillServes(name = 'q1-b'): Promise<void> {
      const client = await connect(name);
      const text = `alive ${received.length}`;
      client.publish(topicOf('c/1/meter', name), text);
      await this.heard(text);
      await client.endAsync();
    },
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await Promise.all(clients.map((client) => client.endAsync(true)));
      await bus.stop();
    },
  };
}

function textOf(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

/** The bytes of a CONNECT, for clients beyond any library. */
export function connectBytes(name = 'q1-a', options: { keepaliveS?: number; level?: number } = {}): Buffer {
  const { keepaliveS = 30, level = 4 } = options;
  const body = Buffer.concat([
    textOf('MQTT'),
    Buffer.from([level, 0b1100_0010, keepaliveS >> 8, keepaliveS & 255]),
    level === 5 ? Buffer.from([0]) : Buffer.alloc(0),
    textOf(name),
    textOf(`${HARBOUR}/${name}`),
    textOf(`password of ${name}`),
  ]);
  return Buffer.concat([Buffer.from([0x10, (body.length & 127) | 128, body.length >> 7]), body]);
}

interface Closable {
  once(event: 'close', listener: () => void): unknown;
}

/** Resolves when the connection of a socket or client ends. */
export function closed(connection: Closable): Promise<void> {
  return new Promise((resolve) => connection.once('close', () => resolve()));
}

/** The client's next message. */
export function nextMessage(client: MqttClient): Promise<string> {
  return new Promise((resolve) => client.once('message', (_, payload) => resolve(payload.toString())));
}
