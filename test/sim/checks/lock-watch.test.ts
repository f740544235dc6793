// What P4 asks for a locked connector on a fuse: its 6 A, unless others fill it that nobody can lower.
import { beforeEach, describe, expect, it } from 'vitest';
import { ConnectorBook, type SiteBook } from '../../../sim/checks/connector-book.js';
import { LockWatch } from '../../../sim/checks/lock-watch.js';
import { LimitOracle } from '../../../sim/world/limit-oracle.js';
import type { LimitMessage } from '../../../src/wire/mqtt.js';

const TIMES = { leaseMs: 61_200, settleMs: 10_000, heartbeatMs: 10_000 };
const FUSE = 'L1 of the connection';
const HOUR_MS = 3_600_000;

let nowMs: number;
let told: string[];
let watch: LockWatch;
let locked: ConnectorBook;
let first: ConnectorBook;
let second: ConnectorBook;

function limit(seq: number, limitA: number): LimitMessage {
  const numbers = { epoch: 1, seq, boot: 'b', ref: seq, ttlS: 60, thenA: 0 };
  return { v: 1, ...numbers, limitA, limitW: 690 * limitA, reason: 'waiting' };
}

/** Each has 32 A at the most, on a fuse of 60 A; one is locked since an hour, and told 0 A. */
beforeEach(() => {
  nowMs = HOUR_MS;
  told = [];
  const connectors: ConnectorBook[] = [];
  const site: SiteBook = {
    tenantUuid: 't',
    locationId: 'quay',
    connectors,
    horizonMs: 71_200,
    capacitiesA: new Map([[FUSE, 60]]),
    isLimitedFromOutside: false,
  };
  const rating = { wattsPerA: 690, maxA: 32, leastA: 6, failsafeA: 0, efficiency: undefined };
  const bookOf = (key: string) => {
    const facts = {
      key,
      ...rating,
      operatorMayPause: false,
      poles: [FUSE],
      polesOfPhases: [[FUSE]],
    } as const;
    const book = new ConnectorBook(site, facts, TIMES);
    book.hear(0, true);
    connectors.push(book);
    return book;
  };
  [locked, first, second] = [bookOf('q1/1'), bookOf('q2/1'), bookOf('q3/1')];
  const oracle = new LimitOracle();
  const [startTime, endTime] = [new Date(0).toISOString(), new Date(2 * HOUR_MS).toISOString()];
  oracle.lock('q1/1', { startTime, endTime, limitKw: 11 }, 0);
  watch = new LockWatch({
    oracle,
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    drawnA: () => 0,
    soundSinceMs: () => 0,
    operatorW: () => Number.POSITIVE_INFINITY,
    report: ({ invariant, detail }) => void told.push(`${invariant} ${detail}`),
  });
});

const NOTHING_FOR_A_LOCK = 'P4 0 A for a locked connector that is in reach (waiting)';

describe('A lock that is told 0 A on a fuse', () => {
  it('is wronged where the others can be lowered, or one of them alone cannot', () => {
    watch.left(locked, limit(1, 0));
    first.lease = 'none';
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([NOTHING_FOR_A_LOCK, NOTHING_FOR_A_LOCK]);
  });

  it('is not where the maxima of two that cannot be relied upon fill it, nor until what they may draw is over', () => {
    for (const book of [first, second]) {
      book.lease = 'none';
      book.give(limit(1, 32), nowMs, nowMs);
    }
    watch.left(locked, limit(1, 0));
    locked.lease = 'none';
    watch.left(locked, limit(1, 0));
    expect(told.splice(0)).toEqual([NOTHING_FOR_A_LOCK]);
    locked.lease = 'heartbeat';
    nowMs += 10_000;
    for (const book of [first, second]) book.lease = 'heartbeat';
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([]);
    for (const book of [first, second]) {
      book.give(limit(2, 6), nowMs, nowMs);
      book.noteApplied({ epoch: 1, seq: 2 }, nowMs);
    }
    nowMs += 2 * TIMES.heartbeatMs + TIMES.settleMs - 10_000;
    watch.left(locked, limit(3, 0));
    expect(told).toEqual([]);
    nowMs += 1;
    watch.left(locked, limit(4, 0));
    expect(told).toEqual([NOTHING_FOR_A_LOCK]);
  });

  it('is wronged where what they may draw goes on for longer than it takes to make room', () => {
    for (const book of [first, second]) {
      book.lease = 'none';
      book.give(limit(1, 32), nowMs, nowMs);
    }
    watch.left(locked, limit(1, 0));
    for (const book of [first, second]) book.lease = 'heartbeat';
    nowMs += 100_001;
    watch.left(locked, limit(2, 0));
    expect(told).toEqual([NOTHING_FOR_A_LOCK]);
  });
});
