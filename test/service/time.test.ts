// Without any call, profiles begin and end by themselves, exact to the millisecond (section 3.1).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import {
  clusterDetailSchema,
  clusterListSchema,
  clusterSchema,
} from '../../src/features/clusters/contract.js';
import {
  connectorScheduleSchema,
  locationLimitsSchema,
  locationScheduleSchema,
  organizationLimitsSchema,
} from '../../src/features/profiles/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { recordEffects } from './effects.js';
import { HOUR_MS, MINUTE_MS, profileAt } from './profiles.js';
import { HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365.25 * DAY_MS;
const SITES = [
  'plain',
  'lock',
  'adjacent',
  'overlap',
  'late',
  'far',
  'brink',
  'again',
  'raised',
  'member',
  'other',
  'back',
];

const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00.000Z'));
const effects = recordEffects(clock);
let service: RunningService;
beforeAll(async () => {
  service = await runService(
    [
      tenantWith(
        HARBOUR,
        SITES.map((id) => site(id)),
      ),
    ],
    { clock, log: effects.log },
  );
});
afterAll(() => service.stop());

async function submit(locationId: string, span: Parameters<typeof profileAt>[1]) {
  const answer = await service.call(
    'POST',
    `/locations/${locationId}/schedules`,
    profileAt(clock.nowMs(), span),
  );
  return bodyOf(answer, locationScheduleSchema);
}

async function limitsOf(locationId: string) {
  return bodyOf(await service.call('GET', `/locations/${locationId}/limits`), locationLimitsSchema);
}

/** `[effectiveLimitKw, status of each profile]`, lowest priority first. */
async function stateOf(locationId: string): Promise<readonly [number, ...string[]]> {
  const { effectiveLimitKw, profiles } = await limitsOf(locationId);
  return [effectiveLimitKw, ...profiles.map(({ status }) => status)];
}

function effectiveLimits(locationId: string) {
  const mine = effects.of('effectiveLimit.changed').filter((effect) => effect.locationId === locationId);
  return mine.map((effect) => effect.effectiveLimitKw);
}

describe('a window', () => {
  it('is SCHEDULED to the millisecond before startTime, ACTIVE from it, EXPIRED from endTime (2.2, 3.1)', async () => {
    await submit('plain', { startsInMs: MINUTE_MS, endsInMs: 2 * MINUTE_MS, limitKw: 7 });
    clock.advance(MINUTE_MS - 1);
    expect(await stateOf('plain')).toEqual([50, 'SCHEDULED']);
    clock.advance(1);
    expect(await stateOf('plain')).toEqual([7, 'ACTIVE']);
    clock.advance(MINUTE_MS - 1);
    expect(await stateOf('plain')).toEqual([7, 'ACTIVE']);
    clock.advance(1);
    expect(await stateOf('plain')).toEqual([50, 'EXPIRED']);
  });

  it('is applied and rolled back at its instants without any call (1)', async () => {
    const now = clock.nowMs();
    await submit('plain', { startsInMs: 1, endsInMs: 90_001, limitKw: 8, priority: 1 });
    effects.clear();
    clock.advance(HOUR_MS);
    expect(effects.instantsOf('effectiveLimit.changed', 'effectiveLimitKw')).toEqual([
      [now + 1, 8],
      [now + 90_001, 50],
    ]);
    expect(effects.instantsOf('profile.crossed', 'status')).toEqual([
      [now + 1, 'ACTIVE'],
      [now + 90_001, 'EXPIRED'],
    ]);
  });

  it('may begin in the past: it is ACTIVE at once (decisions)', async () => {
    const answer = await submit('late', { startsInMs: -40 * YEAR_MS, endsInMs: 1, limitKw: 3 });
    expect(answer).toMatchObject({ status: 'ACTIVE', effectiveLimitKw: 3 });
    clock.advance(1);
    expect(await stateOf('late')).toEqual([50, 'EXPIRED']);
  });

  it('must end after now: at this millisecond it is refused, a millisecond later it is taken (8)', async () => {
    const path = '/locations/brink/schedules';
    for (const endsInMs of [0, -1]) {
      const answer = await service.call('POST', path, profileAt(clock.nowMs(), { endsInMs }));
      expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(/^endTime: .*future/);
    }
    expect(await submit('brink', { endsInMs: 1 })).toMatchObject({ status: 'ACTIVE' });
  });

  it('40 years ahead neither begins early nor is missed (decisions)', async () => {
    await submit('far', { startsInMs: 40 * YEAR_MS, endsInMs: 40 * YEAR_MS + 1000, limitKw: 2 });
    effects.clear();
    // Past the longest delay of a host timer, 2^31-1 ms, and to the last millisecond before.
    for (const ms of [2 ** 31 - 1, 1, 40 * YEAR_MS - 2 ** 31 - 1]) {
      clock.stall(ms);
      clock.advance(0);
      expect(await stateOf('far')).toEqual([50, 'SCHEDULED']);
    }
    expect(effectiveLimits('far')).toEqual([]);
    clock.advance(1);
    expect(await stateOf('far')).toEqual([2, 'ACTIVE']);
    clock.advance(1000);
    expect(await stateOf('far')).toEqual([50, 'EXPIRED']);
    expect(effectiveLimits('far')).toEqual([2, 50]);
  });

  it('is exact although the host is late and nothing has happened yet (decisions)', async () => {
    await submit('brink', { startsInMs: 400, endsInMs: 700, limitKw: 12, priority: 2 });
    expect((await stateOf('brink'))[0]).toBe(50);
    // A clock step fires no timer, so no actor notices it.
    clock.jump(400);
    expect(await stateOf('brink')).toEqual([12, 'EXPIRED', 'ACTIVE']);
    clock.jump(299);
    expect(await stateOf('brink')).toEqual([12, 'EXPIRED', 'ACTIVE']);
    clock.jump(1);
    expect(await stateOf('brink')).toEqual([50, 'EXPIRED', 'EXPIRED']);
    clock.advance(1000);
  });

  it('is submitted again after it ended: the slot begins a new life (1)', async () => {
    await submit('again', { endsInMs: 1000, limitKw: 4 });
    clock.advance(1000);
    expect(await stateOf('again')).toEqual([50, 'EXPIRED']);
    await submit('again', { startsInMs: 500, endsInMs: 1000, limitKw: 5 });
    expect(await stateOf('again')).toEqual([50, 'SCHEDULED']);
    clock.advance(500);
    expect(await stateOf('again')).toEqual([5, 'ACTIVE']);
  });
});

describe('several windows', () => {
  it('that are adjacent leave no gap and emit no limit in between', async () => {
    await submit('adjacent', { endsInMs: 1000, limitKw: 10, priority: 3 });
    await submit('adjacent', { startsInMs: 1000, endsInMs: 2000, limitKw: 20, priority: 2 });
    await submit('adjacent', { startsInMs: 2000, endsInMs: 3000, limitKw: 30, priority: 3 + 1 });
    effects.clear();
    clock.advance(999);
    expect(await stateOf('adjacent')).toEqual([10, 'SCHEDULED', 'ACTIVE', 'SCHEDULED']);
    clock.advance(1);
    expect(await stateOf('adjacent')).toEqual([20, 'ACTIVE', 'EXPIRED', 'SCHEDULED']);
    clock.advance(1000);
    expect(await stateOf('adjacent')).toEqual([30, 'EXPIRED', 'EXPIRED', 'ACTIVE']);
    clock.advance(1000);
    expect(await stateOf('adjacent')).toEqual([50, 'EXPIRED', 'EXPIRED', 'EXPIRED']);
    expect(effectiveLimits('adjacent')).toEqual([20, 30, 50]);
  });

  it('that overlap fall back to the next-highest active one, then to the permanent limit (3.1)', async () => {
    await submit('overlap', { startsInMs: 0, endsInMs: 9000, limitKw: 10, priority: 0 });
    await submit('overlap', { startsInMs: 2000, endsInMs: 4000, limitKw: 40, priority: 9 });
    await submit('overlap', { startsInMs: 1000, endsInMs: 6000, limitKw: 25, priority: 5 });
    const seen: number[] = [];
    for (let ms = 0; ms <= 9000; ms += 1000) {
      seen.push((await limitsOf('overlap')).effectiveLimitKw);
      clock.advance(1000);
    }
    expect(seen).toEqual([10, 25, 40, 40, 25, 25, 10, 10, 10, 50]);
  });

  it('that begin at one instant let the highest decide at once', async () => {
    for (const priority of [4, 10, 0]) {
      await submit('raised', { startsInMs: 1000, endsInMs: 2000, limitKw: 60 + priority, priority });
    }
    effects.clear();
    clock.advance(2000);
    expect(effectiveLimits('raised')).toEqual([70, 50]);
  });
});

describe('a permanent limit', () => {
  it('that is changed during a window holds when the window ends', async () => {
    await submit('raised', { endsInMs: 1000, limitKw: 6, priority: 1 });
    await service.call('PUT', '/locations/raised/limit', { limitKw: 44 });
    expect((await limitsOf('raised')).effectiveLimitKw).toBe(6);
    clock.advance(1000);
    expect((await limitsOf('raised')).effectiveLimitKw).toBe(44);
  });
});

describe('a connector', () => {
  it('is locked at startTime and unlocked at endTime (1, 3.1)', async () => {
    const now = clock.nowMs();
    const request = profileAt(now, { startsInMs: 1500, endsInMs: 3250, limitKw: 11 });
    const answer = await service.call('POST', '/chargers/lock-a/connectors/2/schedules', request);
    expect(bodyOf(answer, connectorScheduleSchema)).toMatchObject({ status: 'SCHEDULED' });
    effects.clear();
    clock.advance(HOUR_MS);
    expect(effects.instantsOf('connector.locked', 'key')).toEqual([[now + 1500, 'lock-a/2']]);
    expect(effects.instantsOf('connector.unlocked', 'key')).toEqual([[now + 3250, 'lock-a/2']]);
  });

  it('stays locked while one of its windows follows another', async () => {
    const now = clock.nowMs();
    for (const [priority, startsInMs] of [0, 1000, 2000].entries()) {
      const request = profileAt(now, { startsInMs, endsInMs: startsInMs + 1000, priority });
      await service.call('POST', '/chargers/lock-a/connectors/1/schedules', request);
    }
    effects.clear();
    clock.advance(HOUR_MS);
    expect(effects.of('connector.locked')).toEqual([]);
    expect(effects.instantsOf('connector.unlocked', 'key')).toEqual([[now + 3000, 'lock-a/1']]);
  });
});

describe('an organization profile', () => {
  it('goes through the same states (3.1)', async () => {
    const request = profileAt(clock.nowMs(), { startsInMs: 10, endsInMs: 20 });
    await service.call('POST', '/organizations/schedules', request);
    const status = async () => {
      const answer = await service.call('GET', '/organizations/limits');
      return bodyOf(answer, organizationLimitsSchema).profiles.map((profile) => profile.status);
    };
    clock.advance(9);
    expect(await status()).toEqual(['SCHEDULED']);
    clock.advance(1);
    expect(await status()).toEqual(['ACTIVE']);
    clock.advance(10);
    expect(await status()).toEqual(['EXPIRED']);
  });
});

describe('a cluster', () => {
  it('shares its cap anew when a window of a member begins or ends (2.8)', async () => {
    const request = { name: 'A cluster', locationIds: ['member', 'other'], limitKw: 60 };
    const { clusterId } = bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201);
    const shares = async () => {
      const answer = await service.call('GET', `/clusters/${clusterId}`);
      const { liveStatus } = bodyOf(answer, clusterDetailSchema);
      return liveStatus.locations.map(({ effectiveLimitKw }) => effectiveLimitKw);
    };
    await submit('member', { startsInMs: 1000, endsInMs: 2000, limitKw: 25 });
    effects.clear();
    expect(await shares()).toEqual([30, 30]);
    clock.advance(1000);
    expect(await shares()).toEqual([20, 40]);
    clock.advance(1000);
    expect(await shares()).toEqual([30, 30]);
    // The enforced limit follows by itself: the smallest of own limit, share and physical connection.
    const enforced = effects.of('limitInForce.changed');
    expect(enforced.map((effect) => [effect.locationId, effect.limitKw])).toEqual([
      ['member', 25],
      ['member', 20],
      ['other', 40],
      ['member', 30],
      ['other', 30],
    ]);
  });
});

describe('clusters that are made in the same millisecond', () => {
  it('are listed newest first, the same after a restart (4)', async () => {
    const made: string[] = [];
    for (let i = 0; i < 8; i++) {
      const request = { name: `Cluster ${i}`, locationIds: ['plain'] };
      made.unshift(bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201).clusterId);
    }
    const listed = async () => {
      const { clusters } = bodyOf(await service.call('GET', '/clusters'), clusterListSchema);
      return clusters.slice(0, made.length).map(({ clusterId }) => clusterId);
    };
    expect(await listed()).toEqual(made);
    service = await service.restart({ clock, log: effects.log });
    expect(await listed()).toEqual(made);
  });
});

describe('a wall clock that is set', () => {
  it('forward makes skipped boundaries happen within a second', async () => {
    await submit('back', { startsInMs: HOUR_MS, endsInMs: 2 * HOUR_MS, limitKw: 9 });
    effects.clear();
    clock.jump(HOUR_MS + 5);
    expect(await stateOf('back')).toEqual([9, 'ACTIVE']);
    clock.advance(1000);
    expect(effectiveLimits('back')).toEqual([9]);
  });

  it('back before a window takes the limit back, and applies it again in time', async () => {
    clock.jump(-HOUR_MS / 2);
    expect(await stateOf('back')).toEqual([50, 'SCHEDULED']);
    clock.advance(1000);
    effects.clear();
    clock.advance(HOUR_MS / 2);
    expect(await stateOf('back')).toEqual([9, 'ACTIVE']);
    expect(effectiveLimits('back')).toEqual([9]);
  });

  it('back after a window brings it to life again', async () => {
    clock.advance(HOUR_MS);
    expect(await stateOf('back')).toEqual([50, 'EXPIRED']);
    clock.jump(-HOUR_MS / 2);
    expect(await stateOf('back')).toEqual([9, 'ACTIVE']);
    clock.advance(1000);
    effects.clear();
    clock.advance(HOUR_MS);
    expect(await stateOf('back')).toEqual([50, 'EXPIRED']);
    expect(effectiveLimits('back')).toEqual([50]);
  });

  it('is counted and loses no profile (metrics)', async () => {
    const { values } = await service.metrics.clockJumps.get();
    const count = (direction: string) => values.find(({ labels }) => labels.direction === direction)?.value;
    expect(count('forward')).toBeGreaterThanOrEqual(1);
    expect(count('back')).toBe(2);
    expect((await limitsOf('adjacent')).profiles).toHaveLength(3);
  });

  it('back after the window of a connector locks it again, and unlocks it at its end', async () => {
    const now = clock.nowMs();
    const request = profileAt(now, { endsInMs: MINUTE_MS, limitKw: 10 });
    await service.call('POST', '/chargers/back-a/connectors/1/schedules', request);
    clock.advance(2 * MINUTE_MS);
    effects.clear();
    clock.jump(-2 * MINUTE_MS);
    clock.advance(HOUR_MS);
    const unlocked = effects.instantsOf('connector.unlocked', 'key');
    expect(unlocked).toEqual([[now + MINUTE_MS, 'back-a/1']]);
  });

  it('back gives every cluster its shares of the new instant', async () => {
    const request = { name: 'Back', locationIds: ['back', 'late'], limitKw: 50 };
    const { clusterId } = bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201);
    await submit('back', { endsInMs: MINUTE_MS, limitKw: 200, priority: 10 });
    clock.advance(HOUR_MS);
    effects.clear();
    clock.jump(-HOUR_MS);
    clock.advance(1000);
    const answer = await service.call('GET', `/clusters/${clusterId}`);
    expect(bodyOf(answer, clusterDetailSchema).liveStatus.locations).toMatchObject([
      { locationId: 'back', setLimitKw: 200, effectiveLimitKw: 40 },
      { locationId: 'late', setLimitKw: 50, effectiveLimitKw: 10 },
    ]);
    expect(effects.of('limitInForce.changed')).toContainEqual(
      expect.objectContaining({ locationId: 'late', limitKw: 10 }),
    );
  });
});

describe('a restart', () => {
  async function restartAfter(ms: number): Promise<void> {
    await service.service.stop();
    clock.stall(ms);
    service = await service.restart({ clock, log: effects.log });
  }

  it('during a window finds it ACTIVE at the first read, and ends it in time', async () => {
    await submit('plain', { startsInMs: 500, endsInMs: 5000, limitKw: 14, priority: 2 });
    await restartAfter(2500);
    expect((await stateOf('plain')).slice(0, 1)).toEqual([14]);
    effects.clear();
    clock.advance(2499);
    expect(effects.of('effectiveLimit.changed')).toEqual([]);
    clock.advance(1);
    expect(effectiveLimits('plain')).toEqual([50]);
    expect((await stateOf('plain')).at(-1)).toBe('EXPIRED');
  });

  it('after a window that began and ended meanwhile finds it EXPIRED at the first read', async () => {
    await submit('plain', { startsInMs: 500, endsInMs: 5000, limitKw: 14, priority: 3 });
    await restartAfter(5000);
    const [limitKw, ...statuses] = await stateOf('plain');
    expect([limitKw, statuses.at(-1)]).toEqual([50, 'EXPIRED']);
  });

  it('before a window begins it in time, to the millisecond', async () => {
    await submit('plain', { startsInMs: 5000, endsInMs: 9000, limitKw: 15, priority: 4 });
    await restartAfter(4999);
    expect((await stateOf('plain'))[0]).toBe(50);
    clock.advance(1);
    expect((await stateOf('plain'))[0]).toBe(15);
    expect(effectiveLimits('plain').at(-1)).toBe(15);
  });

  it('locks a connector whose window began meanwhile, and unlocks it at its end', async () => {
    const request = profileAt(clock.nowMs(), { startsInMs: 100, endsInMs: 10_000, limitKw: 5 });
    await service.call('POST', '/chargers/lock-a/connectors/1/schedules', request);
    await restartAfter(1000);
    effects.clear();
    clock.advance(8999);
    expect(effects.of('connector.unlocked')).toEqual([]);
    clock.advance(1);
    expect(effects.of('connector.unlocked')).toMatchObject([{ key: 'lock-a/1' }]);
  });

  it('leaves no timer behind', async () => {
    await service.service.stop();
    expect(clock.pendingTimers()).toBe(0);
    service = await service.restart({ clock, log: effects.log });
  });
});
