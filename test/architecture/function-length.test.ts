// No function outside the tests is longer than a screen.
import { describe, expect, it } from 'vitest';
import { longFunctions, MOST_LINES } from './function-length.js';
import { readSources, type Source } from './sources.js';

const sources = readSources(['machines', 'src', 'cli', 'sim', 'web', 'bench'], /\.tsx?$/);

describe('The functions of the tree', () => {
  it(`have at most ${MOST_LINES} lines`, () => {
    expect(longFunctions(sources)).toEqual([]);
  });
});

describe('The measure of functions', () => {
  const body = 'x();\n'.repeat(MOST_LINES - 1);

  function planted(text: string): Source {
    return { path: 'src/a.tsx', text };
  }

  it.each([
    [`function f() {\n${body}}`, 'src/a.tsx f'],
    [`const g = () => {\n${body}};`, 'src/a.tsx g'],
    [`class A {\n  m() {\n${body}}\n}`, 'src/a.tsx m'],
    [`class A {\n  #m() {\n${body}}\n}`, 'src/a.tsx m'],
    [`class A {\n  constructor() {\n${body}}\n}`, 'src/a.tsx constructor'],
    [`const o = { m() {\n${body}} };`, 'src/a.tsx m'],
    [`export default () => {\n${body}};`, 'src/a.tsx anonymous'],
    [`const v = <b>{list.map(() => {\n${body}})}</b>;`, 'src/a.tsx v'],
  ])('finds %j', (text, name) => {
    expect(longFunctions([planted(text)])).toEqual([name]);
    expect(longFunctions([planted(text.replace('x();\n', ''))])).toEqual([]);
  });

  it('does not add up what a class has', () => {
    const methods = 'abcd'.split('').map((name) => `  ${name}() {\n${'x();\n'.repeat(30)}}\n`);
    expect(longFunctions([planted(`class A {\n${methods.join('')}}`)])).toEqual([]);
  });
});
