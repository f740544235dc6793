// The figures of a run, against sums computed by hand.
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../sim/log/trace-event.js';
import type { EventOf } from '../../../sim/log/trace-state.js';
import { type Summary, SummaryFold } from '../../../sim/report/summary.js';
import { DAY_MS, HOUR_MS, madeUpWorld, DAY_START_MS as T } from '../log/made-up-world.js';

const ADDRESS = { locationId: 'depot', controllerUuid: 'charger', connectorId: '1' };
const OTHER = { ...ADDRESS, connectorId: '2' };

function summaryOf(events: Iterable<TraceEvent>, endsAtMs: number): Summary {
  const summary = new SummaryFold(T);
  for (const event of events) summary.add(event);
  return summary.finish(endsAtMs);
}

const power = (atMs: number, powerW: number): TraceEvent => ({
  atMs,
  kind: 'power',
  locationId: 'depot',
  powerW,
});
const limit = (atMs: number, limitW: number): TraceEvent => ({
  atMs,
  kind: 'limit',
  locationId: 'depot',
  limitW,
});

function connector(atMs: number, of: Partial<EventOf<'connector'>>): TraceEvent {
  return {
    atMs,
    kind: 'connector',
    ...ADDRESS,
    status: 'Charging',
    powerW: 0,
    limitTenthsA: 160,
    reason: 'fairShare',
    isLeased: true,
    isOnline: true,
    ...of,
  };
}

function session(atMs: number, what: 'arrived' | 'left', of: Partial<EventOf<'session'>> = {}): TraceEvent {
  return {
    atMs,
    kind: 'session',
    ...ADDRESS,
    what,
    sessionId: 's',
    requestedWh: 10_000,
    deliveredWh: 0,
    ...of,
  };
}

describe('The power of a location', () => {
  const [depot] = summaryOf(
    [
      limit(T, 50_000),
      power(T, 10_000),
      power(T + HOUR_MS, 40_000),
      // Limit and draw fall at the same instant, so no excess lasted.
      limit(T + 2 * HOUR_MS, 20_000),
      power(T + 2 * HOUR_MS, 20_000),
      power(T + 3 * HOUR_MS, 22_000),
      power(T + 3 * HOUR_MS + 5_000, 0),
    ],
    T + 4 * HOUR_MS,
  ).locations;

  it('has a peak with the limit at that time, and a highest share of the limit', () => {
    expect(depot).toMatchObject({ peakW: 40_000, limitAtPeakW: 50_000, highestShare: 1.1 });
  });

  it('sums up to an energy and its share of the permitted energy', () => {
    const energyWh = 10_000 + 40_000 + 20_000 + 22_000 * (5 / 3600);
    expect(depot?.energyWh).toBe(Math.round(energyWh));
    expect(depot?.utilisation).toBeCloseTo(energyWh / (50_000 + 50_000 + 20_000 + 20_000), 9);
  });

  it('is compared with a reported limit in force, and its overshoot with the allowed limit', () => {
    const limits = (atMs: number, limitW: number): TraceEvent => ({
      atMs,
      kind: 'limits',
      locationId: 'depot',
      limitW,
      cause: 'operatorLimit',
      rule: '',
      effectiveW: 50_000,
      operator: 'limited',
      buildingW: -2_000,
      reserveW: 0,
    });
    const events = [limit(T, 50_000), limits(T, 20_000), power(T, 15_000)];
    const [ordered] = summaryOf(events, T + HOUR_MS).locations;
    expect(ordered).toMatchObject({ utilisation: 0.75, limitAtPeakW: 20_000, highestShare: 0.3 });
    expect(ordered?.overshootKws).toBe(0);
  });

  it('counts a lasting excess above the limit as overshoot, in kW × s', () => {
    expect(depot?.overshootKws).toBe(10);
  });

  it('has no utilisation, share or limit if no limit applies', () => {
    const events = [limit(T, Number.MAX_SAFE_INTEGER), power(T, 5_000)];
    const [unlimited] = summaryOf(events, T + HOUR_MS).locations;
    expect(unlimited).toMatchObject({ peakW: 5_000, energyWh: 5_000, overshootKws: 0 });
    expect(unlimited).not.toHaveProperty('utilisation');
    expect(unlimited).not.toHaveProperty('limitAtPeakW');
    expect(unlimited).not.toHaveProperty('highestShare');
  });
});

describe('The sessions of a location', () => {
  it('are counted with energy, starts, stops and limit changes while a car is present', () => {
    const [depot] = summaryOf(
      [
        connector(T, { powerW: 0, limitTenthsA: 0, reason: 'idle', status: 'Available' }),
        session(T + 1_000, 'arrived'),
        connector(T + 1_000, { powerW: 11_000 }),
        connector(T + 61_000, { powerW: 0, limitTenthsA: 0, reason: 'paused', status: 'SuspendedEVSE' }),
        connector(T + 91_000, { powerW: 4_000, limitTenthsA: 60 }),
        connector(T + 101_000, { powerW: 4_000, limitTenthsA: 60, reason: 'lastResort' }),
        connector(T + 106_000, { powerW: 0, limitTenthsA: 60, status: 'SuspendedEV' }),
        session(T + HOUR_MS, 'left', { deliveredWh: 5_000 }),
        connector(T + HOUR_MS, { powerW: 0, limitTenthsA: 0, reason: 'idle', status: 'Available' }),
      ],
      T + 2 * HOUR_MS,
    ).locations;
    expect(depot).toMatchObject({ sessions: 1, requestedWh: 10_000, deliveredWh: 5_000 });
    expect(depot).toMatchObject({ startsPerSession: 2, stopsPerSession: 2, limitChanges: 3 });
    expect(depot?.lockedThrottledS).toBe(5);
    expect(depot?.connectors[0]).toMatchObject({ peakW: 11_000, throttledS: 105, pausedS: 30 });
  });

  it('start and stop once each, with car and power events in any order', () => {
    const carFirst = [
      connector(T, { powerW: 0 }),
      session(T + 1, 'arrived'),
      connector(T + 1, { powerW: 7_000 }),
      session(T + 2, 'left'),
      connector(T + 2, { powerW: 0 }),
    ];
    const powerFirst = [0, 2, 1, 4, 3].map((i) => carFirst[i]).filter((event) => event !== undefined);
    for (const events of [carFirst, powerFirst]) {
      expect(summaryOf(events, T + 9).locations[0]).toMatchObject({
        startsPerSession: 1,
        stopsPerSession: 1,
      });
    }
  });

  it('include the energy so far if the run ends before the car leaves', () => {
    const events = [session(T, 'arrived'), connector(T, { powerW: 8_000 })];
    expect(summaryOf(events, T + HOUR_MS).locations[0]?.deliveredWh).toBe(8_000);
  });

  it('have a fairness of 1 if all get the same share of their requested energy', () => {
    const same = [
      session(T, 'arrived'),
      session(T, 'arrived', { ...OTHER, requestedWh: 40_000 }),
      session(T + 1, 'left', { deliveredWh: 5_000 }),
      session(T + 1, 'left', { ...OTHER, deliveredWh: 20_000 }),
    ];
    expect(summaryOf(same, T + 2).locations[0]?.fairness).toBeCloseTo(1, 12);
    const oneGotAll = [
      session(T, 'arrived'),
      session(T, 'arrived', OTHER),
      session(T + 1, 'left', { deliveredWh: 12_000 }),
      session(T + 1, 'left', { ...OTHER, deliveredWh: 0 }),
    ];
    expect(summaryOf(oneGotAll, T + 2).locations[0]?.fairness).toBeCloseTo(0.5, 12);
  });
});

describe('The summary of a run', () => {
  it('counts violations at their location, and all of them in total', () => {
    const violation = (target: string): TraceEvent => ({
      atMs: T,
      kind: 'violation',
      invariant: 'P1',
      target,
      detail: target,
    });
    const told = ['depot', 'charger', 'charger/1', 'cluster c', ''];
    const summary = summaryOf([connector(T, {}), limit(T, 1), ...told.map(violation)], T + 1);
    expect(summary.violations).toBe(5);
    expect(summary.firstViolation?.detail).toBe('depot');
    expect(summary.locations[0]?.violations).toBe(3);
  });

  it('has no locations without events', () => {
    expect(summaryOf([], T)).toEqual({ startsAtMs: T, endsAtMs: T, events: 0, violations: 0, locations: [] });
  });

  it('has consistent figures for a day at a busy site', () => {
    const { locations } = summaryOf(
      madeUpWorld({ seed: 5, locations: 2, connectorsPerLocation: 8 }),
      T + DAY_MS,
    );
    expect(locations.map(({ locationId }) => locationId)).toEqual(['depot-01', 'depot-02']);
    for (const location of locations) {
      expect(location.highestShare).toBeLessThanOrEqual(1);
      expect(location.overshootKws).toBe(0);
      expect(location.connectors).toHaveLength(8);
      expect(Math.abs(location.deliveredWh - location.energyWh)).toBeLessThan(0.01 * location.energyWh);
      expect(location.fairness).toBeGreaterThan(0.5);
      expect(location.fairness).toBeLessThan(1);
    }
  });
});
