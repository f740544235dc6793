// Hidden tabs must not keep the browser's few connections from the visible one.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { onlyInCi } from '../seeds.js';
import { apiKeyOf, HARBOUR, site, tenantWith } from '../service/running-service.js';
import { createDashboardRig, type DashboardRig, ON_PAGES } from './dashboard-rig.js';

/** One more than a browser has connections to one service. */
const TABS = 7;
const STREAMS_OF_A_TENANT = 20;
/** The browser of the tests shows all its tabs at once, so tests set each page's visibility themselves. */
const SAY_IT_BY_HAND =
  "let said = 'visible'; Object.defineProperty(document, 'visibilityState', { get: () => said });" +
  "window.sayIt = (now) => { said = now; document.dispatchEvent(new Event('visibilitychange')); };";

const hide = (page: Page) => page.evaluate("sayIt('hidden')");
const show = (page: Page) => page.evaluate("sayIt('visible')");

describe('Tabs of the dashboard in one browser', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    const quay = { ...site('quay-1'), chargers: [] };
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, [quay])], traffic: 'none' });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  it('are each live while visible, in any number', onlyInCi(), async () => {
    const first = await rig.open();
    const context = first.context();
    await context.addInitScript(SAY_IT_BY_HAND);
    await first.reload();
    const tabs = [first];
    for (let page = first; ; tabs.push(page)) {
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'The quay-1' }).waitFor();
      if (tabs.length === TABS) break;
      await hide(page);
      page = await context.newPage();
      await page.goto(`${rig.httpUrl}/#/locations`);
    }
    expect(tabs).toHaveLength(TABS);
  });

  it('reload data that changed while they were hidden', async () => {
    const page = await rig.open();
    await page.context().addInitScript(SAY_IT_BY_HAND);
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    await hide(page);
    await page.getByText('Connecting', { exact: true }).waitFor();
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 17 });
    await show(page);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('row').filter({ hasText: 'quay' }).getByText('17.0').waitFor();
  });
  it('show data if the service refuses another stream, and report that they are not live', async () => {
    const leave = new AbortController();
    const headers = { 'x-api-key': apiKeyOf(HARBOUR) };
    const open = () => fetch(`${rig.httpUrl}/v1/stream`, { headers, signal: leave.signal });
    for (let i = 0; i < STREAMS_OF_A_TENANT; i++) expect((await open()).status).toBe(200);
    const page = await rig.open({ expected: /status of 429/ });
    await page.getByRole('link', { name: 'The quay-1' }).waitFor();
    await page.locator('.banner').getByText('Not live.').waitFor();
    expect(await page.getByText('Connection lost.').count()).toBe(0);
    leave.abort();
    await page.getByText('Live', { exact: true }).waitFor();
  });
});
