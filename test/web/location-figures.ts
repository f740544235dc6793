// Reads the page of a location as users do: figures by their names, and the rows of its tables.
import type { Locator, Page } from 'playwright-core';

/** A figure of `region`, by its name: the number of its `12.3 kW`. NaN if it is none. */
export async function figureOf(region: Locator, name: string): Promise<number> {
  return Number.parseFloat((await figure(region, name).textContent()) ?? '');
}

export function figure(region: Locator, name: string): Locator {
  const named = region.page().locator(`dt:text-is("${name}")`);
  return region.locator('.figure-row > div', { has: named }).locator('dd').first();
}

/**
 * The text of each cell of the rows of a table, by its label, without the head. All rows are read at one instant. The
 * table may be filled after that, so tests read it within `eventually`.
 */
export function rowsOf(page: Page, label: string): Promise<readonly (readonly string[])[]> {
  const rows = page.getByRole('table', { name: label, exact: true }).locator('tbody tr');
  return rows.evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll('th, td')].map((cell) => cell.textContent ?? '')),
  );
}

/** Options of a page: the viewer's zone and language decide how instants are shown and typed. */
export const IN_UTC = { timezoneId: 'UTC', locale: 'en-US' };

/** An instant as a datetime-local input takes it in UTC. */
export function inputOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19);
}

/** `shift` seconds from now on, as the contract writes it. */
export function inSeconds(shift: number): string {
  return new Date(Date.now() + 1000 * shift).toISOString();
}
