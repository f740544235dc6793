// Ended charging sessions on the page of a location.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { type ChargerClient, connectCharger } from '../service/charger-client.js';
import { HARBOUR, site, tenantWith } from '../service/running-service.js';
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

  /** A car needs 10 kWh, and leaves with `energyWh`. */
  async function visit(connectorId: string, energyWh: number): Promise<void> {
    await charger.meter(connectorId, { ...CAR, session: `car-${connectorId}`, energyWh: 0 });
    const path = `/chargers/depot-a/connectors/${connectorId}/session`;
    const need = { departureTime: inSeconds(3_600), energyNeedKwh: 10 };
    await eventually(async () => expect((await rig.service.call('PUT', path, need)).status).toBe(200));
    await charger.meter(connectorId, { ...NO_CAR, energyWh });
  }

  it('show the energy of each car, and if it had its need when it left', async () => {
    await visit('1', 9_800);
    await visit('2', 4_000);
    const page = await rig.open({ hash: '/locations/depot', viewport: { width: 360, height: 800 } });
    await eventually(async () => {
      const rows = await rowsOf(page, 'Ended sessions');
      expect(rows.map(([connector, , energy]) => [connector, energy]).sort()).toEqual([
        ['depot-a/1', '9.8 kWh Kept'],
        ['depot-a/2', '4.0 kWh Missed 6.0 kWh Left early'],
      ]);
    });
    await expectAccessible(page);
    expect(await sidewaysScroll(page)).toBe(0);
  });
});
