// The dashboard for a user at night, without the documents: states in plain words, and figures that agree.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ControllerUuid, LocationId } from '../../machines/values/ids.js';
import { databaseUrlOf } from '../../src/config.js';
import type { ConnectorLive } from '../../src/features/live/contract.js';
import type { LocationLive } from '../../src/features/live-contract.js';
import { putPowerMinutes } from '../../src/features/power-history/rows.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import { eventually } from '../eventually.js';
import { type ChargerClient, connectCharger } from '../service/charger-client.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { figure, figureOf, IN_UTC, inputOf, rowsOf } from './location-figures.js';

const PHONE = { width: 390, height: 780 };
const { chargers: yardChargers, ...yard } = site('yard');
const YARD = {
  ...yard,
  chargers: yardChargers.flatMap((charger) =>
    ['yard-10', 'yard-9', 'yard-11'].map((uuid) => ({ ...charger, controllerUuid: uuid as ControllerUuid })),
  ),
};
const QUAY_1 = { ...site('quay-1'), connection: { currentA: [32, 63, 63], voltageV: 230 } } as const;
/** Chargers count as offline after two and a half heartbeats, and the tests before may take less. */
const OFFLINE_MS = 90_000;
/** Long enough for a sent limit still to bind when the test checks. */
const LONG_LEASES = { HEADROOM_HEARTBEAT_S: '20', HEADROOM_LEASE_TTL_S: '60', HEADROOM_SETTLE_S: '10' };

describe('The dashboard for a user without the documents', ON_PAGES, () => {
  let rig: DashboardRig;
  const chargers: ChargerClient[] = [];

  beforeAll(async () => {
    rig = await createDashboardRig({
      tenants: [
        tenantWith(HARBOUR, [QUAY_1, site('quay-2', { permanentLimitKw: 20.26 }), YARD, site('depot')]),
      ],
      traffic: 'none',
      environment: LONG_LEASES,
    });
  });
  afterEach(() => rig.closePages());
  afterAll(async () => {
    await Promise.all(chargers.map((charger) => charger.stop()));
    await rig.stop();
  });

  async function connected(locationId: string): Promise<ChargerClient> {
    const charger = await connectCharger(rig.service.mqttUrl, locationId);
    chargers.push(charger);
    return charger;
  }

  async function liveOf(locationId: string): Promise<LocationLive> {
    return (await rig.service.call('GET', `/locations/${locationId}/live`)).body as unknown as LocationLive;
  }

  const now = (page: Page) => page.getByRole('region', { name: 'Now', exact: true });

  it('shows the same number in the figure and in the sentences', async () => {
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-2' });
    await eventually(async () => expect(await figureOf(now(page), 'Limit in force')).toBe(20.3));
    await page.locator('figcaption').getByText('The limit in force is 20.3 kW now.').waitFor();
    const charger = await connected('quay-2');
    await charger.meter('1', { status: 'Charging', powerW: 4_000 });
    await charger.meter('2', { status: 'Charging', powerW: 4_000 });
    await page.getByRole('button', { name: /why quay-2-a \/ 1 has this limit/ }).click();
    await eventually(async () => {
      // Each meter value requests the limit again.
      await charger.meter('1', { status: 'Charging', powerW: 4_000 });
      await charger.meter('2', { status: 'Charging', powerW: 4_000 });
      expect(await page.getByRole('dialog').locator('.explanation').textContent()).toContain(
        'the limit of 20.3 kW',
      );
    });
  });

  it('shows that a car charges, and beside it the reason of its limit', async () => {
    const charger = await connected('depot');
    const powerW = 20_000;
    const connectorOf = async (id: string) =>
      (await liveOf('depot')).connectors.find(({ connectorId }) => connectorId === id) as ConnectorLive;
    await rig.service.call('PUT', '/locations/depot/limit', { limitKw: 24 });
    await eventually(async () => {
      await charger.meter('1', { status: 'Charging', powerW });
      expect((await connectorOf('1')).limitKw).toBeGreaterThan(15);
    });
    // The other car comes while that limit lasts, so its share is not free yet.
    await eventually(async () => {
      await charger.meter('2', { status: 'Charging', powerW: 3_000 });
      expect((await connectorOf('2')).reason).toBe('waiting');
    });
    const page = await rig.open({ ...IN_UTC, hash: '/locations/depot' });
    const row = page
      .getByRole('table', { name: 'Connectors' })
      .getByRole('row')
      .filter({ hasText: 'depot-a / 2' });
    await row.getByRole('button', { name: 'Charging', exact: true }).waitFor();
    await row.getByRole('button', { name: /^More soon: why depot-a \/ 2/ }).waitFor();
    await page.setViewportSize(PHONE);
    await row.locator('.why .narrow-only').filter({ hasText: 'Charging' }).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
  });

  it('shows an overbooked fuse in red, and its current in the alarm', async () => {
    const charger = await connected('quay-1');
    await eventually(async () => {
      for (const connectorId of ['1', '2'])
        await charger.client.publishAsync(
          charger.topic(`c/${connectorId}/meter`),
          JSON.stringify({ v: 1, powerW: 2_000, status: 'Charging' }),
        );
      expect((await liveOf('quay-1')).alarms.map(({ kind }) => kind)).toContain('LIMIT_UNATTAINABLE');
    });
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-1' });
    const fuse = page.getByRole('region', { name: 'Fuses' }).getByRole('table', { name: 'Connection' });
    const phase = (name: string) => fuse.getByRole('row', { name: new RegExp(`^${name}`) });
    await phase('L1').locator('.badge.bad').getByText('overbooked').waitFor();
    await phase('L1').locator('.meter.over').waitFor();
    await now(page)
      .getByText(/The fuse of phase L1 of the connection is overbooked, 64 A of 32 A: /)
      .waitFor();
    await expectAccessible(page);
  });

  it('shows chargers that never connected in one line, and not as an alarm each', async () => {
    await eventually(async () => expect((await liveOf('yard')).alarms).toHaveLength(6), OFFLINE_MS);
    const line = '3 chargers have not connected since the service started: yard-9, yard-10, yard-11';
    const page = await rig.open({ ...IN_UTC, hash: '/locations/yard' });
    await now(page).getByText('Open alarms: 6').waitFor();
    await now(page).getByText(line).waitFor();
    expect(await now(page).locator('.open-alarms li').count()).toBe(1);
    await eventually(async () => {
      const states = (await rowsOf(page, 'Connectors')).map(([, state]) => state);
      expect(states).toHaveLength(6);
      for (const state of states) expect(state).toMatch(/^Never connected/);
    });
    await page.getByRole('link', { name: 'Alarms' }).click();
    const rows = page
      .getByRole('table', { name: 'Open alarms' })
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: 'The yard' }) });
    await rows.getByText(line).waitFor();
    expect(await rows.count()).toBe(1);
    await expectAccessible(page);
  });

  it('explains the budget and the reserve by keyboard and by touch', async () => {
    const page = await rig.open({ ...IN_UTC, hash: '/locations/yard', viewport: PHONE, hasTouch: true });
    for (const [name, explanation] of [
      ['Chargers may get', /^The budget: the limit in force/],
      ['Reserved for chargers', /^The sum of the chargers’ entitlements, by the limits sent to them/],
    ] as const) {
      const word = now(page).getByRole('button', { name, exact: true });
      const shown = now(page).getByRole('tooltip').getByText(explanation);
      await word.focus();
      await shown.waitFor();
      expect(await sidewaysScroll(page)).toBe(0);
      await page.keyboard.press('Escape');
      await shown.waitFor({ state: 'hidden' });
      await word.blur();
      await word.tap();
      await shown.waitFor();
      await expectAccessible(page);
    }
  });

  it('shows the limit in force, and not the mean of a minute', async () => {
    const lastMs = Math.floor(Date.now() / 60_000) * 60_000 - 10 * 60_000;
    const stored = [
      [lastMs - 60_000, 50_000, 50_000],
      // From its 15th second on 22 kW were in force: 29 kW on average.
      [lastMs, 29_000, 22_000],
      [lastMs + 60_000, 22_000, 22_000],
    ] as const;
    const knex = openDatabase(databaseUrlOf(rig.service.config));
    const locationId = 'yard' as LocationId;
    const puts = stored.map(([atMs, meanLimitW, limitW]) => ({
      tenantUuid: HARBOUR,
      locationId,
      minute: {
        atMs,
        meanW: 20_000,
        maxW: 22_000,
        estimatedW: null,
        meanLimitW,
        limitW,
        currents: null,
        feeders: [],
        building: null,
      },
    }));
    await knex.transaction((trx) => putPowerMinutes(trx, puts));
    await knex.destroy();
    const page = await rig.open({ ...IN_UTC, hash: '/locations/yard' });
    const plot = page.locator('.step-plot').first();
    /** The chart's text for an instant of the visible hour: two thirds of it are past. */
    const readout = async (atMs: number) => {
      const box = await plot.boundingBox();
      const share = (atMs - (Date.now() - 2_400_000)) / 3_600_000;
      await plot.hover({ position: { x: 64 + ((box?.width ?? 0) - 94) * share, y: 60 } });
      return page.locator('.readout').textContent();
    };
    await eventually(async () =>
      expect(await readout(lastMs + 40_000)).toMatch(/power 20\.0 kW, .*limit in force 22\.0 kW/),
    );
    await eventually(async () => expect(await readout(lastMs - 30_000)).toContain('limit in force 50.0 kW'));
    await page.getByRole('button', { name: 'Look back' }).click();
    const past = page.getByRole('region', { name: 'As it was' });
    await page.getByLabel('As of').fill(inputOf(lastMs + 50_000));
    await eventually(async () => expect(await figureOf(past, 'Limit in force')).toBe(22));
    await past.getByText('at that instant; it changed in that minute').waitFor();
    await page.getByLabel('As of').fill(inputOf(lastMs + 5_000));
    await eventually(async () => expect(await figureOf(past, 'Limit in force')).toBe(50));
    expect(await figure(past, 'Drew').textContent()).toBe('20.0 kW');
  });
});
