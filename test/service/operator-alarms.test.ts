// Extension: alarms and measured power as stored, of one location and of all.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AlarmKind } from '../../machines/ledger/grant.js';
import type { LocationId } from '../../machines/values/ids.js';
import { alarmListSchema } from '../../src/features/alarms/contract.js';
import { locationPowerSchema } from '../../src/features/power-history/contract.js';
import type { AlarmRecord } from '../../src/ports/records.js';
import { bodyOf, refusalOf } from './answers.js';
import { at, NOW, NOW_MS, type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, RIVAL, site, tenantWith } from './running-service.js';

const HOUR_MS = 3_600_000;

function alarm(alarmId: string, locationId: string, beganAtMs: number, endedAtMs: number | null) {
  const record: AlarmRecord = {
    alarmId,
    kind: 'LIMIT_UNATTAINABLE' satisfies AlarmKind,
    locationId: locationId as LocationId,
    controllerUuid: null,
    connectorId: null,
    reason: 'The floors of 6 A do not fit.',
    firstReason: 'The floors of 6 A do not fit.',
    beganAtMs,
    endedAtMs,
    acknowledgement: null,
    isWithheld: false,
    mutedUntilMs: null,
  };
  return { kind: 'alarm.begin', alarm: record } as const;
}

let service: OperatedService;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(HARBOUR, [site('quay-1'), site('quay-2')]),
    tenantWith(RIVAL, [site('quay-1')]),
  ]);
  await service.store.append(HARBOUR, [
    alarm('long-ago', 'quay-1', NOW_MS - 60 * HOUR_MS, NOW_MS - 50 * HOUR_MS),
    alarm('still-open', 'quay-1', NOW_MS - 40 * HOUR_MS, null),
    alarm('over', 'quay-1', NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS),
    ...['a', 'b', 'c', 'd', 'e'].map((id) => alarm(`outage-${id}`, 'quay-2', NOW_MS - 3 * HOUR_MS, null)),
  ]);
});
afterAll(() => service.stop());

async function idsOf(path: string): Promise<string[]> {
  return (await service.read(path, alarmListSchema)).alarms.map(({ alarmId }) => alarmId);
}

describe('GET /locations/{locationId}/alarms', () => {
  it('lists alarms of the last day, open ones included, the newest first', async () => {
    const list = await service.read('/locations/quay-1/alarms', alarmListSchema);
    expect(list).toMatchObject({ from: '2026-05-31T12:00:00.001Z', nextCursor: null });
    expect(list.alarms).toEqual([
      {
        alarmId: 'over',
        kind: 'LIMIT_UNATTAINABLE',
        locationId: 'quay-1',
        controllerUuid: null,
        connectorId: null,
        reason: 'The floors of 6 A do not fit.',
        firstReason: 'The floors of 6 A do not fit.',
        beganAt: at('10:00'),
        endedAt: at('11:00'),
        acknowledgement: null,
        mutedUntil: null,
        isWithheld: false,
      },
      expect.objectContaining({ alarmId: 'still-open', endedAt: null }),
    ]);
  });

  it('lists alarms of the requested span', async () => {
    const path = '/locations/quay-1/alarms';
    expect(await idsOf(`${path}?from=2026-05-29T00:00:00Z&to=2026-05-30T12:00:00Z`)).toEqual(['long-ago']);
    expect(await idsOf(`${path}?to=${at('09:00')}`)).toEqual(['still-open']);
  });

  it('answers 404 for a location of nobody, 400 for a span too long', async () => {
    refusalOf(await service.call('GET', '/locations/nowhere/alarms'), 'LOCATION_NOT_FOUND');
    const answer = await service.call('GET', '/locations/quay-1/alarms?from=2020-01-01T00:00:00Z');
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(/^from: must be at most 366 days/);
  });
});

describe('GET /alarms', () => {
  it('lists those of all locations of the tenant alone', async () => {
    expect(await idsOf('/alarms')).toHaveLength(7);
    const rivals = await service.call('GET', '/alarms', undefined, RIVAL);
    expect(bodyOf(rivals, alarmListSchema).alarms).toEqual([]);
  });

  it('comes in pages that join without a gap, also among alarms of one instant', async () => {
    const whole = await idsOf('/alarms');
    for (const limit of [1, 2, 3, 4, 6]) {
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const page = await service.read(`/alarms?limit=${limit}${more}`, alarmListSchema);
        expect(page.alarms.length).toBeLessThanOrEqual(limit);
        seen.push(...page.alarms.map(({ alarmId }) => alarmId));
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(whole);
    }
    refusalOf(await service.call('GET', '/alarms?cursor=x'), 'INVALID_REQUEST_BODY');
  });
});

const CURRENTS = { meanTenthsA: [44, 0, 105], maxTenthsA: [60, 0, 160] } as const;
const BUILDING = { meanKw: 20.5, maxKw: 24, meanReserveKw: 4 };
const ON_PHASES = [
  { phase: 'L1', meanA: 4.4, maxA: 6 },
  { phase: 'L2', meanA: 0, maxA: 0 },
  { phase: 'L3', meanA: 10.5, maxA: 16 },
];

describe('GET /locations/{locationId}/power', () => {
  const minute = (time: string, meanW: number, maxW: number, limitW = 50_000) =>
    ({
      kind: 'power.put',
      locationId: 'quay-2' as LocationId,
      minute: {
        atMs: Date.parse(at(time)),
        meanW,
        maxW,
        limitW,
        meanLimitW: limitW + 500,
        estimatedW: meanW === 3000 ? 1000 : null,
        currents: meanW === 3000 ? CURRENTS : null,
        feeders: [],
        building: meanW === 3000 ? { meanW: 20_500, maxW: 24_000, meanReserveW: 4_000 } : null,
      },
    }) as const;

  beforeAll(() =>
    service.store.append(HARBOUR, [
      minute('11:00', 1000, 2000),
      minute('11:01', 3000, 3500, 40_000),
      minute('11:15', 8000, 9000),
    ]),
  );

  it('gives the stored minutes of the last day in kW', async () => {
    const power = await service.read('/locations/quay-2/power', locationPowerSchema);
    expect(power).toMatchObject({ from: '2026-05-31T12:00:00.000Z', stepSeconds: 60 });
    expect(power.points).toEqual([
      {
        at: at('11:00'),
        meanKw: 1,
        maxKw: 2,
        estimatedKw: null,
        limitKw: 50,
        meanLimitKw: 50.5,
        phases: [],
        building: null,
      },
      {
        at: at('11:01'),
        meanKw: 3,
        maxKw: 3.5,
        estimatedKw: 1,
        limitKw: 40,
        meanLimitKw: 40.5,
        phases: ON_PHASES,
        building: BUILDING,
      },
      {
        at: at('11:15'),
        meanKw: 8,
        maxKw: 9,
        estimatedKw: null,
        limitKw: 50,
        meanLimitKw: 50.5,
        phases: [],
        building: null,
      },
    ]);
  });

  it('folds them into longer steps that begin at whole ones', async () => {
    const power = await service.read(
      `/locations/quay-2/power?from=${at('11:07')}&to=${NOW}&step=900`,
      locationPowerSchema,
    );
    expect(power).toEqual({
      locationId: 'quay-2',
      from: at('11:00'),
      to: NOW,
      stepSeconds: 900,
      feeder: null,
      points: [
        {
          at: at('11:00'),
          meanKw: 2,
          maxKw: 3.5,
          estimatedKw: 0.5,
          limitKw: 40,
          meanLimitKw: 45.5,
          phases: ON_PHASES,
          building: BUILDING,
        },
        {
          at: at('11:15'),
          meanKw: 8,
          maxKw: 9,
          estimatedKw: null,
          limitKw: 50,
          meanLimitKw: 50.5,
          phases: [],
          building: null,
        },
      ],
    });
  });

  it('gives 31 days of minutes, and for more asks for a longer step', async () => {
    const path = '/locations/quay-2/power';
    const month = `from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z`;
    expect((await service.call('GET', `${path}?${month}`)).status).toBe(200);
    const longer = `from=2026-04-30T00:00:00Z&to=2026-06-01T00:00:00Z`;
    const answer = await service.call('GET', `${path}?${longer}`);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(/^step: gives more than 44640 points/);
    expect((await service.call('GET', `${path}?${longer}&step=120`)).status).toBe(200);
  });

  it.each(['0', '30', '90', '86460', 'minute', ''])('refuses a step of "%s"', async (step) => {
    const answer = await service.call('GET', `/locations/quay-2/power?step=${step}`);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(
      /^step: must be a multiple of 60 from 60 to 86400(, not \d+)? \(query parameter\)$/,
    );
  });
});
