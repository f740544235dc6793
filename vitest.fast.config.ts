// `npm run test:fast`: the most informative tests in a minute. They build no page, and start no browser and no process.
import { defineConfig } from 'vitest/config';
import config from './vitest.config.js';

export default defineConfig({
  test: {
    ...config.test,
    include: [
      'test/*.test.ts',
      'test/{actors,architecture,inbound,machines,provisioning,service,wire}/**/*.test.ts',
      'test/sim/{scenario,trace}/**/*.test.ts',
    ],
    // These tests start a database or a broker.
    exclude: ['health', 'postgres', 'sharded', 'standby'].map((name) => `test/service/${name}.test.ts`),
    globalSetup: ['test/memory.ts'],
    // These tests compute more than they wait.
    maxWorkers: 4,
  },
});
