// The dashboard's page of all locations: live, sorted and filtered, with names as text in any case.
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { eventually } from '../eventually.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import {
  colorSchemes,
  createDashboardRig,
  type DashboardRig,
  ON_PAGES,
  sidewaysScroll,
} from './dashboard-rig.js';

const HOSTILE = `<img src=x onerror="document.title='run'"><b>bold</b>"'&amp;`;
const SITES = 120;

type Site = ProvisionedTenant['locations'][number];

/** Two locations with chargers, one of them with markup in its name, and many without chargers. */
const LOCATIONS: readonly Site[] = [
  site('quay-1'),
  { ...site('quay-2', { permanentLimitKw: 20 }), name: HOSTILE },
  ...Array.from({ length: SITES - 2 }, (_, i) => ({
    ...site(`yard-${i + 1}`, { permanentLimitKw: 51 + i / 10 }),
    name: `Yard ${i + 1}`,
    chargers: [],
  })),
];

/** The cell of a column in the row of a location, by its name. */
function cell(page: Page, name: string, column: 'figure' | 'count', nth: number): Locator {
  return page.getByRole('row').filter({ hasText: name }).locator(`td.${column}`).nth(nth);
}

function header(page: Page, name: string): Locator {
  return page.getByRole('columnheader', { name });
}

async function namesOf(page: Page): Promise<readonly string[]> {
  return page.getByRole('rowheader').allTextContents();
}

describe('The page of locations', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, LOCATIONS)] });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  it('shows the power and limit of each location, live', async () => {
    const page = await rig.open();
    const draw = cell(page, 'The quay-1', 'figure', 0);
    await eventually(async () => expect(Number(await draw.textContent())).toBeGreaterThan(5));
    expect(Number(await draw.textContent())).toBeLessThanOrEqual(50);
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 12.5 });
    await eventually(async () => {
      expect(await cell(page, 'The quay-1', 'figure', 1).textContent()).toBe('12.5');
      expect(Number(await draw.textContent())).toBeLessThanOrEqual(12.5);
    });
  });

  it('shows locks and alarms soon after their beginning', async () => {
    const page = await rig.open();
    const locked = cell(page, 'The quay-1', 'count', 1);
    await locked.getByText('0', { exact: true }).waitFor();
    const window = { startTime: '2026-01-01T00:00:00Z', endTime: '2090-01-01T00:00:00Z' };
    await rig.service.call('POST', '/chargers/quay-1-a/connectors/1/schedules', { ...window, limitKw: 11 });
    await locked.getByText('1', { exact: true }).waitFor();
    // Six amperes at three phases are more than this.
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 1 });
    await cell(page, 'The quay-1', 'count', 3).getByText('1', { exact: true }).waitFor();
    await page.getByLabel('Needs attention only').check();
    await eventually(async () => {
      expect(await namesOf(page)).toContain('The quay-1 ');
      expect(await namesOf(page)).not.toContain('Yard 1 ');
    });
  });

  it('sorts locations by a click on a header, and shows the order', async () => {
    const page = await rig.open();
    const headers = { limit: header(page, 'Limit kW'), name: header(page, 'Location') };
    const orders = async () => [
      await headers.limit.getAttribute('aria-sort'),
      await headers.name.getAttribute('aria-sort'),
    ];
    await headers.limit.getByRole('button').click();
    await eventually(async () => {
      expect(await orders()).toEqual(['descending', null]);
      expect((await namesOf(page))[0]).toBe('Yard 118 ');
    });
    await headers.limit.getByRole('button').press('Enter');
    await eventually(async () => {
      expect(await orders()).toEqual(['ascending', null]);
      expect((await namesOf(page))[1]).toBe(`${HOSTILE} `);
    });
    await headers.name.getByRole('button').click();
    await eventually(async () => {
      expect(await orders()).toEqual([null, 'ascending']);
      expect((await namesOf(page)).slice(2, 5)).toEqual(['Yard 1 ', 'Yard 2 ', 'Yard 3 ']);
    });
  });

  it('filters by name and id, and shows the number of matches', async () => {
    const page = await rig.open();
    const filter = page.getByLabel('Filter by name or id');
    await filter.fill('yard 11');
    await page.getByText('10 of 120 shown').waitFor();
    await filter.fill('YARD-7');
    await eventually(async () => expect(await namesOf(page)).toHaveLength(11));
    await filter.fill('nowhere');
    await page.getByText('No location matches.').waitFor();
  });

  it('renders only rows near the view, and counts all of them', async () => {
    const page = await rig.open();
    const table = page.getByRole('table', { name: 'Locations' });
    await page.getByText('120 of 120 shown').waitFor();
    await eventually(async () => {
      expect(await table.getAttribute('aria-rowcount')).toBe('121');
      expect((await namesOf(page)).length).toBeLessThan(80);
    });
    await page.keyboard.press('End');
    await page.getByText('Yard 118', { exact: true }).waitFor();
    const last = page.getByRole('row').filter({ hasText: 'Yard 118' });
    await eventually(async () => {
      expect(await last.getAttribute('aria-rowindex')).toBe('121');
      expect(await last.isVisible()).toBe(true);
    });
  });

  it('shows a name with markup as text', async () => {
    const page = await rig.open();
    await page.getByRole('link', { name: HOSTILE }).waitFor();
    expect(await page.locator('main img, main b').count()).toBe(0);
    await eventually(async () => expect(await page.title()).toBe('Locations – Headroom'));
  });

  it('works by keyboard: a link skips to the content, and Enter opens a location', async () => {
    const page = await rig.open();
    await page.getByRole('link', { name: 'Yard 1', exact: true }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await eventually(async () => {
      expect(await page.evaluate('document.activeElement.type')).toBe('search');
    });
    await page.keyboard.type('quay-1');
    await page.getByRole('link', { name: 'The quay-1' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/locations\/quay-1$/);
  });

  it('is accessible in light and dark, by setting or by the system', async () => {
    for (const colorScheme of colorSchemes()) {
      const page = await rig.open({ colorScheme });
      await page.getByRole('link', { name: 'Yard 1', exact: true }).waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: /^Theme/ }).click();
      await expectAccessible(page);
    }
  });

  it('fits a phone', async () => {
    const page = await rig.open({ viewport: { width: 375, height: 700 } });
    await page.getByRole('link', { name: 'Yard 1', exact: true }).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    // The head takes two lines: one for the permanent items, and one for the pages.
    const brand = await page.getByRole('link', { name: 'Headroom' }).boundingBox();
    const signOut = await page.getByRole('button', { name: 'Sign out' }).boundingBox();
    expect(Math.abs((brand?.y ?? 0) - (signOut?.y ?? 99))).toBeLessThan(20);
    await page.getByRole('link', { name: 'Alarms' }).click();
    await page.waitForURL(/#\/alarms$/);
  });
});
