// The voltage at the end of a line of the grid, and its effect on the cars there.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rehearse } from '../../../sim/run/rehearse.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import type { GridLine } from '../../../sim/scenario/scenario.js';
import { kwAt } from '../../../sim/world/building.js';
import { voltagesOf } from '../../../sim/world/world.js';

const LINE: GridLine = {
  name: 'street',
  locationIds: ['yard'],
  sourceVoltageV: 230,
  resistanceOhm: 0.2,
  base: [
    { fromMs: 1_000, kw: 10 },
    { fromMs: 2_000, kw: 40 },
  ],
};
const currentA = fc.double({ min: 0, max: 500, noNaN: true });

const YARD = `
name: Yard
start: 2026-06-01T12:00:00Z
duration: 30m
grid: [{ name: street, resistanceOhm: 0.2, baseKw: [{ at: +0m, kw: 0 }, { at: +15m, kw: 69 }] }]
provision:
  tenants:
    - tenantUuid: harbour
      name: Harbour
      features: [energy-management]
      locations:
        - locationId: yard
          name: Yard
          permanentLimitKw: 50
          chargers:
            - { controllerUuid: y1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 20, rotation: STR }] }
sessions: { visits: [{ connector: y1/1, arrives: +1m, energyKwh: 100 }] }
vehicles: [{ name: small, maxKw: 3.68, phases: 1, taper: none }]
`;

describe('The voltage of a line', () => {
  it('falls on each phase by its resistance times its current', () => {
    expect(voltagesOf(LINE, 0, [0, 10, 50])).toEqual([230, 228, 220]);
    // 69 kW are 100 A on each phase at 230 V.
    expect(voltagesOf(LINE, 69, [0, 10, 50])).toEqual([210, 208, 200]);
  });

  it('never rises with more load, and never falls below zero', () => {
    fc.assert(
      fc.property(fc.tuple(currentA, currentA, currentA), fc.nat(500), currentA, (drawnA, baseKw, moreA) => {
        const [l1V, l2V, l3V] = voltagesOf(LINE, baseKw, drawnA);
        const [sagged, ...others] = voltagesOf(LINE, baseKw, [drawnA[0] + moreA, drawnA[1], drawnA[2]]);
        expect(sagged).toBeLessThanOrEqual(l1V);
        expect(sagged).toBeGreaterThanOrEqual(0);
        expect(others).toEqual([l2V, l3V]);
      }),
    );
  });

  it('follows the steps of its base load from the first step on', () => {
    expect([0, 1_000, 1_999, 2_000, 9_000].map((atMs) => kwAt(LINE.base, atMs))).toEqual([
      10, 10, 10, 40, 40,
    ]);
  });
});

describe('A car at the end of a line', () => {
  it('draws the same current and less power at lower voltage, on the phase of its wiring', async () => {
    const rehearsal = await rehearse(parseScenario(YARD, 'yard.yaml'));
    try {
      const powerW = async (minutes: number) => {
        await rehearsal.travelTo(rehearsal.startsAtMs + minutes * 60_000);
        const { locations, voltages } = rehearsal.at(rehearsal.nowMs());
        return { voltages, drawnW: locations[0]?.connectors[0]?.powerW };
      };
      const before = await powerW(14);
      const after = await powerW(16);
      // 16 A on one phase, which is S of the grid: 0.2 Ω take 3.2 V.
      expect(before).toMatchObject({
        drawnW: 3629,
        voltages: [{ l1TenthsV: 2300, l2TenthsV: 2268, l3TenthsV: 2300 }],
      });
      expect(after).toMatchObject({
        drawnW: 3309,
        voltages: [{ l1TenthsV: 2100, l2TenthsV: 2068, l3TenthsV: 2100 }],
      });
      const { body } = await rehearsal.call('GET', '/locations/yard/live');
      expect(body).toMatchObject({ connectors: [{ actualKw: 3.309 }] });
      await rehearsal.travelTo(rehearsal.endsAtMs);
      expect(rehearsal.violations()).toEqual([]);
      // 3.629 kW for 14 minutes and 3.309 for 15, without the seconds at either end.
      expect(rehearsal.summary().locations[0]?.energyWh).toBeGreaterThan(1650);
      expect(rehearsal.summary().locations[0]?.energyWh).toBeLessThan(1675);
    } finally {
      await rehearsal.close();
    }
  });
});
