// Plain English in comments, documents and commit subjects (CONTRIBUTING.md).
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { readDocuments } from '../docs/document.js';
import {
  commentsOf,
  commitBreaches,
  documentBreaches,
  proseBreaches,
  textBreaches,
  textsOf,
} from './prose.js';
import { readSources } from './sources.js';

const CODE = /\.(tsx?|m?js)$/;
const sources = readSources(['machines', 'src', 'sim', 'cli', 'client', 'web', 'test', 'tools'], CODE);
/** The older page of reports has its own words. */
const speaking = sources.filter(({ path }) => /^(machines|src|sim(?!\/report\/page)|cli|web)\//.test(path));
const documents = readDocuments();

/** Subjects since this rule exists; none where the history is not there. */
function subjects(): readonly string[] {
  const git = (...args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const [first] = git('log', '--diff-filter=A', '--format=%H', '--', 'test/architecture/prose.test.ts').split(
    '\n',
  );
  if (first === undefined || first === '') return [];
  return git('log', '--no-merges', '--format=%s', `${first}..HEAD`).split('\n').filter(Boolean);
}

describe('The tree', () => {
  it('has comments in which something acts, and no code speaks', () => {
    expect(sources.flatMap(commentsOf).length).toBeGreaterThan(5_000);
    expect(sources.flatMap(proseBreaches)).toEqual([]);
  });

  it('has messages, descriptions and labels in the same words', () => {
    expect(speaking.flatMap(textsOf).length).toBeGreaterThan(2_500);
    expect(speaking.flatMap(textBreaches)).toEqual([]);
  });

  it('has documents of short sentences, 45,000 words at most', () => {
    expect(documentBreaches(documents)).toEqual([]);
  });

  it('has commit subjects of the form "area: verb …", 72 characters at most', () => {
    expect(commitBreaches(subjects())).toEqual([]);
  });
});

describe('The rule for comments', () => {
  const breaches = (text: string) => proseBreaches({ path: 'src/a.ts', text });

  it.each([
    '// Whether the charger holds a lease.\n',
    '/** What a charger may draw at most. */\n',
    '/**\n * Limits of those that wait.\n */\n',
    '// The charger is told its limit again.\n',
    'const a = 1;\n  // As many as there are connectors.\n',
  ])('finds %j', (text) => {
    expect(breaches(text)).toHaveLength(1);
  });

  it.each([
    '// The charger receives its limit again.\n',
    '// Calls `tell` for each message.\n',
    '/** @param what name of the file in messages */\n',
    '// See where.\n',
  ])('accepts %j', (text) => {
    expect(breaches(text)).toEqual([]);
  });
});

describe('The rule for texts', () => {
  const breaches = (text: string) => textBreaches({ path: 'web/a.tsx', text });

  it.each([
    "log.warn({ path }, 'what was written will not fit');\n",
    'const reason = `it is told a lower limit`;\n',
    'const label = <p>Whether the charger holds a lease</p>;\n',
  ])('finds %j', (text) => {
    expect(breaches(text)).toHaveLength(1);
  });

  it.each(["const why = 'a written limit does not fit';\n", "type Kind = 'what' | 'told';\n"])(
    'accepts %j',
    (text) => {
      expect(breaches(text)).toEqual([]);
    },
  );
});

describe('The rule for documents', () => {
  const sentence = (words: number) => `${'word '.repeat(words).trim()}.`;

  it('accepts one sentence in twenty over 30 words, and no more', () => {
    const text = (long: number) =>
      [...Array(long).fill(sentence(31)), ...Array(19).fill(sentence(9))].join(' ');
    expect(documentBreaches([{ path: 'docs/a.md', text: text(1) }])).toEqual([]);
    expect(documentBreaches([{ path: 'docs/a.md', text: text(2) }])).toHaveLength(1);
  });

  it('counts the words of all documents, and no code', () => {
    const texts = (words: number) => [
      { path: 'docs/a.md', text: `${sentence(9)}\n`.repeat(words / 9) },
      { path: 'docs/b.md', text: `\`\`\`\n${sentence(9_000)}\n\`\`\`\n` },
    ];
    expect(documentBreaches(texts(44_000))).toEqual([]);
    expect(documentBreaches(texts(45_900))).toHaveLength(1);
  });
});

describe('The rule for commits', () => {
  it.each(['ocpp: ignore echoed schedule start as clock evidence', 'docs: shorten the guide of REST'])(
    'accepts %j',
    (subject) => {
      expect(commitBreaches([subject])).toEqual([]);
    },
  );

  it.each(['Believe no charger to have shown its clock', `docs: ${'long '.repeat(14)}`, 'ocpp: Ignore it'])(
    'refuses %j',
    (subject) => {
      expect(commitBreaches([subject])).toHaveLength(1);
    },
  );
});
