// Run by the build: simulates some hours, and keeps what V8 compiled for them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadKept } from './kept-compiled.js';

const SCENARIO = fileURLToPath(new URL('../scenarios/ordinary-depot-day.yaml', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'headroom-build-'));
process.argv.splice(2, Infinity, 'sim', 'run', SCENARIO, '--days', '0.25', '--out', folder, '--json');
// What it finds is no business of a build.
process.stdout.write = () => true;
loadKept((script, file) =>
  process.once('exit', (code) => {
    rmSync(folder, { recursive: true });
    // Hours that end in the middle of a day are not what is expected of a day. A greater code says that nothing ran.
    if (code > 1) return;
    writeFileSync(file, script.createCachedData());
    process.exitCode = 0;
  }),
);
