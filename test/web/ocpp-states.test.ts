// States of connectors behind an OCPP gateway, in words, beside connectors without one.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { type ChargerClient, connectCharger } from '../service/charger-client.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES, sidewaysScroll } from './dashboard-rig.js';
import { rowsOf } from './location-figures.js';

const LONG = `it does not answer SetChargingProfile: ${'no answer came '.repeat(10)}`.slice(0, 200).trim();

describe('A connector behind an OCPP gateway', ON_PAGES, () => {
  let rig: DashboardRig;
  let charger: ChargerClient;

  beforeAll(async () => {
    rig = await createDashboardRig({ tenants: [tenantWith(HARBOUR, [site('quay-1')])], traffic: 'none' });
    charger = await connectCharger(rig.service.mqttUrl, 'quay-1');
  });
  afterEach(() => rig.closePages());
  afterAll(async () => {
    await charger.stop();
    await rig.stop();
  });

  /** The charger's own words for connector 1; connector 2 has no state of a gateway. */
  async function describeFirst(words: object): Promise<void> {
    const own = { phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'none', keepsThen: true };
    const connectors = [
      { id: '1', ...own, ...words },
      { id: '2', ...own },
    ];
    const state = { v: 1, online: true, boot: 'boot-1', connectors };
    await charger.client.publishAsync(charger.topic('state'), JSON.stringify(state), {
      qos: 1,
      retain: true,
    });
    for (const id of ['1', '2']) await charger.meter(id, { powerW: 0, status: 'Available' });
  }

  async function stateCells(page: Page): Promise<readonly (string | undefined)[]> {
    return (await rowsOf(page, 'Connectors')).map(([, state]) => state);
  }

  it.each([
    ['booting', 'Starting'],
    ['configuring', 'Being configured'],
    ['installingFailsafe', 'Takes its fail-safe'],
    ['provingLease', 'Proving its lease'],
    ['leased', 'Leased'],
    ['unleased', 'Not leased'],
    ['rejected', 'Rejected by its management system'],
    ['disconnected', 'Disconnected'],
  ])(
    'has the state %s shown as "%s", and its neighbour without a gateway has none',
    async (ocppState, words) => {
      await describeFirst({ ocppState });
      const page = await rig.open({ hash: '/locations/quay-1' });
      await eventually(async () => {
        const [first, second] = await stateCells(page);
        expect(first).toMatch(new RegExp(`${words}$`));
        expect(second).toMatch(/No car is plugged in\. OCPP: Available\.$/);
      });
    },
  );

  it('has the reason against its lease beside the state, in the list and whole in its dialog', async () => {
    await describeFirst({ ocppState: 'unleased', whyNoLease: LONG });
    const page = await rig.open({ hash: '/locations/quay-1' });
    const words = page.getByRole('row').getByTitle(`Not leased: ${LONG}`);
    await words.first().waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
    await page.getByRole('button', { name: /why quay-1-a \/ 1 has this limit/ }).click();
    const behind = page.getByRole('dialog').getByRole('region', { name: 'Behind the OCPP gateway' });
    await behind.getByText(`Not leased: ${LONG}.`).waitFor();
    await describeFirst({ ocppState: 'leased', lease: 'heartbeat' });
    await behind.getByText('Leased', { exact: true }).waitFor();
    await describeFirst({});
    await behind.waitFor({ state: 'detached' });
  });

  it('has it shown on a phone too, without scrolling sideways', async () => {
    await describeFirst({ ocppState: 'rejected', whyNoLease: 'its management system rejects it' });
    const page = await rig.open({ hash: '/locations/quay-1', viewport: { width: 375, height: 780 } });
    await page.locator('.why').getByText('Rejected by its management system', { exact: true }).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
  });
});
