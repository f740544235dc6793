// An operator's broker, played by an aedes without any rules of Headroom.
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import type { MqttClient } from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { ExternalBroker } from '../../../src/outbound/mqtt/external-broker.js';
import type { MessageBus } from '../../../src/ports/telemetry.js';
import { eventually } from '../../eventually.js';
import { connectOnce } from '../../mqtt-client.js';
import { HARBOUR, type LogLine, nextMessage, recordingLog, STRANGER, topicOf } from './broker-rig.js';

interface ForeignBroker {
  readonly port: number;
  readonly aedes: Aedes;
  stop(): Promise<void>;
}

const undo: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function foreignBroker(
  port = 0,
  options: ConstructorParameters<typeof Aedes>[0] = {},
): Promise<ForeignBroker> {
  const aedes = await Aedes.createBroker(options);
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    aedes.handle(socket);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  async function stop(): Promise<void> {
    if (!server.listening) return;
    const isClosed = once(server, 'close');
    server.close();
    await new Promise<void>((resolve) => aedes.close(resolve));
    for (const socket of sockets) socket.destroy();
    await isClosed;
  }
  undo.push(stop);
  return { port: address !== null && typeof address === 'object' ? address.port : 0, aedes, stop };
}

function busAt(port: number, lines: LogLine[] = []): MessageBus {
  const bus = new ExternalBroker({
    url: `mqtt://service:s3cret@127.0.0.1:${port}`,
    clientId: 'headroom-1',
    clock: systemClock,
    log: recordingLog(lines),
  });
  undo.push(() => bus.stop());
  return bus;
}

async function chargerAt(port: number): Promise<MqttClient> {
  const client = await connectOnce(`mqtt://127.0.0.1:${port}`, { clientId: 'charger' });
  undo.push(() => client.endAsync(true));
  return client;
}

function hears(heard: readonly string[], text: string): Promise<void> {
  return eventually(() => expect(heard).toContain(text));
}

describe('an external broker', () => {
  it('delivers the messages of the chargers of all tenants, and nothing else', async () => {
    const { port } = await foreignBroker();
    const bus = busAt(port);
    const heard: string[] = [];
    const { url } = await bus.start((topic, payload) => heard.push(`${topic} ${payload}`));
    expect(url).toBe(`mqtt://127.0.0.1:${port}`);
    expect(bus.isHealthy()).toBe(true);
    const charger = await chargerAt(port);
    const topics = [
      topicOf('c/1/limit'),
      topicOf('sync'),
      'something/else',
      topicOf('state'),
      topicOf('c/1/meter', 'q1-a', STRANGER),
      topicOf('c/1/ack'),
    ];
    for (const topic of topics) await charger.publishAsync(topic, 'x', { qos: 1 });
    await hears(heard, `${topicOf('c/1/ack')} x`);
    expect(heard.sort()).toEqual(
      topics
        .slice(3)
        .map((topic) => `${topic} x`)
        .sort(),
    );
  });

  it('delivers limits to the chargers', async () => {
    const { port } = await foreignBroker();
    const bus = busAt(port);
    await bus.start(() => {});
    const charger = await chargerAt(port);
    await charger.subscribeAsync(`ems/v1/${HARBOUR}/+/+/c/+/limit`, { qos: 1 });
    const message = nextMessage(charger);
    bus.publish(topicOf('c/1/limit'), 'six', { qos: 1, retain: false });
    expect(await message).toBe('six');
  });

  it('gets a new connection and subscription after an outage', async () => {
    const first = await foreignBroker();
    const bus = busAt(first.port);
    const heard: string[] = [];
    await bus.start((_, payload) => heard.push(payload.toString()));
    await first.stop();
    await eventually(() => expect(bus.isHealthy()).toBe(false));
    // The message would be out of date at the next connection, so the bus does not keep it.
    bus.publish(topicOf('sync'), 'while away', { qos: 1, retain: true });
    const second = await foreignBroker(first.port);
    await eventually(() => expect(bus.isHealthy()).toBe(true));
    const charger = await chargerAt(second.port);
    const got: string[] = [];
    charger.on('message', (_, payload) => got.push(payload.toString()));
    await charger.subscribeAsync(topicOf('sync'), { qos: 1 });
    await charger.publishAsync(topicOf('c/1/meter'), 'back', { qos: 1 });
    await hears(heard, 'back');
    expect(heard).toEqual(['back']);
    expect(got).toEqual([]);
  });

  it('may be unreachable at the start: the service starts, logs this, and connects later', async () => {
    const probe = await foreignBroker();
    await probe.stop();
    const lines: LogLine[] = [];
    const bus = busAt(probe.port, lines);
    const heard: string[] = [];
    await bus.start((_, payload) => heard.push(payload.toString()));
    expect(bus.isHealthy()).toBe(false);
    expect(lines).toMatchObject([{ level: 'warn', message: 'MQTT broker cannot be reached' }]);
    expect(JSON.stringify(lines)).not.toContain('s3cret');
    await foreignBroker(probe.port);
    await eventually(() => expect(bus.isHealthy()).toBe(true));
    const charger = await chargerAt(probe.port);
    await charger.publishAsync(topicOf('c/1/meter'), 'found', { qos: 1 });
    await hears(heard, 'found');
  });

  it('may refuse the login for a time: the service tries again', async () => {
    let isRefused = true;
    const { port } = await foreignBroker(0, {
      authenticate: (_client, _username, _password, done) =>
        isRefused ? done(Object.assign(new Error('not yet'), { returnCode: 3 }), false) : done(null, true),
    });
    const bus = busAt(port);
    await bus.start(() => {});
    expect(bus.isHealthy()).toBe(false);
    isRefused = false;
    await eventually(() => expect(bus.isHealthy()).toBe(true));
  });

  it('is unhealthy if it refuses the subscription', async () => {
    const { port } = await foreignBroker(0, {
      authorizeSubscribe: (_, subscription, callback) =>
        callback(null, subscription.topic.endsWith('/meter') ? null : subscription),
    });
    const lines: LogLine[] = [];
    const bus = busAt(port, lines);
    await bus.start(() => {});
    expect(bus.isHealthy()).toBe(false);
    expect(lines).toMatchObject([{ message: 'MQTT broker refused the subscription' }]);
  });

  it('keeps no connection of a stopped service, and may be unreachable at the stop', async () => {
    const broker = await foreignBroker();
    const bus = busAt(broker.port);
    await bus.start(() => {});
    expect(broker.aedes.connectedClients).toBe(1);
    await bus.stop();
    await eventually(() => expect(broker.aedes.connectedClients).toBe(0));
    expect(bus.isHealthy()).toBe(false);
    await broker.stop();
    const away = busAt(broker.port);
    await away.start(() => {});
    await away.stop();
  });
});
