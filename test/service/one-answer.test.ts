// All queries and events at one instant give the same limits and locks, even with late timers.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import { createActorSystem } from '../../src/actor-system.js';
import { clusterDetailSchema, clusterListSchema } from '../../src/features/clusters/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationListSchema } from '../../src/features/locations/contract.js';
import { locationPowerSchema } from '../../src/features/power-history/contract.js';
import { connectorSchedulesSchema, locationLimitsSchema } from '../../src/features/profiles/contract.js';
import type { StreamEvent } from '../../src/features/stream-contract.js';
import type { Clock } from '../../src/ports/clock.js';
import type { ChargerGateway } from '../../src/ports/telemetry.js';
import { toInstant } from '../../src/wire/instants.js';
import { eventually } from '../eventually.js';
import { casesOf } from '../seeds.js';
import { bodyOf } from './answers.js';
import { HARBOUR, runService, site, tenantWith } from './running-service.js';

const SITES = ['quay', 'pier', 'yard'];
const START_MS = Date.parse('2026-06-01T12:00:00Z');
const MINUTE_MS = 60_000;
const PERMANENT_KW = 50;
/** Timers are late by this much at most; the minute of the power history ends with its timer. */
const LATEST_MS = 40_000;

type Step =
  | {
      readonly kind: 'submit';
      readonly path: string;
      readonly priority: number;
      readonly limitKw: number;
      readonly fromS: number;
      readonly lastsS: number;
    }
  | { readonly kind: 'cancel'; readonly path: string; readonly priority: number }
  | { readonly kind: 'permanent'; readonly locationId: string; readonly limitKw: number }
  | { readonly kind: 'create'; readonly locationIds: readonly string[]; readonly limitKw: number }
  | { readonly kind: 'change'; readonly change: object }
  | { readonly kind: 'delete' }
  | { readonly kind: 'pass'; readonly ms: number; readonly areTimersLate: boolean };

const locationId = fc.constantFrom(...SITES);
const path = fc.oneof(
  locationId.map((id) => `/locations/${id}`),
  locationId.map((id) => `/chargers/${id}-a/connectors/1`),
  fc.constant('/organizations'),
);
const priority = fc.integer({ min: 0, max: 2 });
const limitKw = fc.integer({ min: 0, max: 100 });
const locationIds = fc.uniqueArray(locationId, { minLength: 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      path,
      priority,
      limitKw,
      fromS: fc.integer({ min: -5, max: 60 }),
      lastsS: fc.integer({ min: 6, max: 90 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), path, priority }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('permanent' as const), locationId, limitKw }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('create' as const), locationIds, limitKw }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      change: fc.oneof(
        fc.record({ limitKw: fc.option(limitKw) }),
        fc.record({ status: fc.constantFrom('ACTIVE', 'INACTIVE') }),
        fc.record({ locationIds }),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'delete' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.integer({ min: 1, max: LATEST_MS }),
      areTimersLate: fc.boolean(),
    }),
  },
);

/** Longer than the service needs to see that its host is in time. */
const IN_TIME_MS = 2_000;

/** A virtual clock whose due timers can be held back, as on a busy host. */
function createLateClock() {
  const virtual: VirtualClock = createVirtualClock(START_MS);
  const late: (() => void)[] = [];
  let isBusy = false;
  const clock: Clock = {
    nowMs: () => virtual.nowMs(),
    monotonicMs: () => virtual.monotonicMs(),
    after: (delayMs, callback) => {
      let isCancelled = false;
      const fire = () => {
        if (!isCancelled) callback();
      };
      const cancel = virtual.after(delayMs, () => (isBusy ? void late.push(fire) : fire()));
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
  return {
    clock,
    pass(ms: number, areTimersLate: boolean) {
      isBusy = areTimersLate;
      virtual.advance(ms);
    },
    /** Fires all late timers, and is in time for a moment: a service that is never in time refuses reads. */
    catchUp() {
      isBusy = false;
      for (const fire of late.splice(0)) fire();
      virtual.advance(IN_TIME_MS);
    },
  };
}

/** A service with three sites, each with one report, and all events of its stream. */
async function openSites() {
  const { clock, pass, catchUp } = createLateClock();
  const heard: StreamEvent[] = [];
  let writing = 0;
  const gateway: ChargerGateway = {
    publishLimit() {},
    requestSync() {},
    isHealthy: () => true,
    async start(sink) {
      for (const id of SITES) {
        const names = [HARBOUR, id, `${id}-a`, '1'] as Parameters<typeof sink.connectorMeter>;
        sink.connectorMeter(...names)?.record({ powerW: 0 }, clock.monotonicMs());
      }
      return { url: 'mqtt://nobody' };
    },
    async stop() {},
  };
  const service = await runService(
    [
      tenantWith(
        HARBOUR,
        SITES.map((id) => site(id)),
      ),
    ],
    {
      clock,
      createGateway: () => gateway,
      wrapStore: (store) => ({
        ...store,
        async append(tenantUuid, changes) {
          writing++;
          await store.append(tenantUuid, changes).finally(() => writing--);
        },
      }),
      createActors(options) {
        const system = createActorSystem(options);
        const listen = () =>
          system.application.subscribe(HARBOUR, undefined, (event) => void heard.push(event));
        const start = system.start.bind(system);
        return Object.assign(system, { start: () => start().then(() => void listen()) });
      },
    },
  );
  const settled = () => eventually(() => expect(writing).toBe(0));
  return { service, clock, pass, catchUp, heard, settled };
}

type Sites = Awaited<ReturnType<typeof openSites>>;

/** The operator's request; undefined for a step without one. */
function requestOf(
  step: Step,
  clusterPath: string,
  now: number,
): readonly [string, string, unknown?] | undefined {
  const inS = (seconds: number) => toInstant(now + seconds * 1000);
  switch (step.kind) {
    case 'submit': {
      const { path, priority, limitKw, fromS, lastsS } = step;
      const window = { startTime: inS(fromS), endTime: inS(fromS + lastsS) };
      return ['POST', `${path}/schedules`, { priority, limitKw, ...window }];
    }
    case 'cancel':
      return ['DELETE', `${step.path}/schedules/${step.priority}`];
    case 'permanent':
      return ['PUT', `/locations/${step.locationId}/limit`, { limitKw: step.limitKw }];
    case 'create': {
      const { locationIds, limitKw } = step;
      return ['POST', '/clusters', { name: 'A cluster', locationIds, limitKw }];
    }
    case 'change':
      return ['PATCH', clusterPath, step.change];
    case 'delete':
      return ['DELETE', clusterPath];
    case 'pass':
      return undefined;
  }
}

async function take(sites: Sites, step: Step): Promise<void> {
  const { service, clock } = sites;
  if (step.kind === 'pass') {
    sites.pass(step.ms, step.areTimersLate);
    if (step.areTimersLate) await requireOneAnswer(sites);
    sites.catchUp();
    return;
  }
  const { clusters } = bodyOf(await service.call('GET', '/clusters'), clusterListSchema);
  const request = requestOf(step, `/clusters/${clusters[0]?.clusterId}`, clock.nowMs());
  if (request !== undefined) expect((await service.call(...request)).status).toBeLessThan(500);
}

/** The location's newest values in the stream. */
function lastTold(heard: readonly StreamEvent[], locationId: string) {
  const told = {
    effectiveLimitKw: PERMANENT_KW,
    gridLimitKw: PERMANENT_KW,
    lockLimitKw: null as number | null,
  };
  for (const { event, data } of heard) {
    if (data.locationId !== locationId) continue;
    if (event === 'effectiveLimit') told.effectiveLimitKw = data.effectiveLimitKw;
    if (event === 'gridLimit') told.gridLimitKw = data.gridLimitKw;
    if (event === 'lock') told.lockLimitKw = data.limitKw;
  }
  return told;
}

interface Profiled {
  readonly profiles: readonly {
    readonly priority: number;
    readonly status: string;
    readonly limitKw: number;
  }[];
}

/** The limit of the active profile of highest priority. */
function decidingKw({ profiles }: Profiled): number | undefined {
  const active = profiles.filter(({ status }) => status === 'ACTIVE').sort((a, b) => b.priority - a.priority);
  return active[0]?.limitKw;
}

/** Compares all answers that contain a limit or a lock. */
async function requireOneAnswer({ service, heard }: Sites): Promise<void> {
  const read = async <S extends z.ZodType>(path: string, schema: S) =>
    bodyOf(await service.call('GET', path), schema);
  const { clusters } = await read('/clusters', clusterListSchema);
  for (const id of SITES) {
    // The first query triggers the due changes, so the kind of query alternates.
    const ways = ['/live', '/limits', '/timeline', '/history'];
    await service.call('GET', `/locations/${id}${ways[heard.length % ways.length]}`);
    const live = await read(`/locations/${id}/live`, locationLiveSchema);
    const limits = await read(`/locations/${id}/limits`, locationLimitsSchema);
    const lock = await read(`/chargers/${id}-a/connectors/1/schedules`, connectorSchedulesSchema);
    const { locations } = await read('/locations', locationListSchema);
    const listed = locations.find(({ locationId }) => locationId === id);
    const { effectiveLimitKw, gridLimitKw, permanentLimitKw } = live;
    const lockLimitKw = decidingKw(lock) ?? null;
    const locked = live.connectors.map((connector) => connector.lockLimitKw);
    expect(lastTold(heard, id)).toEqual({ effectiveLimitKw, gridLimitKw, lockLimitKw });
    expect(limits).toMatchObject({ effectiveLimitKw, permanentLimitKw });
    expect(decidingKw(limits) ?? permanentLimitKw).toBe(effectiveLimitKw);
    expect(locked).toEqual([lockLimitKw, null]);
    expect(listed).toMatchObject({
      effectiveLimitKw,
      gridLimitKw,
      permanentLimitKw,
      lockedConnectors: lockLimitKw === null ? 0 : 1,
    });
    expect(live.budgetKw).toBeLessThanOrEqual(gridLimitKw);
    for (const { clusterId } of clusters) {
      const { status, liveStatus } = await read(`/clusters/${clusterId}`, clusterDetailSchema);
      const member = liveStatus.locations.find(({ locationId }) => locationId === id);
      if (member === undefined) continue;
      expect(member.setLimitKw).toBe(effectiveLimitKw);
      // A share may still be on its way to the member; its enforced limit is never above its share.
      if (status === 'ACTIVE') expect(gridLimitKw).toBeLessThanOrEqual(member.effectiveLimitKw + 1e-9);
    }
  }
}

/** The stream had each limit that a minute of the history records; the history has the lowest decided one. */
async function requireSameHistory({ service, clock, heard }: Sites): Promise<void> {
  const span = `from=${toInstant(START_MS)}&to=${toInstant(clock.nowMs())}&step=60`;
  for (const id of SITES) {
    const answer = await service.call('GET', `/locations/${id}/power?${span}`);
    for (const { at, limitKw } of bodyOf(answer, locationPowerSchema).points) {
      const startMs = Date.parse(at);
      let before = PERMANENT_KW;
      const during: number[] = [];
      for (const { event, data } of heard) {
        if (event !== 'gridLimit' || data.locationId !== id) continue;
        const atMs = Date.parse(data.at);
        if (atMs < startMs) before = data.gridLimitKw;
        else if (atMs < startMs + MINUTE_MS + LATEST_MS) during.push(data.gridLimitKw);
      }
      expect([before, ...during]).toContain(limitKw);
    }
  }
}

it('is one, for any way of asking and any earlier changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 30 }), async (steps) => {
      const sites = await openSites();
      try {
        for (const each of steps) {
          await take(sites, each);
          await requireOneAnswer(sites);
        }
        sites.pass(MINUTE_MS, false);
        await sites.settled();
        await requireSameHistory(sites);
      } finally {
        await sites.service.stop();
      }
    }),
    { numRuns: casesOf(10) },
  );
});
