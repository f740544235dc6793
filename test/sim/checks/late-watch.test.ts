// P18 beside chargers that have not taken their lower limits: a location may draw the power that it cannot lower, and
// no more.
import { beforeEach, describe, expect, it } from 'vitest';
import { ConnectorBook, type SiteBook } from '../../../sim/checks/connector-book.js';
import { LateWatch } from '../../../sim/checks/late-watch.js';
import { LimitOracle } from '../../../sim/world/limit-oracle.js';
import type { LimitMessage } from '../../../src/wire/mqtt.js';

const TIMES = { leaseMs: 61_200, settleMs: 10_000, heartbeatMs: 10_000 };
/** W per A. */
const WATTS = 690;
const LIMIT_W = 20 * WATTS;

const connectors: ConnectorBook[] = [];
const site: SiteBook = {
  tenantUuid: 't',
  locationId: 'quay',
  connectors,
  horizonMs: 71_200,
  noticeMs: 15_000,
  capacitiesA: new Map(),
  isLimitedFromOutside: true,
};
let drawnA: Map<ConnectorBook, number>;
let nowMs: number;
let oracle: LimitOracle;
let watch: LateWatch;
let late: ConnectorBook;
let other: ConnectorBook;

function bookOf(key: string, operatorMayPause: boolean): ConnectorBook {
  const rating = { wattsPerA: WATTS, maxA: 32, leastA: 6, failsafeA: 6, efficiency: undefined };
  const book = new ConnectorBook(
    site,
    { key, ...rating, operatorMayPause, circuitPhases: [], circuitPhasesOfPhases: [[], [], []] },
    TIMES,
  );
  connectors.push(book);
  return book;
}

function told(seq: number, limitA: number): LimitMessage {
  const numbers = { epoch: 1, seq, boot: 'b', ref: seq, ttlS: 60, thenA: 0 };
  return { v: 1, ...numbers, limitA, limitW: WATTS * limitA, reason: 'fairShare' };
}

/** Both have 20 A. Then the limit falls, and only `other` takes its 10 A. */
beforeEach(() => {
  connectors.length = 0;
  [late, other] = [bookOf('q1/1', false), bookOf('q2/1', false)];
  drawnA = new Map([
    [late, 20],
    [other, 20],
  ]);
  nowMs = 0;
  oracle = new LimitOracle();
  const connectorW = (book: ConnectorBook) => WATTS * (drawnA.get(book) ?? 0);
  const clock = { monotonicMs: () => nowMs, nowMs: () => nowMs };
  watch = new LateWatch({ sites: new Map([['quay', site]]), oracle, connectorW, ...clock });
  for (const book of [late, other]) {
    book.receive(0, true);
    book.give(told(1, 20), 0, 0);
    book.noteApplied({ epoch: 1, seq: 1 }, 0);
  }
  passTo(10_000);
  for (const book of [late, other]) book.give(told(2, 10), 10_000, 10_000);
  other.noteApplied({ epoch: 1, seq: 2 }, 10_000);
});

/** The watch is queried every second, as in a world, and both chargers go on with heartbeats. */
function passTo(untilMs: number): number {
  let allowedA = Number.NaN;
  while (nowMs < untilMs) {
    nowMs += 1_000;
    for (const book of connectors) book.receive(nowMs, false);
    allowedA = watch.allowedW('quay', LIMIT_W) / WATTS;
  }
  return allowedA;
}

describe('The allowed power beside a charger that has not taken its lower limit', () => {
  it('includes the excess of that charger for 20 s, in which the others free capacity', () => {
    expect(passTo(29_000)).toBe(30);
  });

  it('is then the limit, or the draw of that charger with the others at their minimum', () => {
    expect(passTo(32_000)).toBe(20);
    drawnA.set(late, 24);
    expect(passTo(33_000)).toBe(24);
  });

  it('includes the excess of another charger that has just become late too', () => {
    drawnA.set(other, 10);
    passTo(25_000);
    other.give(told(3, 6), 25_000, 25_000);
    expect(passTo(32_000)).toBe(30);
  });

  it('includes 6 A for a lock that may not be paused', () => {
    const profile = {
      priority: 1,
      limitKw: 22,
      startTime: new Date(0).toISOString(),
      endTime: new Date(100_000).toISOString(),
    };
    oracle.lock('q2/1', profile, 0);
    drawnA.set(late, 18);
    expect(passTo(32_000)).toBe(24);
  });

  it('includes the unconditional reserve of the others, below which they get no limit', () => {
    other.isForgetful = true;
    drawnA.set(late, 18);
    expect(passTo(32_000)).toBe(24);
  });

  it('includes the excess for 15 s more after the charger takes its limit, and nothing later', () => {
    passTo(25_000);
    late.noteApplied({ epoch: 1, seq: 2 }, 25_000);
    expect(passTo(39_000)).toBe(30);
    expect(passTo(42_000)).toBe(20);
  });

  it('includes no excess if all chargers have taken their limits', () => {
    late.noteApplied({ epoch: 1, seq: 2 }, 10_000);
    expect(passTo(30_000)).toBe(20);
  });
});
