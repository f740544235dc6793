// The charger's side of the MQTT contract, from a virtual charger to a real broker.
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Aedes, type AuthenticateHandler } from 'aedes';
import { connectAsync, type MqttClient } from 'mqtt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectorId } from '../../machines/values/ids.js';
import { ChargerLink } from '../../sim/charger/charger-link.js';
import { HUNGRY, LIVELY, type Traffic } from '../../sim/charger/traffic.js';
import type { ChargerTraits } from '../../sim/charger/traits.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import type { Clock } from '../../src/ports/clock.js';
import { createTokenBucket } from '../../src/token-bucket.js';
import { ackSchema, type LimitMessage, meterSchema, stateSchema } from '../../src/wire/mqtt.js';
import { eventually } from '../eventually.js';
import { ADDRESS } from './charger-rig.js';

const PREFIX = 'ems/v1/tenant-1/quay%2E1/q1-a';

interface Heard {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  readonly qos: number;
}

let broker: Aedes;
let server: Server;
let url: string;
let links: ChargerLink[];
let listener: MqttClient;
let heard: Heard[];

beforeEach(async () => {
  links = [];
  heard = [];
  broker = await Aedes.createBroker();
  server = createServer(broker.handle);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  listener = await connectAsync(url);
  listener.on('message', (topic, payload, { retain, qos }) =>
    heard.push({ topic, payload: payload.toString(), retain, qos }),
  );
  await listener.subscribeAsync('ems/v1/#', { qos: 1 });
});

afterEach(async () => {
  await Promise.all(links.map((link) => link.stop()));
  await listener.endAsync(true);
  await new Promise<void>((done) => broker.close(() => server.close(() => done())));
});

/** A clock whose time only the test advances. */
function virtualClock() {
  const clock = createVirtualClock(Date.UTC(2026, 5, 1));
  return { clock, pass: (seconds: number) => clock.advance(1000 * seconds) };
}

function start(
  clock: Clock,
  options: {
    connectors?: number;
    password?: string;
    traffic?: Traffic;
    traits?: Partial<ChargerTraits>;
  } = {},
): ChargerLink & { readonly charger: VirtualCharger } {
  const connectors = Array.from({ length: options.connectors ?? 1 }, (_, i) => ({
    connectorId: `${i + 1}` as ConnectorId,
    ...({ phases: 3, voltageV: 230, maxCurrentA: 16, failsafeA: 6 } as const),
  }));
  const charger = new VirtualCharger({
    address: ADDRESS,
    connectors,
    boot: 'boot-1',
    seed: 1,
    traffic: options.traffic ?? LIVELY,
    startsAtMs: clock.monotonicMs(),
    traits: options.traits ?? {},
  });
  const login = { url, username: 'tenant-1/q1-a', password: options.password ?? 'secret' };
  const link = new ChargerLink({ ...login, charger, clock });
  links.push(link);
  return Object.assign(link, { charger });
}

const meters = () =>
  heard.filter(({ topic }) => topic.endsWith('/meter')).map(({ payload }) => JSON.parse(payload));
const states = () => heard.filter(({ topic }) => topic === `${PREFIX}/state`);

describe('A virtual charger on a broker', () => {
  it('announces itself by a retained state with QoS 1, its boot id and its connectors', async () => {
    const { clock } = virtualClock();
    start(clock);
    await eventually(() => expect(states()).toHaveLength(1));
    expect(states()[0]).toMatchObject({ qos: 1, topic: `${PREFIX}/state` });
    expect(stateSchema.parse(JSON.parse(states()[0]?.payload ?? ''))).toEqual({
      v: 1,
      online: true,
      boot: 'boot-1',
      firmware: 'virtual',
      connectors: [
        { id: '1', phases: 3, minA: 6, maxA: 16, failsafeA: 6, lease: 'heartbeat', keepsThen: true },
      ],
    });
    const later = await connectAsync(url);
    const retained = new Promise<boolean>((done) =>
      later.on('message', (_t, _p, packet) => done(packet.retain)),
    );
    await later.subscribeAsync(`${PREFIX}/state`);
    expect(await retained).toBe(true);
    await later.endAsync(true);
  });

  it('sends a meter value per heartbeat, numbered from 1, without changes', async () => {
    start(virtualClock().clock);
    await eventually(() => expect(meters()).toHaveLength(1));
    const [first] = meters();
    expect(meterSchema.parse(first)).toEqual(first);
    expect(first).toMatchObject({ v: 1, boot: 'boot-1', hb: 1, status: 'Available', powerW: 0 });
    expect(first).toMatchObject({ at: '2026-06-01T00:00:00.000Z', epoch: 0, seq: 0, limitA: 6 });
    expect(heard.find(({ topic }) => topic.endsWith('/meter'))).toMatchObject({
      topic: `${PREFIX}/c/1/meter`,
      qos: 0,
      retain: false,
    });
  });

  it('sends a change of status or power at once, and a value at least every heartbeat', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock);
    await eventually(() => expect(link.isOnline()).toBe(true));
    pass(120);
    // The last heartbeat is at most one period before the end of the two minutes.
    await eventually(() => expect(Date.parse(meters().at(-1)?.at)).toBeGreaterThan(clock.nowMs() - 10_000));
    const values = meters();
    expect(values.map(({ hb }) => hb)).toEqual(values.map((_, i) => i + 1));
    expect(new Set(values.map(({ status }) => status)).size).toBeGreaterThan(2);
    const times = values.map(({ at }) => Date.parse(at));
    const gaps = times.slice(1).map((at, i) => at - (times[i] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(10_000);
    expect(Math.min(...gaps)).toBe(1000);
  });

  it('sends at most five messages a second and twenty at once, with any number of connectors', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock, { connectors: 12 });
    await eventually(() => expect(link.isOnline()).toBe(true));
    pass(60);
    await eventually(() => expect(new Set(heard.map(({ topic }) => topic)).size).toBe(13));
    const bucket = createTokenBucket({ ratePerS: 5, burst: 20 });
    bucket.take(clock.nowMs() - 60_000);
    for (const { at } of meters()) expect(bucket.take(Date.parse(at))).toBe(true);
  });

  it('stops drawing and sends its offline state once when it stops', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock);
    await eventually(() => expect(states()).toHaveLength(1));
    pass(20);
    await eventually(() => expect(meters().some(({ powerW }) => powerW > 0)).toBe(true));
    await link.stop();
    await eventually(() => expect(states()).toHaveLength(2));
    expect(JSON.parse(states()[1]?.payload ?? '')).toMatchObject({ online: false, boot: 'boot-1' });
    expect(meters().at(-1)).toMatchObject({ status: 'Unavailable', powerW: 0, currentA: [0, 0, 0] });
  });

  it('is offline by its last will after a lost connection, and announces itself again', async () => {
    const { clock } = virtualClock();
    start(clock);
    await eventually(() => expect(states()).toHaveLength(1));
    for (const client of Object.values((broker as unknown as { clients: Record<string, never> }).clients)) {
      const { id, conn } = client as { id: string; conn: { destroy(): void } };
      if (id === 'q1-a') conn.destroy();
    }
    await eventually(() => expect(states()).toHaveLength(3));
    expect(states().map(({ payload }) => JSON.parse(payload).online)).toEqual([true, false, true]);
  });

  it('reports the reason of a refused connection', async () => {
    const refuse: AuthenticateHandler = (_client, _name, _password, done) =>
      done(Object.assign(new Error('no'), { returnCode: 5 }), null);
    broker.authenticate = refuse;
    const { clock } = virtualClock();
    const link = start(clock, { password: 'wrong' });
    await eventually(() => expect(link.lastError()).toMatch(/Not authorized/));
    expect(link.isOnline()).toBe(false);
  });

  it('subscribes to its exact limit and sync topics before it announces itself', async () => {
    const order: string[] = [];
    broker.on('subscribe', (subscriptions, { id }) => {
      if (id === 'q1-a') order.push(...subscriptions.map(({ topic }) => topic));
    });
    broker.on('publish', ({ topic }, client) => {
      if (client?.id === 'q1-a') order.push(topic);
    });
    start(virtualClock().clock, { connectors: 2 });
    await eventually(() => expect(order).toContain(`${PREFIX}/c/2/meter`));
    await eventually(() => expect(order).toContain(`${PREFIX}/state`));
    const topics = [`${PREFIX}/sync`, `${PREFIX}/c/1/limit`, `${PREFIX}/c/2/limit`];
    expect(order.slice(0, 3)).toEqual(topics);
  });

  function send(topic: string, fields: object) {
    return listener.publishAsync(`${PREFIX}/${topic}`, JSON.stringify(fields), { qos: 1 });
  }
  const limit: LimitMessage = {
    v: 1,
    epoch: 1,
    seq: 1,
    boot: 'boot-1',
    ref: 1,
    ttlS: 60,
    limitA: 10,
    limitW: 6900,
    thenA: 8,
    reason: 'fairShare',
  };
  const acks = () =>
    heard
      .filter(({ topic }) => topic.endsWith('/ack'))
      .map(({ payload }) => ackSchema.parse(JSON.parse(payload)));

  it('applies a limit, acknowledges it, draws it, and falls back when the lease ends', async () => {
    const { clock, pass } = virtualClock();
    const { charger } = start(clock, { traffic: HUNGRY });
    await eventually(() => expect(meters()).toHaveLength(1));
    await send('c/1/limit', limit);
    // A charger without other messages holds the grant once it has arrived.
    await eventually(() => {
      pass(0.1);
      expect(acks()).toEqual([{ v: 1, boot: 'boot-1', epoch: 1, seq: 1, result: 'APPLIED', appliedA: 10 }]);
    });
    pass(10);
    expect(charger.physicalPowerW()).toBe(6900);
    await eventually(() =>
      expect(meters().at(-1)).toMatchObject({ epoch: 1, seq: 1, limitA: 10, powerW: 6900 }),
    );
    pass(60);
    expect(charger.physicalPowerW()).toBe(8 * 690);
    await eventually(() => expect(meters().at(-1)).toMatchObject({ epoch: 0, seq: 0, limitA: 8 }));
    await eventually(() =>
      expect(JSON.parse(states().at(-1)?.payload ?? '')).toMatchObject({ connectors: [{ failsafeA: 8 }] }),
    );
  });

  it('answers sync with its state and a value of every connector, and ignores invalid messages', async () => {
    const { clock } = virtualClock();
    start(clock, { connectors: 3 });
    await eventually(() => expect(meters()).toHaveLength(3));
    for (const payload of ['', 'x', '{}', '{"limitA":1}', '[]']) {
      await listener.publishAsync(`${PREFIX}/c/1/limit`, payload);
      await listener.publishAsync(`${PREFIX}/sync`, payload);
    }
    await send('c/9/limit', limit);
    await send('sync', { v: 1, epoch: 4 });
    await eventually(() => expect(states()).toHaveLength(2));
    await eventually(() => expect(meters()).toHaveLength(6));
    expect(acks()).toEqual([]);
  });

  it('keeps charging while it is cut off, and sends another boot id after a restart', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock, { traffic: HUNGRY });
    await eventually(() => expect(meters()).toHaveLength(1));
    link.cut();
    await eventually(() => expect(link.isOnline()).toBe(false));
    pass(30);
    expect(link.charger.physicalPowerW()).toBe(6 * 690);
    link.restore();
    await eventually(() => expect(link.isOnline()).toBe(true));
    const before = states().length;
    link.reboot('boot-2');
    await eventually(() => expect(meters().at(-1)).toMatchObject({ boot: 'boot-2', hb: 1 }));
    await eventually(() => {
      // The broker may accept the new connection before it notices the loss of the old one.
      const said = states()
        .slice(before)
        .map(({ payload }) => JSON.parse(payload));
      expect(said).toContainEqual(expect.objectContaining({ online: false, boot: 'boot-1' }));
      expect(said).toContainEqual(expect.objectContaining({ online: true, boot: 'boot-2' }));
    });
  });

  it('reports a refused subscription, and stays at its fail-safe', async () => {
    broker.authorizeSubscribe = (_client, subscription, done) =>
      done(null, subscription.topic.endsWith('/sync') ? subscription : null);
    const link = start(virtualClock().clock);
    await eventually(() => expect(link.isOnline()).toBe(true));
    expect(link.lastError()).toMatch(/Subscribe error/);
    expect(link.charger.limits()).toMatchObject([{ limitA: 6, reason: 'failsafe' }]);
  });
});
