// Signing in to the dashboard with either kind of credential, kept for the tab alone, and signing out.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { apiKeyOf, HARBOUR } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import {
  colorSchemes,
  createDashboardRig,
  type DashboardRig,
  ON_PAGES,
  sidewaysScroll,
} from './dashboard-rig.js';

const REFUSED = /status of 401/;

describe('The sign-in', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ traffic: 'none' });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  it('accepts an API key, and sends it only in a header', async () => {
    const page = await rig.open({ as: 'nobody' });
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByLabel('API key', { exact: true }).and(page.getByRole('textbox')).fill(apiKeyOf(HARBOUR));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Locations' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(urls.length).toBeGreaterThan(2);
    expect(urls.filter((url) => url.includes('hr_'))).toEqual([]);
    expect(page.url()).not.toContain('hr_');
  });

  it('focuses the key field with the first Tab', async () => {
    const page = await rig.open({ as: 'nobody' });
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.keyboard.press('Tab');
    await page.locator('input[name=apiKey]').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(apiKeyOf(HARBOUR));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Locations' }).waitFor();
  });

  it('gives every page its own title', async () => {
    const out = await rig.open({ as: 'nobody' });
    await eventually(async () => expect(await out.title()).toBe('Sign in – Headroom'));
    const page = await rig.open();
    const titles = [
      ['/locations', 'Locations'],
      ['/locations/quay-1', 'The quay-1'],
      ['/clusters', 'Clusters'],
      ['/organization', 'Organization'],
      ['/alarms', 'Alarms'],
      ['/nowhere', 'Page not found'],
    ];
    for (const [hash, title] of titles) {
      await page.goto(`${rig.httpUrl}/#${hash}`);
      await eventually(async () => expect(await page.title()).toBe(`${title} – Headroom`));
    }
  });

  it('accepts a client id and secret, and uses a token', async () => {
    const page = await rig.open({ as: 'nobody' });
    await page.getByLabel('Client credentials').check();
    await page.getByLabel('Client id').fill(`client-${HARBOUR.slice(0, 8)}`);
    await page.getByLabel('Client secret').fill('client secret');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'The quay-1' }).waitFor();
  });

  it('reports a wrong key, and accepts another one', async () => {
    const page = await rig.open({ as: 'nobody', expected: REFUSED });
    const key = page.locator('input[name=apiKey]');
    await key.fill('hr_nobody00_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('does not accept this API key').waitFor();
    await key.fill(apiKeyOf(HARBOUR));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'The quay-1' }).waitFor();
  });

  it('reports a key that a browser cannot send', async () => {
    const page = await rig.open({ as: 'nobody' });
    // A zero-width space, as copied from documents.
    await page.locator('input[name=apiKey]').fill(`\u200b${apiKeyOf(HARBOUR)}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('does not accept this API key').waitFor();
  });

  it('works without browser storage', async () => {
    const page = await rig.open({ as: 'nobody' });
    const forbidden = "{ get() { throw new DOMException('insecure', 'SecurityError'); } }";
    await page.addInitScript(`for (const place of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, place, ${forbidden});`);
    await page.reload();
    await page.locator('input[name=apiKey]').fill(apiKeyOf(HARBOUR));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'The quay-1' }).waitFor();
    await page.getByRole('button', { name: 'Theme: Auto, change' }).click();
    await page.getByRole('button', { name: 'Theme: Light, change' }).waitFor();
  });

  it("reports a wrong secret, without the browser's password dialog", async () => {
    const page = await rig.open({ as: 'nobody', expected: REFUSED });
    await page.getByLabel('Client credentials').check();
    await page.getByLabel('Client id').fill('nobody');
    await page.getByLabel('Client secret').fill('ünknown: secret');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('its secret is wrong').waitFor();
  });

  it('lasts over a reload, only in this tab, until the sign-out', async () => {
    const page = await rig.open({ as: 'nobody' });
    await page.locator('input[name=apiKey]').fill(apiKeyOf(HARBOUR));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'The quay-1' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'The quay-1' }).waitFor();
    const otherTab = await page.context().newPage();
    await otherTab.goto(rig.httpUrl);
    await otherTab.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('is accessible in light and dark, and on a phone', async () => {
    for (const colorScheme of colorSchemes()) {
      const page = await rig.open({ as: 'nobody', colorScheme, viewport: { width: 375, height: 700 } });
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
    }
  });
});
