// Test runner settings: files run in parallel, and no test fails because others are busy on them.
import { defineConfig } from 'vitest/config';
import { bundledProduct } from './test/bundled.js';
import LongestFirst from './test/longest-first.js';

/** What takes as long hangs. Everything else that waits is bounded by `test/eventually.ts`, however busy the machine is. */
const HANGS_AFTER_MS = 600_000;

/**
 * Node 20 optimizes much that then runs for seconds only: nine times as late, simulated hours take a fifth less processor
 * time. Later versions do not, and do not have this option.
 */
const EXEC_ARGV = process.versions.node.startsWith('20.') ? ['--interrupt-budget=600000'] : [];

/** As people build and run it: else packages are loaded, and bundled, in their form for developers, which checks more. */
process.env.NODE_ENV = 'production';

/** Of tests that play many cases and take long; `ALL_CASES=1` plays every case, as `.ci/run` does. */
const SHARE_OF_CASES = (process.env.ALL_CASES ?? '') === '' ? 0.1 : 1;

export default defineConfig({
  plugins: [bundledProduct()],
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/memory.ts', 'test/build.ts'],
    reporters: ['default', 'test/summary-reporter.ts'],
    // One file does not notice another: what tests start they stop, and none replaces a module. Loading the code anew for each
    // file took a quarter of the whole time.
    isolate: false,
    // Three times as many as CI has cores: most of the time goes into waiting for leases, processes, databases and pages. Each one
    // more loads the product and a browser once more.
    maxWorkers: 6,
    execArgv: EXEC_ARGV,
    provide: { shareOfCases: SHARE_OF_CASES },
    server: { deps: { external: [/\/dist\//] } },
    sequence: { sequencer: LongestFirst },
    testTimeout: HANGS_AFTER_MS,
    hookTimeout: HANGS_AFTER_MS,
    // Vitest would leave workers behind that a busy machine is slow to end.
    teardownTimeout: HANGS_AFTER_MS,
  },
});
