#!/usr/bin/env node
// The command's door: everything behind it is compiled and bundled from cli/.
import { existsSync } from 'node:fs';
import { KEPT, loadKept } from './kept-compiled.js';

const entry = new URL('../dist/command/main.js', import.meta.url);
if (!existsSync(entry)) {
  process.stderr.write('headroom is not built yet: run "npm run build" in the checkout first.\n');
  process.exit(1);
}
// A simulation is over so soon that its start counts; a service has other cares, such as its memory.
if (process.argv[2] === 'sim' && existsSync(KEPT)) loadKept();
else await import(entry.href);
