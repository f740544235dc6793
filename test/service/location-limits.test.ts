// Endpoints 2, 3 and 4: a location's priority profiles, its permanent limit, and the view of both.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  locationLimitsSchema,
  locationScheduleSchema,
  type ProfileRequest,
  permanentLimitSchema,
} from '../../src/features/profiles/contract.js';
import { toInstant } from '../../src/wire/instants.js';
import { bodyOf, refusalOf } from './answers.js';
import { HOUR_MS, MINUTE_MS, profile, profileWithoutPriority } from './profiles.js';
import { HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const SITES = ['quay-1', 'slots', 'stacked', 'fallback', 'precise', 'written', 'odd', 'raced', 'untouched'];

let service: RunningService;
beforeAll(async () => {
  const closed = site('closed', { status: 'INACTIVE', permanentLimitKw: 30 });
  service = await runService([tenantWith(HARBOUR, [...SITES.map((id) => site(id)), closed])]);
});
afterAll(() => service.stop());

async function submit(locationId: string, request: object) {
  return bodyOf(
    await service.call('POST', `/locations/${locationId}/schedules`, request),
    locationScheduleSchema,
  );
}

async function limitsOf(locationId: string) {
  return bodyOf(await service.call('GET', `/locations/${locationId}/limits`), locationLimitsSchema);
}

/** A profile as the limits view lists it. */
function listed(request: ProfileRequest, status: string) {
  const { priority, limitKw, startTime, endTime } = request;
  return { priority, limitKw, startTime, endTime, status };
}

describe('2 POST /locations/{locationId}/schedules', () => {
  it('answers with the profile, its status, the permanent limit and the limit that now holds (2.3)', async () => {
    const request = profile({ limitKw: 12.5, priority: 4 });
    expect(await submit('quay-1', request)).toEqual({
      locationId: 'quay-1',
      ...listed(request, 'ACTIVE'),
      permanentLimitKw: 50,
      effectiveLimitKw: 12.5,
    });
  });

  it('takes priority 0 where none is given (2.1)', async () => {
    expect(await submit('odd', profileWithoutPriority())).toMatchObject({ priority: 0, status: 'ACTIVE' });
  });

  it('leaves the limit in force alone while the window is to come: SCHEDULED (3.1)', async () => {
    const request = profile({ startsInMs: MINUTE_MS, limitKw: 5, priority: 10 });
    const answer = await submit('stacked', request);
    expect(answer).toMatchObject({ status: 'SCHEDULED', effectiveLimitKw: 50 });
  });

  it('lets the highest-priority active profile decide, in any order of submission (1)', async () => {
    expect(await submit('stacked', profile({ limitKw: 40, priority: 2 }))).toMatchObject({
      effectiveLimitKw: 40,
    });
    expect(await submit('stacked', profile({ limitKw: 45, priority: 7 }))).toMatchObject({
      effectiveLimitKw: 45,
    });
    expect(await submit('stacked', profile({ limitKw: 1, priority: 3 }))).toMatchObject({
      effectiveLimitKw: 45,
    });
  });

  it('lets a profile raise the limit above the permanent one (1)', async () => {
    const answer = await submit('odd', profile({ limitKw: 79, priority: 1 }));
    expect(answer).toMatchObject({ permanentLimitKw: 50, effectiveLimitKw: 79 });
  });

  it('replaces the profile of the same priority, and never another (1)', async () => {
    await submit('slots', profile({ limitKw: 20, priority: 6 }));
    const other = profile({ limitKw: 33, priority: 5 });
    await submit('slots', other);
    const replacement = profile({ startsInMs: HOUR_MS, endsInMs: 2 * HOUR_MS, limitKw: 9, priority: 6 });
    expect(await submit('slots', replacement)).toMatchObject({ status: 'SCHEDULED', effectiveLimitKw: 33 });
    expect((await limitsOf('slots')).profiles).toEqual([
      listed(other, 'ACTIVE'),
      listed(replacement, 'SCHEDULED'),
    ]);
  });

  it('holds eleven profiles, one per priority, and replaces in each of them (8)', async () => {
    const first = Array.from({ length: 11 }, (_, priority) => profile({ limitKw: 10 + priority, priority }));
    for (const request of first) await submit('written', request);
    expect(await limitsOf('written')).toMatchObject({
      effectiveLimitKw: 20,
      profiles: first.map((request) => listed(request, 'ACTIVE')),
    });
    const second = first.map((request) => ({ ...request, limitKw: request.limitKw + 20 }));
    await Promise.all(second.map((request) => submit('written', request)));
    expect(await limitsOf('written')).toMatchObject({
      effectiveLimitKw: 40,
      profiles: second.map((request) => listed(request, 'ACTIVE')),
    });
  });

  it('shows, of many that were submitted for one slot at once, the one a restart finds', async () => {
    const requests = Array.from({ length: 60 }, (_, i) => profile({ limitKw: 1 + i, priority: i % 3 }));
    await Promise.all(requests.map((request) => submit('raced', request)));
    const before = await limitsOf('raced');
    expect(before.profiles.map(({ priority }) => priority)).toEqual([0, 1, 2]);
    service = await service.restart();
    expect(await limitsOf('raced')).toEqual(before);
  });

  it('writes instants in UTC with milliseconds, for any spelling of UTC in requests (2)', async () => {
    const hour = toInstant(Date.parse(profile().endTime)).slice(0, 13);
    const spelt = { ...profile({ priority: 8 }), endTime: `${hour.replace('T', 't')}:00:00+00:00` };
    expect(await submit('odd', spelt)).toMatchObject({ endTime: `${hour}:00:00.000Z` });
    const finer = { ...profile({ priority: 9 }), endTime: `${hour}:00:00.1239z` };
    expect(await submit('odd', finer)).toMatchObject({ endTime: `${hour}:00:00.123Z` });
  });

  it('answers limitKw with nine decimals, the smallest and the largest number included, over a restart', async () => {
    const limits = [0.1 + 0.2, Number.MIN_VALUE, 1_000_000, 1 / 3, 123456.789123456];
    const answered = [0.3, 0, 1_000_000, 0.333333333, 123456.789123456];
    for (const [priority, limitKw] of limits.entries())
      await submit('precise', profile({ limitKw, priority }));
    service = await service.restart();
    expect((await limitsOf('precise')).profiles.map(({ limitKw }) => limitKw)).toEqual(answered);
  });

  it('has no location that does not exist: 404 LOCATION_NOT_FOUND', async () => {
    const answer = await service.call('POST', '/locations/nowhere/schedules', profile());
    expect(refusalOf(answer, 'LOCATION_NOT_FOUND')).toContain('nowhere');
  });

  it('refuses a location that is not active: 400 TARGET_INACTIVE', async () => {
    refusalOf(await service.call('POST', '/locations/closed/schedules', profile()), 'TARGET_INACTIVE');
    expect((await limitsOf('closed')).profiles).toEqual([]);
  });

  it('refuses the body before it looks for the location, and an unknown one before an inactive one', async () => {
    const bad = profile({ limitKw: 0 });
    for (const id of ['nowhere', 'closed']) {
      refusalOf(await service.call('POST', `/locations/${id}/schedules`, bad), 'INVALID_REQUEST_BODY');
    }
  });
});

describe('3 PUT /locations/{locationId}/limit', () => {
  it('sets the limit that holds while no profile is active, and answers with it (2.5)', async () => {
    const answer = await service.call('PUT', '/locations/fallback/limit', { limitKw: 61.5 });
    expect(bodyOf(answer, permanentLimitSchema)).toEqual({
      locationId: 'fallback',
      permanentLimitKw: 61.5,
      effectiveLimitKw: 61.5,
    });
  });

  it('does not change the effective limit while a profile is active', async () => {
    await submit('fallback', profile({ limitKw: 8 }));
    const answer = await service.call('PUT', '/locations/fallback/limit', { limitKw: 70 });
    expect(bodyOf(answer, permanentLimitSchema)).toMatchObject({ permanentLimitKw: 70, effectiveLimitKw: 8 });
    expect(await limitsOf('fallback')).toMatchObject({ permanentLimitKw: 70, effectiveLimitKw: 8 });
  });

  it('keeps the last one over a restart', async () => {
    for (const limitKw of [10, 11.25]) await service.call('PUT', '/locations/untouched/limit', { limitKw });
    service = await service.restart();
    expect(await limitsOf('untouched')).toMatchObject({ permanentLimitKw: 11.25, effectiveLimitKw: 11.25 });
  });

  it.each([
    ['0', { limitKw: 0 }],
    ['a negative number', { limitKw: -1 }],
    ['text', { limitKw: '50' }],
    ['null', { limitKw: null }],
    ['nothing', {}],
    ['an infinite number', '{"limitKw":1e999}'],
  ])('refuses %s: 400 INVALID_REQUEST_BODY naming limitKw', async (_, body) => {
    const answer = await service.call('PUT', '/locations/untouched/limit', body);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(/^limitKw: /);
  });

  it('has no location that does not exist, and changes none that is inactive', async () => {
    refusalOf(await service.call('PUT', '/locations/nowhere/limit', { limitKw: 5 }), 'LOCATION_NOT_FOUND');
    refusalOf(await service.call('PUT', '/locations/closed/limit', { limitKw: 5 }), 'TARGET_INACTIVE');
    refusalOf(await service.call('PUT', '/locations/closed/limit', { limitKw: 0 }), 'INVALID_REQUEST_BODY');
    expect(await limitsOf('closed')).toMatchObject({ permanentLimitKw: 30 });
  });
});

describe('4 GET /locations/{locationId}/limits', () => {
  it('shows a location without profiles at its permanent limit, an inactive one too (2.4)', async () => {
    expect(await limitsOf('closed')).toEqual({
      locationId: 'closed',
      permanentLimitKw: 30,
      effectiveLimitKw: 30,
      profiles: [],
    });
  });

  it('shows every change at once, however often it is read', async () => {
    for (const limitKw of [21, 22, 23]) {
      await submit('untouched', profile({ limitKw, priority: 1 }));
      for (let times = 0; times < 3; times++) {
        expect(await limitsOf('untouched')).toMatchObject({ effectiveLimitKw: limitKw });
      }
    }
  });

  it('has no location that does not exist: 404 LOCATION_NOT_FOUND', async () => {
    refusalOf(await service.call('GET', '/locations/nowhere/limits'), 'LOCATION_NOT_FOUND');
  });
});
