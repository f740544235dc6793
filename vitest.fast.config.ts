// `npm run test:fast`: what tells most in a minute. No page is built, no browser and no process of its own is started.
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
    // They start a database or a broker.
    exclude: ['health', 'postgres', 'sharded', 'standby'].map((name) => `test/service/${name}.test.ts`),
    globalSetup: ['test/memory.ts'],
    // These compute more than they wait.
    maxWorkers: 4,
  },
});
