// Bundles the dashboard: hashed assets that may be kept for good, each beside its gzip and brotli form.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const below = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const OUTPUT = below('dist/web');

function precompress(): Plugin {
  return {
    name: 'precompress',
    writeBundle() {
      for (const name of readdirSync(`${OUTPUT}/assets`)) {
        if (!/\.(js|css|svg)$/.test(name)) continue;
        const path = `${OUTPUT}/assets/${name}`;
        const body = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(body));
      }
    },
  };
}

export default defineConfig({
  root: below('web'),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [precompress()],
  build: {
    outDir: OUTPUT,
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The page's policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // `npx vite -c vite.web.config.ts` beside a running service: the page reloads as it is edited.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080' } },
});
