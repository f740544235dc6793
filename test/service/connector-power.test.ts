// Extension: the power of a connector with its limit, by the minute.
import { cpSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { type ConnectorPower, connectorPowerSchema } from '../../src/features/power-history/contract.js';
import { temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { type ChargerClient, connectCharger } from './charger-client.js';
import {
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

const MINUTE_MS = 60_000;
const BEGIN = '2026-06-01T23:30:00Z';
const clock = createVirtualClock(Date.parse(BEGIN));
const QUAY_1 = '/chargers/quay-a/connectors/1/power';

let service: RunningService;
let quay: ChargerClient;
beforeAll(async () => {
  service = await runService([tenantWith(HARBOUR, [site('quay')]), tenantWith(RIVAL, [site('rivals')])], {
    clock,
  });
  quay = await connectCharger(service.mqttUrl, 'quay');
});
afterAll(async () => {
  await quay.stop();
  await service.stop();
});

/** A write that waits while the clock moves on is refused, and repeats a second later. */
const powerFrom = (from: string, query = '') =>
  eventually(async () => {
    clock.advance(1_000);
    return bodyOf(await service.call('GET', `${QUAY_1}?from=${from}${query}`), connectorPowerSchema);
  });
const power = (query = '') => powerFrom(BEGIN, query);

/** Each point as minutes after the begin, with mean and highest power. */
const pointsOf = ({ points }: ConnectorPower) =>
  points.map(({ at, meanKw, maxKw }) => [(Date.parse(at) - Date.parse(BEGIN)) / MINUTE_MS, meanKw, maxKw]);

let readings = 0;

/** Waits until the service has the reading. */
async function reads(powerW: number, charger = quay) {
  const socPercent = ++readings % 100;
  await charger.meter('1', { status: 'Charging', powerW, currentA: [9, 9, 9], socPercent });
  await eventually(async () => {
    const { body } = await service.call('GET', '/locations/quay/live');
    expect(JSON.stringify(body)).toContain(`"socPercent":${socPercent}`);
  });
}

/** Draws so much power for so many minutes. */
async function draws(powerW: number, minutes: number, charger = quay) {
  for (let nth = 0; nth < 3 * minutes; nth++) {
    await reads(powerW, charger);
    clock.advance(20_000);
  }
}

describe('the power of a connector', () => {
  it('has a point for each minute that has ended, also before it is written', async () => {
    await draws(6_000, 2);
    await draws(3_000, 1);
    const list = await power();
    expect(pointsOf(list)).toEqual([
      [0, 6, 6],
      [1, 6, 6],
      [2, 3, 3],
    ]);
    expect(list.points[1]?.limitKw).toBeGreaterThan(6);
    expect(list).toMatchObject({ controllerUuid: 'quay-a', locationId: 'quay', stepSeconds: 60 });
    expect(list.nextCursor).toBe(null);
  });

  it('has a gap while the charger is silent, and goes on over midnight', async () => {
    clock.advance(27 * MINUTE_MS);
    await draws(9_000, 2);
    const minutes = pointsOf(await power()).map(([minute]) => minute);
    expect(minutes).toEqual([0, 1, 2, 3, 30, 31]);
  });

  it('comes in steps, each with the mean and the highest minute', async () => {
    expect(pointsOf(await power('&step=120')).slice(0, 2)).toEqual([
      [0, 6, 6],
      [2, 3, 3],
    ]);
    expect(pointsOf(await power('&step=240'))[0]).toEqual([-2, 6, 6]);
    expect(pointsOf(await power('&step=86400'))).toHaveLength(2);
  });

  it.each(['&step=60', '&step=120', '&step=3600'])('comes page by page: %s', async (step) => {
    const all = (await power(step)).points;
    const paged: ConnectorPower['points'] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: ConnectorPower = await power(`${step}&limit=1${cursor && `&cursor=${cursor}`}`);
      expect(page.points).toHaveLength(1);
      paged.push(...page.points);
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(all);
    expect(paged.length).toBeGreaterThan(1);
  });

  it('comes as CSV, with the next page in a header', async () => {
    const headers = { 'x-api-key': apiKeyOf(HARBOUR), accept: 'text/csv' };
    // In its first minute the connector may not have a limit yet.
    const from = '2026-06-01T23:31:00Z';
    const answer = await fetch(`${service.httpUrl}/v1${QUAY_1}?from=${from}&limit=1`, { headers });
    const [names, first] = (await answer.text()).split(/\r?\n/);
    expect(names).toBe('at,meanKw,maxKw,limitKw');
    expect(first).toMatch(/^2026-06-01T23:31:00\.000Z,6,6,\d+/);
    expect(answer.headers.get('link')).toContain('rel="next"');
  });

  it.each([
    ['from=2026-06-01', /^from: /],
    ['from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z', /^to: must be after from/],
    ['from=2020-01-01T00:00:00Z', /^from: must be at most 366 days before to/],
    ['step=61', /^step: must be a multiple of 60/],
    ['limit=1001', /^limit: must be an integer from 1 to 1000/],
    ['cursor=1', /^cursor: must be a nextCursor/],
    ['cursor=-1', /^cursor: must be a nextCursor/],
    [`from=${BEGIN}&step=3600&cursor=${Date.parse(BEGIN) + MINUTE_MS}`, /^cursor: must be a nextCursor/],
    ['cursor=999999999999999999', /^cursor: must be a nextCursor/],
  ])('is refused with a wrong %s, by the name of the field', async (query, rule) => {
    expect(refusalOf(await service.call('GET', `${QUAY_1}?${query}`), 'INVALID_REQUEST_BODY')).toMatch(rule);
  });

  it('is empty far in the future and far in the past', async () => {
    for (const from of ['2020-01-01', '2999-01-01']) {
      const year = Number(from.slice(0, 4)) + 1;
      const answer = await service.call(
        'GET',
        `${QUAY_1}?from=${from}T00:00:00Z&to=${year}-01-01T00:00:00Z&step=60`,
      );
      expect(bodyOf(answer, connectorPowerSchema)).toMatchObject({ points: [], nextCursor: null });
    }
  });

  it('of another tenant is as unknown as one that never existed', async () => {
    const asked = (charger: string) =>
      service.call('GET', `/chargers/${charger}/connectors/1/power`, undefined, RIVAL);
    for (const charger of ['quay-a', 'never-a'])
      expect(refusalOf(await asked(charger), 'CHARGER_NOT_FOUND')).toBe(
        `No such connector: ${charger} / 1; GET /v1/locations/{locationId}/live has all`,
      );
  });

  it('counts doubled and late readings once', async () => {
    await draws(4_000, 2);
    const from = new Date(clock.nowMs()).toISOString();
    await draws(4_000, 1);
    const late = { v: 1, boot: 'boot-1', hb: 1, status: 'Charging', powerW: 22_000, currentA: [32, 32, 32] };
    await reads(4_000);
    for (let nth = 0; nth < 5; nth++)
      await quay.client.publishAsync(quay.topic('c/1/meter'), JSON.stringify(late), { qos: 1 });
    clock.advance(20_000);
    await draws(4_000, 2);
    const list = await powerFrom(from);
    expect(list.points.map(({ maxKw }) => maxKw)).toEqual(list.points.map(() => 4));
    expect(list.points.length).toBeGreaterThan(2);
  });

  it('keeps one point for each minute after the clock went back and forward', async () => {
    const before = await power();
    clock.jump(-10 * MINUTE_MS);
    await draws(5_000, 3);
    clock.jump(60 * MINUTE_MS);
    await draws(7_000, 2);
    const { points } = await power();
    const instants = points.map(({ at }) => at);
    expect(instants).toEqual([...new Set(instants)].sort());
    expect(points.length).toBeGreaterThan(before.points.length);
    expect(points.at(-1)?.meanKw).toBe(7);
  });

  it('loses at most fifteen minutes to a kill, and nothing to a stop', async () => {
    await draws(8_000, 40);
    const { dataDir } = service.config;
    const killed = temporaryDirectory();
    // All writes that were begun are on disk.
    const known = (await power()).points;
    cpSync(dataDir, killed, { recursive: true });
    await quay.stop();
    service = await service.restart({ clock }, async () => {
      rmSync(dataDir, { recursive: true });
      cpSync(killed, dataDir, { recursive: true });
    });
    const afterKill = (await power()).points;
    expect(afterKill).toEqual(known.slice(0, afterKill.length));
    expect(known.length - afterKill.length).toBeLessThanOrEqual(15);
    expect(afterKill.length).toBeLessThan(known.length);

    quay = await connectCharger(service.mqttUrl, 'quay', { boot: 'boot-2' });
    await draws(2_000, 4);
    const held = (await power()).points;
    await quay.stop();
    service = await service.restart({ clock });
    expect((await power()).points.slice(0, held.length)).toEqual(held);
    quay = await connectCharger(service.mqttUrl, 'quay', { boot: 'boot-3' });
  });
});
