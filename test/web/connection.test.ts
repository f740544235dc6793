// A lost connection and an ended credential while a user looks at the dashboard.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import type { Clock } from '../../src/ports/clock.js';
import { eventually } from '../eventually.js';
import { HARBOUR, provision, silentLog, site, tenantWith } from '../service/running-service.js';
import { createDashboardRig, type DashboardRig, ON_PAGES } from './dashboard-rig.js';

/** The browser's message about an unanswered request. */
const UNANSWERED = /Failed to load resource/;
/** Without chargers, no event reaches the page by itself. */
const QUAY = { ...site('quay-1'), chargers: [] };
const TWO_HOURS_MS = 7_200_000;

describe('The dashboard', ON_PAGES, () => {
  let rig: DashboardRig;
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, [QUAY])], seams: { clock } });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  it('reports a lost connection, and reloads all data after reconnection', async () => {
    const page = await rig.open({ expected: UNANSWERED });
    await page.getByText('Live', { exact: true }).waitFor();
    const row = page.getByRole('row').filter({ hasText: 'The quay-1' });
    await row.getByText('50.0').waitFor();
    await rig.cut();
    await page.getByText('Connection lost.').waitFor();
    await page.getByText('Not live').waitFor();
    // The last values stay visible.
    await row.getByText('50.0').waitFor();
    // The page receives no event about a change made meanwhile.
    const renamed = { ...QUAY, name: 'The renamed quay' };
    await provision(rig.service.config, tenantWith(HARBOUR, [renamed]));
    await rig.startAgain();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'The renamed quay' }).waitFor();
    await page.getByText('The connection is back').waitFor();
    await page.getByText('Connection lost.').waitFor({ state: 'detached' });
  });

  it('renews the token and the stream after the token expires', async () => {
    const page = await rig.open({ as: 'nobody', expected: UNANSWERED });
    await page.getByLabel('Client credentials').check();
    await page.getByLabel('Client id').fill(`client-${HARBOUR.slice(0, 8)}`);
    await page.getByLabel('Client secret').fill('client secret');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    const renewed = page.waitForRequest((request) => request.url().endsWith('/v1/oauth/token'));
    const opened = page.waitForResponse((response) => {
      return response.url().endsWith('/v1/stream') && response.status() === 200;
    });
    // The service's clock advances by more than a token's life; the page's clock does not.
    aheadMs += TWO_HOURS_MS;
    await renewed;
    await opened;
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 17 });
    await page.getByRole('row').filter({ hasText: 'quay' }).getByText('17.0').waitFor();
  });

  it('returns to the sign-in after the key is revoked, and shows the reason', async () => {
    const page = await rig.open({ expected: UNANSWERED });
    await page.getByText('Live', { exact: true }).waitFor();
    const administration = await createAdministration({
      databaseUrl: databaseUrlOf(rig.service.config),
      log: silentLog,
    });
    await administration.endCredential('apiKey', HARBOUR.slice(0, 8), 0);
    await administration.close();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.getByRole('alert').waitFor();
    await eventually(async () => {
      expect(await page.evaluate("sessionStorage['headroom.credential']")).toBeUndefined();
    });
  });
});
