// One word for each concept: texts for users have no riddles, and use the words of the glossary.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHARGING_STATUSES } from '../../machines/values/charging-status.js';
import { BY_STATUS } from '../../web/location/connector-state.js';
import { readSources } from '../architecture/sources.js';
import { ROOT, readDocuments } from './document.js';

/** Words to avoid, and their replacements. */
const INSTEAD: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bwhoever\b/i, 'those who, or the name of the part'],
  [/\bby right\b/i, 'reserved'],
  [/\bgood ear\b/i, 'receives'],
  [/\bnever can\b/i, 'cannot'],
  [/\balarms? that lasts?\b/i, 'open alarm'],
  [/\bdisobeys?\b/i, 'exceeds its limit'],
  [/\bmends?\b/i, 'correct, fix'],
  [/\bnought\b/i, 'zero'],
  [/\bcolours:/i, 'theme'],
  // The contract's "grid limit" is the smallest of three limits.
  [/\bgrid limit\b/i, 'limit in force'],
];

/** Decisions are a record of their day. */
const documents = readDocuments().filter(({ path }) => path !== 'docs/decisions.md');
const pages = [
  ...documents,
  ...readSources(['web', 'cli'], /\.tsx?$/),
  { path: 'src/features/live/live.ts', text: textOf('src/features/live/live.ts') },
  { path: 'src/metrics.ts', text: textOf('src/metrics.ts') },
];

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

describe('A text for users', () => {
  it.each(INSTEAD)('avoids %s in favour of %s', (pattern, instead) => {
    const found = pages.flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: say "${instead}"`] : [])),
    );
    expect(found).toEqual([]);
  });
});

describe('The glossary', () => {
  const glossary = textOf('docs/glossary.md');

  it('explains each OCPP status with the definition of the dashboard', () => {
    for (const status of CHARGING_STATUSES) {
      const [, meaning = ''] = new RegExp(`^\\| \`${status}\` \\| (.*) \\|$`, 'm').exec(glossary) ?? [];
      expect(`${meaning}.`.toLowerCase()).toBe(BY_STATUS[status].definition.toLowerCase());
    }
  });

  it('has each term once', () => {
    const terms = [...glossary.matchAll(/^\| ([a-z][\w -]*) \|/gm)].map(([, term = '']) => term);
    const words = terms.filter((term) => term !== 'term' && term !== 'status');
    expect(words.length).toBeGreaterThan(20);
    expect(new Set(words).size).toBe(words.length);
  });
});
