// Runs every example of the documents in order, and compares its result with the page.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingPrograms, needing } from '../needs.js';
import { type Block, type Document, ROOT, readDocuments } from './document.js';
import { parseMark } from './mark.js';
import { openPage, type Page } from './page.js';

/** Programs that are no part of Node. Pages that use a missing one are skipped. */
const PROGRAMS = ['curl', 'mosquitto_pub', 'mosquitto_sub', 'mosquitto_rr'];

function missingFor(document: Document): string | undefined {
  const commands = document.blocks.filter(({ info }) => /^(run|start)/.test(info)).map(({ text }) => text);
  return missingPrograms(...PROGRAMS.filter((program) => commands.join('').includes(program)));
}

function titleOf({ language, info, line, text }: Block): string {
  const first = text.split('\n').find((candidate) => /^[^#\s]/.test(candidate)) ?? '';
  return `line ${line}, ${language} ${info}: ${first}`;
}

const documents = readDocuments().filter(({ blocks }) => blocks.length > 0);

for (const document of documents) {
  describe(document.path, needing(missingFor(document)), () => {
    let page: Page;
    // After a failure, later examples of the page prove nothing.
    let stumbled = false;

    beforeAll(async () => {
      page = await openPage(document);
    });
    afterAll(() => page.close());

    it('marks every block', () => {
      const unsaid = document.blocks.flatMap(({ info, line }) => {
        try {
          parseMark(info);
          return [];
        } catch (error) {
          return [`line ${line}: ${error}`];
        }
      });
      expect(unsaid).toEqual([]);
    });

    if (document.blocks.some(({ language }) => language === 'ts')) {
      it('has TypeScript blocks without errors', () => page.compile());
    }

    for (const block of document.blocks) {
      const mark = tryMark(block);
      if (mark === undefined || mark.kind === 'shown') continue;
      it(titleOf(block), async ({ skip }) => {
        if (stumbled) skip('the page stumbled before');
        stumbled = true;
        if (mark.kind === 'excerpt') {
          expect(squeezed(readFileSync(join(ROOT, mark.path), 'utf8'))).toContain(squeezed(block.text));
        } else {
          expect(await page.differences(block, mark)).toEqual([]);
        }
        stumbled = false;
      });
    }
  });
}

/** Indentation and line breaks may differ: an excerpt stands at the left margin. */
function squeezed(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function tryMark({ info }: Block) {
  try {
    return parseMark(info);
  } catch {
    return undefined;
  }
}
