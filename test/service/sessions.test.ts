// Extension: a record of each charging session that has ended.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { sessionSchema } from '../../src/features/departures/contract.js';
import { sessionListSchema } from '../../src/features/sessions/contract.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { type ChargerClient, connectCharger } from './charger-client.js';
import {
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
const TENANTS = [tenantWith(HARBOUR, [site('quay'), site('yard')]), tenantWith(RIVAL, [site('rivals')])];

let service: RunningService;
const chargers: ChargerClient[] = [];
beforeAll(async () => {
  service = await runService(TENANTS, { clock });
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

const CAR = { status: 'Charging', powerW: 7_000, currentA: [10, 10, 10] };
const NO_CAR = { status: 'Available', powerW: 0, currentA: [0, 0, 0] };

const sessions = async (query = '') =>
  bodyOf(await service.call('GET', `/sessions${query}`), sessionListSchema);

/** Waits until the service has counted the reading. */
async function untilDelivered(path: string, deliveredKwh: number) {
  await eventually(async () => {
    const answer = await service.call('GET', `/chargers/${path}/session`);
    expect(bodyOf(answer, sessionSchema)).toMatchObject({ deliveredKwh });
  });
}

async function untilListed(count: number, query = '') {
  await eventually(async () => expect((await sessions(query)).sessions).toHaveLength(count));
  return (await sessions(query)).sessions;
}

describe('a charging session', () => {
  it('is listed once its car has left, with its energy up to then and with its departure', async () => {
    const client = await charger('quay');
    await client.meter('1', { ...NO_CAR, energyWh: 900 });
    await client.meter('1', { ...CAR, session: 'a', energyWh: 1_000, idTag: 'CARD-7' });
    await untilDelivered('quay-a/connectors/1', 0.1);
    const declared = { departureTime: '2026-06-01T16:00:00.000Z', energyNeedKwh: 11 };
    await service.call('PUT', '/chargers/quay-a/connectors/1/session', declared);
    clock.advance(3_600_000);
    await client.meter('1', { ...CAR, powerW: 11_040, session: 'a', energyWh: 9_000 });
    await untilDelivered('quay-a/connectors/1', 8.1);
    expect((await sessions()).sessions).toEqual([]);
    clock.advance(60_000);
    await client.meter('1', { ...NO_CAR, energyWh: 9_150 });
    expect(await untilListed(1)).toEqual([
      {
        locationId: 'quay',
        controllerUuid: 'quay-a',
        connectorId: '1',
        sessionId: 'a',
        idTag: 'CARD-7',
        startTime: '2026-06-01T12:00:00.000Z',
        endTime: '2026-06-01T13:01:00.000Z',
        energyKwh: 8.25,
        energySource: 'register',
        // Each of the two readings was fresh for half a minute.
        chargingMinutes: 1,
        limited: [],
        peakKw: 11.04,
        preferences: declared,
        declaredBy: ['api'],
        departure: { ...declared, missingKwh: 2.75, isKept: false },
      },
    ]);
  });

  it('ends with the next session id, although no reading showed the connector free', async () => {
    const [client] = chargers;
    await client?.meter('1', { ...CAR, session: 'b', energyWh: 9_150 });
    await untilDelivered('quay-a/connectors/1', 0);
    clock.advance(60_000);
    await client?.meter('1', { ...CAR, session: 'c', energyWh: 10_150 });
    await client?.meter('1', { ...CAR, session: 'd', energyWh: 10_200 });
    await client?.meter('1', { ...CAR, session: 'e', energyWh: 10_250 });
    // Two readings of one millisecond are two sessions, too.
    expect((await untilListed(4)).find(({ sessionId }) => sessionId === 'b')).toMatchObject({
      energyKwh: 1,
      departure: null,
      declaredBy: [],
    });
  });

  it('counts the power of a charger without a register, and of one whose register went back', async () => {
    const client = await charger('yard');
    for (const registers of [[], [5_000, 6_000, 200, 1_200]]) {
      for (let nth = 0; nth < 4; nth++) {
        await client.meter('1', {
          ...CAR,
          powerW: 7_200,
          session: `y${registers.length}`,
          energyWh: registers[nth],
        });
        await eventually(async () => {
          const answer = await service.call('GET', '/chargers/yard-a/connectors/1/session');
          expect(bodyOf(answer, sessionSchema).sessionId).toBe(`y${registers.length}`);
        });
        clock.advance(10_000);
      }
      await client.meter('1', NO_CAR);
      await untilListed(registers.length === 0 ? 1 : 2, '?locationId=yard');
    }
    const [backwards, unmetered] = (await sessions('?locationId=yard')).sessions;
    expect(unmetered).toMatchObject({ energyKwh: 0.06, energySource: 'power' });
    expect(backwards).toMatchObject({ energyKwh: 1.04, energySource: 'power' });
  });

  it('goes on over a restart, and stays one session', async () => {
    const [client] = chargers;
    await client?.meter('1', { ...CAR, session: 'e', energyWh: 11_250 });
    await untilDelivered('quay-a/connectors/1', 1);
    for (const each of chargers.splice(0)) await each.stop();
    clock.advance(600_000);
    service = await service.restart({ clock });
    const again = await charger('quay', 'boot-2');
    await again.meter('1', { ...CAR, session: 'e', energyWh: 14_250 });
    await untilDelivered('quay-a/connectors/1', 4);
    clock.advance(60_000);
    await again.meter('1', { ...NO_CAR, energyWh: 14_250 });
    const [newest, ...others] = await untilListed(5, '?locationId=quay');
    expect(newest).toMatchObject({ sessionId: 'e', energyKwh: 4, startTime: '2026-06-01T13:02:00.000Z' });
    expect(others.map(({ sessionId }) => sessionId)).toEqual(['c', 'd', 'b', 'a']);
  });

  it('that ended while the service was down is listed after its restart', async () => {
    const [client] = chargers;
    await client?.meter('2', { ...CAR, session: 'f', energyWh: 100, idTag: 'CARD-8' });
    await untilDelivered('quay-a/connectors/2', 0);
    for (const each of chargers.splice(0)) await each.stop();
    service = await service.restart({ clock });
    const again = await charger('quay', 'boot-3');
    clock.advance(60_000);
    await again.meter('2', { ...NO_CAR, energyWh: 2_600 });
    const [newest] = await untilListed(6, '?locationId=quay');
    expect(newest).toMatchObject({
      sessionId: 'f',
      idTag: 'CARD-8',
      energyKwh: 2.5,
      energySource: 'register',
    });
  });
});

describe('the times of a session', () => {
  it('are those in which the car charged, and got less than it could use, by the reason', async () => {
    const client = await charger('yard', 'boot-2');
    let socPercent = 0;
    const report = async (fields: object) => {
      await client.meter('2', { ...CAR, limitA: 7, session: 't', socPercent: ++socPercent, ...fields });
      await eventually(async () => {
        const { body } = await service.call('GET', '/locations/yard/live');
        expect(JSON.stringify(body)).toContain(`"socPercent":${socPercent}`);
      });
      for (let s = 0; s < 10; s++) clock.advance(1_000);
    };
    await service.call('PUT', '/locations/yard/limit', { limitKw: 6 });
    for (let nth = 0; nth < 12; nth++) await report({ powerW: 4_830, currentA: [7, 7, 7] });
    for (let nth = 0; nth < 6; nth++) await report({ status: 'SuspendedEV', powerW: 0, currentA: [0, 0, 0] });
    await client.meter('2', NO_CAR);
    const [session] = await untilListed(1, '?controllerUuid=yard-a&connectorId=2');
    expect(session).toMatchObject({ sessionId: 't', chargingMinutes: 2 });
    // Other connectors have entitlements from before the limit fell.
    expect(session?.limited).toMatchObject([{ reason: 'waiting' }]);
    expect(session?.limited[0]?.minutes).toBeGreaterThanOrEqual(1.5);
    expect(session?.limited[0]?.minutes).toBeLessThanOrEqual(2);
  });
});

describe('the list of sessions', () => {
  it('comes page by page, the newest end first', async () => {
    const all = (await sessions()).sessions;
    const pages: (typeof all)[number][] = [];
    let cursor: string | null = null;
    do {
      const page = await sessions(`?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
      pages.push(...page.sessions);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(pages).toEqual(all);
    expect(all).toHaveLength(9);
  });

  it('has the sessions of a connector', async () => {
    const ofConnector = await sessions('?controllerUuid=quay-a&connectorId=2');
    expect(ofConnector.sessions.map(({ sessionId }) => sessionId)).toEqual(['f']);
    const answer = await service.call('GET', '/sessions?controllerUuid=quay-a&connectorId=9');
    expect(refusalOf(answer, 'CHARGER_NOT_FOUND')).toContain('quay-a / 9');
  });

  it('is there as CSV', async () => {
    const headers = { 'x-api-key': apiKeyOf(HARBOUR), accept: 'text/csv' };
    const span = 'from=2026-06-01T13:00:00Z&to=2026-06-01T13:02:00Z';
    const answer = await fetch(`${service.httpUrl}/v1/sessions?${span}`, { headers });
    const [head, row] = (await answer.text()).split('\n');
    expect(head).toMatch(/^locationId,.*,departureTime,energyNeedKwh,missingKwh,isKept$/);
    expect(row).toBe(
      'quay,quay-a,1,a,CARD-7,2026-06-01T12:00:00.000Z,2026-06-01T13:01:00.000Z,8.25,register,1,0,,11.04,2026-06-01T16:00:00.000Z,11,2.75,false',
    );
  });

  it('has the sessions that ended in the requested span', async () => {
    const span = '?from=2026-06-01T13:00:00Z&to=2026-06-01T13:02:00Z';
    expect((await sessions(span)).sessions.map(({ sessionId }) => sessionId)).toEqual(['a']);
  });

  it('belongs to its tenant', async () => {
    const answer = await service.call('GET', '/sessions', undefined, RIVAL);
    expect(bodyOf(answer, sessionListSchema).sessions).toEqual([]);
    const others = await service.call('GET', '/sessions?locationId=quay', undefined, RIVAL);
    expect(refusalOf(others, 'LOCATION_NOT_FOUND')).toContain('quay');
  });

  it.each([
    ['limit=0', 'limit'],
    ['connectorId=1', 'controllerUuid'],
    ['cursor=tomorrow', 'cursor'],
    ['from=2026-06-02T12:00:00Z&to=2026-06-01T12:00:00Z', 'to'],
    ['from=2020-06-02T12:00:00Z&to=2026-06-01T12:00:00Z', 'from'],
  ])('refuses %s with the name of the field', async (query, field) => {
    expect(refusalOf(await service.call('GET', `/sessions?${query}`), 'INVALID_REQUEST_BODY')).toContain(
      field,
    );
  });
});

describe('a session over a wall clock that is set back', () => {
  it('ends no earlier than it began', async () => {
    const client = await charger('yard', 'boot-4');
    await client.meter('2', { ...CAR, session: 'back', energyWh: 100 });
    await eventually(async () => {
      const answer = await service.call('GET', '/chargers/yard-a/connectors/2/session');
      expect(bodyOf(answer, sessionSchema).sessionId).toBe('back');
    });
    const beganAtMs = clock.nowMs();
    clock.jump(-3_600_000);
    clock.advance(60_000);
    await client.meter('2', { ...NO_CAR, energyWh: 200 });
    const startTime = new Date(beganAtMs).toISOString();
    // The span ends at the present instant, unless it is named.
    const query = `?locationId=yard&to=${new Date(beganAtMs + 1).toISOString()}&limit=1`;
    await eventually(async () =>
      expect((await sessions(query)).sessions).toMatchObject([
        { sessionId: 'back', startTime, endTime: startTime, energyKwh: 0.1 },
      ]),
    );
  });
});
