// Settings of the test runner: files run in parallel, and no test fails because others are busy.
import { defineConfig } from 'vitest/config';
import type { InlineConfig } from 'vitest/node';
import { bundledProduct } from './test/bundled.js';
import LongestFirst from './test/longest-first.js';
import type { PartOfCases } from './test/seeds.js';

/** A test that takes as long hangs. All other waits are bounded by `test/eventually.ts`, on a busy machine as well. */
const HANGS_AFTER_MS = 600_000;

/**
 * Node 20 optimizes much code that then runs only for seconds. With nine times the default budget, simulated hours take
 * a fifth less processor time. Later versions do not need this option, and lack it.
 */
export const EXEC_ARGV = process.versions.node.startsWith('20.') ? ['--interrupt-budget=600000'] : [];

/** The mode of a release: otherwise packages are loaded and bundled in their form for developers, which checks more. */
process.env.NODE_ENV = 'production';

/** Part of the cases that tests with many cases play. `CASES=0/1` plays every case, and `.ci/run` a third. */
const PART_OF_CASES = partOfCases(process.env.CASES || '0/10');

/** All tests, on the bundle that people run. */
const all: InlineConfig = {
  include: ['test/**/*.test.ts'],
  globalSetup: ['test/memory.ts', 'test/build.ts'],
  reporters: ['default', 'test/summary-reporter.ts'],
  // Files are independent without isolation: tests stop everything that they start, and none replaces a module.
  // Loading the code again for each file took a quarter of the whole time.
  isolate: false,
  // Three times the number of CI cores: most of the time is spent on waits for leases, processes, databases and
  // pages. Each further worker loads the product and a browser again.
  maxWorkers: 6,
  execArgv: EXEC_ARGV,
  provide: { partOfCases: PART_OF_CASES },
  server: { deps: { external: [/\/dist\//] } },
  sequence: { sequencer: LongestFirst },
  testTimeout: HANGS_AFTER_MS,
  hookTimeout: HANGS_AFTER_MS,
  // With the default, Vitest would leave workers behind that a busy machine is slow to end.
  teardownTimeout: HANGS_AFTER_MS,
};

/** `npm run test:fast`: the most informative tests in a minute, on the sources. They start no process and no browser. */
export const fast: InlineConfig = {
  ...all,
  include: [
    'test/*.test.ts',
    'test/{actors,architecture,inbound,machines,provisioning,service,wire}/**/*.test.ts',
    'test/sim/scenario/**/*.test.ts',
    'test/sim/log/{event-codec,trace}.test.ts',
  ],
  // These tests start a database or a broker.
  exclude: ['health', 'idempotency', 'postgres', 'sharded', 'standby'].map(
    (name) => `test/service/${name}.test.ts`,
  ),
  globalSetup: ['test/memory.ts'],
  // These tests compute more than they wait.
  maxWorkers: 4,
};

/**
 * @param text such as `2/3`: the third of three parts
 * @throws RangeError if it is no such part
 */
function partOfCases(text: string): PartOfCases {
  const [nth, of] = text.split('/').map(Number);
  if (!Number.isInteger(nth) || !Number.isInteger(of) || nth === undefined || of === undefined)
    throw new RangeError(`CASES=${text} must be two whole numbers, such as 0/3`);
  if (nth < 0 || nth >= of) throw new RangeError(`CASES=${text} must be from 0/${of} to ${of - 1}/${of}`);
  return { nth, of };
}

export default defineConfig(({ mode }) => {
  if (mode === 'fast') return { test: fast };
  // `npx vitest run --mode built FILE` repeats a test on the last build.
  const test = mode === 'built' ? { ...all, globalSetup: ['test/memory.ts'] } : all;
  return { plugins: [bundledProduct()], test };
});
