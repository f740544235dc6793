// Reports of chargers over MQTT become the live status of clusters (2.8): a real client, a real broker.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { clusterDetailSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { eventually } from '../eventually.js';
import { bodyOf } from './answers.js';
import { type ChargerClient, connectCharger } from './charger-client.js';
import { profileAt } from './profiles.js';
import { HARBOUR, RIVAL, type RunningService, runService, site, tenantWith } from './running-service.js';

const HEARTBEAT_MS = 10_000;
const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
const sites = () => ['quay-1', 'quay-2'].map((id) => site(id));

let service: RunningService;
const clusters = new Map<TenantUuid, string>();
const chargers: ChargerClient[] = [];
beforeAll(async () => {
  service = await runService([tenantWith(HARBOUR, sites()), tenantWith(RIVAL, sites())], { clock });
  for (const tenantUuid of [HARBOUR, RIVAL]) {
    const request = { name: 'A cluster', locationIds: ['quay-1', 'quay-2'], limitKw: 20 };
    const answer = await service.call('POST', '/clusters', request, tenantUuid);
    clusters.set(tenantUuid, bodyOf(answer, clusterSchema, 201).clusterId);
  }
});
afterAll(async () => {
  for (const charger of chargers) await charger.stop();
  await service.stop();
});

async function charger(...[locationId, options]: [string, { tenantUuid?: TenantUuid; boot?: string }?]) {
  const connected = await connectCharger(service.mqttUrl, locationId, options);
  chargers.push(connected);
  return connected;
}

async function liveStatus(tenantUuid = HARBOUR) {
  const answer = await service.call('GET', `/clusters/${clusters.get(tenantUuid)}`, undefined, tenantUuid);
  return bodyOf(answer, clusterDetailSchema).liveStatus;
}

/** Resolves when the members of the cluster draw these kW. */
async function drawing(kw: readonly number[], tenantUuid = HARBOUR): Promise<void> {
  await eventually(async () => {
    expect((await liveStatus(tenantUuid)).locations.map(({ actualKw }) => actualKw)).toEqual(kw);
  });
}

async function figure(line: string): Promise<number> {
  const text = await (await fetch(`${service.httpUrl}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.split(' ')
      .at(-1) ?? 0,
  );
}

/** Connectors by link, as /metrics counts them after the liveness sweep. */
async function links(): Promise<Readonly<Record<string, number>>> {
  clock.advance(1000);
  const names = ['online', 'stale', 'offline'];
  const counts = await Promise.all(names.map((link) => figure(`headroom_connectors{link="${link}"}`)));
  return Object.fromEntries(names.map((link, i) => [link, counts[i] ?? 0]));
}

describe('meter values', () => {
  it('of several connectors and chargers add up to actualKw and actualTotalKw, in kW', async () => {
    const first = await charger('quay-1');
    const second = await charger('quay-2');
    await first.meter('1', { powerW: 7360, status: 'Charging', currentA: [10.7, 10.7, 10.6], limitA: 16 });
    await first.meter('2', { powerW: 1040 });
    await second.meter('1', { powerW: 11_000 });
    await drawing([8.4, 11]);
    expect(await liveStatus()).toMatchObject({ actualTotalKw: 19.4, withinLimit: true });
    expect(await links()).toEqual({ online: 3, stale: 1, offline: 4 });
  });

  it('have withinLimit true up to the cap itself, and not a watt above it', async () => {
    const second = await charger('quay-2', { boot: 'boot-2' });
    await second.meter('1', { powerW: 11_600 });
    await drawing([8.4, 11.6]);
    expect(await liveStatus()).toMatchObject({ actualTotalKw: 20, clusterLimitKw: 20, withinLimit: true });
    await second.meter('1', { powerW: 11_601 });
    await drawing([8.4, 11.601]);
    expect(await liveStatus()).toMatchObject({ withinLimit: false });
  });

  it('never change the limits: limits follow profiles, actualKw follows chargers', async () => {
    const request = profileAt(clock.nowMs(), { limitKw: 10, endsInMs: HEARTBEAT_MS });
    await service.call('POST', '/locations/quay-1/schedules', request);
    const { locations } = await liveStatus();
    expect(locations[0]).toMatchObject({ setLimitKw: 10, actualKw: 8.4 });
    expect(locations[0]?.effectiveLimitKw).toBeCloseTo(10 / 3, 8);
  });

  it('that are doubled, overtaken or of an older boot change nothing', async () => {
    const one = await charger('quay-1', { boot: 'boot-3' });
    await one.meter('1', { powerW: 5000, hb: 7 });
    await drawing([6.04, 11.601]);
    for (const stale of [{ hb: 7 }, { hb: 6 }, { hb: 9, boot: 'boot-1' }])
      await one.meter('1', { powerW: 1, ...stale });
    await one.meter('2', { powerW: 2000 });
    await drawing([7, 11.601]);
  });
});

describe('a charger that falls silent', () => {
  /** The power counted for the connectors of quay-1: whether it is an estimate, and the reserve. */
  async function counted() {
    const live = bodyOf(await service.call('GET', '/locations/quay-1/live'), locationLiveSchema);
    for (const { actualKw, isEstimated, reservedKw } of live.connectors)
      if (isEstimated) expect(actualKw).toBeLessThanOrEqual(reservedKw);
    const sumKw = (each: typeof live.connectors) => each.reduce((sum, { actualKw }) => sum + actualKw, 0);
    expect(live.actualKw).toBeCloseTo(sumKw(live.connectors), 9);
    const estimated = live.connectors.filter(({ isEstimated }) => isEstimated);
    if (estimated.length === 0) expect(live.estimatedKw).toBe(null);
    else expect(live.estimatedKw).toBeCloseTo(sumKw(estimated), 9);
    return live.connectors.map(({ actualKw, isEstimated }) => [actualKw, isEstimated]);
  }

  it('is stale after three heartbeats; then the last draw of its car is an estimate, and marked as one', async () => {
    const one = await charger('quay-1', { boot: 'boot-4' });
    await one.meter('1', { powerW: 500 });
    await one.meter('2', { powerW: 300 });
    await eventually(async () =>
      expect((await counted()).slice(0, 2)).toEqual([
        [0.5, false],
        [0.3, false],
      ]),
    );
    expect(await links()).toMatchObject({ online: 3 });
    clock.advance(3 * HEARTBEAT_MS - 3000);
    expect(await links()).toMatchObject({ online: 3 });
    expect(await links()).toMatchObject({ online: 0 });
    expect((await counted()).slice(0, 2)).toEqual([
      [0.5, true],
      [0.3, true],
    ]);
    const status = await liveStatus();
    expect(status.locations[0]).toMatchObject({ actualKw: 0.8, estimatedKw: 0.8 });
    expect(status.estimatedTotalKw).toBeGreaterThanOrEqual(0.8);
    await one.meter('1', { powerW: 400 });
    await eventually(async () =>
      expect((await counted()).slice(0, 2)).toEqual([
        [0.4, false],
        [0.3, true],
      ]),
    );
    expect((await liveStatus()).locations[0]).toMatchObject({ actualKw: 0.7, estimatedKw: 0.3 });
    expect(await links()).toMatchObject({ online: 1 });
  });

  it('is offline when its connection is lost: its last will speaks (decisions)', async () => {
    const one = await charger('quay-1', { boot: 'boot-5' });
    await one.meter('1', { powerW: 600 });
    await one.meter('2', { powerW: 0 });
    await eventually(async () =>
      expect((await counted()).slice(0, 2)).toEqual([
        [0.6, false],
        [0, false],
      ]),
    );
    const { offline = 0 } = await links();
    one.vanish();
    await eventually(async () => expect(await links()).toMatchObject({ online: 0, offline: offline + 2 }));
    // A last reading of 0 W counts as a measurement.
    expect((await counted()).slice(0, 2)).toEqual([
      [0.6, true],
      [0, false],
    ]);
  });
});

describe('a restart', () => {
  it('counts a connector 0 until its first value, and marks it as an estimate (decisions)', async () => {
    service = await service.restart({ clock });
    await drawing([0, 0]);
    expect((await liveStatus()).locations[0]).toMatchObject({ estimatedKw: 0 });
    const one = await charger('quay-1', { boot: 'boot-6' });
    await one.meter('1', { powerW: 4200 });
    await one.meter('2', { powerW: 0 });
    await drawing([4.2, 0]);
    expect((await liveStatus()).locations[0]).not.toHaveProperty('estimatedKw');
  });
});

describe("another tenant's charger", () => {
  it('with the same ids changes its own cluster and no other', async () => {
    const theirs = await charger('quay-1', { tenantUuid: RIVAL });
    await theirs.meter('1', { powerW: 9000 });
    await drawing([9, 0], RIVAL);
    await drawing([4.2, 0], HARBOUR);
  });

  it('is cut off when it speaks on a topic that is not its own, and nothing of it counts', async () => {
    const theirs = await charger('quay-2', { tenantUuid: RIVAL });
    const cut = new Promise<void>((resolve) => theirs.client.once('close', () => resolve()));
    const foreign = `ems/v1/${HARBOUR}/quay-2/quay-2-a/c/1/meter`;
    theirs.client.publish(foreign, JSON.stringify({ v: 1, powerW: 66_000 }));
    await cut;
    const one = await charger('quay-2', { boot: 'boot-7' });
    await one.meter('2', { powerW: 100 });
    await drawing([4.2, 0.1], HARBOUR);
  });
});

describe('hostile payloads', () => {
  it('are counted and dropped; the next good value counts', async () => {
    const one = await charger('quay-1', { boot: 'boot-8' });
    const malformed = 'headroom_mqtt_messages_total{kind="meter",result="malformed"}';
    const before = await figure(malformed);
    const hostile = [
      '',
      'not json',
      '[]',
      'null',
      '{"powerW":"7000"}',
      '{"powerW":1e999}',
      '{"powerW":7000.5}',
      '{"__proto__":{"powerW":7000}}',
      '{"powerW":7000,"boot":""}',
      '\u0000\u0001\u0002',
      `{"powerW":7000,"at":"${'x'.repeat(10_000)}"}`,
      '['.repeat(5000),
    ];
    for (const payload of hostile) await one.client.publishAsync(one.topic('c/1/meter'), payload);
    await one.meter('1', { powerW: 1500 });
    await drawing([1.5, 0.1]);
    expect((await figure(malformed)) - before).toBe(hostile.length);
  });
});
