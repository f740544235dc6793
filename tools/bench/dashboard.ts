// The dashboard in Chromium: first view of a large location, frames under a full stream, and size of the fetched files.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { machine, median, remark, report } from './bench.js';
import { runDashboardSite } from './dashboard-site.js';
import { API_KEY, locationIdOf } from './site.js';

const CHROMIUM = '/usr/bin/chromium';
const ASSETS = fileURLToPath(new URL('../../web/assets/', import.meta.url));
const CONNECTORS = 200;
const VIEWS = 7;
const LOCATIONS = 1_000;
const FRAMES_MS = 10_000;
const WHEEL_PX = 60;

/** Time from the navigation to the presence of the chart and the first rows of the table of connectors, ms. */
const SHOWN_AFTER_MS = `new Promise((resolve) => {
  const look = () => document.querySelectorAll('table[aria-rowcount="${CONNECTORS + 1}"] tbody tr').length > 10 &&
    document.querySelector('.uplot canvas') !== null
    ? resolve(performance.now()) : requestAnimationFrame(look);
  look();
})`;

/** The instants of all frames of a period; optionally the page scrolls down and up meanwhile. */
const framesOf = (isScrolled: boolean) => `new Promise((resolve) => {
  const times = [];
  const tick = (at) => {
    times.push(at);
    if (${isScrolled}) window.scrollBy(0, Math.floor(times.length / 120) % 2 === 0 ? ${WHEEL_PX} : -${WHEEL_PX});
    if (at - times[0] < ${FRAMES_MS}) requestAnimationFrame(tick); else resolve(times);
  };
  requestAnimationFrame(tick);
})`;

interface Frames {
  readonly perS: number;
  readonly longestMs: number;
  readonly lastedS: number;
}

async function countFrames(page: Page, isScrolled = false): Promise<Frames> {
  const times = (await page.evaluate(framesOf(isScrolled))) as readonly number[];
  const gapsMs = times.slice(1).map((at, i) => at - (times[i] ?? at));
  const lastedS = gapsMs.reduce((sum, ms) => sum + ms, 0) / 1000;
  return { perS: gapsMs.length / lastedS, longestMs: Math.max(...gapsMs), lastedS };
}

function sizeOf(suffix: string): number {
  const names = readdirSync(ASSETS).filter((name) => name.endsWith(suffix));
  return names.reduce((bytes, name) => bytes + statSync(ASSETS + name).size, 0);
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const credential = JSON.stringify({ kind: 'apiKey', apiKey: API_KEY });
  await context.addInitScript(`sessionStorage['headroom.credential'] = ${JSON.stringify(credential)}`);
  const page = await context.newPage();
  await page.goto(url, { waitUntil: 'commit' });
  return page;
}

async function measureFirstView(browser: Browser): Promise<number> {
  const site = await runDashboardSite(1, CONNECTORS);
  const times: number[] = [];
  for (let view = 0; view <= VIEWS; view++) {
    // A new browser context, so that nothing is cached from the previous view.
    const page = await openPage(browser, `${site.httpUrl}/#/locations/${locationIdOf(0)}`);
    times.push(Number(await page.evaluate(SHOWN_AFTER_MS)));
    await page.context().close();
  }
  await site.stop();
  // The first view includes the start of the browser and does not count.
  remark(`first views of ${CONNECTORS} connectors, ms: ${times.map((ms) => ms.toFixed(0)).join(', ')}`);
  return median(times.slice(1));
}

async function measureFrames(browser: Browser): Promise<{ perS: number; eventsPerS: number }> {
  const blank = await browser.newPage();
  const reference = await countFrames(blank);
  await blank.close();
  const site = await runDashboardSite(LOCATIONS, 1);
  const page = await openPage(browser, `${site.httpUrl}/#/locations`);
  await page.getByText(`${LOCATIONS} of ${LOCATIONS} shown`).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Power kW' }).click();
  // Events and frames during the load of the page are not counted.
  const scrolled = await countFrames(page, true);
  site.takeEvents();
  const still = await countFrames(page);
  const eventsPerS = site.takeEvents() / still.lastedS;
  await page.context().close();
  await site.stop();
  const text = ({ perS, longestMs }: Frames) => `${perS.toFixed(1)}/s (longest ${longestMs.toFixed(0)} ms)`;
  remark(
    `${LOCATIONS} locations sorted by draw, ${eventsPerS.toFixed(0)} updates/s: frames ${text(still)}, ` +
      `while scrolled ${text(scrolled)}, of an empty page ${text(reference)}`,
  );
  return { perS: still.perS, eventsPerS };
}

const gzipKb = sizeOf('.js.gz') / 1000;
remark(
  `${machine()}; JavaScript ${gzipKb.toFixed(1)} kB by gzip, ${(sizeOf('.js.br') / 1000).toFixed(1)} kB by brotli`,
);
const size = {
  name: 'Dashboard: all JavaScript, gzip',
  measured: `${gzipKb.toFixed(1)} kB`,
  goal: '≤ 150 kB',
  met: gzipKb <= 150,
};
if (existsSync(CHROMIUM)) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  const firstViewMs = await measureFirstView(browser);
  const frames = await measureFrames(browser);
  await browser.close();
  report([
    {
      name: `Dashboard: first view of a location with ${CONNECTORS} connectors, median`,
      measured: `${firstViewMs.toFixed(0)} ms`,
      goal: '≤ 1,000 ms',
      met: firstViewMs <= 1_000,
    },
    size,
    {
      name: `Dashboard: frames under ${frames.eventsPerS.toFixed(0)} updates/s`,
      measured: `${frames.perS.toFixed(1)}/s`,
      goal: '≥ 50/s',
      met: frames.perS >= 50,
    },
  ]);
} else {
  remark(`NOT MEASURED: views and frames, because ${CHROMIUM} is missing`);
  report([size]);
}
