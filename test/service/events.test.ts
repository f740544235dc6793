// Extension: the event log of an organization.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { connectCharger } from './charger-client.js';
import { HARBOUR, RIVAL, type RunningService, runService, site, tenantWith } from './running-service.js';

const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
const TENANTS = [tenantWith(HARBOUR, [site('quay'), site('yard')]), tenantWith(RIVAL, [site('rivals')])];
const WINDOW = {
  startTime: '2026-06-01T12:00:00Z',
  endTime: '2026-06-01T18:00:00Z',
  limitKw: 22,
  priority: 3,
};

let service: RunningService;
beforeAll(async () => {
  service = await runService(TENANTS, { clock });
});
afterAll(() => service.stop());

async function page(query = '', tenantUuid = HARBOUR) {
  return bodyOf(await service.call('GET', `/events${query}`, undefined, tenantUuid), eventPageSchema);
}

describe('the event log', () => {
  it('has each change in the order of the commits, with its credential and its object', async () => {
    await service.call('PUT', '/locations/quay/limit', { limitKw: 40 });
    await service.call('POST', '/locations/yard/schedules', WINDOW);
    await service.call('POST', '/chargers/quay-a/connectors/1/schedules', WINDOW);
    const cluster = await service.call('POST', '/clusters', { name: 'Both', locationIds: ['quay', 'yard'] });
    await service.call('POST', '/organizations/schedules', WINDOW);
    await service.call('DELETE', '/locations/yard/schedules/3');
    await service.call('DELETE', `/clusters/${Reflect.get(cluster.body as object, 'clusterId')}`);
    const { events, last, isGapless } = await page();
    const by = `apiKey:${HARBOUR.slice(0, 8)}`;
    expect(events.map(({ type, locationId, by: who }) => [type, locationId, who])).toEqual([
      ['limit.changed', 'quay', by],
      ['schedule.submitted', 'yard', by],
      ['schedule.submitted', null, by],
      ['cluster.changed', null, by],
      ['schedule.submitted', null, by],
      ['schedule.cancelled', 'yard', by],
      ['cluster.deleted', null, by],
    ]);
    expect(events[0]).toMatchObject({ at: '2026-06-01T12:00:00.000Z', data: { permanentLimitKw: 40 } });
    expect(events[2]).toMatchObject({ controllerUuid: 'quay-a', connectorId: '1', data: { limitKw: 22 } });
    expect([last, isGapless]).toEqual([events.at(-1)?.id, true]);
  });

  it('continues after an id, page by page, of some types, or of one location', async () => {
    const { events } = await page();
    const first = await page('?limit=3');
    expect(first.events).toEqual(events.slice(0, 3));
    expect((await page(`?after=${first.last}`)).events).toEqual(events.slice(3));
    const submitted = await page('?type=schedule.submitted,limit.changed');
    expect(submitted.events).toEqual(
      events.filter(({ type }) => type !== 'cluster.changed' && !/cancelled|deleted/.test(type)),
    );
    expect((await page('?locationId=yard')).events).toEqual(
      events.filter(({ locationId }) => locationId === 'yard'),
    );
    expect(await page(`?after=${events.at(-1)?.id}`)).toMatchObject({ events: [], last: events.at(-1)?.id });
  });

  it('waits for the next event, and answers as soon as it is on disk', async () => {
    const { last } = await page();
    const waiting = page(`?after=${last}&waitS=20&type=limit.changed`);
    await service.call('POST', '/locations/yard/schedules', WINDOW);
    await service.call('PUT', '/locations/yard/limit', { limitKw: 41 });
    const { events } = await waiting;
    expect(events).toMatchObject([
      { type: 'limit.changed', locationId: 'yard', data: { permanentLimitKw: 41 } },
    ]);
  });

  it('answers without an event once the wait is over', async () => {
    const { last } = await page();
    const waiting = page(`?after=${last}&waitS=5`);
    let isOver = false;
    void waiting.then(() => {
      isOver = true;
    });
    await eventually(() => {
      clock.advance(1_000);
      expect(isOver).toBe(true);
    });
    expect(await waiting).toMatchObject({ events: [], last });
  });

  it('has alarms and ended sessions', async () => {
    const { last } = await page();
    const charger = await connectCharger(service.mqttUrl, 'quay');
    const car = { status: 'Charging', powerW: 7_000, currentA: [10, 10, 10] };
    await charger.meter('1', { ...car, session: 'a', energyWh: 1_000 });
    await eventually(async () =>
      expect((await service.call('GET', '/chargers/quay-a/connectors/1/session')).status).toBe(200),
    );
    clock.advance(5_000);
    await charger.meter('1', { status: 'Available', powerW: 0, currentA: [0, 0, 0], energyWh: 2_000 });
    await eventually(async () => {
      clock.advance(1);
      const { events } = await page(`?after=${last}&type=session.ended&locationId=quay`);
      expect(events).toMatchObject([{ connectorId: '1', by: null, data: { sessionId: 'a', energyKwh: 1 } }]);
    });
    charger.vanish();
    await eventually(async () => {
      clock.advance(1_000);
      const { events } = await page(`?after=${last}&type=alarm.began`);
      expect(events.some(({ data }) => data.kind === 'OFFLINE')).toBe(true);
    });
  });

  it('belongs to its organization', async () => {
    expect(await page('', RIVAL)).toEqual({ events: [], last: '0', isGapless: true });
    const answer = await service.call('GET', '/events?locationId=quay', undefined, RIVAL);
    expect(refusalOf(answer, 'LOCATION_NOT_FOUND')).toContain('quay');
  });

  it.each([
    ['after=-1', 'after'],
    ['after=1e3', 'after'],
    ['type=alarm.began,other', 'type'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['waitS=26', 'waitS'],
  ])('refuses %s with the name of the field', async (query, field) => {
    expect(refusalOf(await service.call('GET', `/events?${query}`), 'INVALID_REQUEST_BODY')).toContain(field);
  });

  it('goes on after a restart, which ends the waits', async () => {
    const { last, events: before } = await page('?limit=1000');
    const waiting = page(`?after=${last}&waitS=25`);
    // Requests of one client arrive in the order of their sending.
    await page();
    service = await service.restart({ clock });
    expect((await waiting).events).toEqual([]);
    await service.call('PUT', '/locations/quay/limit', { limitKw: 42 });
    const { events } = await page(`?after=${last}&type=limit.changed`);
    expect(events).toMatchObject([{ data: { permanentLimitKw: 42 } }]);
    expect((await page()).events.slice(0, before.length)).toEqual(before);
  });
});
