// Builds the checkout, unless its last build is newer than all of its inputs. npm prepares a checkout at an install,
// and again at the first `npx headroom` in it. A second build would take seconds, and damage the first if interrupted.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = [
  'cli',
  'client',
  'machines',
  'package-lock.json',
  'package.json',
  'scenarios',
  'sim',
  'src',
  'tools',
  'web',
];
/** The build writes this file last (`vite.config.ts`): other results are older, unless a build was interrupted. */
const STAMP = join(ROOT, 'dist/built');
const BUILT = ['dist/command', 'dist/docs', 'dist/report', 'dist/web'];

function newestMs(path) {
  if (!existsSync(path)) return 0;
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

function isBuilt() {
  if (!existsSync(STAMP)) return false;
  const settings = readdirSync(ROOT).filter((name) => /^(knexfile|tsconfig|vite)\./.test(name));
  const builtAtMs = statSync(STAMP).mtimeMs;
  return [...SOURCES, ...settings, ...BUILT].every((name) => newestMs(join(ROOT, name)) <= builtAtMs);
}

if (!isBuilt()) {
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: ROOT, stdio: 'inherit', shell: true });
  process.exitCode = status ?? 1;
}
