// Extension: departures and needs of cars, over REST and MQTT and by weekday, and their energy over a restart.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Departures, WEEKDAYS } from '../../machines/policy/default-needs.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { sessionSchema } from '../../src/features/departures/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import type { Log } from '../../src/ports/log.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { type ChargerClient, connectCharger } from './charger-client.js';
import {
  HARBOUR,
  provisionAt,
  RIVAL,
  type RunningService,
  runService,
  silentLog,
  site,
  tenantWith,
} from './running-service.js';

const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
/** Two cars have 6 A each, and little remains. */
const depot = () => ({ ...site('depot', { permanentLimitKw: 10 }), policy: 'energy' as const });

const departureAt = (hours: number, energyWh: number): Departures => ({
  timeZone: 'Europe/Berlin',
  rules: [{ days: WEEKDAYS, timeOfDayMs: hours * 3_600_000, need: { energyWh, priority: 2 } }],
});
/** Cars leave at a time of day, and those of connector 2 half an hour earlier. */
function yard(hours: number) {
  const yards = site('yard');
  return {
    ...yards,
    departures: departureAt(hours, 40_000),
    chargers: yards.chargers.map((charger) => ({
      ...charger,
      connectors: charger.connectors.map((connector) => ({
        ...connector,
        departures: connector.connectorId === '2' ? departureAt(hours - 0.5, 7_000) : null,
      })),
    })),
  };
}

const DECLARED = /^session needs/;
const logged: { readonly fields: object; readonly message: string }[] = [];
const log: Log = {
  ...silentLog,
  info: (fields, message) => void (DECLARED.test(message) && logged.push({ fields, message })),
};

let service: RunningService;
const chargers: ChargerClient[] = [];
beforeAll(async () => {
  service = await runService(
    [tenantWith(HARBOUR, [depot(), site('quay'), yard(15)]), tenantWith(RIVAL, [])],
    {
      clock,
      log,
    },
  );
});
afterAll(async () => {
  for (const charger of chargers) await charger.stop();
  await service.stop();
});

async function charger(locationId: string, boot = 'boot-1') {
  const connected = await connectCharger(service.mqttUrl, locationId, { boot });
  chargers.push(connected);
  return connected;
}

const pathOf = (locationId: string, connectorId = '1') =>
  `/chargers/${locationId}-a/connectors/${connectorId}/session`;

const put = (locationId: string, body: unknown, connectorId = '1') =>
  service.call('PUT', pathOf(locationId, connectorId), body);

async function session(locationId: string, connectorId = '1') {
  return bodyOf(await service.call('GET', pathOf(locationId, connectorId)), sessionSchema);
}

const CAR = { status: 'Charging', powerW: 0, currentA: [0, 0, 0] };

describe('a declared session', () => {
  it('needs a car at the connector: SESSION_NOT_FOUND', async () => {
    const client = await charger('quay');
    const answer = await put('quay', { departureTime: '2026-06-01T17:00:00Z' });
    expect(refusalOf(answer, 'SESSION_NOT_FOUND')).toContain('plugged in');
    await client.meter('1', { ...CAR, session: 'a', energyWh: 1000 });
    await eventually(async () =>
      expect(await session('quay')).toMatchObject({ sessionId: 'a', declared: [] }),
    );
  });

  it('is refused with the name of the wrong field', async () => {
    const cases: readonly [unknown, string][] = [
      [{ departureTime: 'tomorrow' }, 'departureTime'],
      [{ departureTime: '2026-06-01T11:59:59Z' }, 'departureTime'],
      [{ energyNeedKwh: -1 }, 'energyNeedKwh'],
      [{ energyNeedKwh: '20' }, 'energyNeedKwh'],
      [{ energyNeedKwh: 5, minimumEnergyKwh: 6 }, 'minimumEnergyKwh'],
      [{ priority: 11 }, 'priority'],
      [{ priority: 1.5 }, 'priority'],
      [{ batteryCapacityKwh: 0 }, 'batteryCapacityKwh'],
      [{ batteryCapacityKwh: 10_001 }, 'batteryCapacityKwh'],
      [{ batteryCapacityKwh: '60' }, 'batteryCapacityKwh'],
      [{ targetSocPercent: 101 }, 'targetSocPercent'],
      [{ targetSocPercent: null }, 'targetSocPercent'],
      [[], 'body'],
    ];
    for (const [body, field] of cases) {
      expect(refusalOf(await put('quay', body), 'INVALID_REQUEST_BODY')).toContain(field);
    }
    expect(await session('quay')).toMatchObject({ declared: [] });
  });

  it('belongs to its tenant', async () => {
    const answer = await service.call('PUT', pathOf('quay'), { priority: 1 }, RIVAL);
    expect(refusalOf(answer, 'CHARGER_NOT_FOUND')).toContain('quay-a');
  });

  it('is logged with its credential, before and after, only if it changes', async () => {
    const declaredBy = { tenantUuid: HARBOUR, controllerUuid: 'quay-a', connectorId: '1', sessionId: 'a' };
    logged.splice(0);
    await service.call('DELETE', pathOf('quay'), undefined, RIVAL);
    for (const priority of [1, 1, 2]) await put('quay', { priority });
    await put('quay', { priority: 11 });
    for (let nth = 0; nth < 2; nth++) await service.call('DELETE', pathOf('quay'));
    const by = `apiKey:${HARBOUR.slice(0, 8)}`;
    const at = (before: object | undefined, after: object | undefined, message: string) => ({
      fields: { ...declaredBy, requestId: expect.any(String), by, before, after },
      message,
    });
    expect(logged).toEqual([
      at(undefined, { priority: 1 }, 'session needs declared'),
      at({ priority: 1 }, { priority: 2 }, 'session needs declared'),
      at({ priority: 2 }, undefined, 'session needs withdrawn'),
    ]);
  });

  it('takes each field from the API before the charger, and counts the energy since the arrival', async () => {
    const [client] = chargers;
    await client?.meter('1', {
      ...CAR,
      session: 'a',
      energyWh: 3500,
      chargingPreferences: { departureTime: '2026-06-01T16:00:00Z', energyNeedKwh: 20 },
    });
    const byApi = { energyNeedKwh: 30, minimumEnergyKwh: 4, priority: 2 };
    await eventually(async () => expect((await session('quay')).declared).toHaveLength(1));
    expect(bodyOf(await put('quay', byApi), sessionSchema)).toEqual({
      controllerUuid: 'quay-a',
      connectorId: '1',
      sessionId: 'a',
      idTag: null,
      deliveredKwh: 2.5,
      preferences: { departureTime: '2026-06-01T16:00:00.000Z', ...byApi },
      declared: [
        { source: 'api', preferences: byApi },
        {
          source: 'charger',
          preferences: { departureTime: '2026-06-01T16:00:00.000Z', energyNeedKwh: 20 },
        },
      ],
      forecast: expect.objectContaining({ energyNeedKwh: 30, deliveredKwh: 2.5, isAtRisk: false }),
    });
  });

  it('survives a restart with its energy, and ends with its car', async () => {
    clock.advance(60_000);
    for (const each of chargers.splice(0)) await each.stop();
    service = await service.restart({ clock, log });
    const client = await charger('quay', 'boot-2');
    await client.meter('1', { ...CAR, session: 'a', energyWh: 4000 });
    await eventually(async () =>
      expect(await session('quay')).toMatchObject({ deliveredKwh: 3, preferences: { priority: 2 } }),
    );
    await client.meter('1', { ...CAR, session: 'b', energyWh: 4000 });
    await eventually(async () =>
      expect(await session('quay')).toMatchObject({ sessionId: 'b', deliveredKwh: 0, declared: [] }),
    );
  });

  it('ends with its session although the charger restarted in between', async () => {
    await put('quay', { priority: 4 });
    const [client] = chargers;
    await client?.stop();
    chargers[0] = await connectCharger(service.mqttUrl, 'quay', { boot: 'boot-2b' });
    await chargers[0].meter('1', { ...CAR, session: 'c', energyWh: 4000 });
    await eventually(async () =>
      expect(await session('quay')).toMatchObject({ sessionId: 'c', declared: [] }),
    );
  });

  it('of a car that left does not come back at a restart', async () => {
    await put('quay', { priority: 5 });
    const left = { status: 'Available', powerW: 0, currentA: [0, 0, 0], session: 'c' };
    await chargers[0]?.meter('1', left);
    await eventually(async () =>
      expect(refusalOf(await put('quay', { priority: 1 }), 'SESSION_NOT_FOUND')).toBeTruthy(),
    );
    clock.advance(60_000);
    for (const each of chargers.splice(0)) await each.stop();
    service = await service.restart({ clock });
    const client = await charger('quay', 'boot-2c');
    await client.meter('1', { ...CAR, session: 'c', energyWh: 4000 });
    await eventually(async () => expect(await session('quay')).toMatchObject({ declared: [] }));
  });

  it('that a charger alone declared survives a restart, too', async () => {
    const [client] = chargers;
    const preferences = { departureTime: '2026-06-01T18:00:00.000Z', energyNeedKwh: 9 };
    await client?.meter('2', { ...CAR, session: 'c', energyWh: 100, chargingPreferences: preferences });
    await client?.meter('2', { ...CAR, session: 'c', energyWh: 1100 });
    await eventually(async () => expect(await session('quay', '2')).toMatchObject({ deliveredKwh: 1 }));
    for (const each of chargers.splice(0)) await each.stop();
    service = await service.restart({ clock, log });
    const again = await charger('quay', 'boot-3');
    await again.meter('2', { ...CAR, session: 'c', energyWh: 1600 });
    await eventually(async () =>
      expect(await session('quay', '2')).toMatchObject({ deliveredKwh: 1.5, preferences }),
    );
    await again.meter('1', { ...CAR, session: 'b', energyWh: 4000 });
    await eventually(async () => expect(await session('quay')).toMatchObject({ sessionId: 'b' }));
  });

  it('loses the declarations of the API by DELETE, which may be repeated', async () => {
    await put('quay', { priority: 3 });
    for (let nth = 0; nth < 2; nth++) {
      const answer = await service.call('DELETE', pathOf('quay'));
      expect(bodyOf(answer, sessionSchema)).toMatchObject({ preferences: {}, declared: [] });
    }
  });
});

describe('a car with a battery of known size', () => {
  const plain = { departureTime: '2026-06-01T18:00:00.000Z', batteryCapacityKwh: 50 };

  it('needs the energy that is missing to its target when the charger reports its state of charge', async () => {
    const [client] = chargers;
    await client?.meter('2', { ...CAR, session: 'd', energyWh: 2_600, chargingPreferences: plain });
    await eventually(async () =>
      expect(await session('quay', '2')).toMatchObject({ sessionId: 'd', preferences: plain }),
    );
    expect((await session('quay', '2')).preferences.energyNeedKwh).toBeUndefined();
    await client?.meter('2', { ...CAR, session: 'd', energyWh: 4_600, socPercent: 40 });
    await eventually(async () =>
      expect(await session('quay', '2')).toMatchObject({ preferences: { ...plain, energyNeedKwh: 32 } }),
    );
    expect(bodyOf(await put('quay', { targetSocPercent: 80 }, '2'), sessionSchema).preferences).toEqual({
      ...plain,
      targetSocPercent: 80,
      energyNeedKwh: 22,
    });
  });

  it('needs no more when its charger repeats the state of charge, also after a restart', async () => {
    const [client] = chargers;
    await client?.meter('2', { ...CAR, session: 'd', energyWh: 5_600, socPercent: 40 });
    await eventually(async () => expect(await session('quay', '2')).toMatchObject({ deliveredKwh: 3 }));
    expect(await session('quay', '2')).toMatchObject({ preferences: { energyNeedKwh: 22 } });
    for (const each of chargers.splice(0)) await each.stop();
    service = await service.restart({ clock, log });
    const again = await charger('quay', 'boot-3b');
    await again.meter('1', { ...CAR, session: 'b', energyWh: 4000 });
    await again.meter('2', { ...CAR, session: 'd', energyWh: 6_600, socPercent: 40 });
    await eventually(async () =>
      expect(await session('quay', '2')).toMatchObject({
        deliveredKwh: 4,
        preferences: { energyNeedKwh: 22 },
      }),
    );
    await again.meter('2', { ...CAR, session: 'd', energyWh: 7_100, socPercent: 50 });
    await eventually(async () =>
      expect(await session('quay', '2')).toMatchObject({ preferences: { energyNeedKwh: 19.5 } }),
    );
  });
});

describe('a location with the policy energy', () => {
  it('gives its power to the car that leaves first, and not to the one that came first', async () => {
    const client = await charger('depot');
    const declares = (departureTime: string) => ({
      ...CAR,
      chargingPreferences: { departureTime, energyNeedKwh: 5 },
    });
    await client.meter('1', declares('2026-06-02T12:00:00Z'));
    await client.meter('2', declares('2026-06-01T13:00:00Z'));
    await eventually(async () => {
      clock.advance(1_000);
      const { connectors } = bodyOf(await service.call('GET', '/locations/depot/live'), locationLiveSchema);
      const [late, soon] = connectors;
      expect(late).toMatchObject({ limitA: 6, reason: 'departure' });
      expect(soon).toMatchObject({ reason: 'departure' });
      expect(soon?.limitA).toBeGreaterThan(7);
    });
  });
});

describe('a location with departures by weekday', () => {
  const preferences = { departureTime: '2026-06-01T13:00:00.000Z', energyNeedKwh: 40, priority: 2 };

  it('declares the next one for each car that arrives, and of each connector its own before', async () => {
    const client = await charger('yard', 'boot-4');
    await client.meter('1', { ...CAR, session: 'a', energyWh: 0 });
    await client.meter('2', { ...CAR, session: 'b', energyWh: 0 });
    await eventually(async () =>
      expect(await session('yard')).toMatchObject({
        preferences,
        declared: [{ source: 'default', preferences }],
      }),
    );
    await eventually(async () =>
      expect(await session('yard', '2')).toMatchObject({
        preferences: { departureTime: '2026-06-01T12:30:00.000Z', energyNeedKwh: 7 },
      }),
    );
  });

  it('gives way to each field that the API declares', async () => {
    const answer = await put('yard', { energyNeedKwh: 12 });
    expect(bodyOf(answer, sessionSchema).preferences).toEqual({ ...preferences, energyNeedKwh: 12 });
    await service.call('DELETE', pathOf('yard'));
    expect(await session('yard')).toMatchObject({ preferences });
  });

  it('keeps the departure of a car that is there over a restart, although it is over', async () => {
    for (const each of chargers.splice(0)) await each.stop();
    clock.advance(70 * 60_000);
    service = await service.restart({ clock, log });
    const client = await charger('yard', 'boot-5');
    await client.meter('1', { ...CAR, session: 'a', energyWh: 9_000 });
    await eventually(async () =>
      expect(await session('yard')).toMatchObject({ deliveredKwh: 9, preferences }),
    );
    await client.meter('2', { ...CAR, session: 'c', energyWh: 9_000 });
    await eventually(async () =>
      expect(await session('yard', '2')).toMatchObject({
        preferences: { departureTime: '2026-06-02T12:30:00.000Z' },
      }),
    );
  });

  it('applies changed departures to the cars that are there, from their arrival on', async () => {
    await provisionAt(clock.nowMs(), service.config, tenantWith(HARBOUR, [yard(15.25)]));
    await eventually(async () => {
      clock.advance(1_000);
      expect(await session('yard')).toMatchObject({
        preferences: { departureTime: '2026-06-01T13:15:00.000Z' },
      });
    });
    const { departures: _, ...none } = yard(15);
    await provisionAt(clock.nowMs(), service.config, tenantWith(HARBOUR, [none]));
    await eventually(async () => {
      clock.advance(1_000);
      expect(await session('yard')).toMatchObject({ preferences: {}, declared: [] });
    });
  });
});
