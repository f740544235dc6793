// Chargers with a heartbeat and a lease of their own among others: the duration of their limits, and the time until
// they count as silent.
import { describe, expect, it } from 'vitest';
import { horizonMsOf, type LeaseKind } from '../../machines/ledger/grant.js';
import type { Budget } from '../../machines/power/budget.js';
import type { GrantBeforeStart } from '../../machines/power/connector-registry.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { createConnectorActor, decideWith, lockAt } from './connector-actor.js';
import { budgetOf } from './location-parts.js';

const TIMING = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const SLOW = { heartbeatMs: 30_000, ttlMs: 180_000 };
const SPEC = { phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 0, isActive: true } as const;
const ROOMY = budgetOf(50_000);

/** A site with one charger that takes three-minute leases. */
class Site {
  readonly supervisor = new LocationSupervisor({ timing: TIMING, ownerTerm: 1 });
  #hb = 0;

  constructor(timing: typeof SLOW | null = SLOW, promised?: GrantBeforeStart) {
    this.place(timing, promised);
    this.describe();
  }

  place(timing: typeof SLOW | null, promised?: GrantBeforeStart, nowMs = 0): void {
    const actor = this.supervisor.connectors.get('slow')?.actor ?? createConnectorActor('slow');
    this.supervisor.place({ key: 'slow', spec: { ...SPEC, timing }, promised }, actor, nowMs);
    this.supervisor.keepOnly(new Set(['slow']));
  }

  describe(lease: LeaseKind = 'heartbeat'): void {
    this.supervisor.describe(this.connector, { failsafeA: 0, lease, keepsThen: true }, 0);
  }

  get connector() {
    const connector = this.supervisor.connectors.get('slow');
    if (connector === undefined) throw new Error('it is not there');
    return connector;
  }

  /** Reports a car that wants all available power. */
  hear(nowMs: number, isEndOpen = false): void {
    const { actor } = this.connector;
    const { slot } = this.connector.telemetry;
    const reading = { boot: 'b', hb: ++this.#hb, status: 'Charging', powerW: 22_000, isEndOpen } as const;
    this.supervisor.meters.record(slot, reading, nowMs);
    actor.send({ type: 'meter.received' });
    this.supervisor.receive(this.connector, reading, { now: nowMs, nowMs });
  }

  /** True if the last reading is no longer fresh at `nowMs`. */
  fallsSilentBy(nowMs: number): boolean {
    let isSilent = false;
    this.supervisor.meters.expire(nowMs, () => {
      isSilent = true;
    });
    return isSilent;
  }

  decide(nowMs: number, budget = ROOMY) {
    return decideWith(this.supervisor, budget, nowMs).grants[0]?.grant;
  }

  /** W reserved for the charger, after all entitlements that end by `nowMs` are released. */
  reservedW(nowMs: number): number {
    this.supervisor.ledger.release(nowMs);
    return this.supervisor.reservedW;
  }
}

describe('A charger with a lease of its own', () => {
  it('is granted leases of that length, and reserved for that long, the slowest clock and settling included', () => {
    const site = new Site();
    site.hear(0);
    expect(site.decide(0)).toMatchObject({ ttlMs: 180_000, limitTenthsA: 320 });
    expect(site.reservedW(193_599)).toBeGreaterThan(20_000);
    expect(site.reservedW(193_600)).toBe(0);
  });

  it('keeps its length while the grid operator limits, since a shorter one would end too late for the order as well', () => {
    const grantBy = (timing: typeof SLOW | null) => {
      const site = new Site(timing);
      const spec = { ...SPEC, failsafeA: 6, timing };
      site.supervisor.place({ key: 'slow', spec }, site.connector.actor, 0);
      site.supervisor.describe(site.connector, { failsafeA: 6, lease: 'heartbeat', keepsThen: true }, 0);
      site.hear(0);
      return site.decide(0, { ...ROOMY, pausingW: 50_000 });
    };
    expect(grantBy(SLOW)).toMatchObject({ ttlMs: 180_000, limitTenthsA: 320 });
    expect(grantBy(null)).toMatchObject({ ttlMs: 15_000, limitTenthsA: 320 });
  });

  it('has the budget of its location look ahead to its end', () => {
    expect(new Site().supervisor.lookAhead.horizonMs).toBe(horizonMsOf({ ttlMs: 180_000, settleMs: 10_000 }));
    expect(new Site(null).supervisor.lookAhead.horizonMs).toBe(horizonMsOf(TIMING));
  });

  it('is sent again after two thirds of its own heartbeat, and is stale after three of them', () => {
    const site = new Site();
    site.hear(0);
    const seq = site.decide(0)?.seq ?? 0;
    site.supervisor.applyAck(
      site.connector,
      { boot: 'b', epoch: 1, seq, result: 'APPLIED', appliedA: 32 },
      1,
    );
    site.hear(19_000);
    expect(site.supervisor.renew(site.connector, 19_000)).toBeUndefined();
    site.hear(21_000);
    expect(site.supervisor.renew(site.connector, 21_000)?.grant.ttlMs).toBe(180_000);
    expect(site.fallsSilentBy(21_000 + 89_999)).toBe(false);
    expect(site.fallsSilentBy(21_000 + 90_000)).toBe(true);
  });

  it('that gets another one keeps its entitlement, and nothing is granted before the next decision', () => {
    const site = new Site(null);
    site.hear(0);
    expect(site.decide(0)?.ttlMs).toBe(60_000);
    site.place(SLOW, undefined, 1_000);
    expect(site.supervisor.validUntilMs).toBe(Number.NEGATIVE_INFINITY);
    expect(site.fallsSilentBy(89_999)).toBe(false);
    site.place(null, undefined, 2_000);
    expect(site.fallsSilentBy(89_999)).toBe(true);
    expect(site.reservedW(71_199)).toBeGreaterThan(20_000);
    expect(site.reservedW(71_200)).toBe(0);
  });
});

describe('The stored entitlement', () => {
  const STORED = { limitTenthsA: 320, thenTenthsA: 0, lease: 'heartbeat' } as const;

  it('is reserved after a start for as long as it was promised, also where leases are shorter now', () => {
    const site = new Site(null, { ...STORED, ttlMs: 180_000 });
    expect(site.reservedW(193_599)).toBeGreaterThan(20_000);
    expect(site.reservedW(193_600)).toBe(0);
  });

  it('must be written before a longer lease leaves, and a grant that cannot wait for that lasts no longer than it', () => {
    const site = new Site(SLOW, { ...STORED, ttlMs: 60_000 });
    site.hear(4_000);
    const { grants } = decideWith(site.supervisor, ROOMY, 4_000);
    expect(grants[0]).toMatchObject({ mustStore: true, grant: { ttlMs: 180_000 } });
    const lower = { ...ROOMY, budgetW: 11_000, limitW: 11_000 };
    const [decrease] = decideWith(site.supervisor, lower, 5_000).grants;
    expect(decrease).toMatchObject({ mustStore: false, grant: { ttlMs: 60_000 } });
  });

  it('covers a lease that was longer until that is over', () => {
    const site = new Site();
    site.hear(0);
    site.decide(0);
    site.place(null, undefined, 1_000);
    expect(site.connector.account.coveringTtlMs(1_000)).toBeGreaterThanOrEqual(179_000);
    expect(site.connector.account.coveringTtlMs(150_000)).toBe(60_000);
  });
});

describe('A lease before a lower limit begins (R3)', () => {
  const LOW_W = 10_000;
  const BEGINS_AT_MS = 100_000;
  const NOTICED: Budget = {
    ...ROOMY,
    fall: {
      budgetW: LOW_W,
      raisesToW: LOW_W,
      bindsFromMs: BEGINS_AT_MS,
      beginsAt: { now: BEGINS_AT_MS, nowMs: BEGINS_AT_MS },
      isOrdered: true,
      isClusterBound: false,
      untilMs: Number.POSITIVE_INFINITY,
    },
  };

  it('is over then, the slowest clock and settling included', () => {
    const site = new Site();
    site.hear(0);
    expect(site.decide(0, NOTICED)).toMatchObject({ ttlMs: 88_000, limitTenthsA: 320 });
    expect(site.reservedW(BEGINS_AT_MS - 1_000)).toBeGreaterThan(20_000);
    expect(site.reservedW(BEGINS_AT_MS)).toBe(0);
  });

  it('has its full length again as soon as a limit is known to fit, before the next heartbeat', () => {
    const site = new Site();
    site.hear(0);
    site.decide(0, NOTICED);
    site.hear(60_000);
    expect(site.supervisor.renew(site.connector, 60_000)?.grant).toMatchObject({ ttlMs: 29_000 });
    expect(site.decide(85_000, ROOMY)).toMatchObject({ ttlMs: 180_000, limitTenthsA: 320, ref: 2 });
    expect(site.decide(86_000, ROOMY)).toBeUndefined();
  });

  it.each([
    { lasts: 'outlasts its start while the lock holds', isLockedAt: () => true, ttlMs: 180_000 },
    { lasts: 'is over then if the lock ends before', isLockedAt: () => false, ttlMs: 88_000 },
  ])('with the minimum of a lock $lasts (R17)', ({ isLockedAt, ttlMs }) => {
    const site = new Site();
    lockAt(site.connector.actor, 4);
    site.hear(0);
    expect(site.decide(0, { ...NOTICED, isLockedAt })).toMatchObject({ ttlMs, limitTenthsA: 60 });
  });

  it.each([
    { of: 'a charger that counts it from its receipt', lease: 'receipt', isEndOpen: false },
    { of: 'a charger whose clock is about to be set', lease: 'heartbeat', isEndOpen: true },
  ] as const)('fits the lower limit for $of, because its end is not known', ({ lease, isEndOpen }) => {
    const site = new Site();
    site.describe(lease);
    site.hear(0, isEndOpen);
    const grant = site.decide(0, NOTICED);
    expect(grant).toMatchObject({ ttlMs: lease === 'receipt' ? 180_000 : 88_000 });
    expect(grant?.limitTenthsA).toBeLessThanOrEqual(LOW_W / 69);
    expect(grant?.limitTenthsA).toBeGreaterThan(0.85 * (LOW_W / 69));
    // A charger that had more before is lowered at once, although its earlier lease may end in time.
    site.decide(20_000, ROOMY);
    site.hear(30_000, isEndOpen);
    const before = site.decide(30_000, ROOMY) ?? site.supervisor.renew(site.connector, 30_000)?.grant;
    expect(before).toMatchObject({ limitTenthsA: 320 });
    expect(site.decide(31_000, NOTICED)?.limitTenthsA).toBeLessThanOrEqual(LOW_W / 69);
  });

  it.each([
    { holds: 'its own', isLockedAt: (key: string) => key === 'locked', mostW: LOW_W - 4_140 },
    { holds: 'none', isLockedAt: () => false, mostW: LOW_W },
  ])(
    'fits beside the minimum of a lock that then holds $holds, if its end is not known',
    ({ isLockedAt, mostW }) => {
      const site = new Site();
      const { supervisor } = site;
      const actor = createConnectorActor('locked');
      const locked = supervisor.place({ key: 'locked', spec: SPEC, promised: undefined }, actor, 0);
      supervisor.describe(locked, { failsafeA: 0, lease: 'heartbeat', keepsThen: true }, 0);
      lockAt(actor, 20);
      const reading = { boot: 'b', hb: 1, status: 'Charging', powerW: 20_000 } as const;
      supervisor.meters.record(locked.telemetry.slot, reading, 0);
      actor.send({ type: 'meter.received' });
      supervisor.receive(locked, reading, { now: 0, nowMs: 0 });
      site.describe('receipt');
      site.hear(0);
      site.decide(0, { ...NOTICED, isLockedAt });
      expect(site.connector.account.boundW).toBeLessThanOrEqual(mostW);
      expect(site.connector.account.boundW).toBeGreaterThan(mostW - 1_000);
    },
  );
});
