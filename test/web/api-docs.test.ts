// The reference of the API in the browser: linked from the dashboard, light or dark like it, and usable without sight.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';

/** The brightness of the page's background, from 0 to 255. */
async function brightness(page: Page): Promise<number> {
  const text = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  const [red = 0, green = 0, blue = 0, alpha = 1] = (String(text).match(/[\d.]+/g) ?? []).map(Number);
  return alpha === 0 ? 255 : (red + green + blue) / 3;
}

describe('The API reference', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ traffic: 'none' });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  async function openDocs(colorScheme: 'light' | 'dark'): Promise<Page> {
    const page = await rig.open({ colorScheme });
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.waitForURL(/\/docs\/$/);
    await page.locator('.opblock').first().waitFor();
    return page;
  }

  it('is linked from the dashboard, and links back', async () => {
    const page = await openDocs('light');
    await page.getByRole('link', { name: 'Dashboard' }).click();
    await page.getByRole('heading', { name: 'Locations' }).waitFor();
  });

  it.each(['light', 'dark'] as const)('has the %s theme of the system, and is accessible', async (scheme) => {
    const page = await openDocs(scheme);
    const isDark = async () => (await brightness(page)) < 90;
    await eventually(async () => expect(await isDark()).toBe(scheme === 'dark'));
    await expectAccessible(page);
    for (const method of ['post', 'get', 'put', 'patch', 'delete']) {
      await page.locator(`.opblock-${method} .opblock-summary-control`).first().press('Enter');
      await page.locator(`.opblock-${method}.is-open .opblock-body`).first().waitFor();
    }
    await page.locator('.opblock-post .try-out__btn').first().click();
    await page.getByLabel('Request body').first().waitFor();
    await expectAccessible(page);
    await page.locator('.schemes .btn.authorize').click();
    await page.getByRole('button', { name: 'Close', exact: true }).first().waitFor();
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: scheme === 'dark' ? 'light' : 'dark' });
    await eventually(async () => expect(await isDark()).toBe(scheme !== 'dark'));
  });

  it('keeps the theme that the user chose on the dashboard', async () => {
    const page = await rig.open({ colorScheme: 'light' });
    const theme = page.getByRole('button', { name: /^Theme/ });
    await theme.click();
    await theme.click();
    await page.getByRole('button', { name: 'Theme: Dark, change' }).waitFor();
    await page.goto(`${rig.httpUrl}/docs/`);
    await page.locator('.opblock').first().waitFor();
    expect(await brightness(page)).toBeLessThan(90);
  });

  it('fits in the header of the dashboard on a phone', async () => {
    const page = await rig.open({ viewport: { width: 375, height: 700 } });
    const link = page.getByRole('link', { name: 'API', exact: true });
    await link.waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    expect((await link.boundingBox())?.y).toBeLessThan(90);
  });
});
