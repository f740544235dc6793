// The documents for users and developers, and the fenced blocks in them.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Block {
  readonly language: string;
  /** The text after the language in the info string. */
  readonly info: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly text: string;
}

export interface Document {
  /** From the root of the tree. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const FENCE = /^( *)(`{3,}|~{3,})\s*([^\s`]*)[ \t]*(.*)$/;

/** The fenced blocks of `text`. */
export function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { indent: string; fence: string; language: string; info: string; line: number } | undefined;
  let inside: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [, indent = '', fence = '', language = '', info = ''] = FENCE.exec(line) ?? [];
    if (open === undefined) {
      if (fence !== '') open = { indent, fence, language, info: info.trim(), line: index + 1 };
      inside = [];
    } else if (fence.startsWith(open.fence) && language === '') {
      const { language: ofOpen, info: said, line: at } = open;
      blocks.push({ language: ofOpen, info: said, line: at, text: `${inside.join('\n')}\n` });
      open = undefined;
    } else {
      inside.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    }
  }
  if (open !== undefined) throw new Error(`line ${open.line}: the block is never closed`);
  return blocks;
}

/** The existing ones of README.md and CONTRIBUTING.md, and the documents in docs/. */
export function readDocuments(): readonly Document[] {
  const above = readdirSync(ROOT).filter((name) => /^(README|CONTRIBUTING)\.md$/.test(name));
  const below = readdirSync(`${ROOT}/docs`).filter((name) => name.endsWith('.md'));
  return [...above, ...below.map((name) => `docs/${name}`)].sort().map((path) => {
    const text = readFileSync(`${ROOT}/${path}`, 'utf8');
    return { path, text, blocks: blocksOf(text) };
  });
}
