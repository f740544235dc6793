// Fields are written out, one a line if they do not fit one line.
import { describe, expect, it } from 'vitest';
import { literalSpreads } from './literal-spreads.js';
import { readSources } from './sources.js';

const sources = readSources(
  ['machines', 'src', 'cli', 'sim', 'web', 'tools', 'test', 'docs'],
  /\.(tsx?|js)$/,
);

describe('The objects of the tree', () => {
  it('are written out, and not in spreads that save a line', () => {
    expect(literalSpreads(sources)).toEqual([]);
  });
});

describe('The search for spreads of written objects', () => {
  function spreadsIn(text: string): readonly string[] {
    return literalSpreads([{ path: 'src/a.tsx', text }]);
  }

  it.each([
    'const a = { ...{ b, c } };',
    'const a = {\n  b,\n  ...{ c: 1, d: [] },\n};',
    'f({ ...rest, ...{ b: { ...rest } } });',
    'const a = <b {...{ c: 1 }} />;',
  ])('finds one in %j', (text) => {
    expect(spreadsIn(text)).toHaveLength(1);
  });

  it('finds one inside another, and says their lines', () => {
    expect(spreadsIn('const a = {\n  ...{\n    ...{ b },\n  },\n};')).toEqual(['src/a.tsx:2', 'src/a.tsx:3']);
  });

  it.each([
    'const a = { ...b, c };',
    'const a = { ...(isB && { b }) };',
    'const a = { ...(isB ? { b } : { c }) };',
    'const a = [...[1, 2], ...{ length: 2 }.list];',
    'const { ...a } = b;',
    '// { ...{ a, b } }',
  ])('finds none in %j', (text) => {
    expect(spreadsIn(text)).toEqual([]);
  });
});
