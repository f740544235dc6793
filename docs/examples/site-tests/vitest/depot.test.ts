import { readFileSync } from 'node:fs';
import { parseScenario, rehearse } from 'headroom/sim';
import { expect, it } from 'vitest';

it('holds 40 kW through an evening of faults', async () => {
  const rehearsal = await rehearse(parseScenario(readFileSync('depot.yaml', 'utf8'), 'depot.yaml'));
  await rehearsal.travelTo(Date.parse('2026-06-01T17:59:50Z'));
  await rehearsal.inflict({ kind: 'serviceCrash', for: '30s' });
  await rehearsal.travelTo(Date.parse('2026-06-01T18:30:00Z'));
  expect(rehearsal.at(rehearsal.nowMs()).locations[0]?.powerW).toBeLessThanOrEqual(40_000);
  expect(rehearsal.violations()).toEqual([]);
  await rehearsal.close();
});
