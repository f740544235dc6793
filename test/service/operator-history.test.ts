// Extension: limits as of any instant and every submission, from rows that are never deleted (section 1).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  connectorSchedulesSchema,
  locationHistorySchema,
  locationLimitsSchema,
} from '../../src/features/profiles/contract.js';
import { refusalOf } from './answers.js';
import { at, NOW_MS, type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, site, tenantWith } from './running-service.js';

const MINUTE_MS = 60_000;

let service: OperatedService;
beforeAll(async () => {
  service = await runOperatedService([tenantWith(HARBOUR, [site('quay-1'), site('paged'), site('planned')])]);
  // One location: a profile at 12:00, another permanent limit at 12:10, and the profile replaced at 12:20.
  await submit(10, '13:00', '14:00');
  service.clock.advanceTo(NOW_MS + 10 * MINUTE_MS);
  await service.call('PUT', '/locations/quay-1/limit', { limitKw: 40 });
  service.clock.advanceTo(NOW_MS + 20 * MINUTE_MS);
  await submit(20, '12:30', '15:00');
});
afterAll(() => service.stop());

async function submit(limitKw: number, from: string, to: string, locationId = 'quay-1') {
  const body = { priority: 2, limitKw, startTime: at(from), endTime: at(to) };
  const answer = await service.call('POST', `/locations/${locationId}/schedules`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

function limitsAt(instant: string) {
  return service.read(`/locations/quay-1/limits?at=${instant}`, locationLimitsSchema);
}

const FIRST = { priority: 2, limitKw: 10, startTime: at('13:00'), endTime: at('14:00') };
const SECOND = { priority: 2, limitKw: 20, startTime: at('12:30'), endTime: at('15:00') };

describe('GET /locations/{locationId}/limits?at=', () => {
  it('shows the state of a past instant, with the statuses of then', async () => {
    expect(await limitsAt(at('12:05'))).toEqual({
      locationId: 'quay-1',
      permanentLimitKw: 50,
      effectiveLimitKw: 50,
      profiles: [{ ...FIRST, status: 'SCHEDULED' }],
    });
    expect(await limitsAt(at('12:15'))).toMatchObject({
      permanentLimitKw: 40,
      profiles: [{ ...FIRST, status: 'SCHEDULED' }],
    });
  });

  it('counts a submission from the millisecond it was made in, and the replaced one until then', async () => {
    expect(await limitsAt(at('12:19:59.999'))).toMatchObject({ profiles: [{ limitKw: 10 }] });
    expect(await limitsAt(at('12:20'))).toMatchObject({ profiles: [{ limitKw: 20 }] });
    expect(await limitsAt('2026-06-01T11:59:59.999Z')).toMatchObject({ profiles: [] });
  });

  it('shows the present state for a future instant', async () => {
    expect(await limitsAt(at('14:30'))).toEqual({
      locationId: 'quay-1',
      permanentLimitKw: 40,
      effectiveLimitKw: 20,
      profiles: [{ ...SECOND, status: 'ACTIVE' }],
    });
    expect(await limitsAt('2030-01-01T00:00:00Z')).toMatchObject({
      effectiveLimitKw: 40,
      profiles: [{ ...SECOND, status: 'EXPIRED' }],
    });
  });

  it('answers as in the contract if no instant is named (2.4)', async () => {
    const plain = await service.call('GET', '/locations/quay-1/limits');
    const odd = await service.call('GET', '/locations/quay-1/limits?as=of');
    expect(odd.body).toStrictEqual(plain.body);
    expect(await limitsAt(at('12:20'))).toStrictEqual(plain.body);
  });

  it('answers 400 where `at` is no instant', async () => {
    for (const text of ['', 'now', '2026-06-01', at('12:00').replace('Z', '%2B02:00')]) {
      const answer = await service.call('GET', `/locations/quay-1/limits?at=${text}`);
      expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(/^at: /);
    }
  });
});

describe('GET /locations/{locationId}/history', () => {
  it('has every submission with its instants of receipt and replacement, and the permanent limits', async () => {
    const history = await service.read(
      `/locations/quay-1/history?from=${at('12:00')}&to=${at('18:00')}`,
      locationHistorySchema,
    );
    expect(history).toEqual({
      locationId: 'quay-1',
      from: at('12:00'),
      to: at('18:00'),
      submissions: [
        { ...FIRST, submittedAt: at('12:00'), supersededAt: at('12:20') },
        { ...SECOND, submittedAt: at('12:20'), supersededAt: null },
      ],
      permanentLimits: [
        { limitKw: 50, setAt: new Date(NOW_MS - 24 * 60 * MINUTE_MS).toISOString() },
        { limitKw: 40, setAt: at('12:10') },
      ],
      nextCursor: null,
    });
  });

  it('has only windows that meet the span', async () => {
    const { submissions, permanentLimits } = await service.read(
      `/locations/quay-1/history?from=${at('14:00')}&to=${at('14:30')}`,
      locationHistorySchema,
    );
    expect(submissions).toMatchObject([{ limitKw: 20 }]);
    expect(permanentLimits).toMatchObject([{ limitKw: 40 }]);
  });

  it('is all of it without a range: windows of next year too, replaced and cancelled before they began', async () => {
    const schedules = '/locations/planned/schedules';
    const window = { startTime: '2027-06-01T17:00:00.000Z', endTime: '2027-06-01T18:00:00.000Z' };
    for (const limitKw of [21, 22]) await service.call('POST', schedules, { ...window, limitKw });
    await service.call('DELETE', `${schedules}/0`);
    const read = (query: string) => service.read(`/locations/planned/history${query}`, locationHistorySchema);
    const all = await read('');
    expect(all).toMatchObject({ from: '1970-01-01T00:00:00.000Z', to: '9999-12-31T23:59:59.999Z' });
    const superseded = expect.stringMatching(/Z$/);
    expect(all.submissions).toMatchObject([
      { ...window, limitKw: 21, supersededAt: superseded },
      { ...window, limitKw: 22, supersededAt: superseded },
    ]);
    expect(all.permanentLimits).toMatchObject([{ limitKw: 50 }]);
    expect((await read(`?from=${at('12:00')}`)).submissions).toHaveLength(2);
    expect((await read(`?to=${at('18:00')}`)).submissions).toHaveLength(0);
    expect((await read('?to=2027-06-01T17:00:00.001Z')).submissions).toHaveLength(2);
    const tooLong = await service.call(
      'GET',
      `/locations/planned/history?from=2025-01-01T00:00:00Z&to=${at('18:00')}`,
    );
    expect(refusalOf(tooLong, 'INVALID_REQUEST_BODY')).toMatch(/^from: .*366 days/);
    const before = await service.call('GET', '/locations/planned/history?from=9999-12-31T23:59:59.999Z');
    expect(refusalOf(before, 'INVALID_REQUEST_BODY')).toMatch(/^to: /);
  });

  it('comes in pages that join without a gap', async () => {
    for (let limitKw = 1; limitKw <= 5; limitKw++) await submit(limitKw, '13:00', '14:00', 'paged');
    const span = `from=${at('12:00')}&to=${at('18:00')}&limit=2`;
    const seen: number[] = [];
    let cursor: string | null = '';
    let pages = 0;
    while (cursor !== null) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = await service.read(`/locations/paged/history?${span}${more}`, locationHistorySchema);
      seen.push(...page.submissions.map(({ limitKw }) => limitKw));
      cursor = page.nextCursor;
      pages++;
    }
    expect([seen, pages]).toEqual([[1, 2, 3, 4, 5], 3]);
  });

  it.each([
    ['limit=0', /^limit: must be an integer from 1 to 1000, not \d+ \(query parameter\)$/],
    ['limit=1001', /^limit: must be an integer from 1 to 1000, not \d+ \(query parameter\)$/],
    ['limit=x', /^limit: must be an integer from 1 to 1000 \(query parameter\)$/],
    ['limit=1.5', /^limit: must be an integer from 1 to 1000 \(query parameter\)$/],
    ['limit=1e99', /^limit: must be an integer from 1 to 1000 \(query parameter\)$/],
    ['cursor=-1', /^cursor: /],
    ['cursor=nowhere', /^cursor: /],
  ])('refuses %s', async (query, message) => {
    const answer = await service.call('GET', `/locations/quay-1/history?${query}`);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(message);
  });
});

describe('GET /chargers/{controllerUuid}/connectors/{connectorId}/schedules', () => {
  it('lists the profiles of a connector with their status, and the lock', async () => {
    const path = '/chargers/quay-1-a/connectors/1/schedules';
    for (const [priority, limitKw, from, to] of [
      [4, 11, '12:00', '13:00'],
      [1, 7, '14:00', '15:00'],
    ] as const) {
      await service.call('POST', path, { priority, limitKw, startTime: at(from), endTime: at(to) });
    }
    expect(await service.read(path, connectorSchedulesSchema)).toEqual({
      controllerUuid: 'quay-1-a',
      connectorId: '1',
      locationId: 'quay-1',
      lockLimitKw: 11,
      profiles: [
        { priority: 1, limitKw: 7, startTime: at('14:00'), endTime: at('15:00'), status: 'SCHEDULED' },
        { priority: 4, limitKw: 11, startTime: at('12:00'), endTime: at('13:00'), status: 'ACTIVE' },
      ],
    });
    const free = await service.read('/chargers/quay-1-a/connectors/2/schedules', connectorSchedulesSchema);
    expect(free).toMatchObject({ lockLimitKw: null, profiles: [] });
    refusalOf(await service.call('GET', '/chargers/quay-1-a/connectors/3/schedules'), 'CHARGER_NOT_FOUND');
  });
});
