// The order in which cars with a declared departure are served, as pure functions.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
  };
  return { key, ...usual, departsAtMs: NOW + inHours * HOUR_MS, ...rest };
}

const order = (policy: Policy, cars: readonly DeclaredCar[], capacityW = 10_000) =>
  orderOfService(policy, cars, capacityW, NOW).map(({ key }) => key);

const anyCar = fc.record({
  inHours: fc.integer({ min: 1, max: 40 }),
  needWh: fc.integer({ min: 100, max: 60_000 }),
  deliveredWh: fc.integer({ min: 0, max: 30_000 }),
  minimumWh: fc.integer({ min: 0, max: 5_000 }),
  priority: fc.integer({ min: 0, max: 10 }),
  mostW: fc.integer({ min: 1_380, max: 22_000 }),
  isCharging: fc.boolean(),
});
const anyCars = fc
  .array(anyCar, { maxLength: 30 })
  .map((all) => all.map((fields, i) => car(`car-${i}`, fields)));
const anyPolicy = fc.constantFrom(...Object.values(POLICIES));

describe('every policy', () => {
  it('orders all cars, each once, and alike for any order of its input', () => {
    fc.assert(
      fc.property(anyPolicy, anyCars, fc.integer({ min: 0, max: 100_000 }), (policy, cars, capacityW) => {
        const first = order(policy, cars, capacityW);
        expect([...first].sort()).toEqual(cars.map(({ key }) => key).sort());
        expect(order(policy, cars.toReversed(), capacityW)).toEqual(first);
      }),
    );
  });

  it('serves cars below their minimum first, and those with their need last, each by priority', () => {
    fc.assert(
      fc.property(anyPolicy, anyCars, (policy, cars) => {
        const served = orderOfService(policy, cars, 10_000, NOW);
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
});
