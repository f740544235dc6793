// Declared departures on the page of a location: the forecast of each car, and the planned power.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import {
  createDashboardRig,
  cutTexts,
  type DashboardRig,
  ON_PAGES,
  sidewaysScroll,
} from './dashboard-rig.js';
import { inSeconds, rowsOf } from './location-figures.js';

const ISO_INSTANT = /\d{4}-\d{2}-\d{2}T/;

describe('Declared departures', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    const depot = { ...site('depot', { permanentLimitKw: 20 }), policy: 'energy' as const };
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, [depot])] });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  async function declare(connectorId: string, body: object): Promise<void> {
    await eventually(async () => {
      const answer = await rig.service.call(
        'PUT',
        `/chargers/depot-a/connectors/${connectorId}/session`,
        body,
      );
      expect(answer.status).toBe(200);
    });
  }

  it('are not shown while no car has declared one', async () => {
    const page = await rig.open({ hash: '/locations/depot' });
    await eventually(async () => expect(await rowsOf(page, 'Connectors')).toHaveLength(2));
    expect(await page.getByRole('region', { name: 'Departures' }).count()).toBe(0);
  });

  it('show which car will be ready and which will not, and the planned power of each', async () => {
    await declare('1', { departureTime: inSeconds(3_600), energyNeedKwh: 3 });
    await declare('2', { departureTime: inSeconds(7_200), energyNeedKwh: 80 });
    const page = await rig.open({ hash: '/locations/depot', viewport: { width: 360, height: 800 } });
    await eventually(async () => {
      const [soon, late] = await rowsOf(page, 'Departing cars');
      expect(soon?.at(2)).toMatch(/ of 3.0 kWh$/);
      expect(soon?.at(3)).toMatch(/^Ready /);
      expect(late?.at(3)).toMatch(/^Misses \d+(\.\d)? kWh$/);
    });
    const departures = page.getByRole('region', { name: 'Departures' });
    expect(await departures.textContent()).toMatch(/depot-a\/2: The car will miss \d+ of 80 kWh/);
    const plan = page.getByRole('figure', { name: 'Planned power' });
    await eventually(async () => {
      const text = await plan.textContent();
      expect(text).toContain('1 of 2 declared cars will be ready');
      expect(text).toContain('depot-a/1');
    });
    await expectAccessible(page);
    expect(await sidewaysScroll(page)).toBe(0);
    expect(await cutTexts(page, '.connector-name, .why .button')).toEqual([]);
    const name = page.getByRole('table', { name: 'Departing cars' }).getByRole('rowheader').first();
    expect((await name.boundingBox())?.height).toBeLessThan(100);

    // The reason of the alarm has instants, which are shown in the viewer's zone.
    const alarm = page.getByRole('region', { name: 'Open alarms' });
    await alarm.getByText(/The car will miss .* at its departure/).waitFor();
    expect(await alarm.textContent()).not.toMatch(ISO_INSTANT);
    await page.getByRole('link', { name: 'Alarms' }).click();
    const open = page.getByRole('table', { name: 'Open alarms' });
    const reason = open.locator('.reason').first();
    expect(await reason.getAttribute('title')).not.toMatch(ISO_INSTANT);
    expect(await cutTexts(page, '.alarms td.when, .alarms .badge')).toEqual([]);
    await open.getByRole('button', { name: /^Respond to Not ready/ }).click();
    expect(await page.getByRole('dialog').textContent()).not.toMatch(ISO_INSTANT);
  });
});
