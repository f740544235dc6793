// The scenarios of the repository: each is valid, has cars and has expectations.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultPlanOf } from '../../../sim/scenario/fault-plan.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { sessionsOf } from '../../../sim/sessions/sessions-of.js';

const FOLDER = 'scenarios';
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
const README = readFileSync(`${FOLDER}/README.md`, 'utf8');

describe('The library of scenarios', () => {
  it('contains the files that its README lists', () => {
    const listed = [...README.matchAll(/^\| `([\w-]+\.yaml)` \|/gm)].map(([, file]) => file);
    expect(listed.toSorted()).toEqual(FILES.toSorted());
  });

  it.each(FILES)('%s can run, has cars and has expectations', (file) => {
    const path = `${FOLDER}/${file}`;
    const text = readFileSync(path, 'utf8');
    const scenario = parseScenario(text, path);
    expect(sessionsOf(scenario, scenario.seed).length).toBeGreaterThan(2);
    expect(scenario.expectations.map(({ measure }) => measure)).toContain('violations');
    for (const { atMs } of scenario.actions) expect(atMs).toBeLessThan(scenario.endsAtMs);
    for (const { startsAtMs, endsAtMs } of faultPlanOf(scenario, 7)) {
      expect(startsAtMs).toBeGreaterThanOrEqual(scenario.startsAtMs);
      expect(endsAtMs).toBeLessThanOrEqual(scenario.endsAtMs);
    }
    expect(text).toMatch(/^# \S/);
  });
});
