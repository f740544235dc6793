// The meters of a virtual charger over time: cars arrive, take power, taper off, fill up and leave.
import { describe, expect, it } from 'vitest';
import type { ConnectorId } from '../../machines/values/ids.js';
import { acceptedCurrentA, type Car, nextCurrentA, wantedCurrentA } from '../../sim/charger/car.js';
import { EVERYDAY, LIVELY, type Traffic } from '../../sim/charger/traffic.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import type { Reading, VirtualConnectorSpec } from '../../sim/charger/virtual-connector.js';
import { ADDRESS } from './charger-rig.js';

const START_MS = 1_000_000;

function connector(id: string, phases: 1 | 3 = 3): VirtualConnectorSpec {
  return { connectorId: id as ConnectorId, phases, voltageV: 230, maxCurrentA: 16, failsafeA: 6 };
}

/** Nothing limits this charger: it keeps no lease and receives no limit. */
function unlimited(options: { seed: number; traffic: Traffic; connectors?: VirtualConnectorSpec[] }) {
  return new VirtualCharger({
    address: ADDRESS,
    boot: 'boot-1',
    startsAtMs: START_MS,
    traits: { lease: 'none' },
    connectors: [connector('1')],
    ...options,
  });
}

/** The readings at every second of `seconds`. */
function readingsOf(options: { seed: number; seconds: number; connectors?: VirtualConnectorSpec[] }) {
  const charger = unlimited({ traffic: LIVELY, ...options });
  const readings: (readonly Reading[])[] = [];
  for (let s = 1; s <= options.seconds; s++) {
    charger.advance(START_MS + 1000 * s);
    readings.push(charger.readings());
  }
  return readings;
}

describe('A car', () => {
  const car: Car = {
    phases: 3,
    maxCurrentA: 16,
    batteryWh: 50_000,
    storedWh: 10_000,
    arrivesAtMs: 0,
    leavesAtMs: 1,
    reactionMs: 500,
    isStubborn: false,
  };

  it('accepts its maximum up to 80 % charge, decreasing current above, and none at full charge', () => {
    const at = (share: number) => acceptedCurrentA(car, share * car.batteryWh);
    expect([at(0), at(0.8)]).toEqual([16, 16]);
    expect(at(0.9)).toBeLessThan(at(0.85));
    expect(at(0.999)).toBeGreaterThan(0);
    expect(at(1)).toBe(0);
  });

  it('draws nothing below an offer of 6 A, and never more than the offer', () => {
    expect([5.9, 6, 10, 32].map((offeredA) => wantedCurrentA(car, 0, offeredA))).toEqual([0, 6, 10, 16]);
  });

  it('raises its current gradually, and lowers it within 2 s at any maximum', () => {
    expect(nextCurrentA(car, 0, 16, 1000)).toBe(4);
    expect(nextCurrentA(car, 4, 16, 60_000)).toBe(16);
    expect(nextCurrentA(car, 16, 6, 1000)).toBe(6);
    expect(nextCurrentA({ ...car, maxCurrentA: 500 }, 500, 0, 2000)).toBe(0);
  });
});

describe('A virtual charger', () => {
  it('shows every mode of a visit in order', () => {
    const statuses = readingsOf({ seed: 3, seconds: 600 }).map(([reading]) => reading?.status);
    const changes = statuses.filter((status, i) => status !== statuses[i - 1]);
    expect(new Set(changes)).toEqual(
      new Set(['Available', 'Preparing', 'Charging', 'SuspendedEV', 'Finishing']),
    );
    const next: Record<string, readonly string[]> = {
      Available: ['Preparing'],
      Preparing: ['Charging'],
      Charging: ['SuspendedEV', 'Finishing'],
      SuspendedEV: ['Finishing'],
      Finishing: ['Available'],
    };
    for (const [i, status] of changes.entries()) {
      const before = changes[i - 1];
      if (before !== undefined) expect(next[before]).toContain(status);
    }
  });

  it('draws only while it charges, and at most the maximums of its connector and the car', () => {
    const readings = readingsOf({
      seed: 5,
      seconds: 600,
      connectors: [connector('1', 1), connector('2', 3)],
    });
    for (const reading of readings.flat()) {
      const phases = reading.connectorId === '1' ? 1 : 3;
      expect(reading.powerW).toBeLessThanOrEqual(16 * 230 * phases);
      if (reading.status !== 'Charging') expect(reading.powerW).toBe(0);
      expect(reading.currentA.slice(phases)).toEqual([0, 0].slice(phases - 1));
    }
    expect(readings.flat().some(({ powerW }) => powerW > 0)).toBe(true);
  });

  it('measures the energy that it draws, with a register that only rises', () => {
    const readings = readingsOf({ seed: 3, seconds: 600 }).flat();
    const drawnWh = readings.reduce((sum, { powerW }) => sum + powerW / 3600, 0);
    expect(readings.at(-1)?.energyWh).toBeGreaterThan(100);
    expect(Math.abs((readings.at(-1)?.energyWh ?? 0) - drawnWh)).toBeLessThan(drawnWh * 0.02);
    const registers = readings.map(({ energyWh }) => energyWh);
    expect(registers).toEqual([...registers].sort((a, b) => a - b));
  });

  it('has the same readings with the same seed at any query rate, and others with another seed', () => {
    const everySecond = readingsOf({ seed: 11, seconds: 300 }).at(-1);
    const charger = unlimited({ seed: 11, traffic: LIVELY });
    charger.advance(START_MS + 300_000);
    expect(charger.readings()).toEqual(everySecond);
    expect(readingsOf({ seed: 12, seconds: 300 }).at(-1)).not.toEqual(everySecond);
  });

  it('charges at fractional instants of real clocks, with queries at any instant', () => {
    for (const startsAtMs of [0.1, 1234.567891, 98_765.432_101_234, 1e7 / 3]) {
      const charger = new VirtualCharger({
        address: ADDRESS,
        boot: 'boot-1',
        connectors: [connector('1')],
        seed: 3,
        traffic: LIVELY,
        startsAtMs,
        traits: { lease: 'none' },
      });
      for (let nowMs = startsAtMs; nowMs < startsAtMs + 600_000; nowMs += 137.731) charger.advance(nowMs);
      expect(charger.readings()[0]?.energyWh).toBeGreaterThan(100);
    }
  });

  it('has different cars for neighbouring seeds and connectors', () => {
    const totals = [1, 2, 3].flatMap((seed) =>
      (readingsOf({ seed, seconds: 300, connectors: [connector('1'), connector('2')] }).at(-1) ?? []).map(
        ({ energyWh }) => energyWh,
      ),
    );
    expect(new Set(totals).size).toBe(totals.length);
  });

  it('changes its power within seconds in lively traffic, and has a car soon in everyday traffic', () => {
    const powers = readingsOf({ seed: 7, seconds: 15 }).map(([reading]) => reading?.powerW);
    expect(new Set(powers).size).toBeGreaterThan(3);
    const charger = unlimited({ seed: 7, traffic: EVERYDAY });
    charger.advance(START_MS + 30_000);
    expect(charger.readings()[0]?.status).toBe('Charging');
  });
});
