// report.html in a real browser: it opens from disk without any request, and shows any chosen instant.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTrace } from '../../../sim/log/trace.js';
import { runScenario } from '../../../sim/run/run-scenario.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { BY_STATUS } from '../../../web/location/connector-state.js';
import { closeContexts, missingBrowser, openContext, sharedBrowser } from '../../browser.js';
import { eventually } from '../../eventually.js';
import { needing } from '../../needs.js';
import { HOUR_MS, DAY_START_MS as T, UNKNOWN_SOURCE } from '../log/made-up-world.js';
import { madeUpReport } from './made-up-report.js';

const HOSTILE = '</script><img src=x onerror="document.title=1"><script>document.title=1</script>';
const THREE = { seed: 4, locations: 2, connectorsPerLocation: 3, isBroken: true };
const MANY = { seed: 5, locations: 1, connectorsPerLocation: 300, durationMs: 2 * HOUR_MS, isNoisy: true };

/** The first opaque colour on the first strip. The script is text, because the tests have no browser types. */
const FIRST_INK = `(() => {
  const canvas = document.querySelector('td.strip canvas');
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const opaque = pixels.findIndex((value, i) => i % 4 === 3 && value === 255);
  return [...pixels.slice(opaque - 3, opaque)].join();
})()`;

/** Number of pixels with that colour of the style sheet in that chart. */
const inkOf = (figure: string, colour: string) => `(() => {
  const canvas = document.querySelector('${figure} canvas');
  const probe = document.createElement('i');
  probe.style.color = 'var(--${colour})';
  document.body.append(probe);
  const ink = getComputedStyle(probe).color.match(/\\d+/g).join();
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((_, i) => i % 4 === 0 && data[i + 3] === 255 && data.slice(i, i + 3).join() === ink).length;
})()`;

/** Reasons of the made-up world. */
const WORDS: Readonly<Record<string, string>> = {
  idle: 'No car',
  demand: 'All its car takes',
  fairShare: 'Fair share',
  paused: 'Waits its turn',
  lock: 'Lock',
  failsafe: 'Fail-safe',
};

/** 40 kW by its own limit; first the operator and then the building leave less. */
const LIMITED = `name: Limited from outside
start: 2026-06-01T10:00:00Z
duration: 15m
provision:
  tenants:
    - tenantUuid: harbour
      name: Yard
      features: [energy-management]
      locations:
        - locationId: yard
          name: Yard
          permanentLimitKw: 40
          gridLimitKw: 24
          siteMeter: { meterUuid: yard-meter, maxBuildingKw: 20, covers: connection, reserveKw: [2, 8] }
          operator: { operatorUuid: dso, failsafeKw: 6, heartbeatS: 300 }
          chargers:
            - controllerUuid: yard-a
              connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32, failsafeA: 0 }]
buildings:
  - { location: yard, baseKw: [{ at: "10:00", kw: 4 }], meterEvery: 5s }
sessions: { visits: [{ connector: yard-a/1, arrives: "10:00", energyKwh: 50 }] }
vehicles: [{ name: car, maxKw: 22, phases: 3, taper: none }]
actions:
  - { at: "10:04", call: setOperatorLimit, params: { locationId: yard }, body: { source: dso, isActive: true, limitKw: 9, sentAt: "2026-06-01T10:04:00Z" } }
  - { at: "10:08", call: setOperatorLimit, params: { locationId: yard }, body: { source: dso, isActive: false, sentAt: "2026-06-01T10:08:00Z" } }
`;

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

  it('shows power, limit, reason, link and figures at a chosen instant', async () => {
    await open(small);
    await choose('2026-06-01T12:00:00Z');
    const now = page.getByLabel('At the instant');
    await eventually(async () => expect(await now.innerText()).toMatch(/Draws\s+14.5 kW/));
    expect(await now.innerText()).toMatch(/Limit in force\s+12.0 kW/);
    expect(await page.getByRole('status').first().innerText()).toContain(
      'violation P1 depot-01 14500 W drawn',
    );
    const trace = openTrace(small);
    const [depot] = (await trace.at(T + 12 * HOUR_MS)).locations;
    trace.close();
    expect(depot?.connectors).toHaveLength(3);
    for (const connector of depot?.connectors ?? []) {
      const { controllerUuid, connectorId, isOnline, status, limitTenthsA } = connector;
      const row = page.getByRole('row', { name: `${controllerUuid} / ${connectorId}` });
      const [state, powerKw, limitA, lease] = await row.getByRole('cell').allInnerTexts();
      const isPaused = limitTenthsA === 0 && ['Preparing', 'Charging', 'SuspendedEVSE'].includes(status);
      expect(state?.split('\n')[0]).toBe(
        isOnline ? (isPaused ? 'Paused' : BY_STATUS[status].word) : 'Offline',
      );
      expect(powerKw).toBe((connector.powerW / 1000).toFixed(1));
      expect(limitA).toBe((limitTenthsA / 10).toFixed(1));
      expect(lease).toBe(isOnline ? 'held' : '–');
      expect(await row.innerText()).toContain(WORDS[connector.reason]);
    }
    await choose('2026-06-01T05:00:00Z');
    await eventually(async () => expect(await now.innerText()).toMatch(/Draws\s+0.0 kW/));
    expect(await now.innerText()).toMatch(/Limit in force\s+24.0 kW/);
    expect(await page.getByRole('status').first().innerText()).toBe('');
    expect(await page.getByLabel('Figures of the run').innerText()).toContain('Overshoot');
  });

  it('shows every limit in force with its cause, at the instant and over time', async () => {
    const limited = mkdtempSync(join(tmpdir(), 'headroom-report-limited-'));
    const now = page.getByLabel('At the instant');
    try {
      await runScenario(parseScenario(LIMITED, 'limited.yaml'), { outDir: limited });
      await open(limited);
      const seen = async (instant: string, ...texts: readonly RegExp[]) => {
        await choose(instant);
        for (const text of texts) await eventually(async () => expect(await now.innerText()).toMatch(text));
      };
      const rule = () => page.locator('.time-lane', { hasText: 'Limit in force set by' }).innerText();
      await seen(
        '2026-06-01T10:01:00Z',
        /Nothing received from the grid operator yet/,
        /Limit in force\s+6.0 kW/,
      );
      expect(await rule()).toContain('fail-safe of the grid operator');
      await seen('2026-06-01T10:06:00Z', /Limited by the grid operator/, /Limit in force\s+9.0 kW/);
      await seen('2026-06-01T10:06:00Z', /Effective limit\s+40.0 kW/, /Building\s+4.\d kW/);
      await seen('2026-06-01T10:06:00Z', /Grid operator\s+9.0 kW/, /Connection\s+1\d.\d kW/);
      expect(await rule()).toMatch(/grid operator$/);
      expect(await page.getByRole('row', { name: 'yard-a / 1' }).innerText()).toContain(
        'Fair share: grid operator',
      );
      await seen(
        '2026-06-01T10:12:00Z',
        /Limit in force\s+1[12].\d kW/,
        /The building limits the location: the rest of the physical connection/,
      );
      expect(await rule()).toMatch(/building$/);
      for (const colour of ['operator', 'building', 'limit'])
        expect(await page.evaluate(inkOf('.chart', colour))).toBeGreaterThan(20);
      const summary = JSON.parse(readFileSync(`${limited}/summary.json`, 'utf8'));
      expect(summary.locations[0].utilisation).toBeGreaterThan(0.7);
    } finally {
      rmSync(limited, { recursive: true });
    }
  });

  it('draws and names a source of limits that it does not know', async () => {
    await open(small);
    const legend = page.locator('.limits .chart .legend').first();
    await eventually(async () => expect(await legend.innerText()).toContain(UNKNOWN_SOURCE));
    expect(await legend.innerText()).toContain('Connection');
    expect(await page.evaluate(inkOf('.chart', 'source'))).toBeGreaterThan(20);
    await choose('2026-06-01T12:00:00Z');
    const now = page.getByLabel('At the instant');
    await eventually(async () => expect(await now.innerText()).toMatch(/transformer:north\s+15.0 kW/));
    expect(await now.innerText()).toMatch(/Connection\s+50.0 kW/);
  });

  it('shows the local time of the site beside UTC', async () => {
    await open(small);
    await choose('2026-06-01T23:30:00Z');
    expect(await page.locator('.local').innerText()).toBe('01:30:00 (UTC+02:00)');
  });

  it('shows another run beside its own, with all figures of both, and with dashed lines', async () => {
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
      const head = await page.getByRole('banner').or(page.locator('header')).first().innerText();
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

  it('shows at its head the first violation of an invariant, with place and instant', async () => {
    await open(small);
    const verdict = page.locator('.verdict');
    expect(await verdict.innerText()).toBe(
      '2 violations. The first: P1 depot-01, 2026-06-01T12:00:00Z: 14500 W drawn, 12000 W allowed.',
    );
  });

  it('shows at its head an expectation that was not met', async () => {
    await open(large);
    expect(await page.locator('.verdict').allInnerTexts()).toEqual(
      expect.arrayContaining([
        'Not as expected: day.yaml:9:5 expect[0].powerKw: site drew 2 kW, expected 3.',
      ]),
    );
  });

  it('shows the limit and the only connector of a run without cars', async () => {
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
      expect(await page.getByRole('heading', { name: /^Connectors: 1/ }).count()).toBe(1);
      expect(await page.evaluate(inkOf('.chart', 'limit'))).toBeGreaterThan(0);
      expect(await page.getByLabel('Voltage').count()).toBe(0);
    } finally {
      rmSync(idle, { recursive: true });
    }
  });

  it('draws the highest and lowest voltage of the feeding line, or of all lines if the trace assigns none', async () => {
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
      eventually(async () => expect(await page.getByLabel('Voltage').innerText()).toContain(words));
    try {
      await runScenario(parseScenario(text, 'streets.yaml'), { outDir: fed });
      await open(fed);
      await choose('2026-06-01T17:05:00Z');
      await told('weak: 226.8 V lowest, 230.0 V highest phase');
      await choose('2026-06-01T17:15:00Z');
      await told('weak: 206.0 V lowest, 210.0 V highest phase');
      for (const colour of ['power', 'warning'])
        expect(await page.evaluate(inkOf('[aria-label=Voltage]', colour))).toBeGreaterThan(100);
      await page.getByRole('combobox', { name: 'Location' }).selectOption('site-2');
      await told('strong: 230.0 V lowest, 230.0 V highest phase');
      await open(small);
      await page.getByRole('combobox', { name: 'Location' }).selectOption('depot-02');
      await told('west: 229.7 V lowest, 231.0 V highest');
    } finally {
      rmSync(fed, { recursive: true });
    }
  });

  it('shows markup in a name as text', async () => {
    await open(small);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(HOSTILE);
    expect(await page.title()).toBe(`${HOSTILE} · Headroom`);
    expect(await page.locator('img').count()).toBe(0);
  });

  it('moves in time, zooms and steps between marks by keys alone', async () => {
    await open(small);
    await choose('2026-06-01T09:00:00Z');
    await page.keyboard.press(']');
    await eventually(async () => expect(await chosen()).toBe('2026-06-01T09:02:00Z'));
    expect(await page.getByRole('status').first().innerText()).toBe('fault serviceCrash over');
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

  it('selects an instant by a click, and a period by a drag', async () => {
    await open(small);
    const time = page.locator('.time-lane .track').first();
    await time.scrollIntoViewIfNeeded();
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

  it('shows another location after its selection', async () => {
    await open(small);
    await page.getByRole('combobox', { name: 'Location' }).selectOption('depot-02');
    await eventually(async () =>
      expect(await page.getByLabel('Profiles').innerText()).toContain('depot-02 · priority 5'),
    );
    expect(await page.getByLabel('Profiles').innerText()).not.toContain('depot-01');
  });

  it('draws the strip of every connector in colours of the light or dark scheme', async () => {
    const inks = new Set<string>();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await open(small);
      await page.locator('td.strip canvas[width]').first().waitFor();
      const ink = await page.evaluate(FIRST_INK);
      expect(ink).toMatch(/^(?!0,0,0)\d+,\d+,\d+$/);
      inks.add(String(ink));
    }
    expect(inks.size).toBe(2);
  });

  it('lists 300 connectors, filters them by name and sorts them by power', async () => {
    await open(large);
    const rows = page.getByRole('table', { name: 'Connectors' });
    expect(await rows.getAttribute('aria-rowcount')).toBe('301');
    await page.getByRole('slider', { name: 'Instant' }).focus();
    await page.keyboard.press('End');
    await page.getByRole('button', { name: 'Power kW' }).click();
    const powers = async () => (await rows.locator('tbody tr').first().innerText()).includes('22.');
    await eventually(async () => expect(await powers()).toBe(true));
    await page.getByRole('searchbox').fill('charger-007');
    await eventually(async () => expect(await rows.getAttribute('aria-rowcount')).toBe('3'));
  });

  it('fits a phone without horizontal scrolling', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await open(small);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  it('names no other address, and has a policy that forbids requests', () => {
    const html = readFileSync(`${small}/report.html`, 'utf8');
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/(src|href)="?https?:/);
    expect(html.split('</script>')).toHaveLength(3);
  });
});
