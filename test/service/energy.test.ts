// Extension: the energy of connectors, locations, clusters and the tenant over time.
import { cpSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { energyListSchema, type PeriodEnergy } from '../../src/features/energy/contract.js';
import { temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { type ChargerClient, connectCharger } from './charger-client.js';
import {
  apiKeyOf,
  HARBOUR,
  provisionAt,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

/** The clocks of Berlin go back on the next morning: its day has 25 hours. */
const clock = createVirtualClock(Date.parse('2026-10-24T20:00:00Z'));
const BERLIN = 'Europe/Berlin';
const TENANTS = [
  tenantWith(HARBOUR, [{ ...site('quay'), timeZone: BERLIN }, site('yard')]),
  tenantWith(RIVAL, [site('rivals')]),
];

let service: RunningService;
let quay: ChargerClient;
let yard: ChargerClient;
beforeAll(async () => {
  service = await runService(TENANTS, { clock });
  quay = await connectCharger(service.mqttUrl, 'quay');
  yard = await connectCharger(service.mqttUrl, 'yard');
});
afterAll(async () => {
  await quay.stop();
  await yard.stop();
  await service.stop();
});

const CAR = { status: 'Charging', powerW: 6_000, currentA: [9, 9, 9] };

const energy = async (query: string) =>
  bodyOf(await service.call('GET', `/energy?${query}`), energyListSchema);

/** Each period with its energy. */
const kwhOf = (list: readonly PeriodEnergy[]) => list.map(({ period, energyKwh }) => [period, energyKwh]);

/** Waits until the service has the reading. */
async function reads(charger: ChargerClient, connectorId: string, fields: object) {
  const socPercent = ++readings % 100;
  await charger.meter(connectorId, { ...fields, socPercent });
  const [, , , locationId] = charger.topic('').split('/');
  await eventually(async () => {
    const { body } = await service.call('GET', `/locations/${locationId}/live`);
    expect(JSON.stringify(body)).toContain(`"socPercent":${socPercent}`);
  });
}
let readings = 0;

/** Waits for the minute in which the service stores energy. */
async function untilKept(query: string, expected: readonly (readonly [string, number])[]) {
  await eventually(async () => {
    clock.advance(5_000);
    expect(kwhOf((await energy(query)).energy)).toEqual(expected);
  });
}

describe('the energy of a connector', () => {
  it('counts by the days of its location, of which one has 25 hours', async () => {
    await reads(quay, '1', { ...CAR, energyWh: 1_000 });
    await reads(yard, '1', { ...CAR, energyWh: 0 });
    // 6 kW for a day and a half, while the charger was out of reach.
    clock.advance(36 * 3_600_000);
    await reads(quay, '1', { ...CAR, energyWh: 217_000 });
    await reads(yard, '1', { ...CAR, energyWh: 216_000 });
    await untilKept('locationId=quay', [
      ['2026-10-24', 12],
      ['2026-10-25', 150],
      ['2026-10-26', 54],
    ]);
    await untilKept('locationId=yard', [
      ['2026-10-24', 24],
      ['2026-10-25', 144],
      ['2026-10-26', 48],
    ]);
    expect((await energy('locationId=quay&to=2026-10-25')).energy).toEqual([
      {
        period: '2026-10-24',
        locationId: 'quay',
        controllerUuid: 'quay-a',
        connectorId: '1',
        clusterId: null,
        energyKwh: 12,
        integratedKwh: 0,
      },
    ]);
  });

  it('counts by quarter-hours', async () => {
    const list = await energy(
      'locationId=quay&resolution=quarterHour&from=2026-10-25T00:30:00Z&to=2026-10-25T01:30:00Z',
    );
    expect(kwhOf(list.energy)).toEqual([
      ['2026-10-25T00:30:00.000Z', 1.5],
      ['2026-10-25T00:45:00.000Z', 1.5],
      ['2026-10-25T01:00:00.000Z', 1.5],
      ['2026-10-25T01:15:00.000Z', 1.5],
    ]);
  });

  it('is that of its power, and the answer shows so, if its charger has no register', async () => {
    for (let nth = 0; nth < 30; nth++) {
      await reads(yard, '2', CAR);
      clock.advance(30_000);
    }
    await reads(yard, '2', { ...CAR, status: 'SuspendedEV', powerW: 0 });
    const query = 'controllerUuid=yard-a&connectorId=2';
    await untilKept(query, [['2026-10-26', 1.5]]);
    expect((await energy(query)).energy[0]).toMatchObject({ energyKwh: 1.5, integratedKwh: 1.5 });
  });

  it('is the same after a kill: its register shows the energy since the last write', async () => {
    const { dataDir } = service.config;
    const killed = temporaryDirectory();
    cpSync(dataDir, killed, { recursive: true });
    await reads(quay, '1', { ...CAR, energyWh: 218_000 });
    for (const charger of [quay, yard]) await charger.stop();
    service = await service.restart({ clock }, async () => {
      rmSync(dataDir, { recursive: true });
      cpSync(killed, dataDir, { recursive: true });
    });
    clock.advance(900_000);
    quay = await connectCharger(service.mqttUrl, 'quay', { boot: 'boot-2' });
    yard = await connectCharger(service.mqttUrl, 'yard', { boot: 'boot-2' });
    await reads(quay, '1', { ...CAR, energyWh: 219_000 });
    clock.advance(900_000);
    await untilKept('locationId=quay&from=2026-10-26', [['2026-10-26', 56]]);
  });
});

describe('the energy of a group', () => {
  it('is that of a location', async () => {
    const { energy: list } = await energy('groupBy=location&from=2026-10-26');
    expect(
      list.map(({ locationId, controllerUuid, energyKwh }) => [locationId, controllerUuid, energyKwh]),
    ).toEqual([
      ['quay', null, 56],
      ['yard', null, 49.5],
    ]);
  });

  it('is that of a cluster, and of all clusters that a location is in', async () => {
    for (const [name, locationIds] of [
      ['Both', ['quay', 'yard']],
      ['One', ['yard']],
    ])
      await service.call('POST', '/clusters', { name, locationIds });
    const { energy: list } = await energy('groupBy=cluster&resolution=month');
    expect(list.map(({ period, locationId, energyKwh }) => [period, locationId, energyKwh])).toEqual(
      expect.arrayContaining([
        ['2026-10', null, 435.5],
        ['2026-10', null, 217.5],
      ]),
    );
    expect(new Set(list.map(({ clusterId }) => clusterId)).size).toBe(2);
  });

  it('is that of the tenant, and of no other', async () => {
    expect(kwhOf((await energy('groupBy=tenant&resolution=month')).energy)).toEqual([['2026-10', 435.5]]);
    const others = await service.call('GET', '/energy?groupBy=tenant', undefined, RIVAL);
    expect(bodyOf(others, energyListSchema).energy).toEqual([]);
    const theirs = await service.call('GET', '/energy?locationId=quay', undefined, RIVAL);
    expect(refusalOf(theirs, 'LOCATION_NOT_FOUND')).toContain('quay');
  });
});

describe('the list of energy', () => {
  it.each(['groupBy=location&from=2026-10-24', `groupBy=tenant&resolution=quarterHour&${spanOf(24, 27)}`])(
    'comes page by page: %s',
    async (query) => {
      const all = (await energy(query)).energy;
      expect(all.length).toBeGreaterThan(4);
      const pages: PeriodEnergy[] = [];
      let cursor: string | null = null;
      do {
        const page = await energy(`${query}&limit=3${cursor === null ? '' : `&cursor=${cursor}`}`);
        expect(page.energy.length).toBeLessThanOrEqual(3);
        pages.push(...page.energy);
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(pages).toEqual(all);
    },
  );

  it('is there as CSV, page by page', async () => {
    const [first, link] = await csv('/energy?groupBy=location&from=2026-10-24&limit=2');
    expect(first).toBe(
      [
        'period,locationId,controllerUuid,connectorId,clusterId,energyKwh,integratedKwh',
        '2026-10-24,quay,,,,12,0',
        '2026-10-24,yard,,,,24,0',
        '',
      ].join('\n'),
    );
    const [, next] = /^<\/v1([^>]*)>; rel="next"$/.exec(link ?? '') ?? [];
    const [second] = await csv(String(next));
    expect(second).toContain('2026-10-25,quay,,,,150,0');
    const [, none] = await csv('/energy?groupBy=location&from=2026-10-24');
    expect(none).toBeNull();
  });

  it.each([
    ['resolution=hour', 'resolution'],
    ['groupBy=charger', 'groupBy'],
    ['from=2026-13-01', 'from: must be a date'],
    ['from=2026-02-29', 'from: must be a date'],
    ['from=2026-10-24T00:00:00Z', 'from: must be a date'],
    ['resolution=quarterHour&locationId=quay&to=2026-10-24', 'to: must be an instant'],
    ['resolution=quarterHour', 'locationId: is missing'],
    ['from=2026-10-24&to=2026-10-24', 'to: must be after from'],
    ['from=2020-10-24&to=2026-10-24', 'from: must be at most 366 days'],
    ['connectorId=1', 'controllerUuid: is missing'],
    ['controllerUuid=quay-a', 'connectorId: is missing'],
    ['cursor=tomorrow', 'cursor'],
    ['cursor=1-1-1', 'cursor'],
    ['cursor=999999999999999-0', 'cursor'],
  ])('refuses %s with the name of the field', async (query, text) => {
    expect(refusalOf(await service.call('GET', `/energy?${query}`), 'INVALID_REQUEST_BODY')).toContain(text);
  });

  it('refuses a connector that does not exist', async () => {
    const answer = await service.call('GET', '/energy?controllerUuid=quay-a&connectorId=9');
    expect(refusalOf(answer, 'CHARGER_NOT_FOUND')).toContain('quay-a / 9');
  });
});

describe('the energy of a location whose time zone changes', () => {
  it('counts no quarter-hour twice', async () => {
    const query = 'groupBy=location&locationId=yard&resolution=month&from=2026-10-01';
    const before = (await energy(query)).energy[0]?.energyKwh ?? 0;
    const charges = async (registerWh: number) => {
      await reads(yard, '1', { ...CAR, energyWh: registerWh - 1_500 });
      clock.advance(900_000);
      await reads(yard, '1', { ...CAR, energyWh: registerWh });
      clock.advance(900_000);
    };
    await charges(217_500);
    await untilKept(query, [['2026-10', before + 1.5]]);
    for (const charger of [quay, yard]) await charger.stop();
    service = await service.restart({ clock }, () =>
      provisionAt(
        clock.nowMs(),
        service.config,
        tenantWith(HARBOUR, [{ ...site('yard'), timeZone: BERLIN }]),
      ),
    );
    quay = await connectCharger(service.mqttUrl, 'quay', { boot: 'boot-3' });
    yard = await connectCharger(service.mqttUrl, 'yard', { boot: 'boot-3' });
    await charges(219_000);
    await untilKept(query, [['2026-10', before + 3]]);
  });
});

/** Days of October. */
function spanOf(from: number, to: number): string {
  return `from=2026-10-${from}T00:00:00Z&to=2026-10-${to}T00:00:00Z`;
}

async function csv(path: string): Promise<readonly [text: string, link: string | null]> {
  const headers = { 'x-api-key': apiKeyOf(HARBOUR), accept: 'text/csv' };
  const answer = await fetch(`${service.httpUrl}/v1${path}`, { headers });
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  return [await answer.text(), answer.headers.get('link')];
}
