// `npm run client:types`: generates the types of `headroom/client` again.
import { writeFileSync } from 'node:fs';
import { runnerImport } from 'vite';

const { module } = await runnerImport('./test/client/typed-api.ts');
writeFileSync(module.TYPES_FILE, await module.clientTypes());
