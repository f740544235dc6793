import base from './vitest.config.js';
export default { ...base, plugins: base.plugins, test: { ...base.test, globalSetup: ['test/memory.ts'] } };
