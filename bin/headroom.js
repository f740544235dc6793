#!/usr/bin/env node
// The command's door: everything behind it is compiled and bundled from cli/.
import { existsSync } from 'node:fs';

const entry = new URL('../dist/command/main.js', import.meta.url);
if (!existsSync(entry)) {
  process.stderr.write('headroom is not built yet: run "npm run build" in the checkout first.\n');
  process.exit(1);
}
await import(entry.href);
