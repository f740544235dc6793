// An actor that threw is dead. It is built again from its rows, and everything else goes on.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import type { VirtualClock } from '../../sim/virtual-clock.js';
import type { Directory } from '../../src/actors/directory.js';
import { effectiveLimitKwOf, type LocationEntity, supervisorOf } from '../../src/actors/directory.js';
import type { Recovery } from '../../src/actors/recovery.js';
import { CRANE, createHarbour, HARBOUR, type Harbour, QUAY, ROWS, START_MS } from './harbour.js';

let clock: VirtualClock;
let directory: Directory;
let recovery: Recovery;
let defects: unknown[];
let effects: object[];
let quay: () => LocationEntity;
let meterOf: Harbour['meterOf'];
beforeEach(() => {
  ({ clock, directory, recovery, defects, effects, quay, meterOf } = createHarbour());
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** A profile that no actor can read without an error. */
function poison(): LimitProfile {
  return {
    get priority(): number {
      return raise();
    },
    limitKw: 1,
    startsAtMs: START_MS,
    endsAtMs: START_MS + 60_000,
  };
}

function statusOf(entity: { readonly actor: { getSnapshot(): { readonly status: string } } }): string {
  return entity.actor.getSnapshot().status;
}

describe('a location whose actor threw', () => {
  beforeEach(() => {
    meterOf(QUAY, CRANE).record({ powerW: 7000, limitA: 16 }, clock.monotonicMs());
    directory.sendToLocation(quay(), { type: 'profile.submitted', profile: poison(), now: clock.nowMs() });
  });

  it('is logged as a defect of its tenant, and does not take the caller down', () => {
    expect(statusOf(quay())).toBe('error');
    expect(defects).toEqual([new Error('a defect')]);
  });

  it('still answers from its last state, and the others live on', () => {
    expect(effectiveLimitKwOf(quay())).toBe(30);
    expect([...(directory.tenants.get(HARBOUR)?.locations.values() ?? [])].map(statusOf)).toEqual([
      'active',
      'error',
    ]);
  });

  it('agrees with its rows once it is built again: limit, lock, share, readings and next boundary', () => {
    const before = quay();
    effects.splice(0);
    recovery.reconcile(HARBOUR, ROWS, clock.nowMs());
    expect(quay()).toBe(before);
    expect(statusOf(quay())).toBe('active');
    const { context } = quay().actor.getSnapshot();
    // 30 of 80 under a cap of 40: half of it each.
    expect(context).toMatchObject({
      limit: { effectiveLimitKw: 30, limitKw: 15, cause: { kind: 'clusterShare', clusterId: 'both' } },
    });
    expect(context.sources[0].current?.cause).toMatchObject({ kind: 'profile', profile: { priority: 3 } });
    const crane = context.connectors.get('crane/1')?.getSnapshot();
    expect(crane?.context.lockLimitKw).toBe(11);
    expect(crane?.value).toEqual({ lock: 'locked', throttle: 'idle', link: 'online' });
    expect(supervisorOf(quay()).meters.measuredW).toBe(7000);
    effects.splice(0);
    clock.advance(30_000);
    expect(effects).toContainEqual(expect.objectContaining({ type: 'connector.unlocked', key: 'crane/1' }));
    clock.advance(30_000);
    expect(effects).toContainEqual({ type: 'effectiveLimit.changed', effectiveLimitKw: 50 });
    expect(quay().actor.getSnapshot().context.limit.limitKw).toBe(20);
    expect(defects).toHaveLength(1);
  });

  it('takes messages of chargers before and after, through the same way in', () => {
    // XState warns on the console of every event for a dead actor.
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const meter = meterOf(QUAY, CRANE);
    expect(meter.record({ powerW: 8000 }, clock.monotonicMs())).not.toBe('refused');
    recovery.reconcile(HARBOUR, ROWS, clock.nowMs());
    expect(meter.isCurrent).toBe(true);
    meter.record({ powerW: 9000 }, clock.monotonicMs());
    expect(supervisorOf(quay()).meters.measuredW).toBe(9000);
  });
});

describe('a connector whose actor threw', () => {
  it('takes its location with it, and both are built again from rows', () => {
    const event = { type: 'profile.submitted', profile: poison(), now: clock.nowMs() } as const;
    directory.sendToLocation(quay(), { type: 'connector.event', key: 'crane/1', event });
    expect(defects).toHaveLength(1);
    expect(statusOf(quay())).toBe('error');
    recovery.reconcile(HARBOUR, ROWS, clock.nowMs());
    const crane = quay().actor.getSnapshot().context.connectors.get('crane/1');
    expect(crane?.getSnapshot()).toMatchObject({ status: 'active', context: { lockLimitKw: 11 } });
  });
});

describe('an organization whose actor threw', () => {
  it('is built again from rows, and its tenant keeps its locations and clusters', () => {
    const tenant = directory.tenants.get(HARBOUR);
    if (tenant === undefined) throw new Error('there is no tenant');
    const event = { type: 'profile.submitted', profile: poison(), now: clock.nowMs() } as const;
    directory.sendToOrganization(tenant.organization, event);
    expect(statusOf(tenant.organization)).toBe('error');
    expect(defects).toHaveLength(1);
    recovery.reconcile(HARBOUR, ROWS, clock.nowMs());
    expect(directory.tenants.get(HARBOUR)).toBe(tenant);
    expect(tenant.organization.actor.getSnapshot()).toMatchObject({
      status: 'active',
      context: { stack: [{ limitKw: 500 }] },
    });
    expect([tenant.locations.size, tenant.clusters.size]).toEqual([2, 1]);
  });
});

describe('a cluster whose actor threw', () => {
  it('is built again from rows, and its members have its shares', () => {
    const cluster = directory.tenants.get(HARBOUR)?.clusters.get('both');
    const members = [
      {
        locationId: QUAY,
        reserved: supervisorOf(quay()).reserved,
        get setLimitKw(): number {
          return raise();
        },
      },
    ];
    directory.together(() => cluster?.actor.send({ type: 'members.changed', members }));
    expect(defects).toHaveLength(1);
    recovery.reconcile(HARBOUR, ROWS, clock.nowMs());
    expect(directory.tenants.get(HARBOUR)?.clusters.get('both')?.actor.getSnapshot().status).toBe('active');
    expect(quay().actor.getSnapshot().context).toMatchObject({ limit: { limitKw: 15 } });
    clock.advance(60_000);
    expect(quay().actor.getSnapshot().context).toMatchObject({ limit: { limitKw: 20 } });
  });
});

describe('rows that changed several members of a cluster', () => {
  it('let it share anew once, after all of them', () => {
    effects.splice(0);
    const locations = ROWS.locations.map((record) => ({ ...record, permanentLimitKw: 60 }));
    recovery.reconcile(HARBOUR, { ...ROWS, locations, profiles: [] }, clock.nowMs());
    expect(effects.filter((effect) => 'shares' in effect)).toHaveLength(1);
    expect(quay().actor.getSnapshot().context).toMatchObject({
      limit: { effectiveLimitKw: 60, limitKw: 20 },
    });
  });

  it('free them where the cluster went too', () => {
    const warn = vi.spyOn(console, 'warn');
    const locations = ROWS.locations.map((record) => ({ ...record, permanentLimitKw: 60 }));
    recovery.reconcile(HARBOUR, { ...ROWS, locations, clusters: [], profiles: [] }, clock.nowMs());
    expect(quay().actor.getSnapshot().context).toMatchObject({
      limit: { effectiveLimitKw: 60, limitKw: 60 },
    });
    expect(warn).not.toHaveBeenCalled();
  });
});

function raise(): never {
  throw new Error('a defect');
}
