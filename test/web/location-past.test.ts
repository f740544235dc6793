// The past on the page of a location; names that contain markup; and a location of 200 connectors.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ControllerUuid, LocationId } from '../../machines/values/ids.js';
import { databaseUrlOf } from '../../src/config.js';
import { putPowerMinutes } from '../../src/features/power-history/rows.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { eventually } from '../eventually.js';
import { HARBOUR, provisionAt, site, tenantWith } from '../service/running-service.js';
import { expectAccessible } from './accessibility.js';
import { createDashboardRig, type DashboardRig, ON_PAGES } from './dashboard-rig.js';
import { figureOf, IN_UTC, inputOf, inSeconds, rowsOf } from './location-figures.js';

const HOSTILE = `<img src=x onerror="document.title='run'"><b>bold</b>"'&amp;/..%2F`;
const CHARGERS = 100;

/** A location of that name with chargers of two connectors each. */
function named(
  locationId: string,
  name: string,
  controllerUuids: readonly string[],
): ProvisionedTenant['locations'][number] {
  const { chargers, ...location } = site(locationId);
  return {
    ...location,
    name,
    chargers: chargers.flatMap((charger) =>
      controllerUuids.map((uuid) => ({ ...charger, controllerUuid: uuid as ControllerUuid })),
    ),
  };
}

const depotChargers = Array.from({ length: CHARGERS }, (_, i) => `depot-${i + 1}`);

describe('The page of a location without chargers', ON_PAGES, () => {
  let rig: DashboardRig;

  beforeAll(async () => {
    rig = await createDashboardRig({
      tenants: [
        tenantWith(HARBOUR, [
          site('quay-1'),
          site('quay-2'),
          named('odd:1.x', HOSTILE, ['odd:1.x-_']),
          named('depot', 'Depot', depotChargers),
        ]),
      ],
      traffic: 'none',
    });
  });
  afterEach(() => rig.closePages());
  afterAll(() => rig.stop());

  it('shows the profiles and limits of a past instant, also replaced ones, and returns to now', async () => {
    const window = { startTime: inSeconds(-60), endTime: inSeconds(7200) };
    const submit = (limitKw: number) =>
      rig.service.call('POST', '/locations/quay-1/schedules', { ...window, limitKw, priority: 6 });
    await submit(33);
    // The page chooses whole seconds.
    const thenMs = Math.ceil(Date.now() / 1000) * 1000;
    await eventually(() => expect(Date.now()).toBeGreaterThan(thenMs + 500));
    await submit(22);
    await rig.service.call('PUT', '/locations/quay-1/limit', { limitKw: 41 });

    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-1' });
    const now = page.getByRole('region', { name: 'Now', exact: true });
    await eventually(async () => expect(await figureOf(now, 'Effective limit')).toBe(22));
    await page.getByRole('button', { name: 'Look back' }).press('Enter');
    await page.getByLabel('As of').and(page.locator(':focus')).fill(inputOf(thenMs));
    const past = page.getByRole('region', { name: 'As it was' });
    await eventually(async () => {
      expect(await figureOf(past, 'Effective limit')).toBe(33);
      expect(await figureOf(past, 'Permanent limit')).toBe(50);
      expect((await rowsOf(page, 'Profiles as they were'))[0]?.slice(0, 3)).toEqual([
        '6',
        '33.0 kW',
        'ACTIVE decides',
      ]);
    });
    await past.getByText('PAST: as it was at').waitFor();
    await now.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Set a schedule' }).waitFor({ state: 'detached' });
    await expectAccessible(page);
    await page.getByRole('slider').press('End');
    await eventually(async () => expect(await figureOf(past, 'Effective limit')).toBe(22));
    await page.getByRole('button', { name: 'Back to now' }).press('Enter');
    await page.getByRole('button', { name: 'Look back' }).and(page.locator(':focus')).waitFor();
    await eventually(async () => expect(await figureOf(now, 'Permanent limit')).toBe(41));
    await page.getByRole('button', { name: 'Set a schedule' }).waitFor();
  });

  it('shows the power of a past minute in figures and chart', async () => {
    const minuteMs = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000;
    const minute = {
      atMs: minuteMs,
      meanW: 7_400,
      maxW: 9_100,
      estimatedW: null,
      meanLimitW: 50_000,
      limitW: 33_000,
      currents: { meanTenthsA: [101, 52, 0], maxTenthsA: [163, 80, 0] },
      feeders: [],
      building: { meanW: 21_300, maxW: 24_900, meanReserveW: 4_000 },
    } as const;
    const knex = openDatabase(databaseUrlOf(rig.service.config));
    const locationId = 'quay-1' as LocationId;
    await knex.transaction((trx) => putPowerMinutes(trx, [{ tenantUuid: HARBOUR, locationId, minute }]));
    await knex.destroy();
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-1' });
    await page.getByRole('button', { name: '6 h' }).click();
    // The sentence does not cover the hours before that minute.
    const [time = ''] = inputOf(minuteMs).match(/:\d\d:\d\d$/) ?? [];
    const sentence = 'the power was between 0.0 kW and 7.4 kW, as far as it is recorded: from';
    await page
      .locator('figcaption')
      .getByText(new RegExp(`${sentence}[^:]*${time}.* to `))
      .waitFor();
    await page.getByRole('button', { name: 'Look back' }).click();
    await page.getByLabel('As of').fill(inputOf(minuteMs + 30_000));
    const past = page.getByRole('region', { name: 'As it was' });
    await eventually(async () => {
      expect(await figureOf(past, 'Drew')).toBe(7.4);
      expect(await figureOf(past, 'Peak')).toBe(9.1);
      expect(await figureOf(past, 'Limit in force')).toBe(50);
      expect(await figureOf(past, 'Building')).toBe(21.3);
      expect(await figureOf(past, 'Reserve')).toBe(4);
      await past.getByText('mean of that minute, highest 24.9 kW').waitFor();
      await past.getByText('mean of that minute, lowest 33.0 kW').waitFor();
    });
    // The ratings of past fuses are no longer recorded; the currents are.
    await eventually(async () => {
      expect(await rowsOf(page, 'All chargers')).toEqual([
        ['L1 ', '', '10.1', '16.3', '–'],
        ['L2 ', '', '5.2', '8.0', '–'],
        ['L3 ', '', '0.0', '0.0', '–'],
      ]);
    });
    const took = 'The building took at most 21.3 kW, and 25.3 kW with its reserve.';
    await page.locator('figcaption').getByText(took).waitFor();
    const phases = page.getByRole('figure', { name: 'Amperes on each phase' });
    await phases.getByText('The chargers drew at most 16.3 A on L1, 8.0 A on L2, 0.0 A on L3.').waitFor();
    await expectAccessible(page);
  });

  it('starts at the beginning of the recorded past, also for a new location', async () => {
    const page = await rig.open({ ...IN_UTC, hash: '/locations/quay-2' });
    await page.getByRole('button', { name: 'Look back' }).click();
    const past = page.getByRole('region', { name: 'As it was' });
    await eventually(async () => expect(await figureOf(past, 'Permanent limit')).toBe(50));
    await page.getByRole('slider').press('Home');
    await eventually(async () => {
      expect(await past.getAttribute('aria-busy')).toBe('false');
      expect(await page.getByRole('figure', { name: 'Amperes on each phase' }).count()).toBe(0);
      expect(await figureOf(past, 'Permanent limit')).toBe(50);
    });
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('reports that the location did not exist yet at a past instant', async () => {
    await provisionAt(Date.now(), rig.service.config, tenantWith(HARBOUR, [site('new-quay')]));
    await eventually(async () => {
      expect((await rig.service.call('GET', '/locations/new-quay/limits')).status).toBe(200);
    });
    const page = await rig.open({ ...IN_UTC, hash: '/locations/new-quay', expected: /status of 404/ });
    await page.getByRole('button', { name: 'Look back' }).click();
    await page.getByLabel('As of').fill('2001-06-01T12:00:00');
    await page.getByRole('alert').getByText('Location new-quay did not exist').waitFor();
  });

  it('shows names and ids from the address as text', async () => {
    const page = await rig.open({ ...IN_UTC, hash: '/locations/odd%3A1.x' });
    await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor();
    await page.getByRole('button', { name: 'why odd:1.x-_ / 1 has this limit' }).click();
    await page.getByRole('dialog', { name: 'odd:1.x-_ / 1' }).getByRole('table', { name: 'Locks' }).waitFor();
    const other = await rig.open({
      ...IN_UTC,
      hash: `/locations/${encodeURIComponent(HOSTILE)}`,
      expected: /status of 404/,
    });
    await other.getByRole('heading', { level: 1, name: HOSTILE }).waitFor();
    await other.getByRole('alert').waitFor();
    for (const shown of [page, other]) {
      expect(await shown.title()).not.toBe('run');
      expect(await shown.locator('main img, main b').count()).toBe(0);
    }
  });

  it('finds one of 200 connectors by its name', async () => {
    const page = await rig.open({ ...IN_UTC, hash: '/locations/depot' });
    const table = page.getByRole('table', { name: 'Connectors' });
    await page.getByRole('heading', { name: 'Connectors: 200' }).waitFor();
    await eventually(async () => expect(await table.getAttribute('aria-rowcount')).toBe('201'));
    await page.getByLabel('Filter connectors').fill('depot-77 / 2');
    await eventually(async () => {
      expect((await rowsOf(page, 'Connectors')).map(([name]) => name?.trim())).toEqual(['depot-77 / 2']);
    });
    await page.getByLabel('Filter connectors').fill('nothing of the kind');
    await page.getByText('No connector has this name.').waitFor();
  });

  it('reports an unknown location', async () => {
    const page = await rig.open({ ...IN_UTC, hash: '/locations/nowhere', expected: /status of 404/ });
    await page.getByRole('alert').getByText('nowhere').waitFor();
    await page.getByRole('link', { name: 'All locations' }).waitFor();
    await eventually(async () => expect(await page.getByRole('region').count()).toBe(0));
    await page.getByRole('button', { name: 'Look back' }).waitFor({ state: 'detached' });
  });
});
