// Faults from a seed: the same each time, within their windows and ranges, for the intended chargers.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS } from '../../../sim/log/trace-event.js';
import { faultPlanOf } from '../../../sim/scenario/fault-plan.js';
import { FAULT_LEVELS } from '../../../sim/scenario/fault-schema.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';

const HOUR_MS = 3_600_000;

function scenarioOf(faults: string, transport = 'inProcess') {
  const text = `name: Faults
start: 2026-06-01T00:00:00Z
duration: 24h
sites: { count: 2, chargers: 3, permanentLimitKw: 50 }
transport: ${transport}
faults: ${faults}
`;
  return parseScenario(text, 'faults.yaml');
}

describe('The faults of a run', () => {
  it('are the same for the same seed and different for another, in order of time', () => {
    const scenario = scenarioOf('heavy');
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const plan = faultPlanOf(scenario, seed);
        expect(plan).toEqual(faultPlanOf(scenario, seed));
        expect(plan).not.toEqual(faultPlanOf(scenario, seed + 1));
        const times = plan.map(({ startsAtMs }) => startsAtMs);
        expect(times).toEqual([...times].sort((a, b) => a - b));
      }),
      { numRuns: 20 },
    );
  });

  it('are of every kind at the heavy level, and leave the end of the run calm', () => {
    const scenario = scenarioOf('heavy', 'ocpp');
    const plan = faultPlanOf(scenario, 1);
    const withoutGateway = faultPlanOf(scenarioOf('heavy'), 1);
    expect(plan.filter(({ kind }) => kind !== 'gatewayCrash')).toEqual(withoutGateway);
    expect(new Set(plan.map(({ kind }) => kind))).toEqual(new Set([...FAULT_KINDS, 'clockDrift']));
    const calmFromMs = scenario.endsAtMs - 480_000;
    for (const { kind, endsAtMs } of plan)
      if (kind !== 'clockDrift') expect(endsAtMs).toBeLessThanOrEqual(calmFromMs);
    for (const { share, kind } of plan) {
      expect(Math.abs(share)).toBeLessThanOrEqual(kind === 'clockDrift' ? 0.02 : 0.3);
    }
    expect(new Set(plan.flatMap(({ charger }) => charger?.controllerUuid ?? [])).size).toBe(6);
  });

  it('occur once without a period, at the start of their window, at the named chargers', () => {
    const scenario = scenarioOf(
      '[{ kind: partition, from: +1h, for: [1m, 5m], chargers: [site-2-c3], direction: down }]',
    );
    const plan = faultPlanOf(scenario, 3);
    expect(plan).toMatchObject([
      {
        kind: 'partition',
        direction: 'down',
        charger: { locationId: 'site-2', controllerUuid: 'site-2-c3' },
      },
    ]);
    expect(plan[0]?.startsAtMs).toBe(scenario.startsAtMs + HOUR_MS);
    const lengthMs = (plan[0]?.endsAtMs ?? 0) - (plan[0]?.startsAtMs ?? 0);
    expect(lengthMs).toBeGreaterThanOrEqual(60_000);
    expect(lengthMs).toBeLessThanOrEqual(300_000);
  });

  it('recur with their period, each with its own length', () => {
    const scenario = scenarioOf(
      '[{ kind: serviceCrash, for: [1s, 1m], every: [10m, 20m], from: +2h, until: +12h }]',
    );
    const plan = faultPlanOf(scenario, 4);
    expect(plan.length).toBeGreaterThan(28);
    expect(plan.length).toBeLessThan(62);
    plan.forEach(({ startsAtMs, endsAtMs, charger }, i) => {
      expect(charger).toBeUndefined();
      const sinceMs = startsAtMs - (plan[i - 1]?.startsAtMs ?? startsAtMs - 600_000);
      expect(sinceMs).toBeGreaterThanOrEqual(600_000);
      expect(sinceMs).toBeLessThanOrEqual(1_200_000);
      expect(endsAtMs).toBeLessThanOrEqual(scenario.startsAtMs + 12 * HOUR_MS);
    });
    expect(new Set(plan.map(({ startsAtMs, endsAtMs }) => endsAtMs - startsAtMs)).size).toBeGreaterThan(20);
  });

  it('affect only the named locations', () => {
    const plan = faultPlanOf(scenarioOf('[{ kind: loss, share: 0.2, locations: [site-2] }]'), 1);
    expect(plan.map(({ charger, share }) => [charger?.locationId, share])).toEqual([
      ['site-2', 0.2],
      ['site-2', 0.2],
      ['site-2', 0.2],
    ]);
  });

  it.each(Object.keys(FAULT_LEVELS))('may have the level %s', (level) => {
    expect(scenarioOf(level, 'ocpp').faults).toHaveLength(
      FAULT_LEVELS[level as keyof typeof FAULT_LEVELS].length,
    );
  });

  it('are refused with an unknown level', () => {
    expect(() => scenarioOf('terrible')).toThrow(
      'faults.yaml:6:1 faults: is "terrible"; must be a list of faults, or one of none, light, heavy',
    );
  });
});
