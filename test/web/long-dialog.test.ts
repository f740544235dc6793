// A long table in a dialog that scrolls on its own: the rows in view exist at every scroll position.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { createDashboardRig, type DashboardRig, ON_PAGES } from './dashboard-rig.js';
import { inputOf } from './location-figures.js';

const LOCATIONS = 120;
const DIALOG = "document.querySelector('dialog')";
const ROW_IN_THE_MIDDLE = `(() => {
  const { left, right, top, bottom } = (${DIALOG}).getBoundingClientRect();
  const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return at?.closest('tr')?.textContent ?? '';
})()`;

describe('The outcome of a schedule for 120 members', ON_PAGES, () => {
  let rig: DashboardRig;
  const ids = Array.from({ length: LOCATIONS }, (_, i) => `quay-${String(i).padStart(3, '0')}`);

  beforeAll(async () => {
    const tenants = [
      tenantWith(
        HARBOUR,
        ids.map((id) => site(id)),
      ),
    ];
    rig = await createDashboardRig({ tenants, traffic: 'none' });
  });
  afterAll(() => rig.stop());

  it('is shown without gaps from the first row to the last', async () => {
    const { body } = await rig.service.call('POST', '/clusters', { name: 'All', locationIds: ids });
    const page = await rig.open({ timezoneId: 'UTC', hash: `/clusters/${String(body.clusterId)}` });
    await page.getByRole('button', { name: 'Set a schedule for all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Limit in kW').fill('12.5');
    await dialog.getByLabel('Start').fill(inputOf(Date.now() - 60_000));
    await dialog.getByLabel('End').fill(inputOf(Date.now() + 3_600_000));
    await dialog.getByRole('button', { name: 'Set the schedule for all members' }).click();
    await dialog.getByText('120 of 120 members took it.').waitFor();
    for (const share of [0, 0.5, 0.9, 1]) {
      await page.evaluate(`(${DIALOG}).scrollTop = ${share} * (${DIALOG}).scrollHeight`);
      // A row covers the middle of the dialog, and not the blank space for rows outside the view.
      await eventually(async () => expect(await page.evaluate(ROW_IN_THE_MIDDLE)).toMatch(/^The quay-/));
    }
    await eventually(async () => expect(await dialog.getByText('The quay-119').isVisible()).toBe(true));
  });
});
