import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseScenario, rehearse } from 'headroom/sim';

test('half the power in the evening costs energy, and nobody starts more often for it', async () => {
  const rehearsal = await rehearse(parseScenario(readFileSync('depot.yaml', 'utf8'), 'depot.yaml'));
  await rehearsal.travelTo(Date.parse('2026-06-01T17:00:00Z'));
  const branch = await rehearsal.branch({
    actions: [
      { at: '17:05', call: 'setPermanentLimit', params: { locationId: 'site-1' }, body: { limitKw: 40 } },
    ],
  });
  for (const future of [rehearsal, branch]) await future.travelTo(Date.parse('2026-06-01T18:00:00Z'));
  const [asPlanned, lowered] = [rehearsal, branch].map((future) => future.summary().locations[0]);
  assert.ok((lowered?.energyWh ?? 0) < (asPlanned?.energyWh ?? 0));
  assert.deepEqual([...rehearsal.violations(), ...branch.violations()], []);
  await Promise.all([rehearsal.close(), branch.close()]);
});
