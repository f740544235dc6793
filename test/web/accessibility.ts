// Faults of a page that axe-core finds, for people who cannot see it, or not well.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually } from '../eventually.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// The script is text, because the tests have no browser types.
const RUN = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))`;

/** Fails if axe finds a serious or critical fault, and names it with its place. */
export async function expectAccessible(page: Page): Promise<void> {
  // `evaluate` works despite the page's policy, which allows no script from outside.
  await page.evaluate(AXE);
  // A page in the middle of a change of its colours is checked again.
  await eventually(async () => expect(await page.evaluate(RUN)).toEqual([]));
}
