// Bundles the dashboard: hashed assets that may be kept for good, each beside its gzip and brotli form. Packs the page of the API.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build, defineConfig, type Plugin } from 'vite';

const below = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const OUTPUT = below('dist/web');
const SWAGGER_UI = below('node_modules/swagger-ui-dist');
const DOCS_PAGE = below('web/api-docs');
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

/** Packs Swagger UI with its licences, and the script and the style sheet that adapt it. Nothing else of that package is needed. */
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

export default defineConfig({
  root: below('web'),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [finish(), packApiDocs()],
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
