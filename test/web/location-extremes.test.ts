// The page of a location at its limits: long ids, distant times, viewers with a wrong clock, figures in other
// notations.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { casesOf, onlyInCi } from '../seeds.js';
import { apiKeyOf, HARBOUR, site, tenantWith } from '../service/running-service.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { IN_UTC, inputOf } from './location-figures.js';

/** The longest id and name that a location may have. */
const LONG = { ...site('l'.repeat(128)), name: 'N'.repeat(200), chargers: [] };
const QUAY = { ...site('quay-1'), chargers: [] };
const hash = '/locations/quay-1';
const DAY_MS = 86_400_000;

describe('The page of a location', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, [QUAY, LONG])], traffic: 'none' });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  it('fits a phone with the longest id and name', async () => {
    const page = await rig.open({
      hash: `/locations/${LONG.locationId}`,
      viewport: { width: 375, height: 700 },
    });
    await page.getByText(LONG.locationId, { exact: true }).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
  });

  it('shows the timeline as far as one year ahead without an error', onlyInCi(), async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    const farthest = page.waitForResponse((response) => {
      const to = new URL(response.url()).searchParams.get('to');
      return response.url().includes('/timeline') && Date.parse(to ?? '') > Date.now() + 364 * DAY_MS;
    });
    await page.getByRole('button', { name: '7 d' }).click();
    for (let i = 0; i < 3; i++) await page.getByRole('button', { name: 'Zoom out' }).click();
    // Each click moves by half of 30 days.
    for (let i = 0; i < 28; i++) await page.getByRole('button', { name: 'Later' }).click();
    expect((await farthest).status()).toBe(200);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('shows the dates of both ends of a time span over several days', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    await page.getByRole('button', { name: '7 d' }).click();
    const day = String.raw`\w+ \d+, \d{4}, [\d:]{8} [AP]M`;
    await page
      .locator('figcaption')
      .getByText(new RegExp(`From ${day} to ${day} `))
      .waitFor();
  });

  it("shows the right time if the viewer's clock is wrong by days", async () => {
    for (const days of [-3, 400].slice(0, casesOf(2))) {
      const page = await rig.open({ ...IN_UTC, as: 'nobody' });
      await page.addInitScript(`const began = performance.timeOrigin;
        Object.defineProperty(performance, 'timeOrigin', { get: () => began + ${days * DAY_MS} });`);
      await page.reload();
      await page.locator('input[name=apiKey]').fill(apiKeyOf(HARBOUR));
      await page.evaluate(`location.hash = '#${hash}'`);
      await page.keyboard.press('Enter');
      await page.locator('figcaption').getByText('The limit in force is 50.0 kW now.').waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    }
  });

  it('accepts a limit with a decimal comma, and refuses text that is not a number', async () => {
    const page = await rig.open({ ...IN_UTC, hash, expected: /status of 400/ });
    await page.getByRole('button', { name: 'Set a schedule' }).click();
    await page.getByLabel('Start').fill(inputOf(Date.now() + DAY_MS));
    await page.getByLabel('End').fill(inputOf(Date.now() + 2 * DAY_MS));
    // A comma between thousands is no decimal point, and the page must not guess which is meant.
    for (const text of ['1,000', '0x10', 'seven']) {
      await page.getByLabel('Limit in kW').fill(text);
      await page.getByText('Fill in the fields to preview the limit.').waitFor();
      const refused = page.waitForResponse((response) => response.status() === 400);
      await page.getByRole('button', { name: 'Set the schedule' }).click();
      expect((await refused).request().postDataJSON().limitKw).toBe(text);
      await page.getByText('must be a number').waitFor();
    }
    await page.getByLabel('Limit in kW').fill('7,4');
    await page.getByRole('cell', { name: '7.4 kW' }).waitFor();
    const written = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.getByRole('button', { name: 'Set the schedule' }).click();
    expect((await (await written).json()).limitKw).toBe(7.4);
  });
});
