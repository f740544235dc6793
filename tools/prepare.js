// Builds the checkout, unless its last build is newer than everything that it was built from. npm prepares a checkout at an install,
// and once more at the first `npx headroom` in it: a second build would take ten seconds, and break the first if interrupted.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = [
  'bench',
  'bin',
  'cli',
  'machines',
  'package-lock.json',
  'package.json',
  'scenarios',
  'sim',
  'src',
  'web',
];
/** The build writes it last (`vite.config.ts`): all else in `dist` is older, unless a later build was interrupted. */
const STAMP = join(ROOT, 'dist/built');
/** Node writes compiled code there at each start. */
const COMPILED = join(ROOT, 'dist/compiled');

function newestMs(path) {
  if (path === COMPILED || !existsSync(path)) return 0;
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

function isBuilt() {
  if (!existsSync(STAMP)) return false;
  const settings = readdirSync(ROOT).filter((name) => /^(knexfile|tsconfig|vite)\./.test(name));
  const builtAtMs = statSync(STAMP).mtimeMs;
  return [...SOURCES, ...settings, 'dist'].every((name) => newestMs(join(ROOT, name)) <= builtAtMs);
}

if (!isBuilt()) {
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: ROOT, stdio: 'inherit', shell: true });
  process.exitCode = status ?? 1;
}
