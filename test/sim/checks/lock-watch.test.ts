// P4 for a locked connector on a fuse. It gets 6 A unless entitlements that cannot be lowered fill the fuse. It is
// below its limit only if no unlocked connector could leave it more.
import { beforeEach, describe, expect, it } from 'vitest';
import { ConnectorBook, type SiteBook } from '../../../sim/checks/connector-book.js';
import { LockWatch } from '../../../sim/checks/lock-watch.js';
import { LimitOracle } from '../../../sim/world/limit-oracle.js';
import type { LimitMessage } from '../../../src/wire/mqtt.js';

const TIMES = { leaseMs: 61_200, settleMs: 10_000, heartbeatMs: 10_000 };
const FUSE = 'L1 of the connection';
const FEEDER = 'L1 of hall';
const HOUR_MS = 3_600_000;

let nowMs: number;
let told: string[];
let oracle: LimitOracle;
let watch: LockWatch;
let locked: ConnectorBook;
let first: ConnectorBook;
let second: ConnectorBook;

function limit(seq: number, limitA: number, reason: LimitMessage['reason'] = 'waiting'): LimitMessage {
  const numbers = { epoch: 1, seq, boot: 'b', ref: seq, ttlS: 60, thenA: 0 };
  return { v: 1, ...numbers, limitA, limitW: 690 * limitA, reason };
}

function lock(key: string): void {
  const [startTime, endTime] = [new Date(0).toISOString(), new Date(2 * HOUR_MS).toISOString()];
  oracle.lock(key, { startTime, endTime, limitKw: 22 }, 0);
}

/** All chargers except `away` report with each heartbeat. */
function pass(ms: number, away?: ConnectorBook): void {
  for (let leftMs = ms; leftMs > 0; leftMs -= TIMES.heartbeatMs) {
    nowMs += Math.min(leftMs, TIMES.heartbeatMs);
    for (const book of [locked, first, second]) if (book !== away) book.receive(nowMs, false);
  }
}

/**
 * Each has 32 A at most, on a fuse of 60 A; `behindFeeder` names connectors behind a feeder of 45 A. One has been
 * locked for an hour.
 */
function build(behindFeeder: readonly string[]): void {
  nowMs = HOUR_MS;
  told = [];
  const connectors: ConnectorBook[] = [];
  const site: SiteBook = {
    tenantUuid: 't',
    locationId: 'quay',
    connectors,
    horizonMs: 71_200,
    noticeMs: 15_000,
    capacitiesA: new Map([
      [FUSE, 60],
      [FEEDER, 45],
    ]),
    isLimitedFromOutside: false,
  };
  const rating = { wattsPerA: 690, maxA: 32, leastA: 6, failsafeA: 0, efficiency: undefined };
  const bookOf = (key: string) => {
    const circuitPhases = behindFeeder.includes(key) ? [FUSE, FEEDER] : [FUSE];
    const facts = {
      key,
      ...rating,
      operatorMayPause: false,
      circuitPhases,
      circuitPhasesOfPhases: [circuitPhases],
    };
    const book = new ConnectorBook(site, facts, TIMES);
    for (let receivedAtMs = 0; receivedAtMs <= HOUR_MS; receivedAtMs += TIMES.heartbeatMs)
      book.receive(receivedAtMs, receivedAtMs === 0);
    connectors.push(book);
    return book;
  };
  [locked, first, second] = [bookOf('q1/1'), bookOf('q2/1'), bookOf('q3/1')];
  oracle = new LimitOracle();
  lock('q1/1');
  watch = new LockWatch({
    oracle,
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    drawnA: () => 0,
    soundSinceMs: () => 0,
    operatorW: () => Number.POSITIVE_INFINITY,
    report: ({ invariant, detail }) => void told.push(`${invariant} ${detail}`),
  });
}

beforeEach(() => build([]));

const NOTHING_FOR_A_LOCK = 'P4 0 A for a reachable locked connector (waiting)';

/** A limit of 0 A (`seq`) for the locked connector is allowed after `ms`, and a violation a millisecond later. */
function expectOwedAfter(ms: number, seq: number, away?: ConnectorBook): void {
  pass(ms, away);
  watch.left(locked, limit(seq, 0));
  expect(told).toEqual([]);
  pass(1, away);
  watch.left(locked, limit(seq + 1, 0));
  expect(told).toEqual([NOTHING_FOR_A_LOCK]);
}

describe('A limit of 0 A for a locked connector on a fuse', () => {
  it('is a violation if the others can be lowered, or only one of them cannot', () => {
    watch.left(locked, limit(1, 0));
    first.receivedLeaseKind.receive('none', nowMs);
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([NOTHING_FOR_A_LOCK, NOTHING_FOR_A_LOCK]);
  });

  it('is allowed while the maximums of two unverified chargers fill the fuse, until their entitlements end', () => {
    for (const book of [first, second]) {
      book.receivedLeaseKind.receive('none', nowMs);
      book.give(limit(1, 32), nowMs, nowMs);
    }
    watch.left(locked, limit(1, 0));
    locked.receivedLeaseKind.receive('none', nowMs);
    watch.left(locked, limit(1, 0));
    expect(told.splice(0)).toEqual([NOTHING_FOR_A_LOCK]);
    locked.receivedLeaseKind.receive('heartbeat', nowMs);
    pass(10_000);
    for (const book of [first, second]) book.receivedLeaseKind.receive('heartbeat', nowMs);
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([]);
    for (const book of [first, second]) {
      book.give(limit(2, 6), nowMs, nowMs);
      book.noteApplied({ epoch: 1, seq: 2 }, nowMs);
    }
    expectOwedAfter(2 * TIMES.heartbeatMs + TIMES.settleMs, 3);
  });

  it('is allowed while a connector that took no lower limit in time fills the fuse, until it settles', () => {
    first.receivedLeaseKind.receive('none', nowMs);
    const give = (seq: number, limitA: number) => {
      watch.left(second, limit(seq, limitA));
      second.give(limit(seq, limitA), nowMs, nowMs);
    };
    give(1, 23.5);
    second.noteApplied({ epoch: 1, seq: 1 }, nowMs);
    give(2, 22);
    pass(4_799);
    give(3, 22);
    watch.left(locked, limit(1, 0));
    expect(told.splice(0)).toEqual([NOTHING_FOR_A_LOCK]);
    pass(1);
    watch.left(locked, limit(2, 0));
    second.noteApplied({ epoch: 1, seq: 3 }, nowMs);
    expectOwedAfter(TIMES.settleMs - 1, 3);
  });

  it('is allowed while a charger that briefly kept no lease has taken no limit since', () => {
    first.receivedLeaseKind.receive('none', nowMs);
    second.receivedLeaseKind.receive('none', nowMs);
    second.receivedLeaseKind.receive('heartbeat', nowMs);
    expectOwedAfter(2 * TIMES.heartbeatMs + TIMES.settleMs, 1);
  });

  it('is allowed while a charger that briefly kept no lease is unreachable and has taken no limit', () => {
    first.receivedLeaseKind.receive('none', nowMs);
    second.receivedLeaseKind.receive('none', nowMs);
    second.receivedLeaseKind.receive('heartbeat', nowMs);
    pass(TIMES.heartbeatMs);
    second.signOff();
    for (let seq = 1; seq <= 15; seq++) {
      pass(TIMES.heartbeatMs, second);
      watch.left(locked, limit(seq, 0));
    }
    expect(told).toEqual([]);
    second.receive(nowMs, true);
    expectOwedAfter(2 * TIMES.heartbeatMs + TIMES.settleMs, 16);
  });

  it('is allowed while the earlier grant of an unreachable charger fills the fuse, until that grant ends', () => {
    first.receivedLeaseKind.receive('none', nowMs);
    second.give(limit(1, 26), nowMs, nowMs);
    watch.left(locked, limit(1, 0));
    expect(told.splice(0)).toEqual([NOTHING_FOR_A_LOCK]);
    second.signOff();
    watch.left(locked, limit(2, 0));
    expectOwedAfter(TIMES.leaseMs + TIMES.settleMs - 1, 3, second);
  });

  it('is allowed after late values of a connector exceed its entitlement, until it complies for a minute', () => {
    first.receivedLeaseKind.receive('none', nowMs);
    second.give(limit(1, 16), 0, 0);
    // Its lease ended long ago, so the reading is either as old as that or true.
    second.draw(16, nowMs);
    pass(6_999);
    second.draw(16, nowMs);
    watch.left(locked, limit(1, 0));
    expect(told.splice(0)).toEqual([NOTHING_FOR_A_LOCK]);
    pass(1);
    second.draw(16, nowMs);
    second.draw(0, nowMs);
    pass(59_999);
    second.draw(0, nowMs);
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([]);
    pass(1);
    second.draw(0, nowMs);
    pass(2 * TIMES.heartbeatMs + TIMES.settleMs);
    watch.left(locked, limit(3, 0));
    expect(told).toEqual([NOTHING_FOR_A_LOCK]);
  });

  it('is allowed while another connector has not yet followed the lower limit that frees capacity', () => {
    first.receivedLeaseKind.receive('none', nowMs);
    second.receivedLeaseKind.receive('none', nowMs);
    second.give(limit(1, 20), nowMs, nowMs);
    watch.left(locked, limit(1, 0));
    second.receivedLeaseKind.receive('heartbeat', nowMs);
    second.give(limit(2, 6), nowMs, nowMs);
    pass(2 * TIMES.heartbeatMs + TIMES.settleMs + 1);
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([]);
    second.noteApplied({ epoch: 1, seq: 2 }, nowMs);
    expectOwedAfter(TIMES.settleMs - 1, 3);
  });

  it('is a violation if another connector is lowered repeatedly for longer than freeing capacity takes', () => {
    first.receivedLeaseKind.receive('none', nowMs);
    second.receivedLeaseKind.receive('none', nowMs);
    watch.left(locked, limit(1, 0));
    first.receivedLeaseKind.receive('heartbeat', nowMs);
    const lower = (seq: number) => {
      pass(TIMES.heartbeatMs);
      first.give(limit(2 * seq, 7), nowMs, nowMs);
      first.give(limit(2 * seq + 1, 6), nowMs, nowMs);
      watch.left(locked, limit(seq + 1, 0));
    };
    for (let seq = 1; seq <= 13; seq++) lower(seq);
    expect(told).toEqual([]);
    lower(14);
    expect(told).toEqual([NOTHING_FOR_A_LOCK]);
  });

  it('is a violation if entitlements of others last longer than freeing capacity takes', () => {
    for (const book of [first, second]) {
      book.receivedLeaseKind.receive('none', nowMs);
      book.give(limit(1, 32), nowMs, nowMs);
    }
    watch.left(locked, limit(1, 0));
    for (const book of [first, second]) book.receivedLeaseKind.receive('heartbeat', nowMs);
    pass(100_001);
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([NOTHING_FOR_A_LOCK]);
  });
});

describe('A last-resort limit below the limit of a lock', () => {
  /**
   * Ten seconds later, sends limits to the locked connector behind the feeder, to another one there, and to one
   * elsewhere.
   */
  function tell(seq: number, lockedA: number, besideA: number, freeA: number): void {
    pass(10_000);
    for (const [book, given] of [
      [first, limit(seq, besideA, 'lastResort')],
      [second, limit(seq, freeA, 'fairShare')],
      [locked, limit(seq, lockedA, 'lastResort')],
    ] as const) {
      if (book !== locked) book.receive(nowMs, false);
      watch.left(book, given);
      book.give(given, nowMs, nowMs);
      book.noteApplied(given, nowMs);
    }
  }

  it('is a violation if its feeder has unused capacity for longer than another lock needs to take it', () => {
    build(['q1/1', 'q2/1']);
    lock('q2/1');
    let seq = 0;
    const tellUntil = (lastSeq: number, lockedA: number, besideA: number) => {
      while (seq < lastSeq) tell(++seq, lockedA, besideA, 15);
    };
    // 45 A fill the feeder.
    tellUntil(30, 13, 32);
    // Both are lowered for a third lock, which rises after they have followed. Then that lock ends.
    tellUntil(38, 10, 30);
    tellUntil(40, 13, 32);
    tellUntil(49, 10, 30);
    expect(told).toEqual([]);
    tellUntil(50, 10, 30);
    expect(told).toEqual(['P4 last resort while q3/1, not locked, has 15 A']);
  });

  it('is allowed while a charger behind its feeder that briefly kept no lease is unreachable and has taken no limit', () => {
    build(['q1/1', 'q2/1']);
    const tellWithout = (away: ConnectorBook | undefined, fromSeq: number, count: number) => {
      for (let seq = fromSeq; seq < fromSeq + count; seq++) {
        pass(TIMES.heartbeatMs, away);
        const isReceived = away === undefined;
        const given: readonly (readonly [ConnectorBook, LimitMessage])[] = [
          ...(isReceived ? [[first, limit(seq, 0, 'waiting')] as const] : []),
          [second, limit(seq, 15, 'fairShare')],
          [locked, limit(seq, 13, 'lastResort')],
        ];
        for (const [book, message] of given) {
          watch.left(book, message);
          book.give(message, nowMs, nowMs);
          book.noteApplied(message, nowMs);
        }
      }
    };
    first.receivedLeaseKind.receive('none', nowMs);
    first.receivedLeaseKind.receive('heartbeat', nowMs);
    first.signOff();
    tellWithout(first, 1, 40);
    expect(told).toEqual([]);
    first.receive(nowMs, true);
    tellWithout(undefined, 41, 12);
    expect(told).toEqual([]);
    tellWithout(undefined, 53, 1);
    expect(told).toEqual(['P4 last resort while q3/1, not locked, has 15 A']);
  });

  it('is a violation beside an unlocked connector that charges behind its feeder, even a full one', () => {
    build(['q1/1', 'q2/1']);
    for (let seq = 1; seq <= 20; seq++) tell(seq, 13, 32, 0);
    expect(new Set(told)).toEqual(new Set(['P4 last resort while q2/1, not locked, has 32 A']));
  });
});
