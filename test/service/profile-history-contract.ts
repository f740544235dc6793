// "Profile records are never deleted, so history stays queryable" (section 1), for locks and for the organization's
// profiles. One test file for each engine runs it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import {
  connectorHistorySchema,
  connectorSchedulesSchema,
  organizationHistorySchema,
  organizationLimitsSchema,
  type Submission,
} from '../../src/features/profiles/contract.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { bodyOf, refusalOf } from './answers.js';
import { at, NOW_MS, type OperatedService } from './operator-answers.js';
import { MINUTE_MS } from './profiles.js';
import { HARBOUR, RIVAL, type RunningService, site, tenantWith } from './running-service.js';

const REPLACED = { priority: 2, limitKw: 7, startTime: at('11:30'), endTime: at('14:00') };
const REPLACING = { priority: 2, limitKw: 11, startTime: at('12:00'), endTime: at('16:00') };
const CANCELLED = { priority: 5, limitKw: 9, startTime: at('13:00'), endTime: at('15:00') };
const SUBMISSIONS: readonly Submission[] = [
  { ...REPLACED, submittedAt: at('12:00'), supersededAt: at('12:10') },
  { ...CANCELLED, submittedAt: at('12:00'), supersededAt: at('12:20') },
  { ...REPLACING, submittedAt: at('12:10'), supersededAt: null },
];

const CONNECTOR = '/chargers/quay-1-a/connectors/1';
const TARGETS = [
  {
    name: 'a connector',
    schedules: `${CONNECTOR}/schedules`,
    history: `${CONNECTOR}/history`,
    historySchema: connectorHistorySchema,
    held: `${CONNECTOR}/schedules`,
    heldSchema: connectorSchedulesSchema,
    about: { controllerUuid: 'quay-1-a', connectorId: '1', locationId: 'quay-1' },
  },
  {
    name: 'the organization',
    schedules: '/organizations/schedules',
    history: '/organizations/history',
    historySchema: organizationHistorySchema,
    held: '/organizations/limits',
    heldSchema: organizationLimitsSchema,
    about: { tenantUuid: HARBOUR, note: expect.stringMatching(/not enforced/) },
  },
] as const;

/** `start` is called once the engine runs. */
export function describeProfileHistory(
  start: (tenants: readonly ProvisionedTenant[]) => Promise<OperatedService>,
): void {
  let service: RunningService;
  beforeAll(async () => {
    const sites = [site('quay-1')];
    const operated = await start([tenantWith(HARBOUR, sites), tenantWith(RIVAL, sites)]);
    const { clock } = operated;
    service = operated;
    // Neighbours whose records must not appear.
    await submit('/locations/quay-1/schedules', { ...REPLACED, limitKw: 40 });
    await submit('/chargers/quay-1-a/connectors/2/schedules', { ...REPLACED, limitKw: 8 });
    for (const { schedules } of TARGETS) {
      await submit(schedules, REPLACED);
      await submit(schedules, CANCELLED);
    }
    clock.advanceTo(NOW_MS + 10 * MINUTE_MS);
    for (const { schedules } of TARGETS) await submit(schedules, REPLACING);
    clock.advanceTo(NOW_MS + 20 * MINUTE_MS);
    for (const { schedules } of TARGETS) {
      const { body } = await service.call('DELETE', `${schedules}/${CANCELLED.priority}`);
      expect(body).toMatchObject({ supersededAt: at('12:20') });
    }
    // Loads the state from rows alone, as after any restart.
    service = await operated.restart({ clock });
  });
  afterAll(() => service?.stop());

  async function submit(path: string, body: object) {
    const answer = await service.call('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  }

  const get = (path: string, tenantUuid: TenantUuid = HARBOUR) =>
    service.call('GET', path, undefined, tenantUuid);

  describe.each(TARGETS)('the history of $name', ({ history, historySchema, about }) => {
    const read = async (query: string, tenantUuid?: TenantUuid) =>
      bodyOf(await get(`${history}?${query}`, tenantUuid), historySchema);
    const DAY = `from=${at('00:00')}&to=${at('23:00')}`;

    it('has replaced, cancelled and present profiles, with their instants', async () => {
      expect(await read(DAY)).toEqual({
        ...about,
        from: at('00:00'),
        to: at('23:00'),
        submissions: SUBMISSIONS,
        nextCursor: null,
      });
    });

    it('has only profiles that meet the span, from inclusive to exclusive; all if none is named', async () => {
      const limitsIn = async (query: string) => (await read(query)).submissions.map(({ limitKw }) => limitKw);
      expect(await limitsIn(`from=${at('14:00')}&to=${at('15:00')}`)).toEqual([9, 11]);
      expect(await limitsIn(`from=${at('15:00')}&to=${at('16:00')}`)).toEqual([11]);
      expect(await limitsIn(`from=${at('11:00')}&to=${at('11:30')}`)).toEqual([]);
      expect(await limitsIn(`from=${at('11:00')}&to=${at('11:30:00.001')}`)).toEqual([7]);
      expect(await limitsIn('')).toEqual([7, 9, 11]);
    });

    it('comes in pages that join without gap or repetition', async () => {
      const first = await read(`${DAY}&limit=2`);
      expect(first.submissions).toEqual(SUBMISSIONS.slice(0, 2));
      const second = await read(`${DAY}&limit=2&cursor=${first.nextCursor}`);
      expect(second).toMatchObject({ submissions: SUBMISSIONS.slice(2), nextCursor: null });
      expect(await read(`${DAY}&limit=3`)).toMatchObject({ submissions: SUBMISSIONS, nextCursor: null });
      expect(await read(`${DAY}&cursor=3`)).toMatchObject({ submissions: [], nextCursor: null });
    });

    it("has nothing of another tenant's target with the same id", async () => {
      expect((await read(DAY, RIVAL)).submissions).toEqual([]);
    });

    it.each([
      [`from=${at('14:00')}&to=${at('14:00')}`, /^to: must be after from/],
      ['from=2024-01-01T00:00:00Z&to=2026-01-01T00:00:00Z', /^from: must be at most 366 days before to/],
      ['from=1969-12-31T23:59:59.999Z', /^from: must be an RFC 3339/],
      ['to=2026-06-01T12:00:00%2B02:00', /^to: must be an RFC 3339/],
      ['limit=0', /^limit: must be an integer from 1 to 1000/],
      ['limit=1001', /^limit: must be an integer from 1 to 1000/],
      ['cursor=nowhere', /^cursor: must be a nextCursor/],
      ['limit=1&limit=2', /^limit: given more than once; give it once \(query parameter\)$/],
    ])('is refused for %s', async (query, message) => {
      expect(refusalOf(await get(`${history}?${query}`), 'INVALID_REQUEST_BODY')).toMatch(message);
    });
  });

  describe.each(TARGETS)('the profiles of $name as of an instant', ({ held, heldSchema, about }) => {
    const read = async (instant: string, tenantUuid?: TenantUuid) =>
      bodyOf(await get(`${held}?at=${instant}`, tenantUuid), heldSchema);
    const profilesAt = async (instant: string) => (await read(instant)).profiles;

    it('are the profiles of then, with the statuses of then', async () => {
      const known = [
        { ...REPLACED, status: 'ACTIVE' },
        { ...CANCELLED, status: 'SCHEDULED' },
      ];
      expect(await read(at('12:05'))).toMatchObject({ ...about, profiles: known });
      expect(await profilesAt(at('12:05'))).toEqual(known);
      expect(await profilesAt('2026-06-01T11:59:59.999Z')).toEqual([]);
    });

    it('are replaced and cancelled to the millisecond', async () => {
      const limitsAt = async (instant: string) => (await profilesAt(instant)).map(({ limitKw }) => limitKw);
      expect(await limitsAt(at('12:00'))).toEqual([7, 9]);
      expect(await limitsAt(at('12:09:59.999'))).toEqual([7, 9]);
      expect(await limitsAt(at('12:10'))).toEqual([11, 9]);
      expect(await limitsAt(at('12:19:59.999'))).toEqual([11, 9]);
      expect(await limitsAt(at('12:20'))).toEqual([11]);
    });

    it('are, for a future instant, the present profiles', async () => {
      expect(await profilesAt(at('13:30'))).toEqual([{ ...REPLACING, status: 'ACTIVE' }]);
      expect(await profilesAt('9999-12-31T23:59:59.999Z')).toEqual([{ ...REPLACING, status: 'EXPIRED' }]);
    });

    it('are those of now where no instant is named, as before', async () => {
      const plain = await get(held);
      expect(bodyOf(plain, heldSchema).profiles).toEqual([{ ...REPLACING, status: 'ACTIVE' }]);
      expect(await read(at('12:20'))).toStrictEqual(plain.body);
      expect((await get(`${held}?as=of`)).body).toStrictEqual(plain.body);
    });

    it("are not another tenant's", async () => {
      expect((await read(at('12:05'), RIVAL)).profiles).toEqual([]);
    });

    it.each(['', 'now', '2026-06-01', '1969-12-31T23:59:59.999Z', '2026-06-01T12:00:00%2B02:00'])(
      'are refused where at=%s is no instant',
      async (text) => {
        expect(refusalOf(await get(`${held}?at=${text}`), 'INVALID_REQUEST_BODY')).toMatch(/^at: /);
      },
    );
  });

  it('shows the lock that decided at an instant', async () => {
    const lockAt = async (instant: string) =>
      bodyOf(await get(`${CONNECTOR}/schedules?at=${instant}`), connectorSchedulesSchema).lockLimitKw;
    expect(await lockAt(at('11:45'))).toBeNull();
    expect(await lockAt(at('12:05'))).toBe(7);
    expect(await lockAt(at('12:10'))).toBe(11);
    expect(await lockAt(at('15:59:59.999'))).toBe(11);
    expect(await lockAt(at('16:00'))).toBeNull();
  });

  it('is 404 CHARGER_NOT_FOUND of a connector that is unknown, and 400 before that', async () => {
    for (const connector of ['/chargers/quay-1-a/connectors/3', '/chargers/nobody/connectors/1']) {
      for (const query of ['history', 'history?limit=2', `schedules?at=${at('12:05')}`])
        refusalOf(await get(`${connector}/${query}`), 'CHARGER_NOT_FOUND');
      for (const query of ['history?cursor=x', 'history?limit=x', 'schedules?at=x'])
        refusalOf(await get(`${connector}/${query}`), 'INVALID_REQUEST_BODY');
    }
  });
}
