// A charger that kept no lease for a while and keeps leases again. Its limits from before that end like leases (R41).
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entitlements } from '../../machines/ledger/entitlements.js';
import { type GrantTiming, type LeaseKind, longestLeaseMsOf } from '../../machines/ledger/grant.js';
import { Ledger, leaseToStore } from '../../machines/ledger/ledger.js';
import type { Connector } from '../../machines/power/connector.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { createConnectorActor, decideWith, lockAt } from './connector-actor.js';
import { budgetOf, newSupervisor, SPEC } from './location-parts.js';

const TIMING: GrantTiming = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const SETTLE_MS = TIMING.settleMs;
/** End of a lease that answers a heartbeat at 0. */
const LEASE_ENDS_AT_MS = longestLeaseMsOf(TIMING);

describe('A lock beside a charger that kept no lease for a while, and applies no limit', () => {
  /** More than the 6 A of the lock, and less than these plus the other charger's grant. */
  const LOW_W = 4_600;
  const NONE_AT_MS = 20_000;

  let supervisor: LocationSupervisor;
  let hb: number;
  let locked: Connector;
  let other: Connector;

  function hear(connector: Connector, nowMs: number, said: Partial<MeterReading>): void {
    const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW: 0, limitA: 0, ...said } as const;
    supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
    supervisor.receive(connector, reading, { now: nowMs, nowMs });
  }

  function say(connector: Connector, lease: LeaseKind, boot: string, nowMs: number): void {
    supervisor.describe(connector, { failsafeA: 0, lease, keepsThen: true, boot }, nowMs);
  }

  function place(key: string): Connector {
    const actor = createConnectorActor(key);
    actor.send({ type: 'meter.received' });
    const connector = supervisor.place({ key, spec: { ...SPEC, failsafeA: 0 } }, actor, 0);
    say(connector, 'heartbeat', 'a', 0);
    return connector;
  }

  /** The locked connector's limit after a decision at `nowMs`, A. */
  function lockIsToldA(nowMs: number): number {
    decideWith(supervisor, budgetOf(LOW_W), nowMs);
    return (locked.granted.sentTenthsA ?? 0) / 10;
  }

  /** Both chargers report at `nowMs`. The other one keeps leases again, after a restart of its gateway. */
  function keepAgain(nowMs: number): void {
    say(other, 'heartbeat', 'b', nowMs);
    hear(other, nowMs, { boot: 'b' });
    hear(locked, nowMs, {});
  }

  beforeEach(() => {
    hb = 0;
    supervisor = newSupervisor();
    [locked, other] = [place('locked'), place('other')];
    hear(locked, 0, { status: 'Available' });
    hear(other, 0, {});
    decideWith(supervisor, budgetOf(30_000), 0);
    expect(other.granted.sentTenthsA).toBe(320);
    say(other, 'none', 'b', NONE_AT_MS);
    lockAt(locked.actor, 11);
  });

  it('has its 6 A once the earlier grant of that charger has ended, if it has reported leases by then', () => {
    keepAgain(NONE_AT_MS + 5_000);
    expect(lockIsToldA(NONE_AT_MS + 5_000)).toBe(0);
    expect(lockIsToldA(LEASE_ENDS_AT_MS + SETTLE_MS - 1)).toBe(0);
    expect(lockIsToldA(LEASE_ENDS_AT_MS + SETTLE_MS)).toBe(6);
  });

  it('has them a settling time after that report if the grant ended before: it may have held until then', () => {
    const againAtMs = LEASE_ENDS_AT_MS + 100_000;
    keepAgain(againAtMs);
    expect(lockIsToldA(againAtMs)).toBe(0);
    expect(lockIsToldA(againAtMs + SETTLE_MS - 1)).toBe(0);
    expect(lockIsToldA(againAtMs + SETTLE_MS)).toBe(6);
    expect(supervisor.reservedW).toBeLessThan(LOW_W);
  });
});

describe('The grant of a charger that keeps no lease from then on, and later does again', () => {
  const AGAIN_AT_MS = 1_000_000;

  let ledger: Ledger;
  let account: Entitlements;

  function grant(limitTenthsA: number): number {
    return account.grant({ limitTenthsA, thenTenthsA: 0, receivedAtMs: 0, budgetW: 50_000 });
  }

  function boundTenthsAAt(nowMs: number): number {
    ledger.release(nowMs);
    return account.boundTenthsA;
  }

  beforeEach(() => {
    ledger = new Ledger(TIMING);
    const spec = {
      maxTenthsA: 320,
      failsafeTenthsA: 0,
      milliwattsPerTenth: 69_000,
      keepsThen: true,
    } as const;
    account = ledger.add('quay-1/1', { ...spec, lease: 'heartbeat' });
    grant(320);
    account.describe({ lease: 'none' }, 0);
  });

  it('ends, as it should have, a settling time after that report, and no start has to wait for its message', () => {
    account.describe({ lease: 'heartbeat' }, AGAIN_AT_MS);
    expect(leaseToStore(account)).toBe('heartbeat');
    expect([AGAIN_AT_MS + SETTLE_MS - 1, AGAIN_AT_MS + SETTLE_MS].map(boundTenthsAAt)).toEqual([320, 0]);
  });

  it('ends by its own lease where that lasts longer', () => {
    account.describe({ lease: 'heartbeat' }, 1_000);
    const overAtMs = LEASE_ENDS_AT_MS + SETTLE_MS;
    expect([overAtMs - 1, overAtMs].map(boundTenthsAAt)).toEqual([320, 0]);
  });

  it('never ends as long as it keeps none, acknowledged or not', () => {
    account.acknowledge(grant(200), 0);
    account.describe({ lease: 'none' }, AGAIN_AT_MS);
    expect(boundTenthsAAt(10 * AGAIN_AT_MS)).toBe(200);
  });

  it('ends a lease after its acknowledgement, if it was sent while the charger kept none', () => {
    const ackedAtMs = AGAIN_AT_MS - 1_000;
    account.acknowledge(grant(320), ackedAtMs);
    account.describe({ lease: 'heartbeat' }, AGAIN_AT_MS);
    const overAtMs = ackedAtMs + LEASE_ENDS_AT_MS + SETTLE_MS;
    expect([overAtMs - 1, overAtMs].map(boundTenthsAAt)).toEqual([320, 0]);
  });

  it('counts until the charger has applied a newer one, if it was sent while it kept none and is not acknowledged', () => {
    grant(100);
    account.describe({ lease: 'heartbeat' }, AGAIN_AT_MS);
    expect([AGAIN_AT_MS + SETTLE_MS, 10 * AGAIN_AT_MS].map(boundTenthsAAt)).toEqual([100, 100]);
    expect(leaseToStore(account)).toBe('none');
  });

  it('counts so where that is the same as before', () => {
    grant(320);
    account.describe({ lease: 'heartbeat' }, AGAIN_AT_MS);
    expect(boundTenthsAAt(10 * AGAIN_AT_MS)).toBe(320);
  });

  it('counts so if it counts leases from receipt: the begin of its earlier limits is unknown', () => {
    account.describe({ lease: 'receipt' }, AGAIN_AT_MS);
    expect(boundTenthsAAt(10 * AGAIN_AT_MS)).toBe(320);
  });
});
