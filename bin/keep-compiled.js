// A step of the build: simulates some hours, and stores the code that V8 compiled for them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadKept } from './kept-compiled.js';

const SCENARIO = fileURLToPath(new URL('../scenarios/ordinary-depot-day.yaml', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'headroom-build-'));
process.argv.splice(2, Infinity, 'sim', 'run', SCENARIO, '--days', '0.25', '--out', folder, '--json');
// The results of this run do not matter for the build.
process.stdout.write = () => true;
loadKept((script, file) =>
  process.once('exit', (code) => {
    rmSync(folder, { recursive: true });
    // Exit code 1 is expected: the run ends in the middle of a day, and expectations apply to a whole day. A higher
    // code means that no run took place.
    if (code > 1) return;
    writeFileSync(file, script.createCachedData());
    process.exitCode = 0;
  }),
);
