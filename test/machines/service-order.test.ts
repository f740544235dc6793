// The capacity that a policy divides, now and under the limits ahead.
import { describe, expect, it } from 'vitest';
import type { Capacity } from '../../machines/policy/capacity-walk.js';
import type { DeclaredCar } from '../../machines/policy/policies.js';
import { allocate } from '../../machines/power/allocation.js';
import { Room } from '../../machines/power/claims.js';
import { type LimitClaim, shareInOrder } from '../../machines/power/service-order.js';

const HOUR_MS = 3_600_000;
const MILLIWATTS_PER_TENTH = 69_000;
const CONNECTION = 0;
const HALL = 1;
const ROOM_TENTHS_A = [1_000, 200];

/** A car that can use 22 kW, and has at least 6 A while it charges. */
function claimOn(circuitPhases: readonly number[], fields: Partial<LimitClaim> = {}): LimitClaim {
  return {
    heldW: 0,
    floorW: 4_140,
    mostW: 22_080,
    load: { circuitPhases, milliwattsPerTenth: MILLIWATTS_PER_TENTH, heldTenthsA: 0 },
    heldTenthsA: 0,
    leastTenthsA: 60,
    milliwattsPerTenth: MILLIWATTS_PER_TENTH,
    isKeptOn: false,
    ...fields,
  };
}

/** The capacity for the first of the cars, which alone is declared, under `limitsKw` of an hour each. */
function capacityOf(
  unlocked: readonly LimitClaim[],
  limitsKw: readonly number[],
  locked: readonly LimitClaim[] = [],
): Capacity {
  const limitW = 1_000 * (limitsKw[0] ?? 0);
  const allocation = allocate(limitW, locked, unlocked, ROOM_TENTHS_A);
  const room = new Room(limitW, ROOM_TENTHS_A);
  const declared: DeclaredCar = {
    key: 'declared',
    departsAtMs: HOUR_MS,
    needWh: 10_000,
    deliveredWh: 0,
    minimumWh: 0,
    priority: 0,
    mostW: 22_080,
    isCharging: true,
    circuitPhases: [CONNECTION, HALL],
    milliwattsPerTenth: MILLIWATTS_PER_TENTH,
  };
  let received: Capacity = { powers: [], roomTenthsA: [] };
  shareInOrder({ allocation, locked, unlocked, room }, new Map([[0, declared]]), {
    policy: (cars, capacity) => {
      received = capacity;
      return cars;
    },
    now: 0,
    limitW,
    limitsAhead: limitsKw.map((limitKw, i) => ({ limitKw, endsAtMs: (i + 1) * HOUR_MS })),
  });
  return received;
}

const powersKw = ({ powers }: Capacity) => powers.map(({ powerW }) => Math.round(powerW / 1_000));

describe('the capacity of declared cars', () => {
  it('falls and rises with the limit, and so does the share of the others', () => {
    const cars = [claimOn([CONNECTION]), claimOn([CONNECTION])];
    const capacity = capacityOf(cars, [20, 10, 30]);
    expect(powersKw(capacity)).toEqual([10, 5, 15]);
    expect(capacity.powers.map(({ endsAtMs }) => endsAtMs / HOUR_MS)).toEqual([1, 2, 3]);
  });

  it('has all that the others cannot use', () => {
    const cars = [claimOn([CONNECTION]), claimOn([CONNECTION], { mostW: 12_000 })];
    expect(powersKw(capacityOf(cars, [20, 60]))).toEqual([10, 48]);
  });

  it('leaves a lock its power under any limit', () => {
    const cars = [claimOn([CONNECTION]), claimOn([CONNECTION])];
    const lock = claimOn([CONNECTION], { mostW: 8_000 });
    expect(powersKw(capacityOf(cars, [28, 18, 6], [lock]))).toEqual([10, 5, 0]);
  });

  it('has the current that the others leave on each circuit phase', () => {
    // The lock has 10 A of the connection. The other car has half of the hall, 10 A.
    const cars = [claimOn([CONNECTION, HALL]), claimOn([CONNECTION, HALL])];
    const lock = claimOn([CONNECTION], { mostW: 6_900 });
    expect(capacityOf(cars, [60], [lock]).roomTenthsA).toEqual([800, 100]);
  });
});
