// Each exported value has an importer in another file.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readSources } from './sources.js';
import { unsharedValues } from './unshared-values.js';

const product = readSources(['machines', 'src', 'cli', 'sim', 'web', 'tools'], /\.tsx?$/);
const others = readSources(['test', 'docs'], /\.(tsx?|js)$/);
const knexfile = {
  path: 'knexfile.ts',
  text: readFileSync(new URL('../../knexfile.ts', import.meta.url), 'utf8'),
};

describe('The values of the tree', () => {
  it('are exported only where another file imports them', () => {
    expect(unsharedValues(product, [...product, ...others, knexfile])).toEqual([]);
  });
});

describe('The search for values that nobody imports', () => {
  const offering = {
    path: 'src/a.ts',
    text: 'export const a = 1;\nexport async function b() {}\nexport class C {}\nexport type D = 1;\nconst e = a;\n',
  };

  function unsharedBeside(text: string, path = 'src/in/b.ts'): readonly string[] {
    return unsharedValues([offering], [offering, { path, text }]);
  }

  it('finds constants, functions and classes, and no types', () => {
    expect(unsharedBeside('')).toEqual(['src/a.ts a', 'src/a.ts b', 'src/a.ts C']);
  });

  it.each([
    ["import { a, type D } from '../a.js';", ['src/a.ts b', 'src/a.ts C']],
    ["import {\n  b as other,\n  type C,\n} from '../a.js';", ['src/a.ts a']],
    ["export { a, C } from '../a.js';", ['src/a.ts b']],
    ["import * as all from '../a.js';", []],
    ["const { a } = await import('../a.js');", []],
    ["/** @type {typeof import('../a.js')} */", []],
  ])('knows what %j takes', (text, left) => {
    expect(unsharedBeside(text)).toEqual(left);
  });

  it.each(["import { a } from './a.js';", "// import { a } from '../a.js';", "import { a } from 'a';"])(
    'does not take %j for it',
    (text) => {
      expect(unsharedBeside(text)).toContain('src/a.ts a');
    },
  );
});
