// The upward half of the MQTT contract as a virtual charger speaks it, heard by a real broker.
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createClock } from '@sinonjs/fake-timers';
import { Aedes, type AuthenticateHandler } from 'aedes';
import { connectAsync, type MqttClient } from 'mqtt';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/ids.js';
import { type ChargerLink, connectCharger } from '../../sim/charger/charger-link.js';
import { LIVELY } from '../../sim/charger/traffic.js';
import { createVirtualCharger } from '../../sim/charger/virtual-charger.js';
import type { Clock } from '../../src/ports/clock.js';
import { meterSchema, stateSchema } from '../../src/wire/mqtt.js';

const ADDRESS = {
  tenantUuid: 'tenant-1' as TenantUuid,
  locationId: 'quay.1' as LocationId,
  controllerUuid: 'q1-a' as ControllerUuid,
};
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

/** A clock whose time passes only as a test tells it. */
function virtualClock() {
  const timers = createClock(Date.UTC(2026, 5, 1));
  const clock: Clock = {
    nowMs: () => timers.Date.now(),
    monotonicMs: () => timers.performance.now(),
    after(delayMs, callback) {
      const timer = timers.setTimeout(callback, delayMs);
      return () => timers.clearTimeout(timer);
    },
  };
  return { clock, pass: (seconds: number) => timers.tick(1000 * seconds) };
}

function start(clock: Clock, options: { boot?: string; connectors?: number; password?: string } = {}) {
  const connectors = Array.from({ length: options.connectors ?? 1 }, (_, i) => ({
    connectorId: `${i + 1}` as ConnectorId,
    ...({ phases: 3, voltageV: 230, maxCurrentA: 16, failsafeA: 6 } as const),
  }));
  const link = connectCharger({
    url,
    username: 'tenant-1/q1-a',
    password: options.password ?? 'secret',
    address: ADDRESS,
    charger: createVirtualCharger({ connectors, seed: 1, traffic: LIVELY, startsAtMs: clock.monotonicMs() }),
    clock,
    meterPeriodMs: 10_000,
    boot: options.boot ?? 'boot-1',
  });
  links.push(link);
  return link;
}

const meters = () =>
  heard.filter(({ topic }) => topic.endsWith('/meter')).map(({ payload }) => JSON.parse(payload));
const states = () => heard.filter(({ topic }) => topic === `${PREFIX}/state`);

describe('A virtual charger on a broker', () => {
  it('announces itself: retained state, QoS 1, with its boot and connectors', async () => {
    const { clock } = virtualClock();
    start(clock);
    await vi.waitFor(() => expect(states()).toHaveLength(1));
    expect(states()[0]).toMatchObject({ qos: 1, topic: `${PREFIX}/state` });
    expect(stateSchema.parse(JSON.parse(states()[0]?.payload ?? ''))).toEqual({
      v: 1,
      online: true,
      boot: 'boot-1',
      firmware: 'virtual',
      connectors: [{ id: '1', phases: 3, minA: 6, maxA: 16, failsafeA: 6, lease: 'none' }],
    });
    const later = await connectAsync(url);
    const retained = new Promise<boolean>((done) =>
      later.on('message', (_t, _p, packet) => done(packet.retain)),
    );
    await later.subscribeAsync(`${PREFIX}/state`);
    expect(await retained).toBe(true);
    await later.endAsync(true);
  });

  it('sends a meter value per heartbeat, numbered from 1, when nothing changes', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock);
    await vi.waitFor(() => expect(link.isOnline()).toBe(true));
    pass(1);
    await vi.waitFor(() => expect(meters()).toHaveLength(1));
    const [first] = meters();
    expect(meterSchema.parse(first)).toEqual(first);
    expect(first).toMatchObject({ v: 1, boot: 'boot-1', hb: 1, status: 'Available', powerW: 0 });
    expect(first).toMatchObject({ at: '2026-06-01T00:00:01.000Z', epoch: 0, seq: 0, limitA: 16 });
    expect(heard.find(({ topic }) => topic.endsWith('/meter'))).toMatchObject({
      topic: `${PREFIX}/c/1/meter`,
      qos: 0,
      retain: false,
    });
  });

  it('tells a change of status or power at once, and something at least every heartbeat', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock);
    await vi.waitFor(() => expect(link.isOnline()).toBe(true));
    pass(120);
    // The last heartbeat is at most one period before the end of the two minutes.
    await vi.waitFor(() => expect(Date.parse(meters().at(-1)?.at)).toBeGreaterThan(clock.nowMs() - 10_000));
    const values = meters();
    expect(values.map(({ hb }) => hb)).toEqual(values.map((_, i) => i + 1));
    expect(new Set(values.map(({ status }) => status)).size).toBeGreaterThan(2);
    const times = values.map(({ at }) => Date.parse(at));
    const gaps = times.slice(1).map((at, i) => at - (times[i] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(10_000);
    expect(Math.min(...gaps)).toBe(1000);
  });

  it('stays within the five messages a second that one client may send, however many connectors it has', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock, { connectors: 12 });
    await vi.waitFor(() => expect(link.isOnline()).toBe(true));
    pass(60);
    await vi.waitFor(() => expect(new Set(heard.map(({ topic }) => topic)).size).toBe(13));
    const perSecond = new Map<string, number>();
    for (const { at } of meters()) perSecond.set(at, (perSecond.get(at) ?? 0) + 1);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(4);
  });

  it('stops drawing and says goodbye when it stops, once', async () => {
    const { clock, pass } = virtualClock();
    const link = start(clock);
    await vi.waitFor(() => expect(states()).toHaveLength(1));
    pass(20);
    await vi.waitFor(() => expect(meters().some(({ powerW }) => powerW > 0)).toBe(true));
    await link.stop();
    await vi.waitFor(() => expect(states()).toHaveLength(2));
    expect(JSON.parse(states()[1]?.payload ?? '')).toMatchObject({ online: false, boot: 'boot-1' });
    expect(meters().at(-1)).toMatchObject({ status: 'Unavailable', powerW: 0, currentA: [0, 0, 0] });
  });

  it('is declared lost by its last will when its connection breaks, and announces itself again', async () => {
    const { clock } = virtualClock();
    start(clock);
    await vi.waitFor(() => expect(states()).toHaveLength(1));
    for (const client of Object.values((broker as unknown as { clients: Record<string, never> }).clients)) {
      const { id, conn } = client as { id: string; conn: { destroy(): void } };
      if (id === 'q1-a') conn.destroy();
    }
    await vi.waitFor(() => expect(states()).toHaveLength(3), { timeout: 10_000 });
    expect(states().map(({ payload }) => JSON.parse(payload).online)).toEqual([true, false, true]);
  });

  it('knows why it was refused', async () => {
    const refuse: AuthenticateHandler = (_client, _name, _password, done) =>
      done(Object.assign(new Error('no'), { returnCode: 5 }), null);
    broker.authenticate = refuse;
    const { clock } = virtualClock();
    const link = start(clock, { password: 'wrong' });
    await vi.waitFor(() => expect(link.lastError()).toMatch(/Not authorized/));
    expect(link.isOnline()).toBe(false);
  });
});
