#!/usr/bin/env node
// Entry point of the package; the build compiles and bundles the code from cli/.
import { existsSync } from 'node:fs';
import { KEPT, loadKept } from './kept-compiled.js';

const entry = new URL('../dist/command/main.js', import.meta.url);
if (!existsSync(entry)) {
  process.stderr.write('headroom is not built yet: run "npm run build" in the checkout first.\n');
  process.exit(1);
}
// A simulation ends so soon that its start matters. A service does not use the compiled bundle, because its memory
// matters more.
if (process.argv[2] === 'sim' && existsSync(KEPT)) loadKept();
else await import(entry.href);
