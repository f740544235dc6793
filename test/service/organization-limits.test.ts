// Endpoints 5 and 6: profiles of the whole organization are recorded, and change nothing.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  locationLimitsSchema,
  organizationLimitsSchema,
  organizationScheduleSchema,
} from '../../src/features/profiles/contract.js';
import { bodyOf } from './answers.js';
import { HOUR_MS, profile } from './profiles.js';
import { HARBOUR, RIVAL, type RunningService, runService, site, tenantWith } from './running-service.js';

const NOTE = /not enforced.*recorded for future use/;

let service: RunningService;
beforeAll(async () => {
  service = await runService([tenantWith(HARBOUR, [site('quay-1')]), tenantWith(RIVAL, [])]);
});
afterAll(() => service.stop());

async function submit(request: object) {
  return bodyOf(await service.call('POST', '/organizations/schedules', request), organizationScheduleSchema);
}

async function limits(tenantUuid = HARBOUR) {
  const answer = await service.call('GET', '/organizations/limits', undefined, tenantUuid);
  return bodyOf(answer, organizationLimitsSchema);
}

describe('5 POST /organizations/schedules', () => {
  it('answers with the tenant of the credential, the profile, and a note that it is not enforced (2.7)', async () => {
    const request = profile({ limitKw: 500, priority: 2 });
    const { note, ...rest } = await submit({ ...request, tenantUuid: RIVAL });
    expect(rest).toEqual({ tenantUuid: HARBOUR, ...request, status: 'ACTIVE' });
    expect(note).toMatch(NOTE);
  });

  it('changes no limit of any location (1)', async () => {
    await submit(profile({ limitKw: 0.5, priority: 10 }));
    const answer = await service.call('GET', '/locations/quay-1/limits');
    expect(bodyOf(answer, locationLimitsSchema)).toMatchObject({ effectiveLimitKw: 50, profiles: [] });
  });
});

describe('6 GET /organizations/limits', () => {
  it('lists one profile a priority, the newest, with its status, and survives a restart (2.7)', async () => {
    const low = profile({ limitKw: 400, priority: 1 });
    const high = profile({ startsInMs: HOUR_MS, endsInMs: 2 * HOUR_MS, limitKw: 300, priority: 10 });
    await submit(low);
    await submit(high);
    const expected = await limits();
    expect(expected.tenantUuid).toBe(HARBOUR);
    expect(expected.note).toMatch(NOTE);
    expect(expected.profiles).toMatchObject([
      { ...low, status: 'ACTIVE' },
      { priority: 2, limitKw: 500, status: 'ACTIVE' },
      { ...high, status: 'SCHEDULED' },
    ]);
    service = await service.restart();
    expect(await limits()).toEqual(expected);
  });

  it('lists nothing where nothing was recorded', async () => {
    const { note, ...rest } = await limits(RIVAL);
    expect(rest).toEqual({ tenantUuid: RIVAL, profiles: [] });
    expect(note).toMatch(NOTE);
  });
});
