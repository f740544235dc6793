// Bundles the dashboard: hashed assets that may be kept for good, each beside its gzip and brotli form. Packs Swagger UI.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const below = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const OUTPUT = below('dist/web');
const SWAGGER_UI = below('node_modules/swagger-ui-dist');
const DOCS = below('dist/docs');

/** Adds what compresses well in both forms, and takes away what builds before left: whoever reads meanwhile finds a whole page. */
function finish(): Plugin {
  return {
    name: 'finish',
    writeBundle(_, bundle) {
      const made = new Set<string>();
      for (const path of Object.keys(bundle)) {
        made.add(path);
        if (!/\.(js|css|svg)$/.test(path)) continue;
        const body = readFileSync(`${OUTPUT}/${path}`);
        writeFileSync(`${OUTPUT}/${path}.gz`, gzipSync(body, { level: 9 }));
        writeFileSync(`${OUTPUT}/${path}.br`, brotliCompressSync(body));
        made.add(`${path}.gz`).add(`${path}.br`);
      }
      for (const name of readdirSync(`${OUTPUT}/assets`)) {
        if (!made.has(`assets/${name}`)) rmSync(`${OUTPUT}/assets/${name}`, { force: true });
      }
    },
  };
}

/** Packs the files of Swagger UI that the service serves, beside their licences. Nothing else of that package is needed. */
function packSwaggerUi(): Plugin {
  return {
    name: 'pack-swagger-ui',
    writeBundle() {
      mkdirSync(DOCS, { recursive: true });
      for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css']) {
        writeFileSync(`${DOCS}/${name}.gz`, gzipSync(readFileSync(`${SWAGGER_UI}/${name}`), { level: 9 }));
      }
      for (const name of ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt']) {
        copyFileSync(`${SWAGGER_UI}/${name}`, `${DOCS}/${name}`);
      }
    },
  };
}

export default defineConfig({
  root: below('web'),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [finish(), packSwaggerUi()],
  build: {
    outDir: OUTPUT,
    emptyOutDir: false,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The page's policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Timings depend on the machine: a slow one would print them at every start from a checkout.
    // No call is free of effects, so that the page is the program that was written.
    rolldownOptions: {
      checks: { bundlerTimings: false },
      treeshake: false,
      output: { minify: { compress: false, mangle: true } },
    },
  },
  // `npx vite -c vite.web.config.ts` beside a running service: the page reloads as it is edited.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080' } },
});
