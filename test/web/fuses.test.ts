// The page of a location with fuses shows the current of each phase, and which of them is full.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import { databaseUrlOf } from '../../src/config.js';
import { putPowerMinutes } from '../../src/features/power-history/rows.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { CHARGER_PASSWORD, HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { IN_UTC, inputOf } from './location-figures.js';

describe('The page of a location with fuses', ON_PAGES, () => {
  let rig: DashboardRig;
  beforeAll(async () => {
    const chargers = (['R', 'S', 'S', 'T'] as const).map((rotation, i) => ({
      controllerUuid: `q1-${i + 1}` as ControllerUuid,
      mqttSecretHash: hashSecret(CHARGER_PASSWORD),
      feeder: i === 3 ? 'hall' : null,
      connectors: [
        {
          connectorId: '1' as ConnectorId,
          voltageV: 230,
          maxCurrentA: 32,
          failsafeA: 0,
          rotation,
          ...({ phases: 1, status: 'ACTIVE' } as const),
        },
      ],
    }));
    const fuses = {
      connection: { currentA: [63, 40, 63], voltageV: 230 },
      feeders: [{ name: 'hall', currentA: [63, 63, 20], parent: null }],
    } as const;
    const plain = site('quay-2');
    rig = await createDashboardRig({
      tenants: [tenantWith(HARBOUR, [{ ...site('quay-1'), ...fuses, chargers }, plain])],
    });
  });
  afterAll(() => rig.stop());

  it('has three bars for the connection and each feeder, and marks a full phase', async () => {
    const page = await rig.open({ hash: '/locations/quay-1' });
    const section = page.getByLabel('Fuses');
    const row = (fuse: string, phase: string) =>
      section.getByRole('table', { name: fuse }).getByRole('row', { name: new RegExp(`^${phase}`) });
    await eventually(async () => expect(await row('Connection', 'L2').innerText()).toContain('full'));
    await eventually(async () =>
      expect(await row('hall', 'L3').innerText()).toMatch(/full[\s\S]*20\.0\s+20\.0\s+20/),
    );
    await eventually(async () => {
      const text = await row('Connection', 'L1').innerText();
      expect(text).toMatch(/\s32\.0\s+63/);
      expect(text).not.toContain('full');
    });
    await page.getByRole('button', { name: /why q1-2/i }).click();
    await eventually(async () =>
      expect(await page.getByRole('dialog').innerText()).toContain('Phase L2 of the connection is full'),
    );
    await page.keyboard.press('Escape');
    await expectAccessible(page);
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await sidewaysScroll(page)).toBe(0);
    await rig.closePages();
  });

  it('draws the currents over time of all chargers, or of the chargers below a feeder', async () => {
    const minute = {
      atMs: Math.floor(Date.now() / 60_000) * 60_000 - 10 * 60_000,
      meanW: 7_400,
      maxW: 9_100,
      estimatedW: null,
      meanLimitW: 50_000,
      limitW: 33_000,
      building: null,
      currents: { meanTenthsA: [101, 52, 0], maxTenthsA: [163, 80, 0] },
      feeders: [{ name: 'hall', meanTenthsA: [20, 0, 0], maxTenthsA: [47, 0, 0] }],
    } as const;
    const knex = openDatabase(databaseUrlOf(rig.service.config));
    const locationId = 'quay-1' as LocationId;
    await knex.transaction((trx) => putPowerMinutes(trx, [{ tenantUuid: HARBOUR, locationId, minute }]));
    await knex.destroy();
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-1' });
    const chart = page.getByRole('figure', { name: 'Amperes on each phase' });
    await chart.getByText(/^The chargers drew at most .* on L2/).waitFor();
    await page.getByLabel('Amperes of').selectOption('hall');
    await chart.getByText(/^The chargers below hall drew at most .* on L1, 0.0 A on L2/).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Amperes of').selectOption('all chargers');
    await chart.getByText(/^The chargers drew at most .* on L1, (?!0.0 A)/).waitFor();
    await page.getByRole('button', { name: 'Look back' }).click();
    await page.getByLabel('As of').fill(inputOf(minute.atMs + 30_000));
    const past = page.getByRole('region', { name: 'Fuses as they were' });
    const row = async (fuse: string, phase: string) => {
      const cells = past
        .getByRole('table', { name: fuse })
        .getByRole('row', { name: new RegExp(`^${phase}`) });
      return (await cells.innerText()).split(/\s+/);
    };
    await eventually(async () => {
      expect(await row('Connection', 'L1')).toEqual(['L1', '26', '%', '10.1', '16.3', '63']);
      expect(await row('Connection', 'L2')).toEqual(['L2', '20', '%', '5.2', '8.0', '40']);
      expect(await row('hall', 'L1')).toEqual(['L1', '7', '%', '2.0', '4.7', '63']);
      expect(await row('hall', 'L3')).toEqual(['L3', '0', '%', '0.0', '0.0', '20']);
    });
    await past.getByText('The current of a single connector, and entitlements, are not kept.').waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByLabel('As of').fill(inputOf(minute.atMs - 30_000));
    await eventually(async () => expect(await row('hall', 'L1')).toEqual(['L1', '–', '–', '63']));
    await page.getByLabel('Fuses', { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByLabel('Fuses', { exact: true }).waitFor();
    await past.waitFor({ state: 'detached' });
    await rig.closePages();
  });

  it('has no section for fuses without a fuse', async () => {
    const page = await rig.open({ hash: '/locations/quay-2' });
    await eventually(async () => expect(await page.getByLabel('Now').count()).toBe(1));
    expect(await page.getByLabel('Fuses').count()).toBe(0);
    await rig.closePages();
  });
});
