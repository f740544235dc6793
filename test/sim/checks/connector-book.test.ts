// The possible entitlement of a connector, by its messages with the service (power-safety.md, R1, R4, R5 and R8).
import { describe, expect, it } from 'vitest';
import { Disk } from '../../../sim/checks/checks.js';
import { ConnectorBook, type SiteBook } from '../../../sim/checks/connector-book.js';
import type { LimitMessage } from '../../../src/wire/mqtt.js';

const TIMES = { leaseMs: 61_200, settleMs: 10_000, heartbeatMs: 10_000 };

function bookOf(failsafeA = 0): ConnectorBook {
  const site: SiteBook = {
    tenantUuid: 't',
    locationId: 'quay',
    connectors: [],
    horizonMs: 71_200,
    noticeMs: 15_000,
    capacitiesA: new Map(),
    isLimitedFromOutside: false,
  };
  const facts = {
    key: 'q/1',
    wattsPerA: 690,
    maxA: 32,
    leastA: 6,
    failsafeA,
    operatorMayPause: false,
    efficiency: undefined,
    circuitPhases: [],
    circuitPhasesOfPhases: [[], [], []],
  };
  return new ConnectorBook(site, facts, TIMES);
}

function limit(seq: number, limitA: number, thenA = 0, epoch = 1): LimitMessage {
  return {
    v: 1,
    epoch,
    seq,
    boot: 'b',
    ref: seq,
    ttlS: 60,
    limitA,
    limitW: 690 * limitA,
    thenA,
    reason: 'fairShare',
  };
}

describe('A connector', () => {
  it('may have taken each later limit for the same start of its charger', () => {
    const book = bookOf();
    for (const seq of [1, 2, 3]) book.give(limit(seq, 20), 1_000 * seq, 1_000 * seq);
    book.give({ ...limit(4, 20), boot: 'another' }, 4_000, 4_000);
    expect(book.givenAfter(limit(1, 20)).map(({ seq }) => seq)).toEqual([2, 3]);
    expect(book.givenAfter(limit(3, 20))).toEqual([]);
  });

  it('is entitled to a grant until lease, drift and settling time are over', () => {
    const book = bookOf();
    book.give(limit(1, 20), 1_000, 1_500);
    expect(book.boundA(1_000 + 71_199)).toBe(20);
    expect(book.boundA(1_000 + 71_200)).toBe(0);
  });

  it('keeps a grant that it reports to outlast its lease, until it takes a newer limit', () => {
    const book = bookOf();
    book.give(limit(1, 30), 0, 0);
    book.give(limit(2, 20), 10_000, 10_000);
    book.noteApplied({ epoch: 1, seq: 2 }, 11_000);
    book.openEnd(12_000);
    expect([20_999, 21_000, 1_000_000].map((nowMs) => book.boundA(nowMs))).toEqual([30, 20, 20]);
    book.give(limit(3, 0), 1_000_000, 1_000_000);
    book.noteApplied({ epoch: 1, seq: 3 }, 1_000_000);
    expect([1_009_999, 1_010_000].map((nowMs) => book.boundA(nowMs))).toEqual([20, 0]);
  });

  it('regains no ended entitlement if it reports only later that a grant outlasts its lease', () => {
    for (const [saidAtMs, boundA] of [
      [71_199, 20],
      [71_200, 0],
    ] as const) {
      const book = bookOf();
      book.give(limit(1, 20), 0, 0);
      book.noteApplied({ epoch: 1, seq: 1 }, 0);
      book.openEnd(saidAtMs);
      expect(book.boundA(71_200)).toBe(boundA);
    }
  });

  it('keeps a grant that it reports as taken after it reports that grants outlast their leases', () => {
    const book = bookOf();
    book.give(limit(1, 20), 0, 0);
    book.openEnd(5_000);
    book.noteApplied({ epoch: 1, seq: 1 }, 6_000);
    expect(book.boundA(1_000_000)).toBe(20);
  });

  it('loses an unstored report of a longer grant if the service dies, and keeps a stored one', () => {
    for (const [storedUntilMs, boundA] of [
      [12_000, 0],
      [12_001, 20],
    ] as const) {
      const book = bookOf();
      book.give(limit(1, 20), 0, 0);
      book.openEnd(12_000);
      book.openEnd(13_000);
      book.loseWords(storedUntilMs);
      expect([71_199, 71_200].map((nowMs) => book.boundA(nowMs))).toEqual([20, boundA]);
    }
  });

  it('is entitled to its starting current after a forgetful start, until it takes a limit and settles', () => {
    const book = bookOf();
    book.startsWithA = 32;
    book.receive(0, true);
    expect(book.boundA(0)).toBe(0);
    book.isForgetful = true;
    book.receive(1_000, true);
    book.isForgetful = false;
    book.give(limit(1, 6), 2_000, 2_000);
    expect(book.boundA(100_000)).toBe(32);
    book.noteApplied({ epoch: 1, seq: 1 }, 3_000);
    expect([12_999, 13_000].map((nowMs) => book.boundA(nowMs))).toEqual([32, 6]);
  });

  it('loses an unstored start if the service dies, and keeps a stored one', () => {
    for (const [storedUntilMs, boundA] of [
      [2_000, 6],
      [2_001, 32],
    ] as const) {
      const book = bookOf();
      book.give(limit(1, 6, 6), 0, 0);
      book.noteApplied({ epoch: 1, seq: 1 }, 1_000);
      Object.assign(book, { startsWithA: 32, isForgetful: true });
      book.receive(2_000, true);
      book.isForgetful = false;
      book.loseWords(storedUntilMs);
      expect(book.boundA(100_000)).toBe(boundA);
    }
  });

  it('keeps its entitlement until it settles after a lower limit is taken, not only sent', () => {
    const book = bookOf();
    book.give(limit(1, 20), 0, 0);
    book.give(limit(2, 6), 10_000, 10_000);
    expect(book.boundA(30_000)).toBe(20);
    book.noteApplied({ epoch: 1, seq: 2 }, 30_000);
    expect(book.boundA(39_999)).toBe(20);
    expect(book.boundA(40_000)).toBe(6);
  });

  it('keeps its entitlement if it reports an older limit as taken', () => {
    const book = bookOf();
    book.give(limit(1, 20), 0, 0);
    book.give(limit(2, 6), 0, 0);
    book.noteApplied({ epoch: 1, seq: 1 }, 1_000);
    expect(book.boundA(20_000)).toBe(20);
  });

  it('falls back to the fail-safe of its newest limit, and to older ones until it takes that', () => {
    const book = bookOf(6);
    book.give(limit(1, 10, 0), 0, 0);
    expect(book.boundA(80_000)).toBe(6);
    book.noteApplied({ epoch: 1, seq: 1 }, 80_000);
    expect(book.boundA(89_999)).toBe(6);
    expect(book.boundA(90_000)).toBe(0);
  });

  it('falls back permanently to its own fail-safe if it forgets its limits', () => {
    const book = bookOf(6);
    book.isForgetful = true;
    book.give(limit(1, 10, 0), 0, 0);
    book.noteApplied({ epoch: 1, seq: 1 }, 100);
    expect(book.boundA(1_000_000)).toBe(6);
  });

  it('stays entitled to its newest limit, but to none of an earlier start of the service', () => {
    const book = bookOf();
    book.give(limit(1, 20), 0, 0);
    expect(book.lastingA(1, 60_000, 3)).toBe(20);
    expect(book.lastingA(1, 71_200, 3)).toBe(0);
    expect(book.lastingA(2, 1_000, 3)).toBe(0);
    expect(book.hasGrantBefore(2, 1_000)).toBe(true);
  });

  it('has its maximum reserved after 7 s of draw above its limit, and not before', () => {
    const book = bookOf();
    book.give(limit(1, 10), 0, 0);
    book.draw(11.6, 10_000);
    book.draw(11.6, 17_000);
    expect(book.boundA(17_000)).toBe(10);
    book.draw(11.6, 17_001);
    expect(book.boundA(17_001)).toBe(32);
    book.draw(11.5, 20_000);
    expect(book.boundA(20_000)).toBe(10);
  });

  it('violates no limit by power that it draws without a lease or reports soon afterwards', () => {
    const book = bookOf();
    book.receivedLeaseKind.receive('none', 0);
    book.give(limit(1, 10), 0, 0);
    book.draw(18, 10_000);
    book.draw(18, 20_000);
    book.receivedLeaseKind.receive('heartbeat', 0);
    book.draw(18, 20_300);
    book.give(limit(2, 10), 20_300, 20_300);
    expect(book.boundA(20_300)).toBe(10);
    const [turnsMs, turnsAgainMs] = [310_000, 620_000];
    book.give(limit(3, 10), turnsMs, turnsMs);
    book.give(limit(4, 10), turnsAgainMs, turnsAgainMs);
    book.draw(18, turnsAgainMs);
    book.draw(18, turnsAgainMs + 7_001);
    expect(book.boundA(turnsAgainMs + 7_001)).toBe(32);
  });

  it('keeps its earlier lease kind if the service dies just after its report of no lease', () => {
    const book = bookOf();
    book.give(limit(1, 10), 0, 0);
    const disk = new Disk(TIMES.heartbeatMs);
    book.receivedLeaseKind.receive('none', 5_000);
    expect(book.boundA(5_000)).toBe(32);
    expect(book.receivedLeaseKind.lose(disk.storedUntilMs(6_001))).toBe(false);
    expect(book.boundA(6_001)).toBe(32);
    expect(book.receivedLeaseKind.lose(disk.storedUntilMs(6_000))).toBe(true);
    expect(book.boundA(6_000)).toBe(10);
    expect(book.receivedLeaseKind.lose(disk.storedUntilMs(6_000))).toBe(false);
    // The next service receives the report again.
    book.receivedLeaseKind.receive('none', 9_000);
    expect(book.boundA(9_000)).toBe(32);
  });

  it('keeps only earlier reports of no lease if the service dies before a busy database accepts a retry', () => {
    const disk = new Disk(TIMES.heartbeatMs);
    disk.setBusy(true, 20_000);
    const isLost = (saidAtMs: number, diedAtMs: number) => {
      const book = bookOf();
      book.receivedLeaseKind.receive('none', saidAtMs);
      return book.receivedLeaseKind.lose(disk.storedUntilMs(diedAtMs));
    };
    expect(isLost(18_999, 50_000)).toBe(false);
    expect(isLost(19_000, 50_000)).toBe(true);
    expect(isLost(20_000, 50_000)).toBe(true);
    disk.setBusy(false, 60_000);
    expect(isLost(20_000, 70_999)).toBe(true);
    expect(isLost(20_000, 71_000)).toBe(false);
    expect(isLost(70_000, 71_000)).toBe(true);
  });

  it('loses a report of no lease if the database accepts writes too briefly before the service dies', () => {
    const disk = new Disk(TIMES.heartbeatMs);
    const book = bookOf();
    disk.setBusy(true, 20_000);
    book.receivedLeaseKind.receive('none', 30_000);
    disk.setBusy(false, 40_000);
    disk.setBusy(true, 50_000);
    expect(book.receivedLeaseKind.lose(disk.storedUntilMs(60_000))).toBe(true);
  });

  it('may keep a limit with a lease from receipt until it reports the limit as taken', () => {
    const book = bookOf();
    book.receivedLeaseKind.receive('receipt', 0);
    book.give(limit(1, 20), 0, 0);
    expect(book.boundA(1_000_000)).toBe(20);
    book.noteApplied({ epoch: 1, seq: 1 }, 1_000_000);
    expect(book.boundA(1_071_199)).toBe(20);
    expect(book.boundA(1_071_200)).toBe(0);
  });

  it('counts a limit with a lease from receipt as renewed until later, also if that is taken (R3)', () => {
    for (const [lease, renewedA] of [
      ['receipt', 20],
      ['heartbeat', 0],
    ] as const) {
      const book = bookOf();
      book.receivedLeaseKind.receive(lease, 0);
      book.give(limit(1, 20), 0, 0);
      book.noteApplied({ epoch: 1, seq: 1 }, 0);
      expect(book.renewedA(71_200, 1_000)).toBe(renewedA);
    }
  });

  it('has its limits for fewer phases reserved on all after current on a phase that none allows (R34)', () => {
    const book = bookOf();
    book.give({ ...limit(1, 20), session: 's', phases: 1 }, 0, 0);
    book.drawOn(1, 's', 1_000);
    book.drawOn(3, 'another', 1_000);
    expect([0, 1, 2].map((own) => book.boundA(1_000, own))).toEqual([20, 0, 0]);
    book.drawOn(2, 's', 1_000);
    expect([0, 1, 2].map((own) => book.boundA(1_000, own))).toEqual([20, 20, 20]);
    // A limit that it may keep to for any car explains no failure, and neither does a limit of the next session.
    book.give({ ...limit(2, 10), session: 't', phases: 1 }, 2_000, 2_000);
    book.drawOn(3, 't', 2_000);
    book.noteApplied({ epoch: 1, seq: 2 }, 2_000);
    expect([0, 1, 2].map((own) => book.boundA(12_000, own))).toEqual([10, 0, 0]);
  });

  it('may show more phases until the first limit of a new service has settled, which knows higher rows', () => {
    const book = bookOf();
    book.give(limit(1, 20), 0, 0);
    const first = { ...limit(1, 10), epoch: 2, session: 's', phases: 1 as const };
    book.give(first, 100_000, 100_000);
    book.drawOn(3, 's', 101_000);
    book.noteApplied(first, 102_000);
    book.drawOn(3, 's', 103_000);
    const boundsA = (nowMs: number) => [0, 1, 2].map((own) => book.boundA(nowMs, own));
    expect(boundsA(103_000)).toEqual([10, 0, 0]);
    book.drawOn(3, 's', 113_000);
    expect(boundsA(113_000)).toEqual([10, 10, 10]);
  });

  it('has its limits reserved on their own phases again if the service dies', () => {
    const book = bookOf();
    book.give({ ...limit(1, 20), session: 's', phases: 1 }, 0, 0);
    book.drawOn(3, 's', 1_000);
    book.loseWords(0);
    expect([0, 1, 2].map((own) => book.boundA(2_000, own))).toEqual([20, 0, 0]);
  });
});
