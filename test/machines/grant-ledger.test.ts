// Reservations, permitted grants and releases of the grant ledger (R1, R2, R5, R6, R7).
import { describe, expect, it } from 'vitest';
import { type GrantTiming, horizonMsOf } from '../../machines/power/grant.js';
import { GrantLedger, LedgerError } from '../../machines/power/grant-ledger.js';
import type { Holding, HoldingSpec } from '../../machines/power/holding.js';
import { hadTenthsA, isWithoutGrant, leastBesideW } from '../../machines/power/ledger-room.js';
import { leaseToStore } from '../../machines/power/stored-reservation.js';
import { wattsOfTenths } from '../../machines/values/units.js';

const TIMING: GrantTiming = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const LEASE_MS = 61_200;
const SETTLE_MS = 10_000;
const MILLIWATTS = 3 * 230 * 100;
const BUDGET_W = 50_000;

const CHARGER: HoldingSpec = {
  maxTenthsA: 320,
  failsafeTenthsA: 60,
  milliwattsPerTenth: MILLIWATTS,
  lease: 'heartbeat',
  keepsThen: false,
};

function ledgerWith(spec: Partial<HoldingSpec> = {}): { ledger: GrantLedger; holding: Holding } {
  const ledger = new GrantLedger(TIMING);
  return { ledger, holding: ledger.add('quay-1/1', { ...CHARGER, ...spec }) };
}

function grant(
  ledger: GrantLedger,
  holding: Holding,
  limitTenthsA: number,
  { heardAtMs = 0, thenTenthsA = 60, budgetW = BUDGET_W, isLockFloor = false, isWaiting = false } = {},
): number {
  return ledger.grant(holding, { limitTenthsA, thenTenthsA, heardAtMs, budgetW, isLockFloor, isWaiting });
}

/** The entitlement at each of `atMs`, in this order. */
function boundsAt(ledger: GrantLedger, holding: Holding, ...atMs: number[]): number[] {
  return atMs.map((each) => {
    ledger.release(each);
    return holding.boundTenthsA;
  });
}

describe('What a charger may be entitled to (rule 1)', () => {
  it('is its fail-safe before any grant', () => {
    const { ledger, holding } = ledgerWith();
    expect(holding).toMatchObject({ boundTenthsA: 60, entitledTenthsA: 60, failsafeTenthsA: 60, lastSeq: 0 });
    expect(ledger.totalW).toBe(4_140);
  });

  it('is a grant from before it leaves until a slow clock has counted the lease, and settled', () => {
    const { ledger, holding } = ledgerWith();
    grant(ledger, holding, 320, { heardAtMs: 1_000 });
    expect(boundsAt(ledger, holding, 0, 1_000 + LEASE_MS + SETTLE_MS - 1)).toEqual([320, 320]);
    expect(ledger.nextReleaseAtMs(holding)).toBe(1_000 + LEASE_MS + SETTLE_MS);
    expect(boundsAt(ledger, holding, 1_000 + LEASE_MS + SETTLE_MS)).toEqual([60]);
    expect(ledger.nextReleaseAtMs(holding)).toBeUndefined();
    expect(horizonMsOf(TIMING)).toBe(LEASE_MS + SETTLE_MS);
  });

  it('is what was granted before until settle after the acknowledgement of what is newer', () => {
    const { ledger, holding } = ledgerWith();
    grant(ledger, holding, 320);
    const seq = grant(ledger, holding, 100);
    expect(holding.boundTenthsA).toBe(320);
    expect(ledger.acknowledge(holding, seq, 5_000)).toBe(true);
    expect(boundsAt(ledger, holding, 14_999, 15_000)).toEqual([320, 100]);
  });

  it('is not less because an older grant was acknowledged', () => {
    const { ledger, holding } = ledgerWith();
    const older = grant(ledger, holding, 100);
    grant(ledger, holding, 320);
    grant(ledger, holding, 60);
    ledger.acknowledge(holding, older, 1_000);
    expect(boundsAt(ledger, holding, 60_000)).toEqual([320]);
  });

  it('is lasting for a charger that counts from receipt, until it acknowledges: then the lease began before', () => {
    const { ledger, holding } = ledgerWith({ lease: 'receipt' });
    const seq = grant(ledger, holding, 320);
    expect(ledger.nextReleaseAtMs(holding)).toBeUndefined();
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([320]);
    ledger.acknowledge(holding, seq, 10_000_000);
    const endsAtMs = 10_000_000 + LEASE_MS + SETTLE_MS;
    expect(boundsAt(ledger, holding, endsAtMs - 1, endsAtMs)).toEqual([320, 60]);
  });

  it('is lasting too where a charger turns out not to count from its heartbeats', () => {
    const { ledger, holding } = ledgerWith();
    grant(ledger, holding, 320);
    ledger.describe(holding, { lease: 'receipt' });
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([320]);
    ledger.acknowledge(holding, grant(ledger, holding, 100), 10_000_000);
    expect(boundsAt(ledger, holding, 10_010_000)).toEqual([100]);
  });

  it('outlasts a later grant where it was given to a charger that counted from receipt then', () => {
    const { ledger, holding } = ledgerWith({ lease: 'receipt' });
    grant(ledger, holding, 100);
    ledger.describe(holding, { lease: 'heartbeat' });
    grant(ledger, holding, 200);
    expect(boundsAt(ledger, holding, 0, 10_000_000)).toEqual([200, 100]);
  });

  it('never ends by itself for a charger that keeps to no lease', () => {
    const { ledger, holding } = ledgerWith({ lease: 'none' });
    ledger.acknowledge(holding, grant(ledger, holding, 320), 0);
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([320]);
  });

  it('is what was on disk for one horizon from the start (rule 6)', () => {
    const { ledger, holding } = ledgerWith();
    ledger.restore(holding, { limitTenthsA: 200, thenTenthsA: 0 }, 1_000);
    const endsAtMs = 1_000 + LEASE_MS + SETTLE_MS;
    expect(boundsAt(ledger, holding, 1_000, endsAtMs - 1, endsAtMs)).toEqual([200, 200, 60]);
  });

  it('never ends by itself where its charger kept to no lease before the start, though it says now that it does', () => {
    const { ledger, holding } = ledgerWith({ lease: 'none' });
    ledger.restore(holding, { limitTenthsA: 200, thenTenthsA: 0 }, 0);
    ledger.describe(holding, { lease: 'heartbeat', keepsThen: true });
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([200]);
    ledger.acknowledge(
      holding,
      grant(ledger, holding, 100, { heardAtMs: 10_000_000, thenTenthsA: 0 }),
      10_000_000,
    );
    expect(boundsAt(ledger, holding, 10_000_000 + SETTLE_MS)).toEqual([100]);
  });

  it('ends a lease after its acknowledgement where its charger, that kept none when it was told, says by then that it does', () => {
    const { ledger, holding } = ledgerWith({ lease: 'none' });
    const seq = grant(ledger, holding, 320);
    ledger.describe(holding, { lease: 'heartbeat', keepsThen: true });
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([320]);
    ledger.acknowledge(holding, seq, 10_000_000);
    const endsAtMs = 10_000_000 + LEASE_MS + SETTLE_MS;
    grant(ledger, holding, 307, { heardAtMs: endsAtMs });
    expect(boundsAt(ledger, holding, endsAtMs - 1, endsAtMs)).toEqual([320, 307]);
    expect(leaseToStore(holding)).toBe('heartbeat');
  });

  it('goes to disk as one of a charger without a lease, until that has taken another since it says that it keeps leases', () => {
    const { ledger, holding } = ledgerWith({ lease: 'none' });
    grant(ledger, holding, 200);
    ledger.describe(holding, { lease: 'heartbeat', keepsThen: true });
    const seq = grant(ledger, holding, 100);
    expect([holding.lease, leaseToStore(holding)]).toEqual(['heartbeat', 'none']);
    ledger.acknowledge(holding, seq, 20_000);
    ledger.release(20_000 + SETTLE_MS);
    expect(leaseToStore(holding)).toBe('heartbeat');
  });

  it('is less than its own fail-safe where less was on disk, until its charger says that it keeps nothing', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: false });
    ledger.restore(holding, { limitTenthsA: 0, thenTenthsA: 0 }, 0);
    expect(holding.boundTenthsA).toBe(0);
    ledger.describe(holding, { keepsThen: true });
    expect(holding.boundTenthsA).toBe(0);
    ledger.describe(holding, { keepsThen: false });
    expect(holding.boundTenthsA).toBe(60);
  });

  it('is its own fail-safe where its charger says nothing for too long, which is no room for a grant', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: false });
    ledger.restore(holding, { limitTenthsA: 0, thenTenthsA: 0 }, 0);
    ledger.presumeForgetful(holding);
    expect(holding.boundTenthsA).toBe(60);
    expect(ledger.grantableTenthsA(holding, 0)).toBe(0);
  });

  it('is expected to last as long as its charger says that it holds what was on disk, and no room for a grant', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    ledger.restore(holding, { limitTenthsA: 200, thenTenthsA: 0 }, 0);
    const lastsW = (tenthsA: number) => expect(ledger.lastingW()).toBe(wattsOfTenths(tenthsA, 69_000));
    ledger.noteHeld(holding, 320);
    lastsW(200);
    ledger.noteHeld(holding, 150);
    lastsW(150);
    expect(ledger.grantableTenthsA(holding, 0)).toBe(0);
    expect(() => grant(ledger, holding, 150, { budgetW: 0, thenTenthsA: 0 })).toThrow(LedgerError);
  });

  it('is expected to last at the voltage that what was on disk was counted with at the least, until it is granted anew', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true, leastMilliwattsOnPhase: 60_000 });
    ledger.restore(holding, { limitTenthsA: 200, thenTenthsA: 0 }, 0);
    ledger.noteHeld(holding, 200);
    expect(ledger.lastingW()).toBe(wattsOfTenths(200, 60_000));
    expect(holding.boundW).toBe(wattsOfTenths(200, 69_000));
    grant(ledger, holding, 100, { budgetW: 100_000, thenTenthsA: 0 });
    expect(ledger.lastingW()).toBe(wattsOfTenths(100, 69_000));
  });

  it('is its maximum in the worst case, and what it was granted again afterwards (rules 7 and 8)', () => {
    const { ledger, holding } = ledgerWith();
    grant(ledger, holding, 100);
    ledger.setWorstCase(holding, true);
    expect(holding).toMatchObject({ boundTenthsA: 320, entitledTenthsA: 100 });
    expect(ledger.totalW).toBe(wattsOfTenths(320, MILLIWATTS));
    ledger.setWorstCase(holding, false);
    expect(holding.boundTenthsA).toBe(100);
  });

  it('is worth more power at a higher voltage', () => {
    const { ledger, holding } = ledgerWith();
    ledger.describe(holding, { milliwattsPerTenth: 3 * 250 * 100 });
    expect(holding.boundW).toBe(4_500);
    expect(ledger.totalW).toBe(4_500);
  });

  it('is nothing any more once the connector is gone', () => {
    const { ledger, holding } = ledgerWith();
    ledger.remove(holding);
    ledger.remove(holding);
    expect(ledger.totalW).toBe(0);
  });
});

describe('What a charger falls back to (rule 7)', () => {
  it('is reserved for ever where it keeps nothing: its own fail-safe, and what it was told', () => {
    const { ledger, holding } = ledgerWith();
    ledger.acknowledge(holding, grant(ledger, holding, 100, { thenTenthsA: 0 }), 0);
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([60]);
  });

  it('is what the newest grant said that it took, where it keeps that', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    const seq = grant(ledger, holding, 100, { thenTenthsA: 0 });
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([60]);
    ledger.acknowledge(holding, seq, 10_000_000);
    // Its lease had ended, so the charger was at its fail-safe and needs the settling time to leave it.
    expect(boundsAt(ledger, holding, 10_000_000, 10_009_999, 10_010_000)).toEqual([60, 60, 0]);
    expect(holding.failsafeTenthsA).toBe(0);
  });

  it('is the largest of what unacknowledged grants said since', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    ledger.acknowledge(holding, grant(ledger, holding, 100, { thenTenthsA: 0 }), 0);
    grant(ledger, holding, 100, { thenTenthsA: 80 });
    grant(ledger, holding, 100, { thenTenthsA: 20 });
    expect(holding.failsafeTenthsA).toBe(80);
  });

  it('is more where the charger says so itself', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    ledger.describe(holding, { failsafeTenthsA: 160 });
    expect(holding.failsafeTenthsA).toBe(160);
    ledger.describe(holding, { failsafeTenthsA: 0 });
    expect(holding.failsafeTenthsA).toBe(160);
  });
});

describe('A charger that started anew', () => {
  it('holds no grant: none is given because of what the start before was promised, which counts on', () => {
    const { ledger, holding } = ledgerWith();
    ledger.describe(holding, { keepsThen: false });
    grant(ledger, holding, 200);
    expect(ledger.grantableTenthsA(holding, 0)).toBe(200);
    ledger.restarted(holding);
    expect(ledger.grantableTenthsA(holding, 0)).toBe(60);
    expect(holding.boundTenthsA).toBe(200);
    expect(() => grant(ledger, holding, 200, { budgetW: 0 })).toThrow(LedgerError);
  });

  it('falls back to what it was told only where it keeps that', () => {
    const grantableTenthsA = (keepsThen: boolean) => {
      const { ledger, holding } = ledgerWith();
      ledger.describe(holding, { keepsThen });
      grant(ledger, holding, 200, { thenTenthsA: 80 });
      ledger.restarted(holding);
      return ledger.grantableTenthsA(holding, 0);
    };
    expect([true, false].map(grantableTenthsA)).toEqual([80, 60]);
  });

  it('has what it says that it is at, until it is granted anew, and again once that is over', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    grant(ledger, holding, 200, { thenTenthsA: 0 });
    expect(isWithoutGrant(holding)).toBe(false);
    ledger.restarted(holding);
    expect(isWithoutGrant(holding)).toBe(true);
    expect(hadTenthsA(holding)).toBe(0);
    ledger.noteAt(holding, [60, 60, 60]);
    expect(hadTenthsA(holding)).toBe(60);
    grant(ledger, holding, 100, { thenTenthsA: 0 });
    expect(hadTenthsA(holding)).toBe(0);
    ledger.release(10_000_000);
    // A report from before that grant proves nothing about the limit after it.
    expect([isWithoutGrant(holding), hadTenthsA(holding)]).toEqual([true, 0]);
  });
});

describe('Where fail-safes that chargers have of their own do not fit together', () => {
  it('only what they were told is reserved, and their own once they start anew', () => {
    const { ledger, holding } = ledgerWith();
    ledger.acknowledge(holding, grant(ledger, holding, 100, { thenTenthsA: 0 }), 0);
    ledger.reserveOwnFailsafes(false);
    expect(boundsAt(ledger, holding, 10_000_000)).toEqual([0]);
    ledger.restarted(holding);
    expect(holding.boundTenthsA).toBe(60);
    ledger.acknowledge(holding, grant(ledger, holding, 0, { thenTenthsA: 0 }), 10_000_000);
    expect(boundsAt(ledger, holding, 10_009_999, 10_010_000)).toEqual([60, 0]);
    ledger.reserveOwnFailsafes(true);
    expect(holding.boundTenthsA).toBe(60);
  });
});

describe('A grant leaves only if it fits (rule 2)', () => {
  it('beside what the others may be entitled to, to the watt', () => {
    const ledger = new GrantLedger(TIMING);
    const [one, other] = [ledger.add('a', CHARGER), ledger.add('b', CHARGER)];
    grant(ledger, one, 320);
    const budgetW = wattsOfTenths(320, MILLIWATTS) + wattsOfTenths(100, MILLIWATTS);
    expect(ledger.grantableTenthsA(other, budgetW)).toBe(100);
    expect(() => grant(ledger, other, 101, { budgetW })).toThrow(LedgerError);
    expect(() => grant(ledger, other, 100, { budgetW: budgetW - 1 })).toThrow(LedgerError);
    expect(other.lastSeq).toBe(0);
    expect(grant(ledger, other, 100, { budgetW })).toBe(1);
    expect(ledger.totalW).toBe(budgetW);
  });

  it('or lowers, or repeats, what the charger was told last', () => {
    const { ledger, holding } = ledgerWith();
    grant(ledger, holding, 320);
    expect(ledger.grantableTenthsA(holding, 0)).toBe(320);
    grant(ledger, holding, 320, { budgetW: 0, heardAtMs: 1_000 });
    grant(ledger, holding, 100, { budgetW: 0 });
    expect(ledger.grantableTenthsA(holding, 0)).toBe(100);
  });

  it('while what is on its way out is no room for it: it would last a whole lease longer', () => {
    const { ledger, holding } = ledgerWith();
    grant(ledger, holding, 320);
    grant(ledger, holding, 100);
    expect(holding.boundTenthsA).toBe(320);
    expect(() => grant(ledger, holding, 200, { budgetW: 5_000 })).toThrow(LedgerError);
    const fromDisk = ledgerWith();
    fromDisk.ledger.restore(fromDisk.holding, { limitTenthsA: 320, thenTenthsA: 0 }, 0);
    expect(() => grant(fromDisk.ledger, fromDisk.holding, 60, { budgetW: 0 })).toThrow(LedgerError);
    // After the charger reports that it falls back to 6 A in any case, these 6 A are its own reserve.
    fromDisk.ledger.describe(fromDisk.holding, { keepsThen: false });
    expect(fromDisk.ledger.grantableTenthsA(fromDisk.holding, 0)).toBe(60);
  });

  it('and one that waits for the disk, or never left, is no room for another', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    ledger.acknowledge(holding, grant(ledger, holding, 0, { thenTenthsA: 0 }), 0);
    const waiting = grant(ledger, holding, 100, { budgetW: 10_000, thenTenthsA: 0, isWaiting: true });
    expect(holding.boundTenthsA).toBe(100);
    expect(() => grant(ledger, holding, 60, { budgetW: 0, thenTenthsA: 0 })).toThrow(LedgerError);
    ledger.noteLeft(holding, waiting);
    expect(ledger.grantableTenthsA(holding, 0)).toBe(100);
    grant(ledger, holding, 60, { budgetW: 0, thenTenthsA: 0 });
  });

  it('whatever the charger says of itself, which may be older than what it was told', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    ledger.acknowledge(holding, grant(ledger, holding, 0, { thenTenthsA: 0 }), 0);
    ledger.describe(holding, { failsafeTenthsA: 60, keepsThen: true });
    expect(holding.boundTenthsA).toBe(60);
    expect(ledger.grantableTenthsA(holding, 0)).toBe(0);
  });

  it('counting what the charger falls back to afterwards', () => {
    const { ledger, holding } = ledgerWith({ failsafeTenthsA: 0 });
    expect(() => grant(ledger, holding, 0, { thenTenthsA: 60, budgetW: 4_139 })).toThrow(LedgerError);
    grant(ledger, holding, 0, { thenTenthsA: 60, budgetW: 4_140 });
  });

  it('and beside what may be on other phases, where it is not sure that as much is on all that it is for', () => {
    const onThree = { polesOfPhases: [[], [], []], keepsThen: true };
    const restored = ledgerWith(onThree);
    restored.ledger.restore(restored.holding, { limitTenthsA: 141, thenTenthsA: 0 }, 0);
    restored.ledger.noteHeld(restored.holding, 141);
    expect(restored.ledger.grantableTenthsA(restored.holding, 9_000)).toBe(130);
    // The charger may hold the limit on two phases only. With 13 A on the third one, 9,384 W would be in force.
    restored.ledger.noteHeld(restored.holding, 141, [141, 141, 0]);
    expect(restored.ledger.grantableTenthsA(restored.holding, 9_000)).toBe(0);
    expect(() => grant(restored.ledger, restored.holding, 60, { budgetW: 9_000 })).toThrow(LedgerError);

    const ended = ledgerWith(onThree);
    ended.ledger.restore(ended.holding, { limitTenthsA: 297, thenTenthsA: 0, phases: 1 }, 0);
    // The charger holds no stored limit.
    ended.ledger.noteHeld(ended.holding, 0);
    grant(ended.ledger, ended.holding, 220, { thenTenthsA: 0 });
    ended.ledger.useOn(ended.holding, 1);
    expect(ended.ledger.grantableTenthsA(ended.holding, 6_000)).toBe(220);

    const unsent = ledgerWith(onThree);
    grant(unsent.ledger, unsent.holding, 75, { thenTenthsA: 0 });
    grant(unsent.ledger, unsent.holding, 120, { thenTenthsA: 0, isWaiting: true });
    unsent.ledger.useOn(unsent.holding, 1);
    expect(unsent.ledger.grantableTenthsA(unsent.holding, 6_000)).toBe(75);

    const presumed = ledgerWith({ ...onThree, keepsThen: false });
    presumed.ledger.useOn(presumed.holding, 2);
    grant(presumed.ledger, presumed.holding, 140, { thenTenthsA: 0 });
    presumed.ledger.useOn(presumed.holding, 3);
    expect(presumed.holding.bounds).toEqual([140, 140, 60]);
    expect(presumed.ledger.grantableTenthsA(presumed.holding, 4_500)).toBe(0);
    expect(presumed.ledger.grantableTenthsA(presumed.holding, 7_820)).toBe(60);
  });

  it('unless it is the floor of a lock', () => {
    const { ledger, holding } = ledgerWith({ failsafeTenthsA: 0 });
    expect(grant(ledger, holding, 60, { budgetW: 0, isLockFloor: true })).toBe(1);
    expect(ledger.totalW).toBe(4_140);
  });

  it.each([-1, 321])('and never at %d tenths of an ampere, outside 0 to the maximum', (tenthsA) => {
    const { ledger, holding } = ledgerWith();
    expect(() => grant(ledger, holding, tenthsA)).toThrow(LedgerError);
    expect(() => grant(ledger, holding, tenthsA, { isLockFloor: true })).toThrow(LedgerError);
    expect(holding.lastSeq).toBe(0);
  });
});

describe('A doubled, overtaken or foreign acknowledgement (rule 5, P8)', () => {
  it('changes nothing', () => {
    const { ledger, holding } = ledgerWith();
    const [one, two] = [grant(ledger, holding, 320), grant(ledger, holding, 100)];
    expect([one, two]).toEqual([1, 2]);
    expect(ledger.acknowledge(holding, 3, 0)).toBe(false);
    ledger.acknowledge(holding, two, 0);
    expect(ledger.acknowledge(holding, two, 9_000)).toBe(false);
    expect(ledger.acknowledge(holding, one, 9_000)).toBe(false);
    expect(boundsAt(ledger, holding, 10_000)).toEqual([100]);
  });
});

describe('The memory of a ledger (P13)', () => {
  it('is bounded however often a limit falls unacknowledged, and forgets nothing large', () => {
    const { ledger, holding } = ledgerWith({ keepsThen: true });
    let largest = 0;
    for (let step = 0; step < 5_000; step++) {
      grant(ledger, holding, 320 - (step % 320), { heardAtMs: step, thenTenthsA: step % 61 });
      largest = Math.max(largest, JSON.stringify(holding).length);
    }
    expect(holding).toMatchObject({ boundTenthsA: 320, failsafeTenthsA: 60, lastSeq: 5_000 });
    expect(largest).toBeLessThan(3_000);
    ledger.acknowledge(holding, 5_000, 5_000);
    expect(boundsAt(ledger, holding, 15_000)).toEqual([320 - (4_999 % 320)]);
  });
});

describe('The least that a lock is owed, W', () => {
  const THREE_PHASES = { failsafeTenthsA: 0, polesOfPhases: [[], [], []] };

  it('is what it adds to phases on which nothing may be in force, beside all that may be on the others', () => {
    const { ledger, holding } = ledgerWith(THREE_PHASES);
    ledger.useOn(holding, 1);
    grant(ledger, holding, 253, { thenTenthsA: 0 });
    expect(holding.boundW).toBe(5_819);
    ledger.useOn(holding, 3);
    // The first phase may still carry 25.3 A, and 6 A are new on the two others.
    expect(leastBesideW(holding)).toBe(8_579);
    grant(ledger, holding, 60, { thenTenthsA: 0, isLockFloor: true });
    expect(holding.boundW).toBe(8_579);
  });

  it('is that alone where as much may be in force on all its phases', () => {
    const { ledger, holding } = ledgerWith(THREE_PHASES);
    grant(ledger, holding, 100, { thenTenthsA: 0 });
    expect(leastBesideW(holding)).toBe(4_140);
  });
});
