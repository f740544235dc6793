// Extension: all locations at a glance, and one live, with each connector's entitlement, draw and reason.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alarmListSchema } from '../../src/features/alarms/contract.js';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationListSchema } from '../../src/features/locations/contract.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { type ChargerClient, connectCharger } from './charger-client.js';
import { at, NOW, type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, RIVAL, site, tenantWith } from './running-service.js';

const SITES = ['e-quay', 'b-quay', 'd-quay', 'a-quay', 'c-quay', 'busy', 'shared', 'partner'];

let service: OperatedService;
let charger: ChargerClient;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(HARBOUR, [...SITES.map((id) => site(id)), { ...site('empty'), chargers: [] }]),
    tenantWith(RIVAL, [site('a-quay', { permanentLimitKw: 99 })]),
  ]);
  charger = await connectCharger(service.mqttUrl, 'busy');
});
afterAll(async () => {
  await charger.stop();
  await service.stop();
});

const live = (locationId: string) => service.read(`/locations/${locationId}/live`, locationLiveSchema);

async function schedule(path: string, limitKw: number) {
  const body = { priority: 3, limitKw, startTime: NOW, endTime: at('18:00') };
  expect((await service.call('POST', path, body)).status).toBe(200);
}

/** Sends heartbeats of a drawing car until `check` holds; time passes only in the service's own steps. */
function reportUntil(check: () => Promise<void>): Promise<unknown> {
  return eventually(async () => {
    await charger.meter('1', { status: 'Charging', powerW: 11_040, currentA: [16, 16, 16] });
    service.clock.advance(200);
    await check();
  });
}

describe('A location without chargers', () => {
  it('has all of its limit as budget, also after that changed, and reserves nothing', async () => {
    expect(await live('empty')).toMatchObject({
      gridLimitKw: 50,
      budgetKw: 50,
      reservedKw: 0,
      connectors: [],
    });
    await schedule('/locations/empty/schedules', 12);
    expect(await live('empty')).toMatchObject({ gridLimitKw: 12, budgetKw: 12, reservedKw: 0 });
  });
});

describe('GET /locations', () => {
  it('lists the locations of the tenant in the order of their ids', async () => {
    const list = await service.read('/locations', locationListSchema);
    const all = [...SITES, 'empty'].sort();
    expect(list.locations.map(({ locationId }) => locationId)).toEqual(all);
    expect(list).toMatchObject({ count: all.length, nextCursor: null });
    expect(list.locations[0]).toEqual({
      locationId: 'a-quay',
      name: 'The a-quay',
      status: 'ACTIVE',
      permanentLimitKw: 50,
      effectiveLimitKw: 50,
      gridLimitKw: 50,
      actualKw: 0,
      estimatedKw: null,
      connectors: 2,
      silentConnectors: 2,
      lockedConnectors: 0,
      openAlarms: 0,
    });
    const rivals = bodyOf(await service.call('GET', '/locations', undefined, RIVAL), locationListSchema);
    expect(rivals.locations).toMatchObject([{ locationId: 'a-quay', permanentLimitKw: 99 }]);
  });

  it('comes in pages that join without a gap', async () => {
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: { locations: { locationId: string }[]; nextCursor: string | null } = await service.read(
        `/locations?limit=3&cursor=${cursor}`,
        locationListSchema,
      );
      seen.push(...page.locations.map(({ locationId }) => locationId));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual([...SITES, 'empty'].sort());
  });

  it.each(['limit=0', 'limit=1001', 'cursor=%20', 'limit=2&limit=3'])('refuses %s', async (query) => {
    const [name = ''] = query.split('=');
    const answer = await service.call('GET', `/locations?${query}`);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(new RegExp(`^${name}: `));
  });

  it('counts locks and shows the limit that is enforced beside the effective one', async () => {
    await schedule('/chargers/c-quay-a/connectors/1/schedules', 11);
    await schedule('/locations/c-quay/schedules', 200);
    const { locations } = await service.read('/locations', locationListSchema);
    expect(locations.find(({ locationId }) => locationId === 'c-quay')).toMatchObject({
      effectiveLimitKw: 200,
      gridLimitKw: 80,
      lockedConnectors: 1,
    });
  });
});

describe('GET /locations/{locationId}/live', () => {
  it('answers 404 for a location that is unknown', async () => {
    refusalOf(await service.call('GET', '/locations/nowhere/live'), 'LOCATION_NOT_FOUND');
  });

  it('names the rule that sets the limit: permanent limit, profile, connection or cluster', async () => {
    expect(await live('b-quay')).toMatchObject({
      gridLimitKw: 50,
      gridLimitCause: { kind: 'permanentLimit' },
    });
    service.clock.advance(1000);
    expect(await live('b-quay')).toMatchObject({ budgetKw: 50 });
    await schedule('/locations/b-quay/schedules', 22);
    expect(await live('b-quay')).toMatchObject({
      gridLimitKw: 22,
      budgetKw: 22,
      gridLimitCause: { kind: 'profile', priority: 3, startTime: NOW, endTime: at('18:00') },
    });
    await schedule('/locations/d-quay/schedules', 300);
    expect(await live('d-quay')).toMatchObject({
      gridLimitKw: 80,
      effectiveLimitKw: 300,
      gridLimitCause: { kind: 'physicalConnection' },
    });
    const request = { name: 'Both', locationIds: ['shared', 'partner'], limitKw: 60 };
    const { clusterId } = bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201);
    expect(await live('shared')).toMatchObject({
      gridLimitKw: 30,
      effectiveLimitKw: 50,
      gridLimitCause: { kind: 'clusterShare', clusterId },
    });
    const wide = { limitKw: 100 };
    await service.call('PATCH', `/clusters/${clusterId}`, wide);
    await eventually(async () => {
      service.clock.advance(200);
      expect(await live('shared')).toMatchObject({ gridLimitCause: { kind: 'permanentLimit' } });
    });
  });

  it('shows the fail-safe of a charger that never sent a message', async () => {
    const { connectors, reservedKw } = await live('e-quay');
    expect(connectors[0]).toMatchObject({
      controllerUuid: 'e-quay-a',
      connectorId: '1',
      link: 'offline',
      chargingStatus: null,
      limitA: null,
      limitKw: null,
      heartbeatS: 10,
      leaseTtlS: 60,
      leaseLeftSeconds: null,
      lastHeardSecondsAgo: null,
      reason: 'failsafe',
      explanation:
        'The charger receives no limit until it answers. When its last lease ends, it falls back to its fail-safe of 6 A by itself.',
    });
    // Its fallback current stays reserved all the same.
    expect(reservedKw).toBeGreaterThan(0);
  });

  it('shows limit, lease, draw and reason of a car that charges, and the effect of a lock', async () => {
    await reportUntil(async () => {
      const [connector] = (await live('busy')).connectors;
      expect(connector).toMatchObject({ link: 'online', chargingStatus: 'Charging', actualKw: 11.04 });
      expect(connector?.limitA).toBe(32);
    });
    const { connectors, actualKw, budgetKw, reservedKw, gridLimitKw } = await live('busy');
    const [connector] = connectors;
    expect(connector?.reason).toBe('maximum');
    expect(connector?.explanation).toBe('The connector is not limited: it may draw its maximum of 32 A.');
    expect(connector?.leaseLeftSeconds).toBeGreaterThan(0);
    expect(connector?.lastHeardSecondsAgo).toBe(0);
    expect(actualKw).toBe(11.04);
    expect(budgetKw).toBe(gridLimitKw);
    expect(reservedKw).toBeLessThanOrEqual(budgetKw);
    expect(connectors.reduce((sum, each) => sum + each.reservedKw, 0)).toBeCloseTo(reservedKw, 9);

    await schedule('/chargers/busy-a/connectors/1/schedules', 7);
    await reportUntil(async () => {
      const [locked] = (await live('busy')).connectors;
      expect(locked).toMatchObject({ lockLimitKw: 7, reason: 'lock' });
      expect(locked?.explanation).toBe(
        'A profile locks the connector: it runs up to 7.0 kW, independently of the others.',
      );
    });
    for (const [limitKw, sentence] of [
      [2, 'A profile locks the connector at 2.0 kW, but no car can use less than 6 A: it runs up to 4.6 kW.'],
      [50, 'A profile locks the connector: it runs up to its maximum of 32 A, independently of the others.'],
    ] as const) {
      await schedule('/chargers/busy-a/connectors/1/schedules', limitKw);
      await reportUntil(async () => {
        expect((await live('busy')).connectors[0]).toMatchObject({
          lockLimitKw: limitKw,
          explanation: sentence,
        });
      });
    }
  });

  it('lists the alarms that last, also in the list of alarms', async () => {
    charger.vanish();
    await eventually(async () => {
      service.clock.advance(1000);
      expect((await live('busy')).alarms).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ kind: 'OFFLINE', controllerUuid: 'busy-a', endedAt: null }),
        ]),
      );
    });
    const { alarms } = await live('busy');
    const summary = (await service.read('/locations', locationListSchema)).locations.find(
      ({ locationId }) => locationId === 'busy',
    );
    expect(summary?.openAlarms).toBe(alarms.length);
    await eventually(async () => {
      // A timer writes alarms.
      service.clock.advance(1);
      const stored = await service.read('/locations/busy/alarms', alarmListSchema);
      expect(stored.alarms.filter(({ endedAt }) => endedAt === null)).toEqual(expect.arrayContaining(alarms));
    });
  });
});
