// The live page of one location: a limit that begins to bind, the reason of each car's limit, and its time span.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorLive } from '../../src/features/live/contract.js';
import { eventually } from '../eventually.js';
import { testCases } from '../seeds.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { figureOf, IN_UTC, inSeconds, rowsOf } from './location-figures.js';

const hash = '/locations/quay-1';

describe('The page of a location', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig();
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  function head(page: Page) {
    return page.getByRole('region', { name: 'Now', exact: true });
  }

  it('shows a limit take effect, without a reload', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    await page.evaluate('window.isStillThere = true');
    await eventually(async () => expect(await figureOf(head(page), 'Draws')).toBeGreaterThan(25));
    const window = { startTime: inSeconds(1.5), endTime: inSeconds(3600) };
    await rig.service.call('POST', '/locations/quay-1/schedules', { ...window, limitKw: 12.5, priority: 4 });
    await eventually(async () => {
      expect(await figureOf(head(page), 'Limit in force')).toBe(12.5);
      expect(await figureOf(head(page), 'Effective limit')).toBe(12.5);
      expect(await figureOf(head(page), 'Draws')).toBeLessThanOrEqual(12.5);
      expect((await rowsOf(page, 'Profiles'))[0]?.slice(0, 3)).toEqual(['4', '12.5 kW', 'ACTIVE decides']);
    });
    await head(page).getByText('The profile of priority 4 applies. It ends at').waitFor();
    await page.locator('.profile-bar.deciding').getByText('12.5 kW').waitFor();
    await page
      .locator('figcaption')
      .getByText('The limit in force is 12.5 kW now. Planned: 50.0 kW from')
      .waitFor();
    await eventually(async () => {
      const draws = (await rowsOf(page, 'Connectors')).map((cells) => Number(cells[2]));
      expect(draws).toHaveLength(2);
      for (const draw of draws) expect(draw).toBeLessThan(9);
    });
    expect(await page.evaluate('window.isStillThere')).toBe(true);
  });

  it('draws power and both limits, with live values since the page was opened', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    await eventually(async () => expect(await figureOf(head(page), 'Draws')).toBeGreaterThan(1));
    const plot = page.locator('.step-plot').first();
    const box = await plot.boundingBox();
    if (box === null) throw new Error('The chart has no place.');
    // Now stands at two thirds of the axis between the labels at the left and the edge.
    const nowPx = 64 + ((box.width - 94) * 2) / 3;
    await eventually(async () => {
      await plot.hover({ position: { x: nowPx - 1, y: 60 } });
      const readout = (await page.locator('.readout').textContent()) ?? '';
      expect(readout).toMatch(
        /UTC\): power \d+\.\d kW, effective limit \d+\.\d kW, limit in force \d+\.\d kW$/,
      );
    });
    await plot.hover({ position: { x: nowPx + 40, y: 60 } });
    await eventually(async () => {
      expect(await page.locator('.readout').textContent()).toMatch(
        /UTC\): effective limit .* kW, limit in force .* kW$/,
      );
    });
  });

  it('explains the limit of a connector with the sentence of the service', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    await page.getByRole('button', { name: /why quay-1-a \/ 2 has this limit/ }).click();
    const dialog = page.getByRole('dialog', { name: 'quay-1-a / 2' });
    await eventually(async () => {
      const { body } = await rig.service.call('GET', '/locations/quay-1/live');
      const connectors = body.connectors as readonly ConnectorLive[];
      const sentence = connectors.find(({ connectorId }) => connectorId === '2')?.explanation ?? '';
      const shown = await dialog.locator('.explanation').textContent();
      // Instants are shown in the viewer's zone.
      const [before = '', after = ''] = sentence.split(/\d{4}-\S+Z/);
      expect(shown).toContain(before);
      expect(shown).toContain(after);
    });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('shows other time spans by buttons and by dragging', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    const caption = page.locator('figcaption');
    await caption.waitFor();
    /** Visible minutes of the past: two thirds of a span that follows now. */
    const pastMinutes = async () => {
      const [, from = '', to = ''] =
        /^From (.*) to (.*) (?:no power|the power)/.exec((await caption.textContent()) ?? '') ?? [];
      const today = new Date().toISOString().slice(0, 10);
      const atMs = (text: string) => Date.parse(`${text.includes(',') ? text : `${today} ${text}`} UTC`);
      return Math.round((atMs(to) - atMs(from)) / 60_000);
    };
    const press = (name: string) => page.getByRole('button', { name }).press('Enter');
    await press('7 d');
    await eventually(async () => expect(await pastMinutes()).toBe((7 * 24 * 60 * 2) / 3));
    await page.getByRole('button', { name: '7 d', pressed: true }).waitFor();
    await press('Zoom in');
    await eventually(async () => expect(await pastMinutes()).toBe((7 * 24 * 60 * 5) / 12));
    await page.getByRole('button', { name: '7 d', pressed: false }).waitFor();
    await press('Follow now');
    await press('24 h');
    await eventually(async () => expect(await pastMinutes()).toBe((24 * 60 * 2) / 3));
    const box = await page.locator('.step-plot').first().boundingBox();
    if (box === null) throw new Error('The chart has no place.');
    const plotPx = box.width - 94;
    await page.mouse.move(box.x + 64 + plotPx / 4, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 64 + plotPx / 2, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await eventually(async () => {
      expect(Math.abs((await pastMinutes()) - 6 * 60)).toBeLessThan(10);
    });
  });

  it('sorts connectors by a click on a header', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    const names = async () => (await rowsOf(page, 'Connectors')).map(([name]) => name?.trim());
    await eventually(async () => expect(await names()).toEqual(['quay-1-a / 1', 'quay-1-a / 2']));
    const header = page.getByRole('columnheader', { name: 'Connector', exact: true });
    await header.getByRole('button').click();
    await page.mouse.move(0, 0);
    await eventually(async () => {
      expect(await names()).toEqual(['quay-1-a / 2', 'quay-1-a / 1']);
      expect(await header.getAttribute('aria-sort')).toBe('descending');
    });
  });

  testCases(
    { always: ['dark'], more: ['light'] } as const,
    'can be used without seeing it, and on a phone (%s)',
    async (colorScheme) => {
      const page = await rig.open({ ...IN_UTC, hash, colorScheme, viewport: { width: 375, height: 700 } });
      await eventually(async () => expect(await rowsOf(page, 'Connectors')).toHaveLength(2));
      await page.locator('figcaption').first().waitFor();
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
      await page.getByRole('button', { name: 'Set a schedule' }).click();
      await page.getByLabel('Limit in kW').fill('7');
      await page.getByRole('table', { name: 'Changes' }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: /why quay-1-a \/ 1/ }).click();
      await page.getByRole('table', { name: 'Locks' }).waitFor();
      await expectAccessible(page);
      expect(await sidewaysScroll(page)).toBe(0);
    },
  );
});
