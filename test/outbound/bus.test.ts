// The embedded broker, mosquitto, and fronts over NATS keep one contract between chargers and the service. Rules
// between fronts are at the end.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { MqttClient } from 'mqtt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { createMqttLogins } from '../../src/inbound/mqtt/logins.js';
import { createMetrics } from '../../src/metrics.js';
import { EmbeddedBroker } from '../../src/outbound/mqtt/embedded-broker.js';
import { ExternalBroker } from '../../src/outbound/mqtt/external-broker.js';
import { FrontBus } from '../../src/outbound/nats/front-bus.js';
import { NatsBus } from '../../src/outbound/nats/nats-bus.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { startMosquitto } from '../mosquitto.js';
import { connectOnce } from '../mqtt-client.js';
import { startNats } from '../nats.js';
import { missingPrograms, needing } from '../needs.js';
import { silentLog } from '../service/running-service.js';
import { describeBus } from './bus-contract.js';
import { CREDENTIALS, HARBOUR, SETTINGS, topicOf } from './mqtt/broker-rig.js';

const common = () => ({ clock: systemClock, log: silentLog, metrics: createMetrics() });

describeBus('the embedded broker', {}, async () => {
  const config = { ...SETTINGS, mqttPort: await freePort() };
  const bus = new EmbeddedBroker({
    config,
    ...common(),
    connectionClock: systemClock,
    logins: createMqttLogins(CREDENTIALS),
  });
  return { bus, urlOf: () => `mqtt://127.0.0.1:${config.mqttPort}`, stop: async () => {} };
});

const openMosquitto = async () => {
  const port = await freePort();
  let broker = await startMosquitto({ port, isClientIdTheUsername: true });
  const bus = new ExternalBroker({
    url: broker.url.replace('//', '//service@'),
    clientId: 'headroom',
    clock: systemClock,
    log: silentLog,
  });
  return {
    bus,
    urlOf: () => broker.url,
    leave: () => broker.stop(),
    stop: () => broker.stop(),
    comeBack: async () => {
      broker = await startMosquitto({ port, isClientIdTheUsername: true });
    },
  };
};

async function startFront(busUrl: string) {
  const frontBus = new FrontBus({ url: busUrl, name: 'front', ...common() });
  const logins = createMqttLogins(CREDENTIALS);
  const broker = new EmbeddedBroker({
    config: SETTINGS,
    ...common(),
    connectionClock: systemClock,
    logins,
    siblings: frontBus,
  });
  await frontBus.start((topic, payload) => broker.publish(topic, payload, { qos: 1, retain: false }));
  const { url } = await broker.start((topic, payload) => frontBus.send(topic, payload));
  const stop = async () => {
    await broker.stop();
    await frontBus.stop();
  };
  return { url, stop };
}

const openFronts = async () => {
  const nats = await startNats();
  const fronts = await Promise.all([0, 1, 2].map(() => startFront(nats.url)));
  return {
    bus: new NatsBus({ url: nats.url, name: 'node', ...common() }),
    urlOf: (time: number) => fronts[time % fronts.length]?.url ?? '',
    leave: () => nats.kill(),
    comeBack: () => nats.start(),
    async stop() {
      for (const front of fronts) await front.stop();
      await nats.stop();
    },
  };
};

describeBus('mosquitto', needing(missingPrograms('mosquitto')), openMosquitto, { areStatesKept: true });
describeBus('fronts over NATS', needing(missingPrograms('nats-server')), openFronts, {
  areStatesKept: false,
});

/** A proxy to a NATS. It holds the first bytes that contain `text` and all later bytes until their release. */
async function startHeldWire(busUrl: string, text: string) {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let isReleased = false;
  const server = createServer((near) => {
    const far = connect(Number(new URL(busUrl).port), '127.0.0.1');
    far.pipe(near);
    near.on('data', (bytes) => {
      const pass = () => far.write(bytes);
      if (!isReleased && (held.length > 0 || bytes.includes(text))) held.push(pass);
      else pass();
    });
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isHolding: () => held.length > 0,
    release() {
      isReleased = true;
      for (const pass of held.splice(0)) pass();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe('a charger at several fronts', needing(missingPrograms('nats-server')), () => {
  const undo: (() => unknown)[] = [];
  let heard: string[];
  let nats: Awaited<ReturnType<typeof startNats>>;
  beforeEach(async () => {
    heard = [];
    nats = await startNats();
    undo.push(() => nats.stop());
  });
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  async function startNode(): Promise<void> {
    const node = new NatsBus({ url: nats.url, name: 'node', ...common() });
    undo.push(() => node.stop());
    await node.start((_, payload) => heard.push(payload.toString()));
  }

  async function frontBy(busUrl: string) {
    const front = await startFront(busUrl);
    undo.push(front.stop);
    return front;
  }

  async function charger(url: string, controller = 'q1-a'): Promise<MqttClient> {
    const client = await connectOnce(url, {
      clientId: controller,
      username: `${HARBOUR}/${controller}`,
      password: `password of ${controller}`,
      will: { topic: topicOf('state', controller), payload: Buffer.from('lost'), qos: 1, retain: true },
    });
    undo.push(() => client.endAsync(true));
    return client;
  }

  const says = (client: MqttClient, text: string, controller = 'q1-a') =>
    client.publishAsync(topicOf('c/1/meter', controller), text, { qos: 1 });
  const hears = (text: string) => eventually(() => expect(heard).toContain(text));

  it('has its last will dropped after a login elsewhere, even one that its front never received', async () => {
    await startNode();
    const wire = await startHeldWire(nats.url, 'lost');
    undo.push(() => wire.close());
    const [near, far] = [await frontBy(wire.url), await frontBy(nats.url)];
    const before = await charger(near.url);
    before.stream.destroy();
    // The front has received no login, and publishes the will, which stays on its way until the release.
    await eventually(() => expect(wire.isHolding()).toBe(true));
    await says(await charger(far.url), 'at the other front');
    await hears('at the other front');
    wire.release();
    // The same front sends this message, so it arrives after the will.
    await says(await charger(near.url, 'q1-b'), 'after the will', 'q1-b');
    await hears('after the will');
    expect(heard).not.toContain('lost');
  });

  it('is admitted only once no front can mistake a later login elsewhere for an earlier one', async () => {
    await startNode();
    const wire = await startHeldWire(nats.url, '/q1-a"');
    undo.push(() => wire.close());
    const [near, far] = [await frontBy(wire.url), await frontBy(nats.url)];
    let isIn = false;
    const coming = charger(near.url).then(() => {
      isIn = true;
    });
    await eventually(() => expect(wire.isHolding()).toBe(true));
    await says(await charger(far.url, 'q1-b'), 'of another charger', 'q1-b');
    await hears('of another charger');
    expect(isIn).toBe(false);
    wire.release();
    await coming;
  });

  it('has its last will applied by a node that received its login, and by one that did not', async () => {
    const front = await frontBy(nats.url);
    const first = await charger(front.url);
    await startNode();
    first.stream.destroy();
    await hears('lost');
    heard = [];
    const second = await charger(front.url);
    second.stream.destroy();
    await hears('lost');
  });

  it('does not delay the stop of its front while NATS does not answer', async () => {
    const front = await startFront(nats.url);
    await charger(front.url);
    nats.pause();
    await front.stop();
  });

  it('has no last will published by a front that stops', async () => {
    await startNode();
    const [stopping, other] = [await startFront(nats.url), await frontBy(nats.url)];
    const left = await charger(stopping.url);
    await says(left, 'before');
    await hears('before');
    await stopping.stop();
    await says(await charger(other.url, 'q1-b'), 'after', 'q1-b');
    await hears('after');
    expect(heard).not.toContain('lost');
  });
});
