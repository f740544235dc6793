// Cancelling a profile in the browser: a dialog first shows the limit that then applies; by mouse and by keyboard.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { figureOf, IN_UTC, inSeconds, rowsOf } from './location-figures.js';

const hash = '/locations/quay-1';

describe('The dialog to cancel a profile', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ traffic: 'none' });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  async function submit(path: string, from: number, limitKw: number, priority: number): Promise<void> {
    const body = { startTime: inSeconds(from), endTime: inSeconds(from + 3_600), limitKw, priority };
    expect((await rig.service.call('POST', path, body)).status).toBe(200);
  }

  const prioritiesIn = async (page: Page, table: string) =>
    (await rowsOf(page, table)).map(([priority]) => priority);
  const firstChange = async (page: Page) => (await rowsOf(page, 'Changes'))[0]?.slice(2);
  const listed = async (path: string) => (await rig.service.call('GET', path)).body.profiles;

  it('ends an active profile, and the limit without it applies at once', async () => {
    await submit('/locations/quay-1/schedules', -60, 5, 7);
    const page = await rig.open({ ...IN_UTC, hash });
    const now = page.getByRole('region', { name: 'Now', exact: true });
    await eventually(async () => expect(await figureOf(now, 'Limit in force')).toBe(5));
    await page.getByRole('columnheader', { name: 'Cancel', exact: true }).waitFor();
    await page.getByRole('button', { name: 'End now… the profile of priority 7, 5.0 kW' }).click();
    const dialog = page.getByRole('dialog', { name: 'End the profile now' });
    await dialog.getByText(/^The profile of priority 7 \(5\.0 kW\) ends now instead of/).waitFor();
    await eventually(async () => expect(await firstChange(page)).toEqual(['5.0 kW', '50.0 kW']));
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'End it now' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('The profile was ended.').waitFor();
    await page.getByText('No profiles: the effective limit is the permanent limit.').waitFor();
    await eventually(async () => expect(await figureOf(now, 'Limit in force')).toBe(50));
    expect(await listed('/locations/quay-1/limits')).toEqual([]);
  });

  it('cancels or keeps a planned profile by keyboard', async () => {
    await submit('/locations/quay-1/schedules', 3_600, 9, 2);
    const page = await rig.open({ ...IN_UTC, hash });
    const button = page.getByRole('button', { name: 'Cancel… the profile of priority 2, 9.0 kW' });
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Cancel the profile' });
    await dialog.getByText(/will not begin at/).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => {
      expect(await page.locator(':focus').getAttribute('aria-label')).toMatch(/^Cancel… the profile/);
    });
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Keep it' }).press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await listed('/locations/quay-1/limits')).toHaveLength(1);
    await button.press('Enter');
    await dialog.getByRole('button', { name: 'Cancel the profile' }).press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => expect(await prioritiesIn(page, 'Profiles')).toEqual([]));
    // The focus stays where the row was.
    await eventually(async () => {
      expect(await page.evaluate('document.activeElement === document.body')).toBe(false);
    });
    expect(await listed('/locations/quay-1/limits')).toEqual([]);
  });

  it('follows cancellations by other users, and is not offered for ended or past profiles', async () => {
    await submit('/locations/quay-2/schedules', -3_599, 8, 1);
    await submit('/locations/quay-2/schedules', 3_600, 8, 3);
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-2' });
    await eventually(async () => {
      expect((await rowsOf(page, 'Profiles'))[1]?.[2]).toContain('EXPIRED');
      expect(await page.getByRole('button', { name: /the profile of priority/ }).count()).toBe(1);
    });
    await rig.service.call('DELETE', '/locations/quay-2/schedules/3');
    await eventually(async () => expect(await prioritiesIn(page, 'Profiles')).toEqual(['1']));
  });

  it('shows warnings about the limit after the cancellation, and reports a profile that is gone', async () => {
    await rig.service.call('PUT', '/locations/quay-2/limit', { limitKw: 5 });
    await submit('/locations/quay-2/schedules', -60, 18, 4);
    await submit('/locations/quay-2/schedules', 3_600, 18, 6);
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-2', expected: /status of 404/ });
    await page.getByRole('button', { name: /^End now… the profile of priority 4/ }).click();
    await page.getByRole('button', { name: 'End it now' }).click();
    await page
      .getByRole('dialog')
      .getByText(/^The change succeeded, but: quay-2: .* the limit is 5 kW/)
      .waitFor();
    await page.keyboard.press('Escape');
    await eventually(async () => expect(await prioritiesIn(page, 'Profiles')).not.toContain('4'));
    await page.getByRole('button', { name: /^Cancel… the profile of priority 6/ }).click();
    await rig.service.call('DELETE', '/locations/quay-2/schedules/6');
    const dialog = page.getByRole('dialog', { name: 'Cancel the profile' });
    await dialog.getByRole('button', { name: 'Cancel the profile' }).click();
    await dialog.getByText('There is no profile of priority 6 to cancel.').waitFor();
    await rig.service.call('PUT', '/locations/quay-2/limit', { limitKw: 20 });
  });

  it('unlocks a connector at once', async () => {
    await submit('/chargers/quay-1-a/connectors/1/schedules', -60, 11, 0);
    const page = await rig.open({ ...IN_UTC, hash });
    await page.getByRole('button', { name: /why quay-1-a \/ 1 has this limit/ }).click();
    const locks = page.getByRole('dialog', { name: 'quay-1-a / 1' });
    await locks.getByRole('button', { name: /^End now… the profile of priority 0/ }).click();
    await eventually(async () => expect(await firstChange(page)).toEqual(['11.0 kW', 'not locked']));
    await page.getByRole('button', { name: 'End it now' }).click();
    await locks.getByText('No lock is set.').waitFor();
    const { body } = await rig.service.call('GET', '/chargers/quay-1-a/connectors/1/schedules');
    expect(body).toMatchObject({ lockLimitKw: null, profiles: [] });
  });

  it('adds to the list of cancelled and replaced profiles, newest first and live (section 1)', async () => {
    const schedules = '/chargers/quay-2-a/connectors/1/schedules';
    for (const limitKw of [...Array.from({ length: 60 }, (_, i) => i + 1), 7, 8])
      await submit(schedules, -60, limitKw, 3);
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-2' });
    await page.getByRole('button', { name: /why quay-2-a \/ 1 has this limit/ }).click();
    const dialog = page.getByRole('dialog', { name: 'quay-2-a / 1' });
    await dialog.getByText('Replaced or cancelled').press('Enter');
    const former = async () =>
      (await rowsOf(page, 'Replaced or cancelled')).map((cells) => cells.slice(0, 2));
    const newest = async () => (await former()).slice(0, 2);
    await dialog.getByText('the newest first: 50 of 61.').waitFor();
    await eventually(async () => {
      expect(await newest()).toEqual([
        ['3', '7.0 kW'],
        ['3', '60.0 kW'],
      ]);
      expect(await former()).toHaveLength(50);
    });
    await expectAccessible(page);
    await rig.service.call('DELETE', `${schedules}/3`);
    await eventually(async () => {
      expect(await newest()).toEqual([
        ['3', '8.0 kW'],
        ['3', '7.0 kW'],
      ]);
    });
    await dialog.getByText('the newest first: 50 of 62.').waitFor();
  });

  it('cancels a recorded profile of the organization, also on a narrow screen', async () => {
    await submit('/organizations/schedules', -60, 100, 9);
    const viewport = { width: 375, height: 720 };
    const page = await rig.open({ ...IN_UTC, hash: '/organization', viewport });
    await page.getByRole('button', { name: /^End now… the profile of priority 9/ }).click();
    await page.getByRole('button', { name: 'End it now' }).waitFor();
    await expectAccessible(page);
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByRole('button', { name: 'End it now' }).click();
    await page.getByText('No profile of the organization is recorded.').waitFor();
    expect(await listed('/organizations/limits')).toEqual([]);
    await page.getByText('Replaced or cancelled').click();
    await eventually(async () => {
      const former = await rowsOf(page, 'Replaced or cancelled');
      expect(former.map((cells) => cells.slice(0, 2))).toEqual([['9', '100.0 kW']]);
    });
    await expectAccessible(page);
    expect(await sidewaysScroll(page)).toBe(0);
  });
});
