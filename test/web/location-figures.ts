// Reading the page of a location as people do: figures by their names, and the rows of its tables.
import type { Locator, Page } from 'playwright-core';

/** A figure of `region`, by its name: the number of its `12.3 kW`. NaN where it is none. */
export async function figureOf(region: Locator, name: string): Promise<number> {
  return Number.parseFloat((await figure(region, name).textContent()) ?? '');
}

export function figure(region: Locator, name: string): Locator {
  const named = region.page().locator(`dt:text-is("${name}")`);
  return region.locator('.figure-row > div', { has: named }).locator('dd').first();
}

/** The text of each cell of the rows of a table, by its label; the head left out. */
export async function rowsOf(page: Page, label: string): Promise<readonly (readonly string[])[]> {
  const rows = await page.getByRole('table', { name: label, exact: true }).locator('tbody tr').all();
  return Promise.all(rows.map((row) => row.locator('th, td').allTextContents()));
}

/** How pages are opened: the viewer's zone and language decide how instants are shown and typed. */
export const IN_UTC = { timezoneId: 'UTC', locale: 'en-US' };

/** An instant as a datetime-local input takes it in UTC. */
export function inputOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19);
}

/** `shift` seconds from now on, as the contract writes it. */
export function inSeconds(shift: number): string {
  return new Date(Date.now() + 1000 * shift).toISOString();
}
