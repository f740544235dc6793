// Test runner settings: real parts start slowly, so hooks get time; files run in parallel on the two cores.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.ts'],
    // Both cores: much of the time goes into waiting for processes and databases.
    maxWorkers: 2,
    // What hangs fails; what neighbours on the machine slow down does not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
