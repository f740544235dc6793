// Bundles the command, the threads of a simulation and `headroom/sim` with the packages they use: read as a few files, they start with
// half the processor time of 1,200 modules. `headroom sim` is bundled once more, as one file that is kept as V8 compiled it.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, defineConfig, type InlineConfig, type Plugin, parseSync } from 'vite';

const below = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const OUTPUT = below('dist/command');

/** What is loaded by its address, by the name that it has in the bundle. */
const ENTRIES = {
  main: below('dist/cli/main.js'),
  sim: below('dist/sim/entry.js'),
  'seed-thread': below('dist/sim/run/seed-thread.js'),
  'cell-thread': below('dist/sim/run/cell-thread.js'),
  'campaign-main': below('dist/sim/checks/campaign-main.js'),
  'campaign-worker': below('dist/sim/checks/campaign-worker.js'),
};

/** An entry for tests alone: through it they import the product from the chunks that people run (`test/bundled.ts`). */
const MODULES = 'virtual:modules';
const PRODUCT = ['cli', 'machines', 'sim', 'src'];
/** They run as they are loaded. */
const PROGRAMS = [...Object.values(ENTRIES), below('dist/cli/sim-alone.js')].filter(
  (path) => path !== ENTRIES.sim,
);
const NAMES = new Map(Object.entries(ENTRIES).map(([name, path]) => [path, name]));

/**
 * They stay packages: a native driver, what is also reached by `require`, of which there must be one, and drivers that knex names and
 * nobody installs.
 */
const PACKAGES = [
  /^(sqlite3|pg|ocpp-rpc)$/,
  /^(better-sqlite3|mariadb|mysql2?|oracledb|pg-query-stream|tedious)(\/|$)/,
];

/**
 * Each module finds what lies beside it, such as pages and package.json, where it would without the bundle, but the threads and
 * processes that it starts in the bundle.
 */
function keepAddresses(): Plugin {
  return {
    name: 'keep-addresses',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return undefined;
      const own = `new URL(${JSON.stringify(relative(OUTPUT, id))}, import.meta.url).href`;
      return code.replaceAll(/(?:new URL\('([^']+)', )?import\.meta\.url/g, (text, path?: string) => {
        const name = path === undefined ? undefined : NAMES.get(resolve(dirname(id), path));
        return name === undefined
          ? text.replace('import.meta.url', own)
          : `new URL('./${name}.js', import.meta.url`;
      });
    },
  };
}

/** The entry that exports every module of the product that is no program, each name after the path of its module. */
function exportModules(): Plugin {
  return {
    name: 'export-modules',
    resolveId: (id) => (id === MODULES ? id : undefined),
    load: (id) => (id === MODULES ? modulesOfProduct().map(exportsOf).join('\n') : undefined),
  };
}

/** Paths below `dist/`. A compiled file without a source is the rest of an earlier build. */
function modulesOfProduct(): readonly string[] {
  return PRODUCT.flatMap((folder) =>
    readdirSync(below(folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replace(/\.ts$/, '.js')}`)
      .filter(
        (path) =>
          path.endsWith('.js') &&
          existsSync(below(`dist/${path}`)) &&
          !PROGRAMS.includes(below(`dist/${path}`)),
      ),
  );
}

function exportsOf(path: string): string {
  const file = below(`dist/${path}`);
  const names = parseSync(file, readFileSync(file, 'utf8')).module.staticExports.flatMap(({ entries }) =>
    entries.map(({ exportName: { name } }) => {
      if (name === null) throw new Error(`${path} exports something without a name of its own`);
      return `${name} as ${JSON.stringify(`${path} ${name}`)}`;
    }),
  );
  return names.length === 0 ? '' : `export { ${names.join(', ')} } from ${JSON.stringify(file)};`;
}

/** Takes away what builds before left. Names stay, so that a process that runs meanwhile finds what it has not loaded yet. */
function tidy(): Plugin {
  return {
    name: 'tidy',
    writeBundle(_, bundle) {
      for (const name of readdirSync(OUTPUT)) if (!(name in bundle)) rmSync(`${OUTPUT}/${name}`);
    },
  };
}

type Output = NonNullable<NonNullable<InlineConfig['build']>['rolldownOptions']>['output'];

function bundled(
  input: Readonly<Record<string, string>>,
  output: Output,
  after: readonly Plugin[],
): InlineConfig {
  return {
    root: dirname(fileURLToPath(import.meta.url)),
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    plugins: [keepAddresses(), exportModules(), ...after],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: OUTPUT,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      rolldownOptions: {
        input: { ...input },
        external: PACKAGES,
        // Timings depend on the machine: a slow one would print them at every start from a checkout.
        checks: { bundlerTimings: false },
        // No call is free of effects: the bundler would drop `decodeURIComponent(path)`, which is called for its exception.
        // Vite's own `minify: false` drops such calls, too.
        treeshake: false,
        output: { minify: false, comments: { legal: true, annotation: false, jsdoc: false }, ...output },
      },
    },
  };
}

/** After the others, whose names are all that is left of builds before. */
function keepCompiled(): Plugin {
  return {
    name: 'keep-compiled',
    async closeBundle() {
      await build(
        bundled(
          { 'sim-alone': below('dist/cli/sim-alone.js') },
          { format: 'cjs', codeSplitting: false, entryFileNames: '[name].cjs' },
          [],
        ),
      );
      execFileSync(process.execPath, [below('bin/keep-compiled.js')], { stdio: 'inherit' });
    },
  };
}

export default defineConfig(
  bundled({ ...ENTRIES, modules: MODULES }, { entryFileNames: '[name].js', chunkFileNames: '[name].js' }, [
    tidy(),
    keepCompiled(),
  ]),
);
