// The example of docs/simulation.md, word for word.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rehearse } from '../../../sim/run/rehearse.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';

it('compares an evening with one at half the power and with a service crash', async () => {
  const file = 'scenarios/ordinary-depot-day.yaml';
  const rehearsal = await rehearse(parseScenario(readFileSync(file, 'utf8'), file));
  const evening = Date.parse('2026-06-01T17:00:00Z');
  const anHourLater = Date.parse('2026-06-01T18:00:00Z');

  await rehearsal.travelTo(anHourLater);
  const asItWas = rehearsal.at(anHourLater);

  await rehearsal.rewindTo(evening);
  await rehearsal.call('PUT', '/locations/site-1/limit', { limitKw: 40 });
  await rehearsal.inflict({ kind: 'serviceCrash', for: '5s' });
  await rehearsal.advance(3_600_000);
  const asItWouldBe = rehearsal.at(anHourLater);

  const before = rehearsal.at(evening - 1);
  await rehearsal.close();
  expect(asItWas.locations).toMatchObject([{ limitW: 80_000 }]);
  expect(asItWouldBe.locations).toMatchObject([{ limitW: 40_000 }]);
  expect(asItWouldBe.locations[0]?.powerW).toBeGreaterThan(20_000);
  expect(asItWouldBe.locations[0]?.powerW).toBeLessThanOrEqual(40_000);
  expect(before.locations).toMatchObject([{ limitW: 80_000 }]);
});
