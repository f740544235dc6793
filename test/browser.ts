// A real browser for tests, whose pages wait as everything in tests does: in time that the machine has for them.
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { Patience } from './eventually.js';

const CHROMIUM = '/usr/bin/chromium';
/** The same without windows: a third less processor time. CI does without it, and plays all in the browser that people have. */
const WITHOUT_WINDOWS = '/usr/bin/chromium-headless-shell';
const BROWSER = [WITHOUT_WINDOWS, CHROMIUM].find((path) => existsSync(path));
/**
 * Parts of the browser that no test looks at. Each page has a window of its own, and without them a window costs half the
 * processor time: pages behind its address line and its buttons, and a process kept ready for the page after this one.
 */
const NO_WINDOW_PAGES = [
  'InitialWebUI',
  'PreloadTopChromeWebUI',
  'SpareRendererForSitePerProcess',
  'TabSearchToolbarButton',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxPopup',
  'WebUIReloadButton',
  'WebUIToolbar',
];
/** What Playwright turns off itself and would be on again, because the browser takes the last list it is given. */
const AS_PLAYWRIGHT = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];
const ARGUMENTS = ['--no-sandbox', `--disable-features=${[...AS_PLAYWRIGHT, ...NO_WINDOW_PAGES].join()}`];
/** For everything that one test looks at; whichever of it does not come is named then. */
const TEST_PATIENCE_MS = 40_000;

/** What tests in a browser miss on this machine, or undefined where they can run. */
export function missingBrowser(): string | undefined {
  return BROWSER === undefined ? CHROMIUM : undefined;
}

let started: Promise<Browser> | undefined;

/** The browser of all files of this process, which Playwright ends with it. Who opened contexts in it closes them. */
export function sharedBrowser(): Promise<Browser> {
  started ??= chromium.launch({ executablePath: BROWSER ?? CHROMIUM, args: ARGUMENTS, timeout: 0 });
  return started;
}

/** Closes every page of the shared browser. */
export async function closeContexts(): Promise<void> {
  const contexts = (await started)?.contexts() ?? [];
  await Promise.all(contexts.map((context) => context.close()));
}

/** A context for one test, with nothing kept from another. It closes when patience ends: what a page then waits for fails. */
export async function openContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(0);
  void closeInTime(context);
  return context;
}

async function closeInTime(context: BrowserContext): Promise<void> {
  let isClosed = false;
  context.once('close', () => {
    isClosed = true;
  });
  const patience = new Patience(TEST_PATIENCE_MS);
  while (!isClosed && (await patience.lasts()));
  if (!isClosed) await context.close({ reason: 'this took longer than a page may take' });
}
