// Extension: a cancelled profile ends at once, and its record stays (sections 1 and 3.1).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterDetailSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import {
  cancelledConnectorScheduleSchema,
  cancelledLocationScheduleSchema,
  cancelledOrganizationScheduleSchema,
  connectorSchedulesSchema,
  locationHistorySchema,
  locationLimitsSchema,
  organizationLimitsSchema,
} from '../../src/features/profiles/contract.js';
import { eventually } from '../eventually.js';
import { readEvents } from '../inbound/http/event-reader.js';
import { bodyOf, refusalOf } from './answers.js';
import { at, NOW_MS, type OperatedService, runOperatedService } from './operator-answers.js';
import { HOUR_MS, MINUTE_MS, profileAt } from './profiles.js';
import { apiKeyOf, HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const SITES = [
  'ended',
  'planned',
  'past',
  'twice',
  'raced',
  'below',
  'member',
  'other',
  'followed',
  'warned',
];

let service: OperatedService;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(HARBOUR, [...SITES.map((id) => site(id)), site('closed', { status: 'INACTIVE' })]),
  ]);
});
afterAll(() => service.stop());

const schedules = (locationId: string) => `/locations/${locationId}/schedules`;
const lockOf = (locationId: string) => `/chargers/${locationId}-a/connectors/1/schedules`;
const limitsOf = (locationId: string) =>
  service.read(`/locations/${locationId}/limits`, locationLimitsSchema);

async function submit(path: string, span: Parameters<typeof profileAt>[1]) {
  const answer = await service.call('POST', path, profileAt(service.clock.nowMs(), span));
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

const cancel = (path: string, priority: number) => service.call('DELETE', `${path}/${priority}`);

describe("DELETE of a location's profile", () => {
  it('that is ACTIVE rolls it back at once, to the next one and then to the permanent limit', async () => {
    await submit(schedules('ended'), { limitKw: 9, priority: 7 });
    await submit(schedules('ended'), { limitKw: 20, priority: 2 });
    const answer = await cancel(schedules('ended'), 7);
    expect(bodyOf(answer, cancelledLocationScheduleSchema)).toEqual({
      locationId: 'ended',
      ...profileAt(NOW_MS, { limitKw: 9, priority: 7 }),
      status: 'ACTIVE',
      permanentLimitKw: 50,
      effectiveLimitKw: 20,
      supersededAt: at('12:00'),
    });
    expect(await limitsOf('ended')).toMatchObject({ effectiveLimitKw: 20, profiles: [{ priority: 2 }] });
    const live = await service.read('/locations/ended/live', locationLiveSchema);
    expect(live).toMatchObject({ gridLimitKw: 20, effectiveLimitKw: 20 });
    await cancel(schedules('ended'), 2);
    expect(await limitsOf('ended')).toMatchObject({ effectiveLimitKw: 50, profiles: [] });
  });

  it('that is SCHEDULED lets its window come and go without effect', async () => {
    await submit(schedules('planned'), { limitKw: 9, startsInMs: MINUTE_MS, endsInMs: 2 * MINUTE_MS });
    expect((await cancel(schedules('planned'), 0)).body).toMatchObject({ status: 'SCHEDULED' });
    service.clock.advance(90_000);
    expect(await limitsOf('planned')).toMatchObject({ effectiveLimitKw: 50, profiles: [] });
    const { gridLimitKw } = await service.read('/locations/planned/live', locationLiveSchema);
    expect(gridLimitKw).toBe(50);
  });

  it('is 404 PROFILE_NOT_FOUND where there is none, and the second time', async () => {
    expect(refusalOf(await cancel(schedules('twice'), 4), 'PROFILE_NOT_FOUND')).toContain('priority 4');
    await submit(schedules('twice'), { priority: 4 });
    expect((await cancel(schedules('twice'), 3)).status).toBe(404);
    expect((await cancel(schedules('twice'), 4)).status).toBe(200);
    refusalOf(await cancel(schedules('twice'), 4), 'PROFILE_NOT_FOUND');
    await submit(schedules('twice'), { priority: 4, limitKw: 12 });
    expect(await limitsOf('twice')).toMatchObject({ effectiveLimitKw: 12 });
  });

  it('is 404 for one that is EXPIRED, which stays listed (section 3.1)', async () => {
    await submit(schedules('past'), { endsInMs: 1_000 });
    service.clock.advance(1_000);
    expect(refusalOf(await cancel(schedules('past'), 0), 'PROFILE_NOT_FOUND')).toContain('nothing left');
    expect(await limitsOf('past')).toMatchObject({ profiles: [{ status: 'EXPIRED' }] });
  });

  it('leaves a correct history before and after (section 1)', async () => {
    await submit(schedules('below'), { limitKw: 10, startsInMs: 0 });
    const submittedAtMs = service.clock.nowMs();
    service.clock.advance(5_000);
    await cancel(schedules('below'), 0);
    const limitsAt = (atMs: number) =>
      service.read(`/locations/below/limits?at=${new Date(atMs).toISOString()}`, locationLimitsSchema);
    expect(await limitsAt(submittedAtMs + 4_999)).toMatchObject({
      effectiveLimitKw: 10,
      profiles: [{ limitKw: 10, status: 'ACTIVE' }],
    });
    expect(await limitsAt(submittedAtMs + 5_000)).toMatchObject({ effectiveLimitKw: 50, profiles: [] });
    const { submissions } = await service.read('/locations/below/history', locationHistorySchema);
    expect(submissions).toMatchObject([
      { limitKw: 10, supersededAt: new Date(submittedAtMs + 5_000).toISOString() },
    ]);
  });

  it.each(['11', '-1', 'x', '03', '1.0', '1e0', '0x1', '%20', '%31%30%30', '١'])(
    'refuses the priority %s with 400, and names the rule',
    async (priority) => {
      const answer = await service.call('DELETE', `/locations/twice/schedules/${priority}`);
      expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toBe('priority: must be a whole number from 0 to 10');
    },
  );

  it('is refused for an inactive location or connector, as every write is', async () => {
    refusalOf(await cancel(schedules('closed'), 0), 'TARGET_INACTIVE');
    refusalOf(await cancel(lockOf('closed'), 0), 'TARGET_INACTIVE');
  });

  it('warns if the limit that applies instead will not fit', async () => {
    await service.call('PUT', '/locations/warned/limit', { limitKw: 5 });
    await submit(schedules('warned'), { limitKw: 40 });
    const answer = await cancel(schedules('warned'), 0);
    expect(answer.headers.get('warning')).toMatch(/^199 headroom "warned: .* the limit is 5 kW/);
  });

  it('lets the clusters of the location share anew', async () => {
    const locationIds = ['member', 'other'];
    const created = await service.call('POST', '/clusters', { name: 'Both', locationIds, limitKw: 60 });
    const { clusterId } = bodyOf(created, clusterSchema, 201);
    const setLimits = async () => {
      const { liveStatus } = await service.read(`/clusters/${clusterId}`, clusterDetailSchema);
      return liveStatus.locations.map(({ setLimitKw, effectiveLimitKw }) => [setLimitKw, effectiveLimitKw]);
    };
    await service.call(
      'POST',
      `/clusters/${clusterId}/schedules`,
      profileAt(service.clock.nowMs(), { limitKw: 10 }),
    );
    expect(await setLimits()).toEqual([
      [10, 10],
      [10, 10],
    ]);
    await cancel(schedules('other'), 0);
    expect(await setLimits()).toEqual([
      [10, 10],
      [50, 50],
    ]);
    await cancel(schedules('member'), 0);
    expect(await setLimits()).toEqual([
      [50, 30],
      [50, 30],
    ]);
    refusalOf(await service.call('DELETE', `/clusters/${clusterId}/schedules`), 'METHOD_NOT_ALLOWED');
  });
});

describe("DELETE of a connector's profile", () => {
  it('unlocks the connector at once', async () => {
    const path = lockOf('ended');
    await submit(path, { limitKw: 11, priority: 3 });
    const answer = await cancel(path, 3);
    expect(bodyOf(answer, cancelledConnectorScheduleSchema)).toMatchObject({
      controllerUuid: 'ended-a',
      connectorId: '1',
      priority: 3,
      limitKw: 11,
      status: 'ACTIVE',
      supersededAt: new Date(service.clock.nowMs()).toISOString(),
    });
    const view = await service.read(path, connectorSchedulesSchema);
    expect(view).toMatchObject({ lockLimitKw: null, profiles: [] });
    refusalOf(await cancel(path, 3), 'PROFILE_NOT_FOUND');
  });
});

describe("DELETE of an organization's profile", () => {
  it('takes it off the list', async () => {
    await submit('/organizations/schedules', { limitKw: 500, priority: 10 });
    const cancelled = bodyOf(
      await cancel('/organizations/schedules', 10),
      cancelledOrganizationScheduleSchema,
    );
    expect(cancelled).toMatchObject({ tenantUuid: HARBOUR, priority: 10, limitKw: 500, status: 'ACTIVE' });
    const { profiles } = await service.read('/organizations/limits', organizationLimitsSchema);
    expect(profiles).toEqual([]);
    refusalOf(await cancel('/organizations/schedules', 10), 'PROFILE_NOT_FOUND');
  });
});

describe('A reader of the stream', () => {
  it('receives a cancelled profile, and the limit that applies instead', async () => {
    await submit(schedules('followed'), { limitKw: 9, startsInMs: 0, priority: 1 });
    await submit(lockOf('followed'), { limitKw: 7 });
    const headers = { 'x-api-key': apiKeyOf(HARBOUR) };
    const reader = await readEvents(`${service.httpUrl}/v1/stream?locationId=followed`, headers);
    await cancel(schedules('followed'), 1);
    await cancel(lockOf('followed'), 0);
    await eventually(() => expect(reader.of('lock')).toHaveLength(1));
    const about = { locationId: 'followed', at: new Date(service.clock.nowMs()).toISOString() };
    expect(reader.of('profileCancelled').map(({ data }) => data)).toMatchObject([
      { ...about, priority: 1, limitKw: 9, status: 'ACTIVE' },
    ]);
    expect(reader.of('effectiveLimit').map(({ data }) => data)).toEqual([{ ...about, effectiveLimitKw: 50 }]);
    expect(reader.of('gridLimit').map(({ data }) => data)).toEqual([{ ...about, gridLimitKw: 50 }]);
    expect(reader.of('lock').map(({ data }) => data)).toMatchObject([{ ...about, limitKw: null }]);
    reader.close();
  });
});

describe('At the same time', () => {
  it('of several DELETEs of one profile one succeeds, and the others find none', async () => {
    for (const path of [schedules('raced'), lockOf('raced'), '/organizations/schedules']) {
      await submit(path, { priority: 5 });
      const answers = await Promise.all(Array.from({ length: 8 }, () => cancel(path, 5)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(404)]);
    }
  });

  it('submissions and DELETEs of one priority leave the same as after a restart, and each submission ends once', async () => {
    const running: RunningService = await runService([tenantWith(HARBOUR, [site('quay-1')])]);
    const path = '/locations/quay-1/schedules';
    const now = Date.now();
    const calls = Array.from({ length: 60 }, (_, i) =>
      i % 3 === 1
        ? running.call('DELETE', `${path}/0`)
        : running.call('POST', path, profileAt(now, { limitKw: i + 1, endsInMs: HOUR_MS })),
    );
    const answers = await Promise.all(calls);
    const cancelled = answers.flatMap(({ status, body }) =>
      status === 200 && 'supersededAt' in body ? [body.limitKw] : [],
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 404]));
    expect(new Set(cancelled).size).toBe(cancelled.length);
    const read = async (by: RunningService) => [
      (await by.call('GET', '/locations/quay-1/limits')).body,
      (await by.call('GET', `/locations/quay-1/history`)).body.submissions,
    ];
    const before = await read(running);
    const again = await running.restart();
    expect(await read(again)).toEqual(before);
    const { submissions } = bodyOf(
      await again.call('GET', '/locations/quay-1/history'),
      locationHistorySchema,
    );
    expect(submissions).toHaveLength(40);
    const { profiles } = bodyOf(await again.call('GET', '/locations/quay-1/limits'), locationLimitsSchema);
    expect(submissions.filter(({ supersededAt }) => supersededAt === null)).toHaveLength(profiles.length);
    await again.stop();
  });
});

describe('DELETE of all schedules of a target', () => {
  it.each([
    ['/locations/twice/schedules', 'DELETE …/schedules/{priority}'],
    ['/chargers/twice-a/connectors/1/schedules', 'DELETE …/schedules/{priority}'],
    ['/organizations/schedules', 'DELETE …/schedules/{priority}'],
    ['/clusters/any/schedules', 'DELETE /v1/locations/{locationId}/schedules/{priority} for each'],
  ])('is 405, with the way to cancel profiles: %s', async (path, advice) => {
    const answer = await service.call('DELETE', path);
    expect(refusalOf(answer, 'METHOD_NOT_ALLOWED')).toContain(advice);
    expect(answer.headers.get('allow')).toContain('POST');
  });

  it('is 405 without such advice where no profile could be meant', async () => {
    const answer = await service.call('DELETE', '/locations/twice/limits');
    expect(refusalOf(answer, 'METHOD_NOT_ALLOWED')).not.toContain('priority');
  });
});
