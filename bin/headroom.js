#!/usr/bin/env node
// The command's door: everything behind it is compiled from cli/.
import { existsSync } from 'node:fs';

const entry = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(entry)) {
  process.stderr.write('headroom is not built yet: run "npm run build" in the checkout first.\n');
  process.exit(1);
}
await import(entry.href);
