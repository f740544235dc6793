// Alarms in the browser: they begin and end by themselves, and past ones can be looked up, page by page.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AlarmView } from '../../src/features/alarms/contract.js';
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
import { IN_UTC, inputOf } from './location-figures.js';

const HOSTILE = `<img src=x onerror="document.title='run'"><b>bold</b>"'&amp;`;
const hash = '/alarms';
const FOREVER = { startTime: '2026-01-01T00:00:00Z', endTime: '2090-01-01T00:00:00Z' };

const LOCATIONS = [site('quay-1'), { ...site('quay-2'), name: HOSTILE }];
/** Enough locations for their alarms to need more than one page of 100. */
const YARDS = Array.from({ length: 104 }, (_, i) => site(`yard-${i}`));

describe('The page of alarms', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({
      tenants: [tenantWith(HARBOUR, [...LOCATIONS, ...YARDS])],
      traffic: 'none',
    });
    const lock = { ...FOREVER, limitKw: 11 };
    await Promise.all(
      [...LOCATIONS, ...YARDS].map(({ locationId }) =>
        rig.service.call('POST', `/chargers/${locationId}-a/connectors/1/schedules`, lock),
      ),
    );
    // No charger is connected. Once all these alarms are there, later ones are newer, even on a busy machine.
    await eventually(async () => {
      expect(await openAlarms('OFFLINE')).toBe(2 * (LOCATIONS.length + YARDS.length));
    });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  /** Six amperes at three phases are more than 1 kW. */
  async function setLimit(locationId: string, limitKw: number): Promise<void> {
    await rig.service.call('PUT', `/locations/${locationId}/limit`, { limitKw });
  }

  function unattainable(page: Page, table: string) {
    return page
      .getByRole('table', { name: table })
      .getByRole('row')
      .filter({ hasText: 'Limit cannot be kept' });
  }

  it('shows the beginning and end of an alarm without a reload, and then lists it as past', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    await page.evaluate('window.isStillThere = true');
    await page.getByRole('heading', { name: /^Open alarms: \d+$/ }).waitFor();
    const open = unattainable(page, 'Open alarms');
    const before = await open.count();
    await setLimit('quay-1', 1);
    await eventually(async () => expect(await open.count()).toBe(before + 1));
    await open
      .getByText(/minimum of locked/)
      .first()
      .waitFor();
    expect(await open.getByRole('link', { name: 'The quay-1' }).getAttribute('href')).toBe(
      '#/locations/quay-1',
    );
    expect(await open.locator('time').first().getAttribute('title')).toMatch(/ UTC$/);
    await setLimit('quay-1', 50);
    await eventually(async () => expect(await open.count()).toBe(before));
    await eventually(async () => expect(await unattainable(page, 'Past alarms').count()).toBe(before + 1));
    expect(await page.evaluate('window.isStillThere')).toBe(true);
  });

  async function openAlarms(wanted: AlarmView['kind']): Promise<number> {
    const { body } = await rig.service.call('GET', '/alarms');
    const alarms = body.alarms as readonly AlarmView[];
    return alarms.filter(({ kind, endedAt }) => kind === wanted && endedAt === null).length;
  }

  it('shows past alarms by time span and page by page', async () => {
    const before = await openAlarms('LIMIT_UNATTAINABLE');
    const beganMs = Date.now();
    await Promise.all(YARDS.map(({ locationId }) => setLimit(locationId, 1)));
    await eventually(async () => expect(await openAlarms('LIMIT_UNATTAINABLE')).toBe(before + YARDS.length));
    await Promise.all(YARDS.map(({ locationId }) => setLimit(locationId, 50)));
    await eventually(async () => expect(await openAlarms('LIMIT_UNATTAINABLE')).toBe(before));
    const page = await rig.open({ ...IN_UTC, hash, expected: /status of 400/ });
    const past = page.getByRole('table', { name: 'Past alarms' });
    const count = async () => Number(await past.getAttribute('aria-rowcount')) - 1;
    await page.getByText(/^1\d\d shown, and there are more$/).waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await eventually(async () => {
      expect(await count()).toBeGreaterThanOrEqual(YARDS.length);
      expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    });

    await page.getByLabel('Span').selectOption('From … to …');
    await page.getByLabel('To (empty: now)').fill(inputOf(beganMs - 7_200_000));
    await page.getByLabel('From').fill(inputOf(beganMs));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await eventually(async () => {
      expect(await page.getByLabel('To (empty: now)').getAttribute('aria-invalid')).toBe('true');
    });
    await page.getByText('must be after from').waitFor();
    await page.getByLabel('From').fill(inputOf(beganMs - 7_300_000));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('No past alarms in this time span.').waitFor();
    await page.getByLabel('To (empty: now)').fill('');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await eventually(async () => expect(await count()).toBeGreaterThanOrEqual(100));
  });

  it('acknowledges and mutes an alarm by the keyboard, and ends the mute', async () => {
    await setLimit('quay-1', 1);
    const page = await rig.open({ ...IN_UTC, hash });
    const row = unattainable(page, 'Open alarms').filter({ hasText: 'The quay-1' });
    const respond = row.getByRole('button', { name: 'Respond to Limit cannot be kept at The quay-1' });
    const open = async () => {
      await respond.press('Enter');
      return page.getByRole('dialog', { name: 'Limit cannot be kept: The quay-1' });
    };
    let dialog = await open();
    await expectAccessible(page);
    await dialog.getByLabel('Note (optional)').fill('On my way <b>');
    await dialog.getByRole('button', { name: 'Acknowledge' }).press('Enter');
    await row.getByText('Acknowledged').waitFor();
    await dialog.waitFor({ state: 'detached' });

    dialog = await open();
    await dialog.getByText('On my way <b>').waitFor();
    await dialog.getByLabel('Mute for').selectOption('8 hours');
    await dialog.getByRole('button', { name: 'Mute', exact: true }).press('Enter');
    await row.getByText(/^Muted until /).waitFor();

    dialog = await open();
    await dialog.getByRole('button', { name: 'End the mute' }).press('Enter');
    await eventually(async () => expect(await row.getByText(/^Muted until /).count()).toBe(0));
    await row.getByText('Acknowledged').waitFor();
    await setLimit('quay-1', 50);
  });

  it('shows names as text, is accessible, and fits a phone', async () => {
    await setLimit('quay-2', 1);
    for (const colorScheme of colorSchemes()) {
      const page = await rig.open({ colorScheme, viewport: { width: 375, height: 720 }, hash });
      await unattainable(page, 'Open alarms').getByRole('link', { name: HOSTILE }).waitFor();
      await page.getByText(/\d shown/).waitFor();
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
      expect(await page.locator('main img, main b').count()).toBe(0);
      await page.getByLabel('Span').selectOption('From … to …');
      await page.getByLabel('To (empty: now)').waitFor();
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
    }
  });
});
