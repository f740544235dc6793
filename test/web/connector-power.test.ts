// The power of a connector on the page of its location.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import { createStore } from '../../src/outbound/knex/store.js';
import { eventually } from '../eventually.js';
import { HARBOUR, silentLog, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { IN_UTC } from './location-figures.js';

const NOON_MS = Date.parse('2026-03-01T12:00:00Z');
const MINUTE_MS = 60_000;

describe('The power of a connector', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, [site('depot')])], traffic: 'none' });
    const store = await createStore({
      databaseUrl: databaseUrlOf(rig.service.config),
      log: silentLog,
      clock: systemClock,
      metrics: createMetrics(),
    });
    const charging = Array.from({ length: 120 }, (_, nth) => ({
      atMs: NOON_MS + nth * MINUTE_MS,
      minutes: 1,
      meanDaW: nth < 60 ? 1_000 : 600,
      limitDaW: nth < 60 ? 1_100 : 620,
    }));
    const controllerUuid = 'depot-a' as ControllerUuid;
    const connectorId = '1' as ConnectorId;
    await store.append(HARBOUR, [
      { kind: 'connectorPower.put', power: { controllerUuid, connectorId, runs: charging } },
    ]);
    await store.close();
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  async function chosen(width: number): Promise<Page> {
    const page = await rig.open({ ...IN_UTC, hash: '/locations/depot', viewport: { width, height: 900 } });
    await page.getByLabel('Connector', { exact: true }).selectOption('depot-a/1');
    await page.getByLabel('First day').fill('2026-03-01');
    await page.getByLabel('Last day').fill('2026-03-01');
    return page;
  }
  const captionOf = (page: Page) =>
    page.getByRole('figure', { name: 'Power of depot-a/1' }).locator('figcaption').textContent();

  it.each([360, 1280])('is drawn with its limit for any days, also %i px wide', async (width) => {
    const page = await chosen(width);
    await eventually(async () =>
      expect(await captionOf(page)).toBe(
        'The connector drew at most 10.0 kW in a minute. Its limit was between 6.2 kW and 11.0 kW. Each value is the mean of 2 minutes.',
      ),
    );
    await expectAccessible(page);
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByLabel('Last day').fill('2026-04-30');
    await eventually(async () => expect(await captionOf(page)).toContain('the mean of 122 minutes'));
    await page.getByLabel('First day').fill('2026-04-01');
    await eventually(async () => expect(await captionOf(page)).toContain('No power of this connector'));
  });

  it('is saved as CSV by the minute, and as the image of the chart', async () => {
    const page = await chosen(1280);
    const table = (await downloadOf(page, 'Power as CSV')).toString('utf8').trim().split('\n');
    expect(table[0]).toBe('at,meanKw,maxKw,limitKw');
    expect(table[1]).toBe('2026-03-01T12:00:00.000Z,10,10,11');
    expect(table).toHaveLength(121);
    const image = await downloadOf(page, 'Power as PNG');
    expect(image.subarray(1, 4).toString()).toBe('PNG');
    const [width, height] = [image.readUInt32BE(16), image.readUInt32BE(20)];
    expect(width).toBeGreaterThan(600);
    expect(height).toBeGreaterThan(240);
  });
});

async function downloadOf(page: Page, button: string): Promise<Buffer> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ]);
  return readFileSync(await download.path());
}
