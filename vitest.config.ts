// Test runner settings: real parts start slowly, so hooks get time; files run in parallel on the two cores.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
