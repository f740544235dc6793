// Bundles the command with the packages it uses: read as a few files, it starts with half the processor time of 1,200 modules.
import { readdirSync, rmSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const below = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const OUTPUT = below('dist/command');

/**
 * They stay packages: a native driver, what is also reached by `require`, of which there must be one, and drivers that knex names and
 * nobody installs.
 */
const PACKAGES = [
  /^(sqlite3|pg|ocpp-rpc)$/,
  /^(better-sqlite3|mariadb|mysql2?|oracledb|pg-query-stream|tedious)(\/|$)/,
];

/** Each module finds what lies beside it, such as pages, threads and package.json, where it would without the bundle. */
function keepAddresses(): Plugin {
  return {
    name: 'keep-addresses',
    transform(code, id) {
      if (!code.includes('import.meta.url')) return undefined;
      const path = relative(OUTPUT, id);
      return code.replaceAll('import.meta.url', `new URL(${JSON.stringify(path)}, import.meta.url).href`);
    },
  };
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

export default defineConfig({
  root: dirname(fileURLToPath(import.meta.url)),
  logLevel: 'warn',
  publicDir: false,
  plugins: [keepAddresses(), tidy()],
  ssr: { noExternal: true },
  build: {
    ssr: below('dist/cli/main.js'),
    outDir: OUTPUT,
    emptyOutDir: false,
    target: 'node20',
    minify: false,
    rolldownOptions: {
      external: PACKAGES,
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        comments: { legal: true, annotation: false, jsdoc: false },
      },
    },
  },
});
