// The walk of docs/extend.md: each file of its tables exists, and has the names beside it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './document.js';

const page = readFileSync(join(ROOT, 'docs/extend.md'), 'utf8');

const ROW = /^\| `([\w./-]+\.tsx?)` \| ((?:`\w+`(?:, )?)*) ?\| \S.* \|$/gm;

/** Files of the tables in `text` with their names. `NAME` stands for a new file. */
function namesOf(text: string): readonly (readonly [path: string, names: readonly string[]])[] {
  return [...text.matchAll(ROW)]
    .map(([, path = '', names = '']) => [path, names.match(/\w+/g) ?? []] as const)
    .filter(([path]) => !path.includes('NAME'));
}

/** Files that do not exist, and names that their file does not have. */
function faultsOf(text: string): readonly string[] {
  return namesOf(text).flatMap(([path, names]) => {
    if (!existsSync(join(ROOT, path))) return [path];
    const source = readFileSync(join(ROOT, path), 'utf8');
    return names
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(source))
      .map((name) => `${path}: ${name}`);
  });
}

describe('The walks to a further source of limits and to a further protocol', () => {
  it('names existing files, and names that they have', () => {
    expect(faultsOf(page)).toEqual([]);
  });

  it('is read row by row', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    expect(namesOf(page)).toHaveLength(rows.filter((line) => !line.includes('NAME')).length);
    expect(namesOf(page).every(([, names]) => names.length > 0)).toBe(true);
  });

  it('is out of date once a file or a name is gone', () => {
    const row = (path: string, name: string) => `| \`${path}\` | \`${name}\` | Words. |`;
    expect(faultsOf(row('machines/limits/gone.ts', 'LimitSource'))).toEqual(['machines/limits/gone.ts']);
    const path = 'machines/limits/limit-in-force.ts';
    expect(faultsOf(row(path, 'LimitSource'))).toEqual([]);
    expect(faultsOf(row(path, 'LimitSourc'))).toEqual([`${path}: LimitSourc`]);
  });
});
