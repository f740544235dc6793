// Bundles the page of simulation reports into one script and one style sheet, which every report.html carries inside.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const below = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: below('sim/report/page'),
  logLevel: 'warn',
  build: {
    outDir: below('dist/sim/report/page'),
    emptyOutDir: false,
    target: 'es2022',
    // Timings depend on the machine: a slow one would print them at every start from a checkout.
    // No call is free of effects, so that the page is the program that was written.
    rolldownOptions: {
      checks: { bundlerTimings: false },
      treeshake: false,
      output: { minify: { compress: false, mangle: true } },
    },
    lib: {
      entry: below('sim/report/page/main.ts'),
      formats: ['es'],
      fileName: () => 'page.js',
      cssFileName: 'page',
    },
  },
});
