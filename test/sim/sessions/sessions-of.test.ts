// Visits from a seed: the same each time, never two cars at one connector, and within the scenario's ranges.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { sessionsOf } from '../../../sim/sessions/sessions-of.js';
import type { Visit } from '../../../sim/sessions/visit.js';

const HOUR_MS = 3_600_000;

function scenarioOf(
  sessions: string,
  { start = '2026-06-01T00:00:00Z', duration = '3d', vehicles = '' } = {},
) {
  const text = `name: Drawn
start: ${start}
duration: ${duration}
sites: { count: 2, chargers: 3, connectors: 2, permanentLimitKw: 50 }
sessions: ${sessions}
${vehicles}`;
  return parseScenario(text, 'drawn.yaml');
}

const BUSY = '{ generate: { perDay: 3.5, shape: public, energyKwh: [5, 40], stay: [30m, 9h] } }';

function byConnector(visits: readonly Visit[]): readonly (readonly Visit[])[] {
  const keys = [...new Set(visits.map(({ connectorKey }) => connectorKey))];
  return keys.map((key) => visits.filter(({ connectorKey }) => connectorKey === key));
}

describe('Visits drawn from a seed', () => {
  it('are the same for the same seed, and different for another', () => {
    const scenario = scenarioOf(BUSY);
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        expect(sessionsOf(scenario, seed)).toEqual(sessionsOf(scenario, seed));
        expect(sessionsOf(scenario, seed)).not.toEqual(sessionsOf(scenario, seed + 1));
      }),
      { numRuns: 20 },
    );
  });

  it('never overlap at a connector, and are in order of time within the run and their ranges', () => {
    const perDay = fc.double({ min: 0, max: 60, noNaN: true });
    const hours = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 30 }));
    fc.assert(
      fc.property(
        fc.nat(),
        perDay,
        hours,
        fc.integer({ min: -14, max: 14 }),
        (seed, rate, [least, more], zone) => {
          const zoned = `${zone < 0 ? '-' : '+'}${String(Math.abs(zone)).padStart(2, '0')}:00`;
          const sessions = `{ generate: { perDay: ${rate.toFixed(3)}, shape: workplace, energyKwh: [5, 40], stay: [${least}h, ${least + more}h] } }`;
          const scenario = scenarioOf(sessions, { start: `2026-06-01T07:30:00${zoned}` });
          const visits = sessionsOf(scenario, seed);
          visits.forEach((visit, i) => {
            const { arrivesAtMs, leavesAtMs, requestedWh } = visit;
            expect(arrivesAtMs).toBeGreaterThanOrEqual(visits[i - 1]?.arrivesAtMs ?? scenario.startsAtMs);
            expect(arrivesAtMs).toBeLessThan(scenario.endsAtMs);
            expect(leavesAtMs - arrivesAtMs).toBeGreaterThanOrEqual(least * HOUR_MS);
            expect(leavesAtMs - arrivesAtMs).toBeLessThanOrEqual((least + more) * HOUR_MS);
            expect(requestedWh).toBeGreaterThanOrEqual(5000);
            expect(requestedWh).toBeLessThanOrEqual(40_000);
            expect([arrivesAtMs, leavesAtMs, requestedWh, visit.car.reactionMs].every(Number.isInteger)).toBe(
              true,
            );
          });
          for (const own of byConnector(visits)) {
            own.forEach((visit, i) => {
              expect(visit.arrivesAtMs).toBeGreaterThan(own[i - 1]?.leavesAtMs ?? 0);
            });
          }
          expect(new Set(visits.map(({ sessionId }) => sessionId)).size).toBe(visits.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are the same in the common period of runs with different lengths', () => {
    const [short, long] = [scenarioOf(BUSY, { duration: '1d' }), scenarioOf(BUSY, { duration: '4d' })];
    for (const seed of [1, 2, 3]) {
      const shared = sessionsOf(long, seed).filter(({ arrivesAtMs }) => arrivesAtMs < short.endsAtMs);
      expect(sessionsOf(short, seed)).toEqual(shared);
    }
  });

  it('arrive at the configured rate, at hours of local site time', () => {
    const weights = Array.from({ length: 24 }, (_, hour) => (hour === 17 ? 1 : 0));
    const sessions = `{ generate: { perDay: 2.5, shape: [${weights.join(', ')}], energyKwh: 1, stay: 1m } }`;
    const scenario = scenarioOf(sessions, { start: '2026-06-01T00:00:00+05:30', duration: '100d' });
    const visits = sessionsOf(scenario, 5);
    const hours = visits.map(({ arrivesAtMs }) => new Date(arrivesAtMs + 5.5 * HOUR_MS).getUTCHours());
    // Some visits wait for an earlier car, seldom for more than an hour.
    expect(hours.filter((hour) => hour === 17).length / hours.length).toBeGreaterThan(0.97);
    expect(visits.length / (12 * 100)).toBeCloseTo(2.5, 1);
  });

  it('have vehicle classes by share, with some stubborn cars', () => {
    const vehicles = `vehicles:
  - { name: van, share: 3, maxKw: 11, stubborn: 0.5, reaction: [1s, 2s] }
  - { name: scooter, share: 1, maxKw: 2.3, phases: 1 }
  - { name: coupé, share: 1, maxKw: 7.36, phases: 2 }
  - { name: none, share: 0, maxKw: 50 }`;
    const visits = sessionsOf(scenarioOf(BUSY, { duration: '60d', vehicles }), 3);
    const vans = visits.filter(({ vehicle }) => vehicle === 'van');
    expect(vans.length / visits.length).toBeCloseTo(0.6, 1);
    expect(vans.filter(({ car }) => car.isStubborn).length / vans.length).toBeCloseTo(0.5, 1);
    expect(visits.some(({ vehicle }) => vehicle === 'none')).toBe(false);
    expect(vans.every(({ car }) => car.reactionMs >= 1000 && car.reactionMs <= 2000)).toBe(true);
    // 11 kW on three phases of 230 V, 7.36 kW on two, 2.3 kW on one.
    const currents = new Set(visits.map(({ car }) => Math.round(car.maxCurrentA * 10) / 10));
    expect(currents).toEqual(new Set([15.9, 16, 10]));
  });
});

describe('Visits listed in a file', () => {
  it('have the fields of the file, in order of time', () => {
    const sessions = `
  visits:
    - { connector: site-2-c1/2, arrives: +2h, leaves: +3h, energyKwh: 7, vehicle: rare }
    - { connector: site-1-c1/1, arrives: +1h, energyKwh: 3.5, vehicle: rare }`;
    const vehicles =
      'vehicles: [{ name: usual, maxKw: 11 }, { name: rare, share: 0, maxKw: 4.6, phases: 1 }]';
    const scenario = scenarioOf(sessions, { vehicles });
    const { startsAtMs, endsAtMs } = scenario;
    const [first, second] = sessionsOf(scenario, 1);
    expect(first).toMatchObject({
      connectorKey: 'site-1-c1/1',
      arrivesAtMs: startsAtMs + HOUR_MS,
      requestedWh: 3500,
      vehicle: 'rare',
    });
    expect(first?.leavesAtMs).toBeGreaterThan(endsAtMs);
    expect(second).toMatchObject({
      leavesAtMs: startsAtMs + 3 * HOUR_MS,
      car: { phases: 1, maxCurrentA: 20, storedWh: 0, batteryWh: 7000 },
    });
  });
});
