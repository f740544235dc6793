// The product as it is compiled, for tests: what they import of it is loaded by Node itself, as in production.
import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PRODUCT = /^(bench|cli|machines|sim|src)\//;

/**
 * Modules that vitest runs itself reach each import through an object: a simulated hour takes an eighth more of the processor.
 * `test/build.ts` has compiled them before the first is asked for; what is not compiled, such as pages, is taken as it stands.
 */
export function compiledProduct(): Plugin {
  return {
    name: 'compiled-product',
    enforce: 'pre',
    resolveId(source, importer) {
      const path = source.startsWith(ROOT) ? source : besides(source, importer);
      const inTree = path === undefined ? '' : relative(ROOT, path).replace(/\.ts$/, '.js');
      const compiled = resolve(ROOT, 'dist', inTree);
      return PRODUCT.test(inTree) && existsSync(compiled) ? { id: compiled, external: true } : undefined;
    },
  };
}

function besides(source: string, importer: string | undefined): string | undefined {
  return importer === undefined || !source.startsWith('.') ? undefined : resolve(dirname(importer), source);
}
