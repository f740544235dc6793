// The organization in the browser: recorded profiles, and a statement that they limit nothing.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { expectAccessible } from './accessibility.js';
import {
  colorSchemes,
  createDashboardRig,
  type DashboardRig,
  ON_PAGES,
  sidewaysScroll,
} from './dashboard-rig.js';
import { IN_UTC, inputOf, inSeconds, rowsOf } from './location-figures.js';

const hash = '/organization';

describe('The page of the organization', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ traffic: 'none' });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  it('records a profile, and states before and after that it is not enforced (section 2.7)', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    const note = page.getByRole('status').getByText('Organization limits are not enforced yet');
    await note.first().waitFor();
    await page.getByText('No profile of the organization is recorded.').waitFor();
    await page.getByRole('button', { name: 'Record a profile' }).click();
    const dialog = page.getByRole('dialog', { name: 'Record a profile' });
    await dialog.getByText('Organization limits are not enforced yet').waitFor();
    await dialog.getByLabel('Priority').selectOption('4');
    await dialog.getByLabel('Limit in kW').fill('100');
    await dialog.getByLabel('Start').fill(inputOf(Date.now() - 60_000));
    await dialog.getByLabel('End').fill(inputOf(Date.now() + 3_600_000));
    await dialog.getByRole('button', { name: 'Record the profile' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('The profile was recorded. It is not enforced.').waitFor();
    await eventually(async () => {
      expect((await rowsOf(page, 'Profiles')).map((cells) => cells.slice(0, 3))).toEqual([
        ['4', '100.0 kW', 'ACTIVE '],
      ]);
    });
    const { body } = await rig.service.call('GET', '/organizations/limits');
    expect(body.profiles).toMatchObject([{ priority: 4, limitKw: 100, status: 'ACTIVE' }]);
  });

  it('shows each status over time, shows refusals at the field, and is accessible', async () => {
    // The window is on other days, so the page writes out the date.
    const window = { startTime: inSeconds(100_000), endTime: inSeconds(300_000) };
    await rig.service.call('POST', '/organizations/schedules', { ...window, limitKw: 80, priority: 6 });
    const ending = { startTime: inSeconds(-10), endTime: inSeconds(4) };
    await rig.service.call('POST', '/organizations/schedules', { ...ending, limitKw: 70, priority: 9 });
    for (const colorScheme of colorSchemes()) {
      const viewport = { width: 375, height: 720 };
      const page = await rig.open({ ...IN_UTC, hash, colorScheme, viewport, expected: /status of 400/ });
      await eventually(async () => {
        const statuses = (await rowsOf(page, 'Profiles')).map((cells) => cells[2]?.trim());
        expect(statuses.slice(0, 2)).toEqual(['EXPIRED', 'SCHEDULED']);
      });
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
      await page.getByRole('button', { name: 'Record a profile' }).click();
      await page.getByRole('button', { name: 'Record the profile' }).click();
      const limit = page.getByLabel('Limit in kW');
      await eventually(async () => expect(await limit.getAttribute('aria-invalid')).toBe('true'));
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
    }
  });
});
