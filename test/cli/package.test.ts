// The package as it is installed: what runs, nothing that was only needed to build it, and nothing that reports installs.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The command is in it with its packages. */
const SMALL_BYTES = 3_500_000;

const packedSchema = z.tuple([
  z.object({ size: z.number(), files: z.array(z.object({ path: z.string() })) }),
]);
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      name: z.string().optional(),
      dev: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});

it('carries the service, its pages, their licences and what changed, and is small', () => {
  const arguments_ = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const output = execFileSync('npm', arguments_, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  const [{ size, files }] = packedSchema.parse(JSON.parse(output.toString()));
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      ...[
        'bin/headroom.js',
        'dist/command/main.js',
        'dist/command/sim.js',
        'dist/web/index.html',
        'dist/sim/report/page/page.js',
      ],
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'scenarios/README.md'],
      ...[
        'dist/docs/swagger-ui-bundle.js.gz',
        'dist/docs/swagger-ui.css.gz',
        'dist/docs/show.js.gz',
        'dist/docs/docs.css.gz',
        'dist/docs/LICENSE',
      ],
    ]),
  );
  expect(
    paths.filter((path) =>
      /\.map$|tsbuildinfo|^dist\/command\/modules\.js$|^dist\/(bench|test)\/|^(src|test|bench)\//.test(path),
    ),
  ).toEqual([]);
  expect(size).toBeLessThan(SMALL_BYTES);
});

it('depends on nothing that reports who installs it', () => {
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8')));
  const entries = Object.entries(packages);
  // Under its place lies another package: see the overrides in package.json.
  const reporting = entries.filter(
    ([path, { name }]) => path.endsWith('node_modules/@scarf/scarf') && name === undefined,
  );
  expect(reporting).toEqual([]);
  const scripted = entries.filter(([, { dev, hasInstallScript }]) => hasInstallScript && dev !== true);
  // The one install script of the product's own tree fetches or compiles SQLite's driver.
  expect(scripted.map(([path]) => path).filter((path) => path !== '')).toEqual(['node_modules/sqlite3']);
});
