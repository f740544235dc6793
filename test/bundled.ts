// The product as it ships, for tests: imports of the product resolve to the chunks of the bundle.
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, parseSync } from 'vite';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MODULES = resolve(ROOT, 'dist/command/modules.js');
const COMPILED_ALONE = /^bench\//;
const BUNDLED = /^(cli|client|machines|sim|src)\/.*\.[jt]s$/;
const PREFIX = '\0bundled:';

/**
 * Resolves `../../src/service.js` to a module that re-exports the bundle's exports for it (`vite.config.ts`). Benches
 * do not ship, so their compiled files are loaded. Pages and their scripts are taken as sources.
 */
export function bundledProduct(): Plugin {
  let exported: ReadonlyMap<string, readonly string[]> | undefined;
  return {
    name: 'bundled-product',
    enforce: 'pre',
    resolveId(source, importer) {
      const path = source.startsWith(ROOT) ? source : besides(source, importer);
      const inTree = path === undefined ? '' : relative(ROOT, path).replace(/\.ts$/, '.js');
      if (COMPILED_ALONE.test(inTree)) return { id: resolve(ROOT, 'dist', inTree), external: true };
      if (!BUNDLED.test(inTree)) return undefined;
      // `test/build.ts` has built the bundle before the first test is loaded.
      exported ??= exportsByModule();
      return exported.has(inTree) ? `${PREFIX}${inTree}` : undefined;
    },
    load(id) {
      if (!id.startsWith(PREFIX)) return undefined;
      const path = id.slice(PREFIX.length);
      const names = exported?.get(path)?.map((name) => `${JSON.stringify(`${path} ${name}`)} as ${name}`);
      return `export { ${names?.join(', ')} } from ${JSON.stringify(MODULES)};`;
    },
  };
}

function besides(source: string, importer: string | undefined): string | undefined {
  return importer === undefined || !source.startsWith('.') ? undefined : resolve(dirname(importer), source);
}

function exportsByModule(): ReadonlyMap<string, readonly string[]> {
  const exported = new Map<string, string[]>();
  for (const { entries } of parseSync(MODULES, readFileSync(MODULES, 'utf8')).module.staticExports)
    for (const { exportName } of entries) {
      const [path = '', name = ''] = exportName.name?.split(' ') ?? [];
      exported.set(path, [...(exported.get(path) ?? []), name]);
    }
  return exported;
}
