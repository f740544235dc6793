// Reservations, permitted grants and releases of the grant ledger (R1, R2, R5, R6, R7).
import { describe, expect, it } from 'vitest';
import {
  type ConnectorDescription,
  type Entitlements,
  LedgerError,
} from '../../machines/ledger/entitlements.js';
import { type GrantTiming, horizonMsOf } from '../../machines/ledger/grant.js';
import { Ledger, leaseToStore } from '../../machines/ledger/ledger.js';
import { wattsOfTenths } from '../../machines/values/units.js';

const TIMING: GrantTiming = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const LEASE_MS = 61_200;
const SETTLE_MS = 10_000;
const MILLIWATTS = 3 * 230 * 100;
const BUDGET_W = 50_000;

const CHARGER: ConnectorDescription = {
  maxTenthsA: 320,
  failsafeTenthsA: 60,
  milliwattsPerTenth: MILLIWATTS,
  lease: 'heartbeat',
  keepsThen: false,
};

function ledgerWith(spec: Partial<ConnectorDescription> = {}): { ledger: Ledger; account: Entitlements } {
  const ledger = new Ledger(TIMING);
  return { ledger, account: ledger.add('quay-1/1', { ...CHARGER, ...spec }) };
}

function grant(
  account: Entitlements,
  limitTenthsA: number,
  { receivedAtMs = 0, thenTenthsA = 60, budgetW = BUDGET_W, isLockFloor = false, isWaiting = false } = {},
): number {
  return account.grant({ limitTenthsA, thenTenthsA, receivedAtMs, budgetW, isLockFloor, isWaiting });
}

/** The entitlement at each of `atMs`, in this order. */
function boundsAt(ledger: Ledger, account: Entitlements, ...atMs: number[]): number[] {
  return atMs.map((each) => {
    ledger.release(each);
    return account.boundTenthsA;
  });
}

describe('The entitlement of a charger (rule 1)', () => {
  it('is its fail-safe before any grant', () => {
    const { ledger, account } = ledgerWith();
    expect(account).toMatchObject({ boundTenthsA: 60, entitledTenthsA: 60, failsafeTenthsA: 60, lastSeq: 0 });
    expect(ledger.totalW).toBe(4_140);
  });

  it('is a limit with an open end, also beside an equal grant that the charger may not have taken (R41)', () => {
    const { ledger, account } = ledgerWith({ lease: 'receipt', failsafeTenthsA: 0 });
    account.restore({ limitTenthsA: 100, thenTenthsA: 0 }, 0);
    account.openEnd();
    grant(account, 100, { thenTenthsA: 0 });
    account.describe({ lease: 'heartbeat', keepsThen: true }, 0);
    expect(boundsAt(ledger, account, LEASE_MS + SETTLE_MS)).toEqual([100]);
    account.acknowledge(1, LEASE_MS + SETTLE_MS);
    expect(boundsAt(ledger, account, LEASE_MS + 2 * SETTLE_MS)).toEqual([0]);
  });

  it('is a grant from before it leaves until a slow clock has counted the lease, and settled', () => {
    const { ledger, account } = ledgerWith();
    grant(account, 320, { receivedAtMs: 1_000 });
    expect(boundsAt(ledger, account, 0, 1_000 + LEASE_MS + SETTLE_MS - 1)).toEqual([320, 320]);
    expect(account.nextChangeMs(1_000)).toBe(1_000 + LEASE_MS + SETTLE_MS);
    expect(boundsAt(ledger, account, 1_000 + LEASE_MS + SETTLE_MS)).toEqual([60]);
    expect(account.nextChangeMs(1_000)).toBe(Number.POSITIVE_INFINITY);
    expect(horizonMsOf(TIMING)).toBe(LEASE_MS + SETTLE_MS);
  });

  it('is the earlier grant until the settling time after the acknowledgement of a newer one', () => {
    const { ledger, account } = ledgerWith();
    grant(account, 320);
    const seq = grant(account, 100);
    expect(account.boundTenthsA).toBe(320);
    expect(account.acknowledge(seq, 5_000)).toBe(true);
    expect(boundsAt(ledger, account, 14_999, 15_000)).toEqual([320, 100]);
  });

  it('is not less because an older grant was acknowledged', () => {
    const { ledger, account } = ledgerWith();
    const older = grant(account, 100);
    grant(account, 320);
    grant(account, 60);
    account.acknowledge(older, 1_000);
    expect(boundsAt(ledger, account, 60_000)).toEqual([320]);
  });

  it('is lasting for a charger that counts from receipt, until it acknowledges: then the lease began before', () => {
    const { ledger, account } = ledgerWith({ lease: 'receipt' });
    const seq = grant(account, 320);
    expect(account.nextChangeMs(10_000_000)).toBe(Number.POSITIVE_INFINITY);
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([320]);
    account.acknowledge(seq, 10_000_000);
    const endsAtMs = 10_000_000 + LEASE_MS + SETTLE_MS;
    expect(boundsAt(ledger, account, endsAtMs - 1, endsAtMs)).toEqual([320, 60]);
  });

  it('is lasting too where a charger turns out not to count from its heartbeats', () => {
    const { ledger, account } = ledgerWith();
    grant(account, 320);
    account.describe({ lease: 'receipt' });
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([320]);
    account.acknowledge(grant(account, 100), 10_000_000);
    expect(boundsAt(ledger, account, 10_010_000)).toEqual([100]);
  });

  it('outlasts a later grant where it was given to a charger that counted from receipt then', () => {
    const { ledger, account } = ledgerWith({ lease: 'receipt' });
    grant(account, 100);
    account.describe({ lease: 'heartbeat' });
    grant(account, 200);
    expect(boundsAt(ledger, account, 0, 10_000_000)).toEqual([200, 100]);
  });

  it.each([320, 319])(
    'outlasts a renewal from %i with a shorter lease, if heartbeats turn out to count',
    (limit) => {
      const { ledger, account } = ledgerWith({ lease: 'receipt', failsafeTenthsA: 0 });
      const give = (limitTenthsA: number, receivedAtMs: number, ttlMs?: number) =>
        account.grant({ limitTenthsA, thenTenthsA: 0, receivedAtMs, budgetW: BUDGET_W, ttlMs });
      give(limit, 0);
      // While orders are expected, leases are short (R51). The charger may miss this one.
      give(320, 10_000, 15_000);
      account.describe({ lease: 'heartbeat', keepsThen: true }, 12_000);
      const shortEndsAtMs = 10_000 + 15_300 + SETTLE_MS;
      expect(boundsAt(ledger, account, shortEndsAtMs - 1, shortEndsAtMs)).toEqual([320, limit]);
      expect(boundsAt(ledger, account, LEASE_MS + SETTLE_MS - 1, LEASE_MS + SETTLE_MS)).toEqual([limit, 0]);
    },
  );

  it('never ends by itself for a charger that keeps to no lease', () => {
    const { ledger, account } = ledgerWith({ lease: 'none' });
    account.acknowledge(grant(account, 320), 0);
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([320]);
  });

  it('is the stored one for one horizon from the start (rule 6)', () => {
    const { ledger, account } = ledgerWith();
    account.restore({ limitTenthsA: 200, thenTenthsA: 0 }, 1_000);
    const endsAtMs = 1_000 + LEASE_MS + SETTLE_MS;
    expect(boundsAt(ledger, account, 1_000, endsAtMs - 1, endsAtMs)).toEqual([200, 200, 60]);
  });

  it('never ends by itself if its charger kept no lease before the start, even if it reports one now', () => {
    const { ledger, account } = ledgerWith({ lease: 'none' });
    account.restore({ limitTenthsA: 200, thenTenthsA: 0 }, 0);
    account.describe({ lease: 'heartbeat', keepsThen: true });
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([200]);
    account.acknowledge(grant(account, 100, { receivedAtMs: 10_000_000, thenTenthsA: 0 }), 10_000_000);
    expect(boundsAt(ledger, account, 10_000_000 + SETTLE_MS)).toEqual([100]);
  });

  it('ends a lease after its acknowledgement if its charger, without lease at its receipt, reports one by then', () => {
    const { ledger, account } = ledgerWith({ lease: 'none' });
    const seq = grant(account, 320);
    account.describe({ lease: 'heartbeat', keepsThen: true });
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([320]);
    account.acknowledge(seq, 10_000_000);
    const endsAtMs = 10_000_000 + LEASE_MS + SETTLE_MS;
    grant(account, 307, { receivedAtMs: endsAtMs });
    expect(boundsAt(ledger, account, endsAtMs - 1, endsAtMs)).toEqual([320, 307]);
    expect(leaseToStore(account)).toBe('heartbeat');
  });

  it('goes to disk as one of a charger without a lease, until that has taken another since it reports leases', () => {
    const { ledger, account } = ledgerWith({ lease: 'none' });
    grant(account, 200);
    account.describe({ lease: 'heartbeat', keepsThen: true });
    const seq = grant(account, 100);
    expect([account.lease, leaseToStore(account)]).toEqual(['heartbeat', 'none']);
    account.acknowledge(seq, 20_000);
    ledger.release(20_000 + SETTLE_MS);
    expect(leaseToStore(account)).toBe('heartbeat');
  });

  it('is less than its own fail-safe if less was stored, until its charger reports that it keeps no limit', () => {
    const { account } = ledgerWith({ keepsThen: false });
    account.restore({ limitTenthsA: 0, thenTenthsA: 0 }, 0);
    expect(account.boundTenthsA).toBe(0);
    account.describe({ keepsThen: true });
    expect(account.boundTenthsA).toBe(0);
    account.describe({ keepsThen: false });
    expect(account.boundTenthsA).toBe(60);
  });

  it('is its own fail-safe if its charger is silent for too long, which leaves no capacity for a grant', () => {
    const { ledger, account } = ledgerWith({ keepsThen: false });
    account.restore({ limitTenthsA: 0, thenTenthsA: 0 }, 0);
    account.reserveOwnFailsafe();
    expect(account.boundTenthsA).toBe(60);
    expect(ledger.grantableTenthsA(account, 0)).toBe(0);
  });

  it('is expected to last as long as its charger reports the stored limit, and leaves no capacity for a grant', () => {
    const { ledger, account } = ledgerWith({ keepsThen: true });
    account.restore({ limitTenthsA: 200, thenTenthsA: 0 }, 0);
    const lastsW = (tenthsA: number) => expect(ledger.lastingW()).toBe(wattsOfTenths(tenthsA, 69_000));
    account.noteHeld(320);
    lastsW(200);
    account.noteHeld(150);
    lastsW(150);
    expect(ledger.grantableTenthsA(account, 0)).toBe(0);
    expect(() => grant(account, 150, { budgetW: 0, thenTenthsA: 0 })).toThrow(LedgerError);
  });

  it('is expected to last at the voltage of the stored entitlement at the least, until it has a new grant', () => {
    const { ledger, account } = ledgerWith({ keepsThen: true, leastMilliwattsOnPhase: 60_000 });
    account.restore({ limitTenthsA: 200, thenTenthsA: 0 }, 0);
    account.noteHeld(200);
    expect(ledger.lastingW()).toBe(wattsOfTenths(200, 60_000));
    expect(account.boundW).toBe(wattsOfTenths(200, 69_000));
    grant(account, 100, { budgetW: 100_000, thenTenthsA: 0 });
    expect(ledger.lastingW()).toBe(wattsOfTenths(100, 69_000));
  });

  it('is its maximum in the worst case, and its new grant afterwards (rules 7 and 8)', () => {
    const { ledger, account } = ledgerWith();
    grant(account, 100);
    account.setWorstCase(true);
    expect(account).toMatchObject({ boundTenthsA: 320, entitledTenthsA: 100 });
    expect(ledger.totalW).toBe(wattsOfTenths(320, MILLIWATTS));
    account.setWorstCase(false);
    expect(account.boundTenthsA).toBe(100);
  });

  it('is worth more power at a higher voltage', () => {
    const { ledger, account } = ledgerWith();
    account.describe({ milliwattsPerTenth: 3 * 250 * 100 });
    expect(account.boundW).toBe(4_500);
    expect(ledger.totalW).toBe(4_500);
  });

  it('is nothing any more once the connector is gone', () => {
    const { ledger, account } = ledgerWith();
    ledger.remove(account);
    ledger.remove(account);
    expect(ledger.totalW).toBe(0);
  });
});

describe('The fall-back of a charger (rule 7)', () => {
  it('is reserved for ever if it keeps nothing: its own fail-safe, and its last limit', () => {
    const { ledger, account } = ledgerWith();
    account.acknowledge(grant(account, 100, { thenTenthsA: 0 }), 0);
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([60]);
  });

  it('is the fall-back of the newest grant that it applied, if it keeps that', () => {
    const { ledger, account } = ledgerWith({ keepsThen: true });
    const seq = grant(account, 100, { thenTenthsA: 0 });
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([60]);
    account.acknowledge(seq, 10_000_000);
    // Its lease had ended, so the charger was at its fail-safe and needs the settling time to leave it.
    expect(boundsAt(ledger, account, 10_000_000, 10_009_999, 10_010_000)).toEqual([60, 60, 0]);
    expect(account.failsafeTenthsA).toBe(0);
  });

  it('is the largest of all unacknowledged grants since', () => {
    const { account } = ledgerWith({ keepsThen: true });
    account.acknowledge(grant(account, 100, { thenTenthsA: 0 }), 0);
    grant(account, 100, { thenTenthsA: 80 });
    grant(account, 100, { thenTenthsA: 20 });
    expect(account.failsafeTenthsA).toBe(80);
  });

  it('is higher if the charger itself reports more', () => {
    const { account } = ledgerWith({ keepsThen: true });
    account.describe({ failsafeTenthsA: 160 });
    expect(account.failsafeTenthsA).toBe(160);
    account.describe({ failsafeTenthsA: 0 });
    expect(account.failsafeTenthsA).toBe(160);
  });
});

describe('A charger that started anew', () => {
  it('holds no grant: none is given on the entitlement of an earlier start, which counts on', () => {
    const { ledger, account } = ledgerWith();
    account.describe({ keepsThen: false });
    grant(account, 200);
    expect(ledger.grantableTenthsA(account, 0)).toBe(200);
    account.restarted();
    expect(ledger.grantableTenthsA(account, 0)).toBe(60);
    expect(account.boundTenthsA).toBe(200);
    expect(() => grant(account, 200, { budgetW: 0 })).toThrow(LedgerError);
  });

  it('falls back to its last limit only if it keeps that', () => {
    const grantableTenthsA = (keepsThen: boolean) => {
      const { ledger, account } = ledgerWith();
      account.describe({ keepsThen });
      grant(account, 200, { thenTenthsA: 80 });
      account.restarted();
      return ledger.grantableTenthsA(account, 0);
    };
    expect([true, false].map(grantableTenthsA)).toEqual([80, 60]);
  });

  it('has its reported limit, until it has a new grant, and again after that', () => {
    const { ledger, account } = ledgerWith({ keepsThen: true });
    grant(account, 200, { thenTenthsA: 0 });
    expect(account.isWithoutGrant).toBe(false);
    account.restarted();
    expect(account.isWithoutGrant).toBe(true);
    expect(account.hadTenthsA).toBe(0);
    account.noteAt([60, 60, 60]);
    expect(account.hadTenthsA).toBe(60);
    grant(account, 100, { thenTenthsA: 0 });
    expect(account.hadTenthsA).toBe(0);
    ledger.release(10_000_000);
    // A report from before that grant proves nothing about the limit after it.
    expect([account.isWithoutGrant, account.hadTenthsA]).toEqual([true, 0]);
  });
});

describe('If the own fail-safes of chargers do not fit together', () => {
  it('only their last limits are reserved, and their own once they start anew', () => {
    const { ledger, account } = ledgerWith();
    account.acknowledge(grant(account, 100, { thenTenthsA: 0 }), 0);
    ledger.reserveOwnFailsafes(false);
    expect(boundsAt(ledger, account, 10_000_000)).toEqual([0]);
    account.restarted();
    expect(account.boundTenthsA).toBe(60);
    account.acknowledge(grant(account, 0, { thenTenthsA: 0 }), 10_000_000);
    expect(boundsAt(ledger, account, 10_009_999, 10_010_000)).toEqual([60, 0]);
    ledger.reserveOwnFailsafes(true);
    expect(account.boundTenthsA).toBe(60);
  });
});

describe('A grant leaves only if it fits (rule 2)', () => {
  it('beside the entitlements of the others, to the watt', () => {
    const ledger = new Ledger(TIMING);
    const [one, other] = [ledger.add('a', CHARGER), ledger.add('b', CHARGER)];
    grant(one, 320);
    const budgetW = wattsOfTenths(320, MILLIWATTS) + wattsOfTenths(100, MILLIWATTS);
    expect(ledger.grantableTenthsA(other, budgetW)).toBe(100);
    expect(() => grant(other, 101, { budgetW })).toThrow(LedgerError);
    expect(() => grant(other, 100, { budgetW: budgetW - 1 })).toThrow(LedgerError);
    expect(other.lastSeq).toBe(0);
    expect(grant(other, 100, { budgetW })).toBe(1);
    expect(ledger.totalW).toBe(budgetW);
  });

  it("or lowers, or repeats, the charger's last limit", () => {
    const { ledger, account } = ledgerWith();
    grant(account, 320);
    expect(ledger.grantableTenthsA(account, 0)).toBe(320);
    grant(account, 320, { budgetW: 0, receivedAtMs: 1_000 });
    grant(account, 100, { budgetW: 0 });
    expect(ledger.grantableTenthsA(account, 0)).toBe(100);
  });

  it('while an ending entitlement is no capacity for it: it would last a whole lease longer', () => {
    const { account } = ledgerWith();
    grant(account, 320);
    grant(account, 100);
    expect(account.boundTenthsA).toBe(320);
    expect(() => grant(account, 200, { budgetW: 5_000 })).toThrow(LedgerError);
    const fromDisk = ledgerWith();
    fromDisk.account.restore({ limitTenthsA: 320, thenTenthsA: 0 }, 0);
    expect(() => grant(fromDisk.account, 60, { budgetW: 0 })).toThrow(LedgerError);
    // After the charger reports that it falls back to 6 A in any case, these 6 A are its own reserve.
    fromDisk.account.describe({ keepsThen: false });
    expect(fromDisk.ledger.grantableTenthsA(fromDisk.account, 0)).toBe(60);
  });

  it('and one that waits for the disk, or never left, is no room for another', () => {
    const { ledger, account } = ledgerWith({ keepsThen: true });
    account.acknowledge(grant(account, 0, { thenTenthsA: 0 }), 0);
    const waiting = grant(account, 100, { budgetW: 10_000, thenTenthsA: 0, isWaiting: true });
    expect(account.boundTenthsA).toBe(100);
    expect(() => grant(account, 60, { budgetW: 0, thenTenthsA: 0 })).toThrow(LedgerError);
    account.noteLeft(waiting);
    expect(ledger.grantableTenthsA(account, 0)).toBe(100);
    grant(account, 60, { budgetW: 0, thenTenthsA: 0 });
  });

  it('nor the one that a renewal on the disk replaces, once the charger acknowledges that renewal', () => {
    const { ledger, account } = ledgerWith({ lease: 'receipt', keepsThen: true });
    grant(account, 100, { thenTenthsA: 0 });
    account.acknowledge(grant(account, 100, { thenTenthsA: 0, isWaiting: true }), 0);
    expect(ledger.grantableTenthsA(account, 0)).toBe(100);
    expect(boundsAt(ledger, account, SETTLE_MS)).toEqual([100]);
    expect(ledger.grantableTenthsA(account, 0)).toBe(0);
  });

  it('whatever limit the charger reports, which may be older than its last one', () => {
    const { ledger, account } = ledgerWith({ keepsThen: true });
    account.acknowledge(grant(account, 0, { thenTenthsA: 0 }), 0);
    account.describe({ failsafeTenthsA: 60, keepsThen: true });
    expect(account.boundTenthsA).toBe(60);
    expect(ledger.grantableTenthsA(account, 0)).toBe(0);
  });

  it("counting the charger's later fall-back", () => {
    const { account } = ledgerWith({ failsafeTenthsA: 0 });
    expect(() => grant(account, 0, { thenTenthsA: 60, budgetW: 4_139 })).toThrow(LedgerError);
    grant(account, 0, { thenTenthsA: 60, budgetW: 4_140 });
  });

  it('and beside entitlements on other phases, unless it is certain that as much is on all of its own', () => {
    const onThree = { circuitPhasesOfPhases: [[], [], []], keepsThen: true };
    const restored = ledgerWith(onThree);
    restored.account.restore({ limitTenthsA: 141, thenTenthsA: 0 }, 0);
    restored.account.noteHeld(141);
    expect(restored.ledger.grantableTenthsA(restored.account, 9_000)).toBe(130);
    // The charger may hold the limit on two phases only. With 13 A on the third one, 9,384 W would be in force.
    restored.account.noteHeld(141, [141, 141, 0]);
    expect(restored.ledger.grantableTenthsA(restored.account, 9_000)).toBe(0);
    expect(() => grant(restored.account, 60, { budgetW: 9_000 })).toThrow(LedgerError);

    const ended = ledgerWith(onThree);
    ended.account.restore({ limitTenthsA: 297, thenTenthsA: 0, phases: 1 }, 0);
    // The charger holds no stored limit.
    ended.account.noteHeld(0);
    grant(ended.account, 220, { thenTenthsA: 0 });
    ended.account.useOn(1);
    expect(ended.ledger.grantableTenthsA(ended.account, 6_000)).toBe(220);

    const unsent = ledgerWith(onThree);
    grant(unsent.account, 75, { thenTenthsA: 0 });
    grant(unsent.account, 120, { thenTenthsA: 0, isWaiting: true });
    unsent.account.useOn(1);
    expect(unsent.ledger.grantableTenthsA(unsent.account, 6_000)).toBe(75);

    const presumed = ledgerWith({ ...onThree, keepsThen: false });
    presumed.account.useOn(2);
    grant(presumed.account, 140, { thenTenthsA: 0 });
    presumed.account.useOn(3);
    expect(presumed.account.bounds).toEqual([140, 140, 60]);
    expect(presumed.ledger.grantableTenthsA(presumed.account, 4_500)).toBe(0);
    expect(presumed.ledger.grantableTenthsA(presumed.account, 7_820)).toBe(60);
  });

  it('unless it is the floor of a lock', () => {
    const { ledger, account } = ledgerWith({ failsafeTenthsA: 0 });
    expect(grant(account, 60, { budgetW: 0, isLockFloor: true })).toBe(1);
    expect(ledger.totalW).toBe(4_140);
  });

  it.each([-1, 321])('and never at %d tenths of an ampere, outside 0 to the maximum', (tenthsA) => {
    const { account } = ledgerWith();
    expect(() => grant(account, tenthsA)).toThrow(LedgerError);
    expect(() => grant(account, tenthsA, { isLockFloor: true })).toThrow(LedgerError);
    expect(account.lastSeq).toBe(0);
  });
});

describe('A doubled, overtaken or foreign acknowledgement (rule 5, P8)', () => {
  it('changes nothing', () => {
    const { ledger, account } = ledgerWith();
    const [one, two] = [grant(account, 320), grant(account, 100)];
    expect([one, two]).toEqual([1, 2]);
    expect(account.acknowledge(3, 0)).toBe(false);
    account.acknowledge(two, 0);
    expect(account.acknowledge(two, 9_000)).toBe(false);
    expect(account.acknowledge(one, 9_000)).toBe(false);
    expect(boundsAt(ledger, account, 10_000)).toEqual([100]);
  });
});

describe('The memory of a ledger (P13)', () => {
  it('is bounded however often a limit falls unacknowledged, and forgets nothing large', () => {
    const { ledger, account } = ledgerWith({ keepsThen: true });
    let largest = 0;
    for (let step = 0; step < 5_000; step++) {
      grant(account, 320 - (step % 320), { receivedAtMs: step, thenTenthsA: step % 61 });
      largest = Math.max(largest, account.records.length);
    }
    expect(account).toMatchObject({ boundTenthsA: 320, failsafeTenthsA: 60, lastSeq: 5_000 });
    expect(largest).toBeLessThanOrEqual(20);
    account.acknowledge(5_000, 5_000);
    expect(boundsAt(ledger, account, 15_000)).toEqual([320 - (4_999 % 320)]);
  });
});

describe('A grant for fewer phases that outlasts the begin of a lower limit', () => {
  it('fits beside the limits on all phases that outlast it too, and those that end before do not cover it (R3, R32)', () => {
    const { ledger, account } = ledgerWith({ failsafeTenthsA: 0, circuitPhasesOfPhases: [[], [], []] });
    grant(account, 94, { thenTenthsA: 0 });
    grant(account, 65, { thenTenthsA: 0 });
    account.acknowledge(2, 1_000);
    account.useOn(1);
    expect(account.boundWFrom(11_000)).toBe(4_485);
    expect(ledger.fittingTenthsA(account, 4_485)).toBe(94);
    expect(ledger.fittingFromTenthsA(account, 4_485, 11_000)).toBe(65);
    expect(ledger.fittingFromTenthsA(account, 5_152, 11_000)).toBe(94);
  });
});

describe('The least that a lock is owed, W', () => {
  const THREE_PHASES = { failsafeTenthsA: 0, circuitPhasesOfPhases: [[], [], []] };

  it('is its addition on phases on which nothing may be in force, beside all that may be on the others', () => {
    const { account } = ledgerWith(THREE_PHASES);
    account.useOn(1);
    grant(account, 253, { thenTenthsA: 0 });
    expect(account.boundW).toBe(5_819);
    account.useOn(3);
    // The first phase may still carry 25.3 A, and 6 A are new on the two others.
    expect(account.leastBesideW).toBe(8_579);
    grant(account, 60, { thenTenthsA: 0, isLockFloor: true });
    expect(account.boundW).toBe(8_579);
  });

  it('is that alone where as much may be in force on all its phases', () => {
    const { account } = ledgerWith(THREE_PHASES);
    grant(account, 100, { thenTenthsA: 0 });
    expect(account.leastBesideW).toBe(4_140);
  });
});
