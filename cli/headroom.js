#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const entry = new URL('../dist/command/main.js', import.meta.url);
if (!existsSync(entry)) {
  process.stderr.write('headroom is not built yet: run "npm run build" in the checkout first.\n');
  process.exit(1);
}
// Node 22.8 and newer keep the compiled code, which shortens the next start. Node 20 compiles at each start.
module.enableCompileCache?.(fileURLToPath(new URL('../dist/compiled', import.meta.url)));
await import(entry.href);
