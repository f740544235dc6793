// `headroom/sim` for its users: the packed package in its own folder, and the example project beside it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { onlyInCi } from '../seeds.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ONLY_BUNDLED = join(ROOT, 'test/only-bundled.js');
const MODULES = join(ROOT, 'node_modules');
const project = mkdtempSync(join(tmpdir(), 'headroom-example-'));
afterAll(() => rmSync(project, { recursive: true }));

const manifestSchema = z.object({ dependencies: z.record(z.string(), z.string()) });

function node(...words: readonly string[]): string {
  return execFileSync(process.execPath, words, { cwd: project, encoding: 'utf8', stdio: 'pipe' });
}

/**
 * Installs the package as npm would, from local files, with its dependencies and the packages that the example's README
 * names.
 */
beforeAll(() => {
  cpSync(join(ROOT, 'docs/examples/site-tests'), project, { recursive: true });
  const packing = ['pack', '--ignore-scripts', '--silent', '--pack-destination', project];
  const file = execFileSync('npm', packing, { cwd: ROOT, encoding: 'utf8' }).trim();
  execFileSync('tar', ['xzf', file], { cwd: project });
  mkdirSync(join(project, 'node_modules'));
  renameSync(join(project, 'package'), join(project, 'node_modules/headroom'));
  const { dependencies } = manifestSchema.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  for (const name of [...Object.keys(dependencies), 'typescript', 'vitest', '@types/node']) {
    const place = join(project, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(MODULES, name), place);
  }
});

describe('The example project', () => {
  it('compiles as strict TypeScript with the declarations of the package, and passes with node:test', () => {
    expect(node('node_modules/typescript/bin/tsc')).toBe('');
    expect(node('--test', 'build/node-test/depot.test.js')).toMatch(/# pass 1\n# fail 0/);
  });

  it('passes with vitest', onlyInCi(), () => {
    const words = ['node_modules/vitest/vitest.mjs', 'run', '--dir', 'vitest', '--testTimeout', '120000'];
    expect(node(...words, '--reporter', 'json')).toContain('"numPassedTests":1');
  });

  it('can import only the exports of the package, in bundled form', () => {
    const importing = (path: string) => () =>
      node('--import', ONLY_BUNDLED, '--input-type=module', '--eval', `import '${path}';`);
    expect(importing('headroom/sim')()).toBe('');
    expect(importing('headroom/dist/sim/world/world.js')).toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });
});
