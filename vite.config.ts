// The three builds of a checkout, by mode: `command` for Node, `web` for the dashboard, `report` for simulation reports.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build, defineConfig, type Plugin, parseSync, type UserConfig } from 'vite';

const below = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * No call is free of effects: a bundler would drop `decodeURIComponent(path)`, which is called for its exception.
 * Vite's `minify: false` alone drops such calls, too. Timings would be printed at each start on a slow machine.
 */
const EVERY_CALL_MATTERS = { treeshake: false, checks: { bundlerTimings: false } } as const;

/** For browsers. */
const MINIFIED = { ...EVERY_CALL_MATTERS, output: { minify: { compress: false, mangle: true } } } as const;

const COMMAND = below('dist/command');

/** Modules that are loaded by their address, by their name in the bundle. */
const ENTRIES = {
  main: below('cli/main.ts'),
  sim: below('sim/entry.ts'),
  client: below('client/headroom.ts'),
  'seed-thread': below('sim/run/seed-thread.ts'),
  'cell-thread': below('sim/run/cell-thread.ts'),
  'provisioning-thread': below('cli/provisioning-thread.ts'),
  'campaign-main': below('sim/checks/campaign-main.ts'),
  'campaign-worker': below('sim/checks/campaign-worker.ts'),
  knexfile: below('knexfile.ts'),
};

/** An entry only for tests: through it they import the product from the shipped chunks (`test/bundled.ts`). */
const MODULES = 'virtual:modules';
const PRODUCT = ['cli', 'client', 'machines', 'sim', 'src'];
/** These modules run as soon as they are loaded. */
const PROGRAMS = Object.values(ENTRIES).filter((path) => path !== ENTRIES.sim && path !== ENTRIES.client);
const NAMES = new Map(Object.entries(ENTRIES).map(([name, path]) => [compiledOf(path), name]));

/** The file in `dist` that the compiler makes of a module of the product; any other file itself. */
function compiledOf(path: string): string {
  const inTree = relative(below('.'), path);
  return /^(cli|client|machines|sim|src|knexfile\.ts)\b/.test(inTree)
    ? below(`dist/${inTree.replace(/\.ts$/, '.js')}`)
    : path;
}

/**
 * Not bundled: a native driver; packages that `require` also loads, of which there must be one copy; optional drivers
 * of knex, which are not installed.
 */
const PACKAGES = [
  /^(sqlite3|pg|ocpp-rpc)$/,
  /^(better-sqlite3|mariadb|mysql2?|oracledb|pg-query-stream|tedious)(\/|$)/,
];

/**
 * Keeps the addresses of files beside a module, such as pages and package.json, as they are in compiled files. The
 * addresses of threads and processes become those of the bundle.
 */
function keepAddresses(): Plugin {
  return {
    name: 'keep-addresses',
    // Before the quotes change.
    enforce: 'pre',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return undefined;
      const compiled = compiledOf(id);
      const own = `new URL(${JSON.stringify(relative(COMMAND, compiled))}, import.meta.url).href`;
      return code.replaceAll(/(?:new URL\('([^']+)', )?import\.meta\.url/g, (text, path?: string) => {
        const name = path === undefined ? undefined : NAMES.get(resolve(dirname(compiled), path));
        return name === undefined
          ? text.replace('import.meta.url', own)
          : `new URL('./${name}.js', import.meta.url`;
      });
    },
  };
}

/** Texts of the service are English. The other 60 languages of zod are a tenth of the command. */
function leaveOutLocales(): Plugin {
  return {
    name: 'leave-out-locales',
    transform: (_, id) =>
      /\/zod\/v4\/locales\/index\.js$/.test(id) ? "export { default as en } from './en.js';" : undefined,
  };
}

/** Exports every module of the product that is no program. Each name follows the path of its module. */
function exportModules(): Plugin {
  return {
    name: 'export-modules',
    resolveId: (id) => (id === MODULES ? id : undefined),
    load: (id) => (id === MODULES ? modulesOfProduct().map(exportsOf).join('\n') : undefined),
  };
}

function modulesOfProduct(): readonly string[] {
  return PRODUCT.flatMap((folder) =>
    readdirSync(below(folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith('.ts') && !PROGRAMS.includes(below(path))),
  );
}

function exportsOf(path: string): string {
  const file = below(path);
  const compiled = path.replace(/\.ts$/, '.js');
  const names = parseSync(file, readFileSync(file, 'utf8')).module.staticExports.flatMap(({ entries }) =>
    entries
      .filter(({ isType }) => !isType)
      .map(({ exportName: { name } }) => {
        if (name === null) throw new Error(`${path} exports something without a name of its own`);
        return `${name} as ${JSON.stringify(`${compiled} ${name}`)}`;
      }),
  );
  return names.length === 0 ? '' : `export { ${names.join(', ')} } from ${JSON.stringify(file)};`;
}

/**
 * Removes the files of earlier builds. Names of chunks do not change, so a process that runs meanwhile finds the chunks
 * that it has not loaded yet. The stamp is newer than all else in `dist` (`tools/prepare.js`).
 */
function tidyAndStamp(): Plugin {
  return {
    name: 'tidy-and-stamp',
    writeBundle(_, bundle) {
      for (const name of readdirSync(COMMAND)) if (!(name in bundle)) rmSync(`${COMMAND}/${name}`);
    },
    closeBundle() {
      mkdirSync(below('dist/compiled'), { recursive: true });
      // For knex's own command line.
      writeFileSync(below('dist/knexfile.js'), "export { default } from './command/knexfile.js';\n");
      writeFileSync(below('dist/built'), '');
    },
  };
}

/**
 * The command, the threads of a simulation and `headroom/sim`, with the packages that they use. As a few files they
 * start with half the processor time of 1,200 modules.
 */
export const commandBuild: UserConfig = {
  root: below('.'),
  logLevel: 'warn',
  publicDir: false,
  plugins: [keepAddresses(), leaveOutLocales(), exportModules(), tidyAndStamp()],
  ssr: { noExternal: true },
  build: {
    ssr: true,
    outDir: COMMAND,
    emptyOutDir: false,
    target: 'node20',
    minify: false,
    rolldownOptions: {
      ...EVERY_CALL_MATTERS,
      input: { ...ENTRIES, modules: MODULES },
      external: PACKAGES,
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        minify: false,
        comments: { legal: true, annotation: false, jsdoc: false },
      },
    },
  },
};

const BROWSERS = ['chrome123', 'firefox120', 'safari17.5'];
const WEB = below('dist/web');
const SWAGGER_UI = below('node_modules/swagger-ui-dist');
const DOCS_PAGE = below('web/api-docs');
const DOCS = below('dist/docs');

/** Adds compressed forms, then removes earlier assets: a reader finds a whole page at any time. */
function compressAndTidy(): Plugin {
  return {
    name: 'compress-and-tidy',
    writeBundle(_, bundle) {
      const made = new Set<string>();
      for (const path of Object.keys(bundle)) {
        made.add(path);
        if (!/\.(js|css|svg)$/.test(path)) continue;
        const body = readFileSync(`${WEB}/${path}`);
        writeFileSync(`${WEB}/${path}.gz`, gzipSync(body, { level: 9 }));
        writeFileSync(`${WEB}/${path}.br`, brotliCompressSync(body));
        made.add(`${path}.gz`).add(`${path}.br`);
      }
      for (const name of readdirSync(`${WEB}/assets`)) {
        if (!made.has(`assets/${name}`)) rmSync(`${WEB}/assets/${name}`, { force: true });
      }
    },
  };
}

/** Packs Swagger UI with its licences, and the script and the style sheet that adapt it. */
function packApiDocs(): Plugin {
  return {
    name: 'pack-api-docs',
    async writeBundle() {
      mkdirSync(DOCS, { recursive: true });
      const pack = (name: string, content: string | Buffer) =>
        writeFileSync(`${DOCS}/${name}.gz`, gzipSync(content, { level: 9 }));
      for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css'])
        pack(name, readFileSync(`${SWAGGER_UI}/${name}`));
      pack('docs.css', readFileSync(`${DOCS_PAGE}/docs.css`));
      pack('show.js', await bundled(`${DOCS_PAGE}/show.ts`));
      for (const name of ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt']) {
        copyFileSync(`${SWAGGER_UI}/${name}`, `${DOCS}/${name}`);
      }
    },
  };
}

/** One script without imports, for a page that is not built here. */
async function bundled(entry: string): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'warn',
    build: { write: false, target: 'es2022', lib: { entry, formats: ['iife'], name: 'headroomDocs' } },
  });
  const [output] = [result].flat();
  const chunk = output !== undefined && 'output' in output ? output.output[0] : undefined;
  if (chunk === undefined) throw new Error(`${entry} gave no script.`);
  return chunk.code;
}

/** The dashboard: hashed assets with their gzip and brotli forms, and the page of the API. */
export const webBuild: UserConfig = {
  root: below('web'),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [compressAndTidy(), packApiDocs()],
  build: {
    outDir: WEB,
    emptyOutDir: false,
    target: 'es2022',
    cssTarget: BROWSERS,
    // The page's policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: MINIFIED,
  },
  // For `npx vite --mode web` next to a running service: the page reloads after each edit.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080' } },
};

/** The page of simulation reports as one script and one style sheet, which every report.html contains. */
export const reportBuild: UserConfig = {
  root: below('web/report'),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: below('dist/report'),
    emptyOutDir: false,
    target: 'es2022',
    cssTarget: BROWSERS,
    rolldownOptions: MINIFIED,
    lib: {
      entry: below('web/report/main.tsx'),
      // Of an ES module, Vite keeps all white space.
      formats: ['iife'],
      name: 'headroomReport',
      fileName: () => 'page.js',
      cssFileName: 'page',
    },
  },
};

const BUILDS: Readonly<Record<string, UserConfig>> = {
  command: commandBuild,
  web: webBuild,
  report: reportBuild,
};

export default defineConfig(({ mode }) => {
  const config = BUILDS[mode];
  if (config === undefined)
    throw new Error(`--mode must be one of ${Object.keys(BUILDS).join(', ')}, not ${mode}`);
  return config;
});
