// The installed package: it runs, without any package that only its build needs or that reports installs.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { missingPrograms, needing } from '../needs.js';
import { temporaryDirectory } from './headroom.js';
import { siteYaml } from './site.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The package contains the command bundled with its dependencies. */
const SMALL_BYTES = 3_500_000;

const MODULES = join(ROOT, 'node_modules');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const manifestSchema = z.object({
  version: z.string(),
  engines: z.object({ node: z.string() }),
  scripts: z.record(z.string(), z.string()).default({}),
  dependencies: z.record(z.string(), z.string()).default({}),
});
const manifestOf = (path: string) => manifestSchema.parse(JSON.parse(read(join(path, 'package.json'))));

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

it('The package contains the service, dashboard, licences and changelog, and is small', () => {
  const arguments_ = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const output = execFileSync('npm', arguments_, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  const [{ size, files }] = packedSchema.parse(JSON.parse(output.toString()));
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      ...[
        'cli/headroom.js',
        'dist/command/main.js',
        'dist/command/sim.js',
        'dist/command/client.js',
        'dist/web/index.html',
        'dist/report/page.js',
      ],
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'docs/SECURITY.md', 'scenarios/README.md'],
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
      /\.map$|tsbuildinfo|^dist\/command\/modules\.js$|^dist\/(tools|test)\/|^(src|test|tools)\//.test(path),
    ),
  ).toEqual([]);
  expect(size).toBeLessThan(SMALL_BYTES);
});

it('The package has no dependency that reports installations', () => {
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8')));
  const entries = Object.entries(packages);
  // Another package takes its place: see the overrides in package.json.
  const reporting = entries.filter(
    ([path, { name }]) => path.endsWith('node_modules/@scarf/scarf') && name === undefined,
  );
  expect(reporting).toEqual([]);
  const scripted = entries.filter(([, { dev, hasInstallScript }]) => hasInstallScript && dev !== true);
  // The one install script of the product's own tree fetches or compiles SQLite's driver.
  expect(scripted.map(([path]) => path).filter((path) => path !== '')).toEqual(['node_modules/sqlite3']);
});

/** The alternatives of a range such as `^20.19.0 || >=22.12.0`. */
function alternativesOf(range: string) {
  return range.split('||').map((text) => {
    const [, kind, major, minor = '0'] = /^(\^|>=)(\d+)(?:\.(\d+))?(?:\.\d+)?$/.exec(text.trim()) ?? [];
    if (kind === undefined) throw new Error(`${range} has a form that this test does not read`);
    return { isOpen: kind === '>=', major: Number(major), minor: Number(minor) };
  });
}

it('docs/versioning.md lists each export of the package', () => {
  const { exports } = z
    .object({ exports: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(read('package.json')));
  const modules = Object.keys(exports).filter((name) => name !== './package.json');
  const table = read('docs/versioning.md');
  for (const name of modules) expect(table).toContain(`| \`headroom/${name.slice('./'.length)}\` |`);
  expect(modules.length).toBeGreaterThan(0);
});

describe('The Node versions in package.json', () => {
  const named = manifestOf('.').engines.node;

  it.each(['vite', 'rolldown'])('are all supported by %s, which builds the package', (builder) => {
    const taken = alternativesOf(manifestOf(join('node_modules', builder)).engines.node);
    for (const { major, minor } of alternativesOf(named)) {
      const isTaken = taken.some((each) =>
        major === each.major ? minor >= each.minor : each.isOpen && major > each.major,
      );
      expect([`${major}.${minor}`, isTaken]).toEqual([`${major}.${minor}`, true]);
    }
  });

  it('are the same in the README', () => {
    const [first, second, last] = alternativesOf(named);
    expect(read('README.md')).toContain(
      `Node ${first?.major} (from ${first?.major}.${first?.minor}), ${second?.major} (from ${second?.major}.${second?.minor}) and ${last?.major}`,
    );
  });
});

describe('The SQLite driver', () => {
  /** Targets with a ready-made driver, as the README of sqlite3 lists them. */
  function readyMade(): readonly string[] {
    const [, list = ''] =
      /targets are currently provided:\n\n((?:\* .+\n)+)/.exec(read('node_modules/sqlite3/README.md')) ?? [];
    return [...list.matchAll(/`([\w-]+)`/g)].map(([, target = '']) => target);
  }

  it('is available as a binary for the targets in docs/operations.md', () => {
    const table = /\| ready-made driver \|[\s\S]*?\n\n/.exec(read('docs/operations.md'))?.[0] ?? '';
    const targets = [...table.matchAll(/`(\w+-\w+)`/g)].map(([, target = '']) => target);
    expect(targets.toSorted()).toEqual(readyMade().toSorted());
    expect(targets.length).toBeGreaterThan(0);
  });

  it(
    'is downloaded and not compiled at installation, and a broken driver is reported in one line',
    needing(missingPrograms('tar')),
    async () => {
      const project = temporaryDirectory();
      installPackage(project);
      const driver = join(project, 'node_modules/sqlite3/build/Release/node_sqlite3.node');
      expect(existsSync(driver)).toBe(false);
      const asked = await installDriver(project);
      expect(asked).toEqual([
        expect.stringMatching(/^\/v[\d.]+\/sqlite3-v[\d.]+-napi-v\d+-(linux|linuxmusl|darwin)-\w+\.tar\.gz$/),
      ]);
      expect(await provision(project)).toEqual({ code: 0, stderr: '' });

      writeFileSync(driver, 'a driver for another machine');
      expect(await provision(project)).toEqual({
        code: 1,
        stderr: expect.stringMatching(
          /^headroom: the driver of SQLite cannot be loaded \(.+\): compile it with npm_config_build_from_source=sqlite3 npm rebuild sqlite3\n$/,
        ),
      });
    },
  );

  /**
   * Installs the tarball as npm would without scripts, with dependencies from this checkout but without SQLite's
   * driver.
   */
  function installPackage(project: string): void {
    const packing = ['pack', '--ignore-scripts', '--silent', '--pack-destination', project];
    const tarball = execFileSync('npm', packing, { cwd: ROOT, encoding: 'utf8' }).trim();
    execFileSync('tar', ['xzf', tarball], { cwd: project });
    const modules = join(project, 'node_modules');
    mkdirSync(modules);
    renameSync(join(project, 'package'), join(modules, 'headroom'));
    const needed = Object.keys(manifestOf('.').dependencies).filter((name) => name !== 'sqlite3');
    for (const name of [...needed, 'bindings']) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(MODULES, name), join(modules, name));
    }
    const own = join(MODULES, 'sqlite3');
    const filter = (path: string) => ![join(own, 'build'), join(own, 'deps')].includes(path);
    cpSync(own, join(modules, 'sqlite3'), { recursive: true, filter });
  }

  /**
   * Runs the driver's install script without a compiler; a local server offers the driver of this machine.
   * @returns the requested paths
   */
  async function installDriver(project: string): Promise<readonly string[]> {
    const archive = join(project, 'driver.tar.gz');
    const path = 'build/Release/node_sqlite3.node';
    execFileSync('tar', ['czf', archive, path], { cwd: join(MODULES, 'sqlite3') });
    const asked: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.end(readFileSync(archive));
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());

    const programs = join(project, 'programs');
    mkdirSync(programs);
    const shell = execFileSync('sh', ['-c', 'command -v sh'], { encoding: 'utf8' }).trim();
    for (const program of [process.execPath, shell, join(MODULES, '.bin/prebuild-install')])
      symlinkSync(program, join(programs, basename(program)));
    await promisify(execFile)('sh', ['-c', manifestOf('node_modules/sqlite3').scripts.install ?? ''], {
      cwd: join(project, 'node_modules/sqlite3'),
      env: {
        PATH: programs,
        HOME: project,
        npm_config_cache: join(project, 'cache'),
        npm_config_sqlite3_binary_host: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      },
    });
    return asked;
  }

  async function provision(project: string) {
    const file = join(project, 'sites.yaml');
    writeFileSync(file, siteYaml(), { mode: 0o600 });
    const command = join(project, 'node_modules/headroom/cli/headroom.js');
    const words = [command, 'provision', file, '--data-dir', join(project, 'data')];
    return new Promise<{ code: unknown; stderr: string }>((resolve) =>
      execFile(process.execPath, words, { env: {} }, (error, _stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stderr }),
      ),
    );
  }
});
