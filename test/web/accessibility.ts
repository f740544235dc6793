// What axe-core finds wrong with a page, for people who cannot see it, or not well.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually } from '../eventually.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// Text, because the tests know nothing of a browser's types.
const RUN = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))`;

/** Fails where axe finds something serious or critical, and says what and where. */
export async function expectAccessible(page: Page): Promise<void> {
  // The browser's own way in: the page's policy lets no script in from outside.
  await page.evaluate(AXE);
  // A page in the middle of a change of its colours is looked at again.
  await eventually(async () => expect(await page.evaluate(RUN)).toEqual([]));
}
