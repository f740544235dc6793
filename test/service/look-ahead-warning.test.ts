// Extension: a write that leads to a shortage of power succeeds as before, with a warning in a header and in the log.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LocationId } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import {
  clusterScheduleSchema,
  connectorScheduleSchema,
  locationScheduleSchema,
  permanentLimitSchema,
} from '../../src/features/profiles/contract.js';
import type { Log } from '../../src/ports/log.js';
import { bodyOf } from './answers.js';
import { at, NOW_MS, runOperatedService } from './operator-answers.js';
import { MINUTE_MS } from './profiles.js';
import {
  type Answer,
  HARBOUR,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

// Each has two connectors of 3 × 32 A. Enforcement counts them at 253 V until a voltage is measured.
const SITES = [
  'lock',
  'profile',
  'replaced',
  'masked',
  'fallback',
  'past',
  'turns',
  'quay-9',
  'east',
  'west',
  'north',
];

const FLOORS_KW = (2 * 3 * 6 * 253) / 1000;
const LONG_ID = 'x'.repeat(128);
const LONG_SITE = { ...site(LONG_ID), chargers: site('long').chargers };

const advisories: Readonly<Record<string, unknown>>[] = [];
const log: Log = {
  debug() {},
  info() {},
  warn: (fields, message) => {
    if (message === 'a written limit does not fit') advisories.push({ ...fields });
  },
  error() {},
};

let service: RunningService;
beforeAll(async () => {
  const sites = [...SITES.map((id) => site(id)), LONG_SITE];
  const closed = site('closed', { connectorStatus: 'INACTIVE' });
  service = await runService([tenantWith(HARBOUR, [...sites, closed])], {
    clock: createVirtualClock(NOW_MS),
    log,
  });
});
afterAll(() => service.stop());
beforeEach(() => void advisories.splice(0));

function request(from: string, to: string, limitKw: number, priority = 0) {
  return { startTime: at(from), endTime: at(to), limitKw, priority };
}

const lock = (id: string, connector: string, from: string, to: string, limitKw: number, priority = 0) =>
  service.call(
    'POST',
    `/chargers/${id}-a/connectors/${connector}/schedules`,
    request(from, to, limitKw, priority),
  );
const limit = (id: string, from: string, to: string, limitKw: number, priority = 0) =>
  service.call('POST', `/locations/${id}/schedules`, request(from, to, limitKw, priority));

/** The text of the one warning, with a check of its syntax by RFC 7234 section 5.5; undefined without a warning. */
function warningOf(answer: Answer): string | undefined {
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  const header = answer.headers.get('warning');
  if (header === null) return undefined;
  expect(header).toMatch(/^199 headroom "(?:[ !#-[\]-~]|\\[ -~])*"$/);
  expect(header.length).toBeLessThanOrEqual(620);
  return /"(.*)"$/.exec(header)?.[1];
}

describe('A write that leads to a shortage of power', () => {
  it('warns that the floors of locks will not fit the limit, and answers as ever (4.1, endpoint 1)', async () => {
    await limit('lock', '14:00', '16:00', 9);
    expect(warningOf(await lock('lock', '1', '13:00', '15:00', 6))).toContain('connectors will take turns');
    const answer = await lock('lock', '2', '15:00', '17:00', 6);
    advisories.splice(0);
    const both = await lock('lock', '2', '14:30', '17:00', 6);
    expect(warningOf(both)).toBe(
      `lock: from ${at('14:30')} until ${at('15:00')} the 6 A minimum of locked connectors needs ${FLOORS_KW} kW, ` +
        'the limit is 9 kW: it cannot be kept (LIMIT_UNATTAINABLE); ' +
        `from ${at('15:00')} until ${at('16:00')} the 6 A minimum of all connectors needs ${FLOORS_KW} kW, ` +
        'the limit is 9 kW: connectors will take turns',
    );
    expect(bodyOf(both, connectorScheduleSchema)).toEqual({
      ...bodyOf(answer, connectorScheduleSchema),
      startTime: at('14:30'),
    });
    expect(advisories).toEqual([
      {
        tenantUuid: HARBOUR,
        locationIds: ['lock'],
        locations: 1,
        shortage: 'unattainable',
        from: at('14:30'),
        to: at('15:00'),
        advice: warningOf(both),
      },
    ]);
  });

  it('warns that locks will be throttled where their own limits exceed the limit (endpoint 2)', async () => {
    expect(warningOf(await lock('profile', '1', '13:00', '15:00', 22))).toBeUndefined();
    expect(warningOf(await lock('profile', '2', '14:00', '16:00', 22))).toBeUndefined();
    const answer = await limit('profile', '13:30', '18:00', 30);
    // A lock of 22 kW is 28.8 A per phase: 21.946 kW.
    expect(warningOf(answer)).toBe(
      `profile: from ${at('14:00')} until ${at('15:00')} the locks may use 43.872 kW, the limit is 30 kW: ` +
        'locked connectors will be throttled',
    );
    bodyOf(answer, locationScheduleSchema);
  });

  it('warns of a lock below the 6 A minimum of its connector, which its car may draw (section 8)', async () => {
    const own = `quay-9-a/1: the lock of 2 kW is less than the 6 A minimum of the connector, ${FLOORS_KW / 2} kW: its car may draw that much`;
    expect(warningOf(await lock('quay-9', '1', '13:00', '15:00', 2))).toBe(own);
    expect(advisories).toMatchObject([{ tenantUuid: HARBOUR, locationId: 'quay-9', advice: own }]);
    expect(warningOf(await lock('quay-9', '1', '13:00', '15:00', FLOORS_KW / 2))).toBeUndefined();
    await limit('quay-9', '13:00', '15:00', 1);
    const both = warningOf(await lock('quay-9', '1', '13:00', '15:00', 0.5));
    expect(both).toMatch(/^quay-9-a\/1: the lock of 0.5 kW .*; quay-9: from .*LIMIT_UNATTAINABLE/);
  });

  it('looks where the profile it replaces no longer applies', async () => {
    await limit('replaced', '13:00', '14:00', 70, 5);
    expect(warningOf(await lock('replaced', '1', '13:00', '14:00', 22))).toBeUndefined();
    await limit('replaced', '12:30', '15:00', 20);
    const answer = await limit('replaced', '20:00', '21:00', 70, 5);
    expect(warningOf(answer)).toMatch(
      /^replaced: from \S+T13:00:00.000Z until \S+T14:00:00.000Z the locks may use/,
    );
  });

  it('ignores spans in which a higher priority decides, and the past', async () => {
    await limit('masked', '13:00', '15:00', 70, 9);
    expect(warningOf(await limit('masked', '13:00', '15:00', 1, 2))).toBeUndefined();
    const answer = await limit('past', '11:00', '13:00', 1);
    expect(warningOf(answer)).toContain(`past: from ${at('12:00')} until ${at('13:00')}`);
  });

  it('warns of the permanent limit wherever no profile applies (endpoint 3)', async () => {
    await limit('fallback', '13:00', '14:00', 60);
    const answer = await service.call('PUT', '/locations/fallback/limit', { limitKw: 8 });
    expect(warningOf(answer)).toBe(
      `fallback: from ${at('12:00')} until ${at('13:00')} (the first of 2 windows) the 6 A minimum of all connectors ` +
        `needs ${FLOORS_KW} kW, the limit is 8 kW: connectors will take turns`,
    );
    bodyOf(answer, permanentLimitSchema);
    const alone = await service.call('PUT', '/locations/turns/limit', { limitKw: 8 });
    expect(warningOf(alone)).toContain(`turns: from ${at('12:00')} on the 6 A minimum`);
    expect(advisories.at(-1)).toMatchObject({ from: at('12:00'), to: null, shortage: 'turns' });
    const enough = await service.call('PUT', '/locations/turns/limit', { limitKw: FLOORS_KW });
    expect(warningOf(enough)).toBeUndefined();
  });

  it('bounds the header, however long an identifier is', async () => {
    await lock('long', '1', '12:00', '13:00', 22);
    await lock('long', '2', '13:00', '15:00', 6);
    await lock('long', '1', '14:00', '15:00', 6, 3);
    const answer = await service.call('PUT', `/locations/${LONG_ID}/limit`, { limitKw: 9 });
    expect(warningOf(answer)).toMatch(/^x{128}: from .*LIMIT_UNATTAINABLE.*\.\.\.$/);
  });

  it('counts no connector that is not active', async () => {
    expect(warningOf(await limit('closed', '13:00', '14:00', 1))).toBeUndefined();
  });
});

describe('A write on a cluster', () => {
  it('warns where its cap, and not the location itself, leaves too little (endpoints 7 and 10)', async () => {
    await lock('east', '1', '13:00', '14:00', 22);
    await limit('north', '12:00', '13:00', 2);
    const created = await service.call('POST', '/clusters', {
      name: 'Three',
      locationIds: ['east', 'west', 'north'],
      limitKw: 60,
    });
    expect(warningOf(created)).toContain(`2 of 3 locations, the worst is east: from ${at('13:00')}`);
    const { clusterId } = bodyOf(created, clusterSchema, 201);
    const patch = (change: object) => service.call('PATCH', `/clusters/${clusterId}`, change);

    expect(warningOf(await patch({ name: 'Renamed' }))).toBeUndefined();
    expect(warningOf(await patch({ limitKw: 120 }))).toBeUndefined();
    expect(warningOf(await patch({ limitKw: null }))).toBeUndefined();
    const capped = await patch({ limitKw: 24 });
    expect(warningOf(capped)).toMatch(
      /^3 of 3 locations, the worst is east: from \S+T13:00:00.000Z until \S+T14:00/,
    );
    bodyOf(capped, clusterSchema);
    expect(advisories.at(-1)).toMatchObject({ locations: 3, locationIds: ['east', 'north', 'west'] });
    expect(warningOf(await patch({ status: 'INACTIVE' }))).toBeUndefined();
  });

  it('folds its effects at its members into one header (endpoint 13)', async () => {
    const created = await service.call('POST', '/clusters', {
      name: 'Two',
      locationIds: ['west', 'east', 'closed'],
    });
    const { clusterId } = bodyOf(created, clusterSchema, 201);
    const schedule = request('13:00', '14:00', 8, 7);
    const answer = await service.call('POST', `/clusters/${clusterId}/schedules`, schedule);
    expect(warningOf(answer)).toMatch(
      /^2 of 3 locations, the worst is east: .* locked connectors will be throttled$/,
    );
    expect(bodyOf(answer, clusterScheduleSchema)).toMatchObject({ totalLocations: 3, errors: [] });
    expect(advisories).toHaveLength(1);
  });
});

describe('A cluster whose windows change its shares very often', () => {
  const MEMBERS = Array.from({ length: 70 }, (_, i) => `member-${i}` as LocationId);
  const PRIORITIES = Array.from({ length: 11 }, (_, priority) => priority);

  it('is looked at as far as that takes no long time', async () => {
    const sites = MEMBERS.map((id) => site(id));
    const busy = await runOperatedService([tenantWith(HARBOUR, sites)]);
    const changes = MEMBERS.flatMap((locationId, i) =>
      PRIORITIES.map((priority) => {
        const startsAtMs = NOW_MS + (i * PRIORITIES.length + priority + 1) * MINUTE_MS;
        const profile = { priority, limitKw: 40, startsAtMs, endsAtMs: startsAtMs + MINUTE_MS / 2 };
        const target = { kind: 'location', locationId } as const;
        return { kind: 'profile.put', target, profile, atMs: NOW_MS } as const;
      }),
    );
    await busy.store.append(HARBOUR, changes);
    const again = await busy.restart({ clock: busy.clock });
    const create = (locationIds: readonly string[], limitKw: number) =>
      again.call('POST', '/clusters', { name: 'Many', locationIds, limitKw });
    // 1,429 of 1,541 shares for each of seventy members, two a minute.
    expect(warningOf(await create(MEMBERS, 70))).toContain(
      `70 of 70 locations, the worst is member-0: from ${at('12:00')} until 2026-06-01T23:55:00.000Z `,
    );
    expect(warningOf(await create(MEMBERS.slice(60), 5))).toContain(`member-60: from ${at('12:00')} on `);
    await again.stop();
  });
});
