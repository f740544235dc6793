// The dashboard shows the grid operator's limit of a location, as it changes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES } from './dashboard-rig.js';

describe("The page of a location with a grid operator's limit", ON_PAGES, () => {
  let rig: DashboardRig;
  beforeAll(async () => {
    const operator = {
      operatorUuid: 'dso-1',
      mqttSecretHash: hashSecret('nobody logs in with this'),
      failsafeKw: 8,
      failsafeMinMs: 7_200_000,
      // Long enough that the operator is not lost on a slow browser.
      missingAfterMs: 3_600_000,
    };
    rig = await createDashboardRig({
      tenants: [tenantWith(HARBOUR, [{ ...site('quay-1'), operator }])],
      traffic: 'none',
    });
  });
  afterAll(() => rig.stop());

  const say = (order: object) =>
    rig.service.call('PUT', '/locations/quay-1/operator-limit', {
      source: 'Stadtwerke',
      sentAt: new Date().toISOString(),
      ...order,
    });

  it('shows the fail-safe limit, the operator and its limit, and nothing after the limit ends', async () => {
    const page = await rig.open({ hash: '/locations/quay-1' });
    const banner = page.locator('.notice.warning');
    await eventually(async () => expect(await banner.innerText()).toContain('fail-safe limit of 8.0 kW'));
    await say({ isActive: true, limitKw: 12 });
    await eventually(async () =>
      expect(await banner.innerText()).toContain('Stadtwerke has limited the location to 12.0 kW'),
    );
    await eventually(async () =>
      expect(await page.getByLabel('Now').innerText()).toContain('The grid operator limits the location.'),
    );
    await expectAccessible(page);
    const chart = page.getByLabel('Limits and power');
    await chart.getByText('Grid operator', { exact: true }).waitFor();
    await eventually(async () =>
      expect(await chart.innerText()).toContain('The grid operator allowed between 8.0 kW and 12.0 kW while'),
    );
    await say({ isActive: false });
    await eventually(async () => expect(await banner.count()).toBe(0));
    // A new page reads it from stored state, with the fail-safe limit before the first order.
    const later = (await rig.open({ hash: '/locations/quay-1' })).getByLabel('Limits and power');
    await eventually(async () =>
      expect(await later.innerText()).toContain(
        'The grid operator allowed between 8.0 kW and 12.0 kW while it limited the location.',
      ),
    );
    await rig.closePages();
  });
});
