// The bundle, which users run and all tests import, behaves as its sources do.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, type UserConfig } from 'vite';
import { describe, expect, it } from 'vitest';
import { Service } from '../../src/service.js';
import { commandBuild, reportBuild, webBuild } from '../../vite.config.js';
import { run, runAlone, temporaryDirectory, writeFile } from './headroom.js';
import { smallScenario } from './small-scenario.js';

const NODE_OPTIONS = `--import ${fileURLToPath(new URL('../only-bundled.js', import.meta.url))}`;

/** Calls with a side effect that a bundler might overlook. */
const PLANTED = `
/* @__NO_SIDE_EFFECTS__ */
function note(text) { globalThis.noted.push(text); }
function isRefused(text) {
  try {
    decodeURIComponent(text);
    return false;
  } catch {
    return true;
  }
}
/* @__PURE__ */ note('annotated');
note(isRefused('%zz'));
isNaN({ valueOf: () => note('converted') });
`;

const BUNDLE = new URL('../../dist/command/', import.meta.url);

/** Two cells with 102 connectors in two locations: two locations of 51 do not fit into one cell. */
const TWO_CELLS = `name: Two cells
start: 2026-06-01T12:00:00Z
duration: 1m
sites: { count: 2, chargers: 51, connectors: 1, permanentLimitKw: 100 }
sessions: { generate: { perDay: 200, shape: flat, energyKwh: [2, 10], stay: [10m, 40m] } }
vehicles: [{ name: car, maxKw: 11, phases: 3 }]
`;

it('The bundle contains no development builds of packages', () => {
  const forDevelopers = readdirSync(BUNDLE).filter((name) =>
    /^\/\/ node_modules\/.*\.development\./m.test(readFileSync(new URL(name, BUNDLE), 'utf8')),
  );
  expect(forDevelopers).toEqual([]);
});

describe('The bundler keeps calls with side effects', () => {
  it.each([
    ['the command', commandBuild],
    ['the dashboard', webBuild],
    ['the report', reportBuild],
  ] as const)('in %s', async (_, config: UserConfig) => {
    const folder = temporaryDirectory();
    const input = writeFile(folder, 'planted.js', PLANTED);
    const rolldownOptions = { ...config.build?.rolldownOptions, input };
    const output = { ...rolldownOptions.output, entryFileNames: 'bundled.mjs' };
    await build({
      ...config,
      configFile: false,
      plugins: [],
      build: { ...config.build, lib: false, outDir: folder, rolldownOptions: { ...rolldownOptions, output } },
    });
    const noted: unknown[] = [];
    Object.assign(globalThis, { noted });
    await import(/* @vite-ignore */ `${folder}/bundled.mjs`);
    expect(noted).toEqual(['annotated', true, 'converted']);
  });
});

it('The tests import the product from the bundle', async () => {
  const modules = await import(/* @vite-ignore */ new URL('modules.js', BUNDLE).href);
  expect(Service).toBe(modules['src/service.js Service']);
});

it('The bundle runs the cells of a scenario on two threads with the result of one thread', async () => {
  const file = writeFile(temporaryDirectory(), 'two-cells.yaml', TWO_CELLS);
  const args = ['sim', 'run', file, '--workers', '2', '--json'];
  const bundled = await runAlone(args, { NODE_OPTIONS });
  expect(bundled).toMatchObject({ code: 0, stderr: '' });
  const { elapsedMs: _, ...outcome } = JSON.parse(bundled.stdout);
  expect(outcome.counts.toChargers).toBeGreaterThan(0);
  const onOne = await run(['sim', 'run', file, '--workers', '1', '--json']);
  expect(JSON.parse(onOne.stdout)).toMatchObject(outcome);
});

it('The bundle runs seeds on threads', async () => {
  const file = writeFile(temporaryDirectory(), 'small.yaml', smallScenario());
  const args = ['sim', 'seeds', file, '--count', '2', '--jobs', '2', '--days', '0.01', '--json'];
  const { code, stdout, stderr } = await runAlone(args, { NODE_OPTIONS });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ seeds: 2, bad: [] });
});
