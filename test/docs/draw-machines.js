// `npm run machines:draw`: redraws the machines in the page that explains them.
import { readFileSync, writeFileSync } from 'node:fs';
import { runnerImport } from 'vite';

const { module } = await runnerImport('./test/docs/machine-drawings.ts');
const page = readFileSync(module.MACHINES_PAGE, 'utf8');
writeFileSync(module.MACHINES_PAGE, module.redrawn(page));
