// Ended charging sessions on the page of a location.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import { createStore } from '../../src/outbound/knex/store.js';
import { eventually } from '../eventually.js';
import { type ChargerClient, connectCharger } from '../service/charger-client.js';
import { HARBOUR, silentLog, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { inSeconds, rowsOf } from './location-figures.js';

const CAR = { status: 'Charging', powerW: 7_000, currentA: [10, 10, 10] };
const NO_CAR = { status: 'Available', powerW: 0, currentA: [0, 0, 0] };

describe('Ended sessions', ON_PAGES, () => {
  let rig: DashboardRig;
  let charger: ChargerClient;

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, [site('depot')])], traffic: 'none' });
    charger = await connectCharger(rig.service.mqttUrl, 'depot');
  });
  afterEach(() => rig.closePages());
  afterAll(async () => {
    await charger.stop();
    await rig.stop();
  });

  /** A car needs 7 kWh, and leaves with `energyWh`. */
  async function visit(connectorId: string, energyWh: number): Promise<void> {
    await charger.meter(connectorId, { ...CAR, session: `car-${connectorId}`, energyWh: 0 });
    const path = `/chargers/depot-a/connectors/${connectorId}/session`;
    const need = { departureTime: inSeconds(3_600), energyNeedKwh: 7 };
    await eventually(async () => expect((await rig.service.call('PUT', path, need)).status).toBe(200));
    await charger.meter(connectorId, { ...NO_CAR, energyWh });
  }

  it('show the energy of each car, and if it had its need when it left', async () => {
    await visit('1', 6_800);
    await visit('2', 2_800);
    const page = await rig.open({ hash: '/locations/depot', viewport: { width: 360, height: 800 } });
    await eventually(async () => {
      const rows = await rowsOf(page, 'Ended sessions');
      expect(rows.map(([connector, , energy]) => [connector, energy]).sort()).toEqual([
        ['depot-a/1', '6.8 kWh Kept'],
        ['depot-a/2', '2.8 kWh Missed 4.2 kWh Left early'],
      ]);
    });
    await expectAccessible(page);
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByLabel('Connector', { exact: true }).selectOption('depot-a/2');
    await eventually(async () => expect(await rowsOf(page, 'Ended sessions')).toHaveLength(1));
    const text = await downloadOf(page, 'Sessions as CSV');
    expect(text).toMatch(/^locationId,controllerUuid,.*\ndepot,depot-a,2,car-2,.*\n$/);
  });

  it('show the energy by day and connector, in any days', async () => {
    const startsAtMs = Date.parse('2026-03-01T00:00:00Z');
    const days = ['2026-03-01', '2026-03-02'].flatMap((day, nth) =>
      ['1', '2'].map((connectorId) => ({
        kind: 'energy.put' as const,
        energy: {
          locationId: 'depot' as LocationId,
          controllerUuid: 'depot-a' as ControllerUuid,
          connectorId: connectorId as ConnectorId,
          day,
          startsAtMs: startsAtMs + nth * 86_400_000,
          quarters: [
            { startsAtMs: startsAtMs + nth * 86_400_000, wh: 5_000 * Number(connectorId), integratedWh: 0 },
          ],
        },
      })),
    );
    const databaseUrl = databaseUrlOf(rig.service.config);
    const store = await createStore({
      databaseUrl,
      log: silentLog,
      clock: systemClock,
      metrics: createMetrics(),
    });
    await store.append(HARBOUR, days);
    await store.close();
    const page = await rig.open({ hash: '/locations/depot', viewport: { width: 360, height: 800 } });
    await page.getByLabel('First day').fill('2026-03-01');
    await page.getByLabel('Last day').fill('2026-03-31');
    const chart = page.getByRole('figure', { name: 'Energy by day' });
    await eventually(async () =>
      expect(await chart.locator('figcaption').textContent()).toBe(
        '30.0 kWh in 31 days, most on Mar 1 with 15.0 kWh.',
      ),
    );
    await page.getByText('By connector').click();
    await eventually(async () =>
      expect((await rowsOf(page, 'Energy by connector')).map((cells) => cells.slice(0, 2))).toEqual([
        ['depot-a/2', '20.0 kWh'],
        ['depot-a/1', '10.0 kWh'],
      ]),
    );
    await expectAccessible(page);
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByLabel('Connector', { exact: true }).selectOption('depot-a/1');
    await eventually(async () =>
      expect(await chart.locator('figcaption').textContent()).toContain('10.0 kWh in 31 days'),
    );
    expect((await downloadOf(page, 'Energy as CSV')).split('\n').slice(1, 3)).toEqual([
      '2026-03-01,depot,depot-a,1,,5,0',
      '2026-03-02,depot,depot-a,1,,5,0',
    ]);
    await page.getByLabel('Last day').fill('2026-03-02');
    await page.getByLabel('First day').fill('2026-03-02');
    await eventually(async () =>
      expect(await chart.locator('figcaption').textContent()).toBe('5.0 kWh on Mar 2.'),
    );
    await page.getByLabel('Last day').fill('2026-02-01');
    await eventually(async () =>
      expect(await page.getByText('Must not be before the first day.').count()).toBe(1),
    );
  });

  it('show the refusal of a span, and no session of the former one', async () => {
    const page = await rig.open({ hash: '/locations/depot', expected: /status of 400/ });
    await eventually(async () => expect(await rowsOf(page, 'Ended sessions')).not.toEqual([]));
    await page.getByLabel('First day').fill('0002-01-01');
    await page.getByLabel('Last day').fill('0002-01-31');
    await page.getByRole('alert').getByText('from 1970 to 9999').waitFor();
    expect(await rowsOf(page, 'Ended sessions')).toEqual([]);
  });
});

async function downloadOf(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ]);
  return readFileSync(await download.path(), 'utf8');
}
