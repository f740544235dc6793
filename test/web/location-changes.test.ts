// Changing limits on the page of a location: preview, warning, and refusal at the field.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LocationTimeline } from '../../src/features/locations/contract.js';
import { eventually } from '../eventually.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES } from './dashboard-rig.js';
import { figureOf, IN_UTC, inputOf, inSeconds, rowsOf } from './location-figures.js';

const hash = '/locations/quay-1';
const DAY_S = 86_400;

interface Span {
  readonly from: string;
  readonly to: string;
  readonly planned: string;
  readonly changed: string;
}

describe('The dialogs for the limits of a location', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig();
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  async function timeline(): Promise<LocationTimeline['segments']> {
    const span = `from=${inSeconds(60)}&to=${inSeconds(20 * DAY_S)}`;
    const { body } = await rig.service.call('GET', `/locations/quay-1/timeline?${span}`);
    return body.segments as LocationTimeline['segments'];
  }

  async function previewed(page: Page): Promise<readonly Span[]> {
    const rows = page.getByRole('table', { name: 'Changes' }).locator('tbody tr');
    return Promise.all(
      (await rows.all()).map(async (row) => {
        const [from, to] = await row.locator('time').all();
        const [, , planned = '', changed = ''] = await row.locator('td').allTextContents();
        return {
          from: (await from?.getAttribute('datetime')) ?? '',
          to: (await to?.getAttribute('datetime')) ?? '',
          planned,
          changed,
        };
      }),
    );
  }

  it('preview a schedule with the same limits as the timeline afterwards', async () => {
    const todayMs = Math.floor(Date.now() / 1000) * 1000;
    const at = (days: number) => new Date(todayMs + days * DAY_S * 1000);
    const submit = (priority: number, limitKw: number, from: number, to: number) =>
      rig.service.call('POST', '/locations/quay-1/schedules', {
        priority,
        limitKw,
        startTime: at(from).toISOString(),
        endTime: at(to).toISOString(),
      });
    await submit(3, 20, 1, 4);
    await submit(5, 33, 2, 3);
    await submit(8, 15, 5, 6);
    const before = await timeline();

    const page = await rig.open({ hash, timezoneId: 'Asia/Kathmandu' });
    await page.getByRole('button', { name: 'Set a schedule' }).click();
    await page.getByLabel('Priority', { exact: true }).selectOption('5');
    await page.getByLabel('Limit in kW').fill('10.5');
    const zoneMs = 5.75 * 3_600_000;
    await page.getByLabel('Start').fill(inputOf(at(1.5).getTime() + zoneMs));
    await page.getByLabel('End').fill(inputOf(at(5.5).getTime() + zoneMs));
    await page
      .getByText(`${at(1.5).toISOString().slice(0, 10)} ${at(1.5).toISOString().slice(11, 23)} UTC`)
      .waitFor();
    const spans = [
      { from: at(1.5).toISOString(), to: at(2).toISOString(), planned: '20.0 kW', changed: '10.5 kW' },
      { from: at(2).toISOString(), to: at(3).toISOString(), planned: '33.0 kW', changed: '10.5 kW' },
      { from: at(3).toISOString(), to: at(4).toISOString(), planned: '20.0 kW', changed: '10.5 kW' },
      { from: at(4).toISOString(), to: at(5).toISOString(), planned: '50.0 kW', changed: '10.5 kW' },
    ];
    await eventually(async () => expect(await previewed(page)).toEqual(spans));
    await page.getByRole('button', { name: 'Set the schedule' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    const after = await timeline();
    const edges = [...before, ...after].flatMap(({ startTime }) => startTime).sort();
    const kwAt = (segments: LocationTimeline['segments'], instant: string) =>
      segments.find(({ startTime, endTime }) => startTime <= instant && instant < endTime)?.effectiveLimitKw;
    for (const edge of edges.slice(2)) {
      const span = spans.find(({ from, to }) => from <= edge && edge < to);
      const text = (kw: number | undefined) => `${kw?.toFixed(1)} kW`;
      expect(text(kwAt(after, edge))).toBe(span?.changed ?? text(kwAt(before, edge)));
      if (span !== undefined) expect(text(kwAt(before, edge))).toBe(span.planned);
    }
    await eventually(async () => {
      expect((await rowsOf(page, 'Profiles')).map((cells) => cells.slice(0, 2))).toContainEqual([
        '5',
        '10.5 kW',
      ]);
    });
  });

  it("preview the limit in force below a cluster's cap", async () => {
    const cluster = { name: 'Quays', locationIds: ['quay-1', 'quay-2'], limitKw: 35 };
    const { body } = await rig.service.call('POST', '/clusters', cluster);
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-2' });
    await page.getByRole('button', { name: 'Change the permanent limit' }).click();
    await page.getByLabel('Permanent limit in kW').fill('50');
    // 50 and 20 kW share 35 kW by halves; 50 and 50 kW do, too.
    await eventually(async () => {
      const [first] = await previewed(page);
      expect(first).toMatchObject({ planned: '10.0 kW', changed: '17.5 kW' });
    });
    await rig.service.call('DELETE', `/clusters/${String(body.clusterId)}`);
  });

  it('preview and set the permanent limit, and show the warning of the service', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    await page.getByRole('button', { name: 'Change the permanent limit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Permanent limit in kW').fill('7.5');
    await eventually(async () => {
      expect((await rowsOf(page, 'Changes'))[0]).toEqual([
        'now',
        expect.stringContaining(':'),
        '50.0 kW',
        '7.5 kW',
      ]);
    });
    await dialog.getByRole('button', { name: 'Set the permanent limit' }).click();
    await dialog.getByText(/^The change succeeded, but: quay-1: .* needs .* kW/).waitFor();
    const now = page.getByRole('region', { name: 'Now', exact: true });
    await eventually(async () => expect(await figureOf(now, 'Permanent limit')).toBe(7.5));
    expect((await rig.service.call('GET', '/locations/quay-1/limits')).body.permanentLimitKw).toBe(7.5);
    await page.keyboard.press('Escape');
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 50 });
  });

  it('send an accepted change with a warning only once, despite repeated keys', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    const writes: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') writes.push(new URL(request.url()).pathname);
    });
    await page.getByRole('button', { name: 'Set a schedule' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a schedule' });
    await dialog.getByLabel('Limit in kW').fill('7.5');
    await dialog.getByLabel('Start').fill(inputOf(Date.now()));
    await dialog.getByLabel('End').fill(inputOf(Date.now() + 3_600_000));
    await dialog.getByRole('button', { name: 'Set the schedule' }).focus();
    await page.keyboard.press('Enter');
    await dialog.getByText(/^The change succeeded, but: quay-1: .* needs .* kW/).waitFor();
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Set the schedule' }).waitFor({ state: 'detached' });
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'OK' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(writes).toEqual(['/v1/locations/quay-1/schedules']);
    await rig.service.call('DELETE', '/locations/quay-1/schedules/5');
  });

  it('show refusals of the service at the invalid field', async () => {
    const page = await rig.open({ ...IN_UTC, hash, expected: /status of 400/ });
    await page.getByRole('button', { name: 'Set a schedule' }).click();
    const messageAt = async (label: string) => {
      const input = page.getByLabel(label);
      expect(await input.getAttribute('aria-invalid')).toBe('true');
      return page.locator(`[id="${await input.getAttribute('aria-describedby')}"]`).textContent();
    };
    const submit = page.getByRole('button', { name: 'Set the schedule' });
    await submit.click();
    await eventually(async () => {
      expect(await messageAt('Limit in kW')).toMatch(/^required: must be a number/);
      expect(await page.getByLabel('End').getAttribute('aria-invalid')).toBe('false');
    });
    await page.getByLabel('Limit in kW').fill('-3');
    await page.getByLabel('Start').fill('');
    await submit.click();
    await eventually(async () => {
      expect(await messageAt('Start')).toMatch(/^required: must be an RFC 3339/);
      expect(await messageAt('Limit in kW')).toContain('greater than 0');
    });
    await page.getByLabel('Limit in kW').fill('8');
    await page.getByLabel('Start').fill(inputOf(Date.now() + 7_200_000));
    await page.getByLabel('End').fill(inputOf(Date.now() + 3_600_000));
    await submit.click();
    await eventually(async () => expect(await messageAt('End')).toBe('must be after startTime'));
    await page.getByText('Fill in the fields to preview the limit.').waitFor();
  });

  it('lock a connector, which then charges independently of the others (section 1)', async () => {
    const page = await rig.open({ ...IN_UTC, hash });
    await page.getByRole('button', { name: /why quay-1-a \/ 1 has this limit/ }).click();
    const dialog = page.getByRole('dialog', { name: 'quay-1-a / 1' });
    await dialog.getByText('No lock is set.').waitFor();
    await dialog.getByRole('button', { name: 'Lock this connector' }).click();
    await dialog.getByLabel('Limit in kW').fill('11');
    await dialog.getByLabel('Start').fill(inputOf(Date.now()));
    await dialog.getByLabel('End').fill(inputOf(Date.now() + 3_600_000));
    await eventually(async () => {
      expect((await rowsOf(page, 'Changes'))[0]?.slice(2)).toEqual(['not locked', '11.0 kW']);
    });
    await dialog.getByRole('button', { name: 'Lock the connector' }).click();
    await eventually(async () => {
      expect((await rowsOf(page, 'Locks'))[0]?.slice(0, 3)).toEqual(['5', '11.0 kW', 'ACTIVE decides']);
    });
    await dialog
      .getByText('A profile locks the connector: it runs up to 11.0 kW, independently of the others.')
      .waitFor();
    await page.keyboard.press('Escape');
    const row = page
      .getByRole('table', { name: 'Connectors' })
      .getByRole('row')
      .filter({ hasText: 'quay-1-a / 1' });
    await row.locator('.badge.lock').getByText('11.0 kW').waitFor();
    await eventually(async () => {
      const [, , draw, limit] = await row.locator('th, td').allTextContents();
      expect(Number(limit)).toBeGreaterThan(10);
      expect(Number(limit)).toBeLessThanOrEqual(11);
      expect(Number(draw)).toBeGreaterThan(9);
    });
  });
});
