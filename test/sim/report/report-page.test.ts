// report.html in a real browser: it opens from disk without any request, and shows any chosen instant.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTrace } from '../../../sim/log/trace.js';
import { REASON_WORDS } from '../../../sim/report/page/words.js';
import { runScenario } from '../../../sim/run/run-scenario.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { closeContexts, missingBrowser, openContext, sharedBrowser } from '../../browser.js';
import { eventually } from '../../eventually.js';
import { needing } from '../../needs.js';
import { HOUR_MS, DAY_START_MS as T } from '../log/made-up-world.js';
import { madeUpReport } from './made-up-report.js';

const HOSTILE = '</script><img src=x onerror="document.title=1"><script>document.title=1</script>';
const THREE = { seed: 4, locations: 2, connectorsPerLocation: 3, isBroken: true };
const MANY = { seed: 5, locations: 1, connectorsPerLocation: 300, durationMs: 2 * HOUR_MS, isNoisy: true };

/** The first opaque colour on the first strip. The script is text, because the tests have no browser types. */
const FIRST_INK = `(() => {
  const canvas = document.querySelector('.connector canvas');
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const opaque = pixels.findIndex((value, i) => i % 4 === 3 && value === 255);
  return [...pixels.slice(opaque - 3, opaque)].join();
})()`;

/** Number of pixels with that colour of the style sheet in the chart of that row. */
const inkOf = (row: string, colour: string) => `(() => {
  const canvas = document.querySelector('.${row} canvas');
  const probe = document.createElement('i');
  probe.style.color = 'var(--${colour})';
  document.body.append(probe);
  const ink = getComputedStyle(probe).color.match(/\\d+/g).join();
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((_, i) => i % 4 === 0 && data[i + 3] === 255 && data.slice(i, i + 3).join() === ink).length;
})()`;

describe('A report in a browser', needing(missingBrowser()), () => {
  const small = mkdtempSync(join(tmpdir(), 'headroom-report-3-'));
  const large = mkdtempSync(join(tmpdir(), 'headroom-report-300-'));
  let browser: Browser;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    await madeUpReport(small, THREE, HOSTILE);
    await madeUpReport(large, MANY, 'Many', ['day.yaml:9:5 expect[0].powerKw: site drew 2 kW, expected 3']);
    browser = await sharedBrowser();
  });

  afterAll(async () => {
    await closeContexts();
    for (const dir of [small, large]) rmSync(dir, { recursive: true });
  });

  beforeEach(async () => {
    complaints = [];
    const context = await openContext(browser, { viewport: { width: 1440, height: 900 } });
    page = await context.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith('file:')) complaints.push(request.url());
    });
  });

  afterEach(async () => {
    await page.context().close();
    expect(complaints).toEqual([]);
  });

  async function open(dir: string): Promise<void> {
    await page.goto(`file://${dir}/report.html`);
    await page.getByRole('table').getByRole('row').nth(1).waitFor();
  }

  async function choose(instant: string): Promise<void> {
    const text = page.getByRole('textbox', { name: 'Instant' });
    await text.fill(instant);
    await text.press('Enter');
    await text.blur();
    await page
      .getByRole('slider', { name: 'Instant' })
      .and(page.locator(`[aria-valuetext="${instant}"]`))
      .waitFor();
  }

  const chosen = () => page.getByRole('slider', { name: 'Instant' }).getAttribute('aria-valuetext');

  it('shows power, limit, reason, link and figures of a chosen instant', async () => {
    await open(small);
    await choose('2026-06-01T12:00:00Z');
    await expect
      .poll(() => page.getByLabel('Power', { exact: true }).innerText())
      .toContain('14.5 kW of 12.0 kW');
    expect(await page.getByRole('status').innerText()).toContain('violation P1 depot-01 14500 W drawn');
    const trace = openTrace(small);
    const [depot] = (await trace.at(T + 12 * HOUR_MS)).locations;
    trace.close();
    expect(depot?.connectors).toHaveLength(3);
    for (const connector of depot?.connectors ?? []) {
      const name = `${connector.controllerUuid.slice(-3)}/${connector.connectorId}`;
      const cells = await page.getByRole('row', { name }).getByRole('cell').allInnerTexts();
      expect(cells.slice(0, 5)).toEqual([
        connector.status,
        `${(connector.powerW / 1000).toFixed(1)} kW`,
        `${(connector.limitTenthsA / 10).toFixed(1)} A`,
        connector.isOnline ? 'lease' : 'offline',
        REASON_WORDS[connector.reason],
      ]);
    }
    await choose('2026-06-01T05:00:00Z');
    await expect
      .poll(() => page.getByLabel('Power', { exact: true }).innerText())
      .toContain('0.0 kW of 24.0 kW');
    expect(await page.getByRole('status').innerText()).toBe('');
    expect(await page.locator('dl.figures').innerText()).toContain('Overshoot');
  });

  it('says what the clock of the site says, beside UTC', async () => {
    await open(small);
    await choose('2026-06-01T23:30:00Z');
    expect(await page.locator('.local').innerText()).toBe('01:30:00 (UTC+02:00)');
  });

  it('shows another run beside its own: every figure of both, and power and limit dashed', async () => {
    const beside = mkdtempSync(join(tmpdir(), 'headroom-report-beside-'));
    try {
      const { locations } = await madeUpReport(beside, THREE, 'Today', [], {});
      await open(beside);
      const rows = page.locator('.compared tbody tr');
      await rows.first().waitFor();
      expect(await page.locator('.compared thead').innerText()).toMatch(/Today\s+The day before/);
      const energy = `${((locations[0]?.energyWh ?? 0) / 1000).toFixed(1)} kWh`;
      expect(
        await rows
          .filter({ hasText: /^energy/ })
          .getByRole('cell')
          .allInnerTexts(),
      ).toEqual([energy, energy]);
      const head = await page.locator('header').innerText();
      expect(head).toContain('Beside “The day before”: all is the same.');
      expect(head).toContain(
        '“The day before” has 2 violations: the first P1 depot-01, 2026-06-01T12:00:00Z.',
      );
      await madeUpReport(beside, THREE, 'Today', [], { differsAtMs: T + 5 * HOUR_MS });
      await open(beside);
      expect(await chosen()).toBe('2026-06-01T05:00:00Z');
    } finally {
      rmSync(beside, { recursive: true });
    }
  });

  it('tells at its head that an invariant was broken, where and when first', async () => {
    await open(small);
    const verdict = page.locator('.verdict');
    expect(await verdict.innerText()).toBe(
      '2 violations. The first: P1 depot-01, 2026-06-01T12:00:00Z: 14500 W drawn, 12000 W allowed.',
    );
  });

  it('tells at its head what was expected and was not so', async () => {
    await open(large);
    expect(await page.locator('.verdict').allInnerTexts()).toEqual(
      expect.arrayContaining([
        'Not as expected: day.yaml:9:5 expect[0].powerKw: site drew 2 kW, expected 3.',
      ]),
    );
  });

  it('shows the limit and its one connector where no car ever came', async () => {
    const idle = mkdtempSync(join(tmpdir(), 'headroom-report-idle-'));
    const text = `name: Nobody came
start: 2026-10-25T00:30:00+02:00
duration: 10m
sites: { count: 1, chargers: 1, connectors: 1, permanentLimitKw: 50 }
`;
    try {
      await runScenario(parseScenario(text, 'idle.yaml'), { outDir: idle });
      await open(idle);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Nobody came');
      expect(await page.locator('.counts').innerText()).toMatch(/^1 connector(:|$)/);
      expect(await page.evaluate(inkOf('power', 'limit'))).toBeGreaterThan(0);
      expect(await page.locator('.voltage').isVisible()).toBe(false);
    } finally {
      rmSync(idle, { recursive: true });
    }
  });

  it('draws the highest and the lowest voltage of the line that feeds the location, or of all lines where the trace does not say which does', async () => {
    const fed = mkdtempSync(join(tmpdir(), 'headroom-report-fed-'));
    const text = `name: Two streets
start: 2026-06-01T17:00:00Z
duration: 20m
sites: { count: 2, chargers: 1, connectors: 1, permanentLimitKw: 22 }
grid:
  - { name: weak, locations: [site-1], resistanceOhm: 0.2, baseKw: [{ at: "17:00", kw: 0 }, { at: "17:10", kw: 69 }] }
  - { name: strong, locations: [site-2], resistanceOhm: 0.2 }
sessions: { visits: [{ connector: site-1-c1/1, arrives: "17:02", energyKwh: 50 }] }
vehicles: [{ name: small, maxKw: 4.6, phases: 1, taper: none }]
`;
    const told = (words: string) =>
      eventually(async () => expect(await page.locator('.voltages').innerText()).toContain(words));
    try {
      await runScenario(parseScenario(text, 'streets.yaml'), { outDir: fed });
      await open(fed);
      await choose('2026-06-01T17:05:00Z');
      await told('weak: 226.8 V lowest, 230.0 V highest phase');
      await choose('2026-06-01T17:15:00Z');
      await told('weak: 206.0 V lowest, 210.0 V highest phase');
      for (const colour of ['power', 'alarm'])
        expect(await page.evaluate(inkOf('voltage', colour))).toBeGreaterThan(100);
      await page.getByRole('combobox', { name: 'Location' }).selectOption('site-2');
      await told('strong: 230.0 V lowest, 230.0 V highest phase');
      await open(small);
      await page.getByRole('combobox', { name: 'Location' }).selectOption('depot-02');
      await told('west: 229.7 V lowest, 231.0 V highest');
    } finally {
      rmSync(fed, { recursive: true });
    }
  });

  it('takes a name with markup in it for text', async () => {
    await open(small);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(HOSTILE);
    expect(await page.title()).toBe(`${HOSTILE} · Headroom`);
    expect(await page.locator('img').count()).toBe(0);
  });

  it('is scrubbed, zoomed and led from mark to mark by keys alone', async () => {
    await open(small);
    await choose('2026-06-01T09:00:00Z');
    await page.keyboard.press(']');
    await eventually(async () => expect(await chosen()).toBe('2026-06-01T09:02:00Z'));
    expect(await page.getByRole('status').innerText()).toBe('fault serviceCrash over');
    await page.keyboard.press('[');
    await eventually(async () => expect(await chosen()).toBe('2026-06-01T09:00:00Z'));
    const slider = page.getByRole('slider', { name: 'Instant' });
    const span = async () =>
      Number(await slider.getAttribute('max')) - Number(await slider.getAttribute('min'));
    await page.keyboard.press('+');
    await eventually(async () => expect(await span()).toBe(12 * HOUR_MS));
    await slider.focus();
    await page.keyboard.press('ArrowRight');
    await eventually(async () => expect(await chosen()).toBe('2026-06-01T09:00:43.200Z'));
    await page.keyboard.press('End');
    await page.keyboard.press('0');
    await eventually(async () => expect(await span()).toBe(24 * HOUR_MS));
  });

  it('is led by a click to an instant, and by a drag to a stretch of time', async () => {
    await open(small);
    const time = page.locator('.lane .time').first();
    const box = await time.boundingBox();
    if (box === null) throw new Error('The lane has no place on the page');
    await page.mouse.click(box.x + box.width / 2, box.y + 5);
    await expect
      .poll(async () => Math.abs(Date.parse((await chosen()) ?? '') - (T + 12 * HOUR_MS)))
      .toBeLessThan(HOUR_MS / 10);
    await page.mouse.move(box.x + box.width / 4, box.y + 5);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 5);
    await page.mouse.up();
    const slider = page.getByRole('slider', { name: 'Instant' });
    await expect
      .poll(async () => Math.abs(Number(await slider.getAttribute('min')) - (T + 6 * HOUR_MS)))
      .toBeLessThan(HOUR_MS / 10);
  });

  it('shows another location where one is chosen', async () => {
    await open(small);
    await page.getByRole('combobox', { name: 'Location' }).selectOption('depot-02');
    await eventually(async () =>
      expect(await page.getByLabel('Profiles').innerText()).toContain('depot-02 · priority 5'),
    );
    expect(await page.getByLabel('Profiles').innerText()).not.toContain('depot-01');
  });

  it('draws every connector’s strip in colours of the light or dark scheme', async () => {
    const inks = new Set<string>();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await open(small);
      await page.locator('.connector canvas[width]').first().waitFor();
      const ink = await page.evaluate(FIRST_INK);
      expect(ink).toMatch(/^(?!0,0,0)\d+,\d+,\d+$/);
      inks.add(String(ink));
    }
    expect(inks.size).toBe(2);
  });

  it('lists 300 connectors, filters them by name and sorts them by power', async () => {
    await open(large);
    expect(await page.locator('.connector').count()).toBe(300);
    await page.getByRole('slider', { name: 'Instant' }).focus();
    await page.keyboard.press('End');
    await page.getByRole('combobox', { name: 'Sort' }).selectOption('power');
    const powers = async () => (await page.locator('.connector').first().innerText()).includes('22.');
    await eventually(async () => expect(await powers()).toBe(true));
    await page.getByRole('searchbox').fill('charger-007');
    await eventually(async () => expect(await page.locator('.connector').count()).toBe(2));
  });

  it('fits a phone without a sideways scroll', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await open(small);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  it('carries all it needs: no address of any other place, and a policy that forbids to ask one', () => {
    const html = readFileSync(`${small}/report.html`, 'utf8');
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/(src|href)="?https?:/);
    expect(html.split('</script>')).toHaveLength(3);
  });
});
