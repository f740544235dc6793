// The table of the ledger's rules names functions, which cite these rules, and invariants and planted bugs that exist.
import { describe, expect, it } from 'vitest';
import { readSources, withoutComments } from '../architecture/sources.js';
import { readDocuments } from './document.js';

interface Plant {
  readonly name: string;
  readonly invariant: string;
}

const { PLANTS } = (await import(new URL('../planted/plants.js', import.meta.url).href)) as {
  readonly PLANTS: readonly Plant[];
};
const machines = readSources(['machines']);
const checks = readSources(['sim']).map(withoutComments).join('\n');
const { text = '' } = readDocuments().find(({ path }) => path === 'docs/power-safety.md') ?? {};
const [, table = ''] = text.split('\n## Rules of the ledger\n');
const rows = [...table.matchAll(/^\| (R.*?) \| `(\w+)` \| (P\d+) \| `([\w-]+)` \|$/gm)].map(
  ([, rules = '', name = '', invariant = '', plant = '']) => ({
    rules: rules.split(', '),
    name,
    invariant,
    plant,
  }),
);

/** The comments directly above all functions and methods with this name. */
function commentsOf(name: string): readonly string[] {
  const definition = new RegExp(
    `/\\*\\*((?:(?!\\*/)[^])*)\\*/\\n *(?:export )?(?:function |get )?#?${name}\\(`,
    'g',
  );
  return machines.flatMap((source) =>
    [...source.text.matchAll(definition)].map(([, comment = '']) => comment),
  );
}

describe('The table of the rules of the ledger', () => {
  it('has a row for each line below its head', () => {
    expect(rows.length).toBeGreaterThan(0);
    expect(table.match(/^\| R/gm)).toHaveLength(rows.length);
  });

  it.each(rows)(
    'names $name, which cites its rules, and the bug $plant, which $invariant finds',
    ({ rules, name, invariant, plant }) => {
      const cites = (comment: string) => rules.every((rule) => new RegExp(`\\b${rule}\\b`).test(comment));
      expect(commentsOf(name).filter(cites)).toHaveLength(1);
      for (const rule of rules) expect(text).toContain(`- **${rule}** `);
      expect(checks).toContain(`'${invariant}'`);
      expect(PLANTS.find((each) => each.name === plant)).toMatchObject({ invariant });
    },
  );
});
