// Partly estimated power is marked on every page, for eyes and for screen readers.
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { type ChargerClient, connectCharger } from '../service/charger-client.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES } from './dashboard-rig.js';

const LOCATIONS = [
  site('quay-1'),
  { ...site('old-pier', { permanentLimitKw: 30 }), name: 'Old Pier', chargers: [] },
];
const WHY = /kW of the power is an estimate, because connectors are silent\.$/;

describe('Estimated power', ON_PAGES, () => {
  let rig: DashboardRig;
  let charger: ChargerClient;
  let clusterId = '';

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, LOCATIONS)], traffic: 'none' });
    charger = await connectCharger(rig.service.mqttUrl, 'quay-1');
    const cluster = { name: 'Harbour', locationIds: ['quay-1', 'old-pier'], limitKw: 60 };
    clusterId = String((await rig.service.call('POST', '/clusters', cluster)).body.clusterId);
  });
  afterEach(() => rig.closePages());
  afterAll(async () => {
    await charger.stop();
    await rig.stop();
  });

  function powerOf(page: Page, row: string): Locator {
    return page.getByRole('row').filter({ hasText: row }).locator('td.figure', { hasText: /\d/ });
  }

  it('is marked in all lists, in a cluster and at its connectors, from the beginning of the estimate', async () => {
    const locations = await rig.open();
    const cluster = await rig.open({ hash: `/clusters/${clusterId}` });
    const power = powerOf(locations, 'The quay-1').first();
    const member = powerOf(cluster, 'The quay-1').nth(2);
    await charger.meter('1', { powerW: 7000, status: 'Charging' });
    await charger.meter('2', { powerW: 0 });
    for (const measured of [power, member])
      await eventually(async () => expect(await measured.textContent()).toBe('7.0'));
    for (const page of [locations, cluster])
      await eventually(async () => expect(await page.getByText(WHY).count()).toBe(0));

    charger.vanish();
    for (const estimated of [power, member, locations.locator('.totals .draw')]) {
      await eventually(async () => {
        expect(await estimated.textContent()).toMatch(/^(Drawn now)?≈\d/);
        expect(await estimated.getByTitle(WHY).getByText(WHY).count()).toBe(1);
      });
    }
    await cluster.getByRole('region', { name: 'Now', exact: true }).getByText(WHY).waitFor();
    await eventually(async () =>
      expect(await powerOf(locations, 'Old Pier').first().textContent()).toBe('0.0'),
    );
    await expectAccessible(locations);

    const clusters = await rig.open({ hash: '/clusters' });
    await powerOf(clusters, 'Harbour').first().getByTitle(WHY).waitFor();
    const location = await rig.open({ hash: '/locations/quay-1' });
    await location
      .getByRole('row')
      .getByTitle('It is an estimate, because the connector is silent.')
      .first()
      .waitFor();
  });
});
