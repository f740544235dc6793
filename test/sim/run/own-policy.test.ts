// A rehearsal with a policy of one's own; docs/departures.md has its first lines.
import { expect, it } from 'vitest';
import type { Policy } from '../../../machines/policy/policies.js';
import type { Rehearsal } from '../../../sim/run/rehearsal.js';
import { rehearse } from '../../../sim/run/rehearse.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';

/** For one of two cars there is power: the car at c1 leaves first, the car at c2 needs less. */
const TWO_CARS = `
name: Two cars
start: 2026-06-01T12:00:00Z
duration: 40m
sites: { count: 1, chargers: 2, connectors: 1, permanentLimitKw: 11, policy: energy }
departures: { declared: 1 }
sessions:
  visits:
    - { connector: site-1-c1/1, arrives: +1m, leaves: +60m, energyKwh: 20 }
    - { connector: site-1-c2/1, arrives: +1m, leaves: +5h, energyKwh: 8 }
`;
const scenario = parseScenario(TWO_CARS, 'two-cars.yaml');

/** Energy at both connectors at the end, Wh. */
async function delivered(rehearsal: Rehearsal): Promise<readonly number[]> {
  await rehearsal.travelTo(rehearsal.endsAtMs);
  const { locations } = rehearsal.summary();
  expect(rehearsal.violations()).toEqual([]);
  await rehearsal.close();
  return locations[0]?.connectors.map(({ deliveredWh }) => deliveredWh) ?? [];
}

it('serves another car first than the policy of the location', async () => {
  const leastMissingFirst: Policy = (cars) =>
    [...cars].sort((a, b) => a.needWh - a.deliveredWh - (b.needWh - b.deliveredWh));
  const rehearsal = await rehearse(scenario, { policy: leastMissingFirst });
  const [first = 0, second = 0] = await delivered(rehearsal);
  const [firstByFile = 0, secondByFile = 0] = await delivered(await rehearse(scenario));
  expect(firstByFile).toBeGreaterThan(secondByFile + 1_000);
  expect(second).toBeGreaterThan(first + 1_000);
});

it('applies to a branch', async () => {
  let asked = 0;
  const inGivenOrder: Policy = (cars) => {
    asked++;
    return cars;
  };
  const rehearsal = await rehearse(scenario, { policy: inGivenOrder });
  await rehearsal.advance(600_000);
  const branch = await rehearsal.branch({ actions: [] });
  const before = asked;
  await branch.call('PUT', '/locations/site-1/limit', { limitKw: 9 });
  await branch.advance(60_000);
  await branch.close();
  await rehearsal.close();
  expect(asked).toBeGreaterThan(before);
});

it('runs in this thread alone', async () => {
  await expect(rehearse(scenario, { policy: (cars) => cars, workers: 2 })).rejects.toThrow(
    'leave workers and spares out',
  );
});
