// Clusters in the browser: a cap that begins to bind, changes, members that leave, and schedules that some refuse.
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterList } from '../../src/features/clusters/contract.js';
import { eventually } from '../eventually.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import {
  colorSchemes,
  createDashboardRig,
  type DashboardRig,
  ON_PAGES,
  sidewaysScroll,
} from './dashboard-rig.js';
import { figure, figureOf, IN_UTC, inputOf, rowsOf } from './location-figures.js';

const HOSTILE = `<img src=x onerror="document.title='run'"><b>bold</b>"'&amp;`;
const PHONE = { width: 375, height: 720 };

const LOCATIONS = [
  site('quay-1'),
  site('quay-2', { permanentLimitKw: 20 }),
  { ...site('old-pier', { status: 'INACTIVE', permanentLimitKw: 30 }), chargers: [] },
];

describe('The pages of clusters', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, LOCATIONS)] });
  });
  beforeEach(async () => {
    const { clusters } = (await rig.service.call('GET', '/clusters')).body as ClusterList;
    for (const { clusterId } of clusters) await rig.service.call('DELETE', `/clusters/${clusterId}`);
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  async function clusterOf(locationIds: readonly string[], more: object = {}): Promise<string> {
    const { body } = await rig.service.call('POST', '/clusters', { name: 'Harbour', locationIds, ...more });
    return String(body.clusterId);
  }

  async function read(clusterId: string) {
    return (await rig.service.call('GET', `/clusters/${clusterId}`)).body;
  }

  function nameIn(dialog: Locator): Locator {
    return dialog.getByRole('textbox', { name: 'Name' });
  }

  function head(page: Page): Locator {
    return page.getByRole('region', { name: 'Now', exact: true });
  }

  /** Cells with cut-off content. */
  function cutOff(page: Page): Promise<unknown> {
    return page.locator('thead th, td').evaluateAll((cells) => {
      return cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent);
    });
  }

  it('create a cluster, and show its cap take effect without a reload (section 2.8)', async () => {
    const page = await rig.open({ ...IN_UTC, hash: '/clusters' });
    await page.evaluate('window.isStillThere = true');
    await page.getByRole('button', { name: 'Create a cluster' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create a cluster' });
    await nameIn(dialog).fill('Both quays');
    await dialog.getByLabel('Cap in kW').fill('35');
    await dialog.getByLabel('Filter locations').fill('quay');
    await eventually(async () => expect(await dialog.getByRole('checkbox').count()).toBe(2));
    await dialog.getByLabel('The quay-1').check();
    await dialog.getByLabel('The quay-2').check();
    await dialog.getByText('2 chosen').waitFor();
    await dialog.getByRole('button', { name: 'Create the cluster' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Both quays' }).click();

    await eventually(async () => {
      expect(await figureOf(head(page), 'Draws')).toBeGreaterThan(10);
      expect(await figureOf(head(page), 'Draws')).toBeLessThanOrEqual(35);
      expect(await figure(head(page), 'Scale').textContent()).toBe('50.0 %');
      const shares = (await rowsOf(page, 'Members')).map((cells) => cells.slice(0, 3));
      expect(shares).toEqual([
        ['The quay-1', '50.0', '25.0'],
        ['The quay-2', '20.0', '10.0'],
      ]);
    });
    await head(page).getByText('Within').waitFor();
    // Another user limits a member: its share and every bar's scale follow.
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 30 });
    await eventually(async () => {
      expect(await figureOf(head(page), 'Effective limits')).toBe(50);
      expect(await figure(head(page), 'Scale').textContent()).toBe('70.0 %');
      expect((await rowsOf(page, 'Members'))[0]?.slice(1, 3)).toEqual(['30.0', '21.0']);
    });
    // The members' pages name the cluster, too.
    await page.getByRole('link', { name: 'The quay-1' }).click();
    await head(page)
      .getByText("The location's share of the cluster Both quays is below its effective limit.")
      .waitFor();
    await page
      .getByRole('button', { name: /^Cluster share: why quay-1-a/ })
      .first()
      .click();
    await page.locator('.explanation').getByText('in cluster Both quays').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'See the cluster' }).click();
    await page.getByRole('link', { name: 'All clusters' }).click();
    await eventually(async () => {
      const [cells] = await rowsOf(page, 'Clusters');
      expect(cells?.[0]).toBe('Both quays');
      expect(Number(cells?.[2])).toBeGreaterThan(5);
      expect(Number(cells?.[2])).toBeLessThanOrEqual(35);
      expect(cells?.slice(4)).toEqual(['35.0', 'Within', '2']);
    });
    expect(await page.evaluate('window.isStillThere')).toBe(true);
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 50 });
  });

  it('show refusals of the service at the invalid field, and create nothing', async () => {
    const page = await rig.open({ hash: '/clusters', expected: /status of 400/ });
    await page.getByRole('button', { name: 'Create a cluster' }).click();
    await page.getByLabel('Cap in kW').fill('plenty');
    await page.getByRole('button', { name: 'Create the cluster' }).click();
    for (const label of ['Name', 'Cap in kW', 'The quay-1']) {
      const isInvalid = () => page.getByLabel(label).first().getAttribute('aria-invalid');
      await eventually(async () => expect(await isInvalid()).toBe('true'));
    }
    await page.getByText('0 chosen: ').waitFor();
    expect((await rig.service.call('GET', '/clusters')).body.count).toBe(0);
  });

  it('show the warning about a low cap, and create the cluster only once', async () => {
    const page = await rig.open({ hash: '/clusters' });
    await page.getByRole('button', { name: 'Create a cluster' }).click();
    const dialog = page.getByRole('dialog');
    await nameIn(dialog).fill('Tight');
    await dialog.getByLabel('Cap in kW').fill('5');
    await dialog.getByLabel('The quay-1').check();
    await dialog.getByRole('button', { name: 'Create the cluster' }).click();
    await dialog.getByText(/^The change succeeded, but: .*quay-1: .* needs .* kW/).waitFor();
    await dialog.getByRole('button', { name: 'Create the cluster' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Tight' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('Its locations stay').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the cluster' }).click();
    await page.waitForURL(/#\/clusters$/);
    await page.getByText('No clusters: ').waitFor();
    expect((await rig.service.call('GET', '/clusters')).body.count).toBe(0);
  });

  it('change only the edited fields (section 4.1, endpoint 10)', async () => {
    const clusterId = await clusterOf(['quay-1', 'quay-2'], { limitKw: 35 });
    const page = await rig.open({ hash: `/clusters/${clusterId}` });
    await page.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the cluster' });
    await nameIn(dialog).fill('Renamed');
    await dialog.getByLabel('Status').selectOption('INACTIVE');
    // Meanwhile another user removes a member: the change must not add it again.
    await rig.service.call('DELETE', `/clusters/${clusterId}/locations/quay-2`);
    await dialog.getByRole('button', { name: 'Change the cluster' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Renamed INACTIVE' }).waitFor();
    await page.getByText('The cluster is INACTIVE: it limits no member.').waitFor();
    expect(await read(clusterId)).toMatchObject({ limitKw: 35, locationIds: ['quay-1'], status: 'INACTIVE' });

    await page.getByRole('button', { name: 'Change…' }).click();
    await dialog.getByLabel('Cap in kW').fill('');
    await dialog.getByLabel('Status').selectOption('ACTIVE');
    await dialog.getByLabel('The old-pier').check();
    await dialog.getByRole('button', { name: 'Change the cluster' }).click();
    await page.getByText('The cluster has no cap').waitFor();
    const changed = { limitKw: null, locationIds: ['quay-1', 'old-pier'], status: 'ACTIVE', name: 'Renamed' };
    expect(await read(clusterId)).toMatchObject(changed);
  });

  it('remove a member, and show the refusal of the service for the last one (section 8)', async () => {
    const clusterId = await clusterOf(['quay-1', 'quay-2']);
    const page = await rig.open({ hash: `/clusters/${clusterId}`, expected: /status of 400/ });
    await page.getByRole('button', { name: 'Remove The quay-1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the member' }).click();
    await eventually(async () => expect(await rowsOf(page, 'Members')).toHaveLength(1));
    await page.getByRole('button', { name: 'Remove The quay-2' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Remove the member' }).click();
    await dialog.getByRole('alert').getByText('a cluster always keeps at least one location').waitFor();
    expect((await read(clusterId)).locationIds).toEqual(['quay-2']);
  });

  it('set a schedule for all members, and show refusals with the reason (section 4.1, endpoint 13)', async () => {
    const clusterId = await clusterOf(['quay-1', 'old-pier', 'quay-2']);
    const page = await rig.open({ ...IN_UTC, hash: `/clusters/${clusterId}` });
    await page.getByRole('button', { name: 'Set a schedule for all' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a schedule for all members' });
    await dialog.getByLabel('Priority').selectOption('7');
    await dialog.getByLabel('Limit in kW').fill('12.5');
    await dialog.getByLabel('Start').fill(inputOf(Date.now() - 60_000));
    await dialog.getByLabel('End').fill(inputOf(Date.now() + 3_600_000));
    await dialog.getByRole('button', { name: 'Set the schedule for all members' }).click();
    await dialog.getByText('2 of 3 members took it, 1 did not.').waitFor();
    await eventually(async () => {
      expect(await rowsOf(page, 'Outcome')).toEqual([
        ['The old-pier', expect.stringMatching(/^Failed The location is not active.* TARGET_INACTIVE$/)],
        ['The quay-1', 'ACTIVE effective limit now 12.5 kW'],
        ['The quay-2', 'ACTIVE effective limit now 12.5 kW'],
      ]);
    });
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await eventually(async () => {
      const sets = (await rowsOf(page, 'Members')).map((cells) => cells.slice(0, 2));
      expect(sets).toEqual([
        ['The old-pier', '30.0'],
        ['The quay-1', '12.5'],
        ['The quay-2', '12.5'],
      ]);
    });
    const { body } = await rig.service.call('GET', '/locations/quay-1/limits');
    expect(body).toMatchObject({ effectiveLimitKw: 12.5, profiles: [{ priority: 7, status: 'ACTIVE' }] });
  });

  it('report a cluster that another user deleted', async () => {
    const clusterId = await clusterOf(['quay-1']);
    const page = await rig.open({ hash: `/clusters/${clusterId}`, expected: /status of 404/ });
    await page.getByRole('button', { name: 'Change…' }).click();
    await rig.service.call('DELETE', `/clusters/${clusterId}`);
    await nameIn(page.getByRole('dialog')).fill('Too late');
    await page.getByRole('dialog').getByRole('button', { name: 'Change the cluster' }).click();
    await page.getByRole('dialog').getByRole('alert').getByText('No such cluster').waitFor();
    await page.reload();
    await page.getByRole('alert').getByText('No such cluster').waitFor();
    await page.getByRole('button', { name: 'Change…' }).waitFor({ state: 'detached' });
  });

  it('show names as text, are accessible, and fit a phone', async () => {
    await clusterOf(['quay-1', 'quay-2'], { name: HOSTILE, limitKw: 35 });
    for (const colorScheme of colorSchemes()) {
      const page = await rig.open({ colorScheme, viewport: PHONE, hash: '/clusters' });
      await page.getByRole('link', { name: HOSTILE }).waitFor();
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
      await page.getByRole('button', { name: 'Create a cluster' }).press('Enter');
      await eventually(async () => {
        expect(await page.evaluate('document.activeElement.labels?.[0]?.textContent')).toBe('Name');
      });
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: HOSTILE }).press('Enter');
      await page.getByRole('heading', { name: HOSTILE }).waitFor();
      await page.getByRole('link', { name: 'The quay-2' }).waitFor();
      await eventually(async () => expect(await cutOff(page)).toEqual([]));
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
      expect(await page.locator('main img, main b').count()).toBe(0);
      await eventually(async () => expect(await page.title()).toBe(`${HOSTILE} – Headroom`));
    }
  });
});
