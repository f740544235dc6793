// The order in which cars with a declared departure are served, as pure functions.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Capacity } from '../../../machines/policy/capacity-walk.js';
import {
  type DeclaredCar,
  orderOfService,
  POLICIES,
  type Policy,
} from '../../../machines/policy/policies.js';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-06-01T12:00:00Z');

function car(key: string, fields: Partial<DeclaredCar> & { readonly inHours: number }): DeclaredCar {
  const { inHours, ...rest } = fields;
  const usual = {
    needWh: 10_000,
    deliveredWh: 0,
    minimumWh: 0,
    priority: 0,
    mostW: 10_000,
    isCharging: false,
    circuitPhases: [],
    milliwattsPerTenth: 69_000,
  };
  return { key, ...usual, departsAtMs: NOW + inHours * HOUR_MS, ...rest };
}

/** A power without an end. */
const steady = (powerW: number, roomTenthsA: readonly number[] = []): Capacity => ({
  powers: [{ powerW, endsAtMs: Number.POSITIVE_INFINITY }],
  roomTenthsA,
});

const order = (policy: Policy, cars: readonly DeclaredCar[], capacity = steady(10_000)) =>
  orderOfService(policy, cars, capacity, NOW).map(({ key }) => key);

const WHOLE_LOCATION = 0;
const SHORT_FEEDER = 1;
/** The short feeder carries 5 of 25 kW. */
const twoFeeders: Capacity = steady(25_000, [1_000, 72.5]);
const onShortFeeder = { circuitPhases: [SHORT_FEEDER, WHOLE_LOCATION] };
const besideIt = { circuitPhases: [WHOLE_LOCATION] };

/** 10 kW for an hour, and then less. */
const falling = (powerW: number): Capacity => ({
  powers: [
    { powerW: 10_000, endsAtMs: NOW + HOUR_MS },
    { powerW, endsAtMs: Number.POSITIVE_INFINITY },
  ],
  roomTenthsA: [],
});

const anyCar = fc.record({
  inHours: fc.integer({ min: 1, max: 40 }),
  needWh: fc.integer({ min: 100, max: 60_000 }),
  deliveredWh: fc.integer({ min: 0, max: 30_000 }),
  minimumWh: fc.integer({ min: 0, max: 5_000 }),
  priority: fc.integer({ min: 0, max: 10 }),
  mostW: fc.integer({ min: 1_380, max: 22_000 }),
  isCharging: fc.boolean(),
  circuitPhases: fc.constantFrom([], [0], [0, 1], [0, 1, 2], [3]),
  milliwattsPerTenth: fc.constantFrom(23_000, 69_000),
});
const anyCapacity = fc
  .record({
    powersW: fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 4 }),
    lastsMs: fc.integer({ min: 60_000, max: 10 * HOUR_MS }),
    roomTenthsA: fc.array(fc.integer({ min: -100, max: 2_000 }), { minLength: 4, maxLength: 4 }),
  })
  .map(({ powersW, lastsMs, roomTenthsA }) => ({
    powers: powersW.map((powerW, i) => ({ powerW, endsAtMs: NOW + (i + 1) * lastsMs })),
    roomTenthsA,
  }));
const anyCars = fc
  .array(anyCar, { maxLength: 30 })
  .map((all) => all.map((fields, i) => car(`car-${i}`, fields)));
const anyPolicy = fc.constantFrom(...Object.values(POLICIES));

describe('every policy', () => {
  it('orders all cars, each once, and alike for any order of its input', () => {
    fc.assert(
      fc.property(anyPolicy, anyCars, anyCapacity, (policy, cars, capacity) => {
        const first = order(policy, cars, capacity);
        expect([...first].sort()).toEqual(cars.map(({ key }) => key).sort());
        expect(order(policy, cars.toReversed(), capacity)).toEqual(first);
      }),
    );
  });

  it('serves cars below their minimum first, and those with their need last, each by priority', () => {
    fc.assert(
      fc.property(anyPolicy, anyCars, (policy, cars) => {
        const served = orderOfService(policy, cars, steady(10_000), NOW);
        const tiers = served.map(({ deliveredWh, minimumWh, needWh, priority }) => {
          if (deliveredWh < Math.min(minimumWh, needWh)) return 1000;
          return priority + (deliveredWh < needWh ? 100 : 0);
        });
        expect(tiers).toEqual([...tiers].sort((a, b) => b - a));
      }),
    );
  });
});

describe('energy', () => {
  it('serves the car with the least time to spare first', () => {
    const cars = [
      car('spare', { inHours: 8 }),
      car('none', { inHours: 8, needWh: 80_000 }),
      car('soon', { inHours: 2 }),
    ];
    expect(order(POLICIES.energy, cars)).toEqual(['none', 'soon', 'spare']);
  });

  it('keeps a car that charges until another has an hour less to spare', () => {
    const running = car('running', { inHours: 5, isCharging: true });
    expect(order(POLICIES.energy, [running, car('other', { inHours: 4.1 })])[0]).toBe('running');
    expect(order(POLICIES.energy, [running, car('other', { inHours: 3.9 })])[0]).toBe('other');
  });
});

describe('fair', () => {
  it('serves the car first that is furthest behind the share which all can have', () => {
    // 10 kW for two hours cover half of both needs. One car has its half already.
    const cars = [
      car('ahead', { inHours: 2, needWh: 20_000, deliveredWh: 10_000 }),
      car('behind', { inHours: 2, needWh: 20_000 }),
    ];
    expect(order(POLICIES.fair, cars)).toEqual(['behind', 'ahead']);
  });

  it('holds back no car for the short feeder of others', () => {
    // The short feeder covers a quarter of its needs. The power that it cannot carry covers all other needs.
    const inHours = 2;
    const needWh = 20_000;
    const cars = [
      car('short', { inHours, needWh, ...onShortFeeder }),
      car('short too', { inHours, needWh, ...onShortFeeder }),
      car('half', { inHours, needWh, deliveredWh: 10_000, ...besideIt }),
      car('empty', { inHours, needWh, ...besideIt }),
    ];
    expect(order(POLICIES.fair, cars, twoFeeders)).toEqual(['empty', 'half', 'short', 'short too']);
    expect(order(POLICIES.fair, cars, steady(25_000)).at(-1)).toBe('half');
  });

  it('counts a limit that falls later', () => {
    // A constant power covers both needs. After the fall, neither gets more than 65 %.
    const cars = [
      car('has 70 %', { inHours: 2, needWh: 20_000, deliveredWh: 14_000 }),
      car('has nothing', { inHours: 4, needWh: 20_000 }),
    ];
    expect(order(POLICIES.fair, cars)).toEqual(['has 70 %', 'has nothing']);
    expect(order(POLICIES.fair, cars, falling(1_000))).toEqual(['has nothing', 'has 70 %']);
  });
});

describe('onTime', () => {
  it('leaves out the largest need, so that the most cars leave in time', () => {
    // 10 kW for two hours serve both small cars, or the large one.
    const cars = [
      car('large', { inHours: 2, needWh: 19_000 }),
      car('small', { inHours: 2.1, needWh: 9_900 }),
      car('other', { inHours: 2.2, needWh: 9_900 }),
    ];
    expect(order(POLICIES.onTime, cars)).toEqual(['small', 'other', 'large']);
    expect(order(POLICIES.energy, cars)[0]).toBe('large');
  });

  it('leaves out the largest need of a short feeder, and no car beside it', () => {
    const cars = [
      car('beside', { inHours: 1.9, needWh: 18_000, ...besideIt }),
      car('large', { inHours: 2, needWh: 8_000, ...onShortFeeder }),
      car('small', { inHours: 2.1, needWh: 6_000, ...onShortFeeder }),
    ];
    expect(order(POLICIES.onTime, cars, twoFeeders)).toEqual(['beside', 'small', 'large']);
    expect(order(POLICIES.onTime, cars, steady(25_000))).toEqual(['beside', 'large', 'small']);
  });

  it('counts a limit that falls later', () => {
    // A constant power serves both cars in time. After the fall, it serves one.
    const cars = [
      car('large', { inHours: 3, needWh: 15_000 }),
      car('small', { inHours: 3.5, needWh: 11_000 }),
    ];
    expect(order(POLICIES.onTime, cars)).toEqual(['large', 'small']);
    expect(order(POLICIES.onTime, cars, falling(2_000))).toEqual(['small', 'large']);
  });
});
