// The page of a location with a meter shows the building's load on the connection, and the remaining capacity for the
// chargers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';

describe('The page of a location with a meter', ON_PAGES, () => {
  let rig: DashboardRig;
  beforeAll(async () => {
    const siteMeter = {
      meterUuid: 'main',
      mqttSecretHash: hashSecret('a meter'),
      covers: 'building' as const,
      maxBuildingKw: 60,
      reserveKw: [2, 8] as const,
      pvRaisesHeadroom: false,
    };
    rig = await createDashboardRig({
      tenants: [tenantWith(HARBOUR, [{ ...site('quay-1'), siteMeter }, site('quay-2')])],
    });
  });
  afterAll(() => rig.stop());

  const read = (powerW: number) =>
    rig.service.call('PUT', '/locations/quay-1/site-meter', { at: new Date().toISOString(), powerW });

  it("shows the building's maximum until the first reading, and then the measured load", async () => {
    const page = await rig.open({ hash: '/locations/quay-1' });
    const section = page.getByLabel('Building');
    await eventually(async () => {
      const text = await section.innerText();
      expect(text).toContain('meter silent');
      expect(text).toContain('The meter is silent and the building counts as 60.0 kW, its maximum');
    });
    await eventually(async () => {
      // Read at each attempt, because a page may take longer than the time after which a meter is silent.
      expect((await read(35_000)).status).toBe(200);
      const text = await section.innerText();
      expect(text).toContain('so of the 80.0 kW of the connection chargers may use 37.0 kW.');
      expect(text).not.toContain('meter silent');
    });
    await eventually(async () =>
      expect(await page.getByLabel('Now').innerText()).toContain('The building limits the location'),
    );
    const chart = page.getByLabel('Limits and power');
    await chart.getByText('Building and reserve', { exact: true }).waitFor();
    await chart
      .getByText(/The building took at most 6?[0-9.]+ kW, and [0-9.]+ kW with its reserve/)
      .waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await sidewaysScroll(page)).toBe(0);
    await rig.closePages();
  });

  it('shows no building without a meter', async () => {
    const page = await rig.open({ hash: '/locations/quay-2' });
    await eventually(async () => expect(await page.getByLabel('Now').count()).toBe(1));
    expect(await page.getByLabel('Building').count()).toBe(0);
    await page.getByLabel('Limits and power').getByText('Limit in force', { exact: true }).waitFor();
    expect(await page.getByText('Building and reserve').count()).toBe(0);
    await rig.closePages();
  });
});
