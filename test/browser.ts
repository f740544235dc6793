// A real browser for tests. Its pages use `Patience`, like all waits of the tests.
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { Patience } from './eventually.js';

const CHROMIUM = '/usr/bin/chromium';
/**
 * The same browser without windows needs a third less processor time. CI does without it, and runs all tests in the
 * browser that users have.
 */
const WITHOUT_WINDOWS = '/usr/bin/chromium-headless-shell';
const BROWSER = [WITHOUT_WINDOWS, CHROMIUM].find((path) => existsSync(path));
/**
 * Parts of the browser that no test needs. Each page has its own window, which costs half the processor time without
 * them. They are pages behind its address line and its buttons, and a process kept ready for the next page.
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
/** Features that Playwright itself disables. They would be on again, because the browser takes the last list. */
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
/** For all waits of one test together; the wait that fails is named. */
const TEST_PATIENCE_MS = 40_000;

/** The reason why browser tests cannot run on this machine, or undefined if they can. */
export function missingBrowser(): string | undefined {
  return BROWSER === undefined ? CHROMIUM : undefined;
}

let started: Promise<Browser> | undefined;

/** The browser of all files of this process; Playwright ends it with the process. Callers close their own contexts. */
export function sharedBrowser(): Promise<Browser> {
  started ??= chromium.launch({ executablePath: BROWSER ?? CHROMIUM, args: ARGUMENTS, timeout: 0 });
  return started;
}

/** Closes every page of the shared browser. */
export async function closeContexts(): Promise<void> {
  const contexts = (await started)?.contexts() ?? [];
  await Promise.all(contexts.map((context) => context.close()));
}

/** An isolated context for one test. It closes when patience ends, so that pending waits of its pages fail. */
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
