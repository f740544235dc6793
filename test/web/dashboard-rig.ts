// The dashboard as users have it: a running service, virtual chargers with hungry cars, and pages in a real browser.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Scope } from '../../machines/values/scopes.js';
import { type Fleet, type FleetMember, startFleet } from '../../sim/charger/fleet.js';
import { HUNGRY, type Traffic } from '../../sim/charger/traffic.js';
import { systemClock } from '../../src/clock.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { USUAL_SCOPES } from '../../src/ports/records.js';
import { formatApiKey, hashSecret } from '../../src/secrets.js';
import type { Seams } from '../../src/service.js';
import { closeContexts, missingBrowser, openContext, sharedBrowser } from '../browser.js';
import { Patience } from '../eventually.js';
import { freePort } from '../free-port.js';
import { missingFile, needing } from '../needs.js';
import { casesOf } from '../seeds.js';
import {
  apiKeyOf,
  CHARGER_PASSWORD,
  HARBOUR,
  type RunningService,
  runService,
  site,
  tenantWith,
} from '../service/running-service.js';

const BUILT = 'dist/web/index.html';

/** For `describe`: tests of the dashboard need a browser. */
export const ON_PAGES = needing(missingBrowser(), missingFile(BUILT));

const TIMING = { HEADROOM_HEARTBEAT_S: '1', HEADROOM_LEASE_TTL_S: '4', HEADROOM_SETTLE_S: '2' };
const TRAITS = { meterPeriodMs: 1_000, pilotDelayMs: 200, settleMs: 2_000 };

export interface RigOptions {
  /** By default `quay-1` (50 kW) and `quay-2` (20 kW) of HARBOUR: two connectors of 22 kW each. */
  readonly tenants?: readonly ProvisionedTenant[];
  /** The cars. By default they arrive at once and take all available power; `none` starts no chargers. */
  readonly traffic?: Traffic | 'none';
  readonly environment?: Readonly<Record<string, string>>;
  readonly seams?: Seams;
}

export interface PageOptions extends BrowserContextOptions {
  /** The part after the `#`: `/locations` by default. */
  readonly hash?: string;
  /** The tenant whose API key is signed in: HARBOUR by default; `nobody` shows the sign-in. */
  readonly as?: TenantUuid | 'nobody';
  /** Complaints of the browser that the test itself causes. */
  readonly expected?: RegExp;
}

export interface DashboardRig {
  readonly httpUrl: string;
  /** The running service; `startAgain` replaces it. */
  readonly service: RunningService;
  readonly fleet: Fleet | undefined;
  /** A page in its own context, isolated from others. Console errors and breaches of the policy are recorded. */
  open(options?: PageOptions): Promise<Page>;
  /** Closes all pages, and fails after an unexpected complaint of any of them. */
  closePages(): Promise<void>;
  /** Stops the service as if its machine had gone; the data stays. */
  cut(): Promise<void>;
  /** Starts the service again, at the same addresses. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

export async function createDashboardRig(options: RigOptions = {}): Promise<DashboardRig> {
  const tenants = options.tenants ?? [
    tenantWith(HARBOUR, [site('quay-1'), site('quay-2', { permanentLimitKw: 20 })]),
  ];
  const { traffic = HUNGRY } = options;
  const [httpPort, mqttPort] = [await freePort(), await freePort()];
  let service = await runService(tenants, options.seams ?? {}, {
    HEADROOM_HTTP_PORT: String(httpPort),
    HEADROOM_MQTT_PORT: String(mqttPort),
    ...TIMING,
    ...options.environment,
  });
  const members = tenants.flatMap(membersOf);
  const fleet =
    traffic === 'none'
      ? undefined
      : startFleet({ url: service.mqttUrl, members, seed: 1, traffic, clock: systemClock, traits: TRAITS });
  const browser = await sharedBrowser();
  const { httpUrl } = service;
  const complaints: string[] = [];

  return {
    httpUrl,
    get service() {
      return service;
    },
    fleet,
    open: (pageOptions = {}) => openPage(browser, httpUrl, complaints, pageOptions),
    async closePages() {
      await closeContexts();
      expect(complaints.splice(0)).toEqual([]);
    },
    cut: () => service.service.stop(),
    async startAgain() {
      service = await service.restart(options.seams);
    },
    async stop() {
      await closeContexts();
      await fleet?.stop();
      await service.stop();
    },
  };
}

async function openPage(
  browser: Browser,
  httpUrl: string,
  complaints: string[],
  { hash = '/locations', as = HARBOUR, expected, ...contextOptions }: PageOptions,
): Promise<Page> {
  const context = await openContext(browser, { viewport: { width: 1280, height: 800 }, ...contextOptions });
  if (as !== 'nobody') {
    const credential = JSON.stringify({ kind: 'apiKey', apiKey: apiKeyOf(as) });
    await context.addInitScript(`sessionStorage['headroom.credential'] ??= ${JSON.stringify(credential)}`);
  }
  const page = await context.newPage();
  const note = (text: string) => {
    if (expected?.test(text) !== true) complaints.push(text);
  };
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') note(message.text());
  });
  page.on('pageerror', (error) => note(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(httpUrl)) note(`asked elsewhere: ${request.url()}`);
  });
  await page.goto(`${httpUrl}/#${hash}`);
  return page;
}

const SECRET = 'anotherSecretOfThisTenant';

/** The tenant with two more keys: `usual000` without credentials:write, `onlycred` with this scope alone. */
export function withFewerScopes(tenant: ProvisionedTenant): ProvisionedTenant {
  const keyWith = (id: string, scopes: readonly Scope[]) => ({
    id,
    secretHash: hashSecret(SECRET),
    scopes,
    expiresAtMs: null,
  });
  const more = [keyWith('usual000', USUAL_SCOPES), keyWith('onlycred', ['credentials:write'])];
  return { ...tenant, apiKeys: [...tenant.apiKeys, ...more] };
}

/** With a key of `withFewerScopes`. */
export async function signInAs(page: Page, keyId: string): Promise<void> {
  await page.locator('input[name=apiKey]').fill(formatApiKey(keyId, SECRET));
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Light and dark; light alone in a run without all cases, as `location-page` is dark. */
export function colorSchemes(): readonly ('light' | 'dark')[] {
  return (['light', 'dark'] as const).slice(0, casesOf(2));
}

/**
 * The sideways scroll range of the page, px: nothing should be cut off at its right edge. Charts follow the width of
 * the window a little later, so a page that is too wide is checked again.
 */
export async function sidewaysScroll(page: Page): Promise<number> {
  const root = 'document.documentElement';
  const patience = new Patience();
  for (;;) {
    const scrollPx = Number(await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`));
    if (scrollPx <= 0 || !(await patience.lasts())) return scrollPx;
  }
}

/** Texts of the page that an ellipsis cuts off. */
export function cutTexts(page: Page, selector: string): Promise<readonly string[]> {
  return page
    .locator(selector)
    .evaluateAll((all) =>
      all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent ?? ''),
    );
}

function membersOf({ tenantUuid, locations }: ProvisionedTenant): readonly FleetMember[] {
  return locations.flatMap(({ locationId, chargers }) =>
    chargers.map(({ controllerUuid, connectors }) => ({
      address: { tenantUuid, locationId, controllerUuid },
      username: `${tenantUuid}/${controllerUuid}`,
      password: CHARGER_PASSWORD,
      connectors,
    })),
  );
}
