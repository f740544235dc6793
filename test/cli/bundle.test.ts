// The bundle, which is what people run: most tests of the command run what it was bundled from, whose modules are loaded once for all.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { run, runAlone, temporaryDirectory, writeFile } from './headroom.js';
import { smallScenario } from './small-scenario.js';

const NODE_OPTIONS = `--import ${fileURLToPath(new URL('../only-bundled.js', import.meta.url))}`;

const BUNDLE = new URL('../../dist/command/', import.meta.url);

/** Of 102 connectors in two locations, which are two cells: 51 in each do not fit in one. */
const TWO_CELLS = `name: Two cells
start: 2026-06-01T12:00:00Z
duration: 1m
sites: { count: 2, chargers: 51, connectors: 1, permanentLimitKw: 100 }
sessions: { generate: { perDay: 200, shape: flat, energyKwh: [2, 10], stay: [10m, 40m] } }
vehicles: [{ name: car, maxKw: 11, phases: 3 }]
`;

it('has packages in the form that people get, although it was built for tests', () => {
  const forDevelopers = readdirSync(BUNDLE).filter((name) =>
    /^\/\/ node_modules\/.*\.development\./m.test(readFileSync(new URL(name, BUNDLE), 'utf8')),
  );
  expect(forDevelopers).toEqual([]);
});

it('begins a simulation with what V8 compiled at the build', () => {
  const loader = new URL('../../bin/kept-compiled.js', import.meta.url);
  const asked = `import { loadKept } from '${loader.href}'; loadKept((script) => { console.log(script.cachedDataRejected); process.exit(); });`;
  const told = execFileSync(process.execPath, ['--input-type=module', '--eval', asked], { env: {} });
  expect(told.toString()).toBe('false\n');
});

it('runs the cells of a scenario on threads, and comes to the same as what it was bundled from', async () => {
  const file = writeFile(temporaryDirectory(), 'two-cells.yaml', TWO_CELLS);
  const args = ['sim', 'run', file, '--workers', '2', '--json'];
  const bundled = await runAlone(args, { NODE_OPTIONS });
  expect(bundled).toMatchObject({ code: 0, stderr: '' });
  const { elapsedMs: _, ...outcome } = JSON.parse(bundled.stdout);
  expect(outcome.counts.toChargers).toBeGreaterThan(0);
  expect(JSON.parse((await run(args)).stdout)).toMatchObject(outcome);
});

it('runs seeds on threads', async () => {
  const file = writeFile(temporaryDirectory(), 'small.yaml', smallScenario());
  const args = ['sim', 'seeds', file, '--count', '2', '--jobs', '2', '--days', '0.01', '--json'];
  const { code, stdout, stderr } = await runAlone(args, { NODE_OPTIONS });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ seeds: 2, bad: [] });
});
