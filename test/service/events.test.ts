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

let service: RunningService;
beforeAll(async () => {
  service = await runService(TENANTS, { clock });
});
afterAll(() => service.stop());

async function page(query = '', tenantUuid = HARBOUR) {
  return bodyOf(await service.call('GET', `/events${query}`, undefined, tenantUuid), eventPageSchema);
}

describe('the event log', () => {
  it('has each change of a cluster in the order of the commits, with its credential and its object', async () => {
    const created = await service.call('POST', '/clusters', { name: 'Both', locationIds: ['quay', 'yard'] });
    const clusterId = String(Reflect.get(created.body as object, 'clusterId'));
    await service.call('PATCH', `/clusters/${clusterId}`, { limitKw: 60 });
    await service.call('POST', '/clusters', { name: 'Quay', locationIds: ['quay'] });
    await service.call('DELETE', `/clusters/${clusterId}`);
    const { events, last, isGapless } = await page();
    const by = `apiKey:${HARBOUR.slice(0, 8)}`;
    expect(events.map(({ type, locationId, by: who }) => [type, locationId, who])).toEqual([
      ['cluster.changed', null, by],
      ['cluster.changed', null, by],
      ['cluster.changed', null, by],
      ['cluster.deleted', null, by],
    ]);
    expect(events[1]).toMatchObject({
      at: '2026-06-01T12:00:00.000Z',
      data: { clusterId, name: 'Both', limitKw: 60, totalLocations: 2 },
    });
    expect([last, isGapless]).toEqual([events.at(-1)?.id, true]);
  });

  it('continues after an id, page by page, or of some types', async () => {
    const { events } = await page();
    const first = await page('?limit=3');
    expect(first.events).toEqual(events.slice(0, 3));
    expect((await page(`?after=${first.last}`)).events).toEqual(events.slice(3));
    expect((await page('?type=cluster.deleted,alarm.began')).events).toEqual(events.slice(3));
    expect((await page('?locationId=yard')).events).toEqual([]);
    const last = events.at(-1)?.id;
    expect(await page(`?after=${last}`)).toMatchObject({ events: [], last, isGapless: true });
    // An id of a database that was replaced by an older one.
    expect(await page('?after=1000&waitS=20')).toMatchObject({ events: [], last, isGapless: false });
  });

  it('waits for the next event, and answers as soon as it is on disk', async () => {
    const { last } = await page();
    const waiting = page(`?after=${last}&waitS=20&type=cluster.deleted`);
    const created = await service.call('POST', '/clusters', { name: 'Yard', locationIds: ['yard'] });
    const clusterId = String(Reflect.get(created.body as object, 'clusterId'));
    await service.call('DELETE', `/clusters/${clusterId}`);
    expect((await waiting).events).toMatchObject([{ type: 'cluster.deleted', data: { clusterId } }]);
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
    await service.call('POST', '/clusters', { name: 'Later', locationIds: ['yard'] });
    const { events } = await page(`?after=${last}&type=cluster.changed`);
    expect(events).toMatchObject([{ data: { name: 'Later' } }]);
    expect((await page()).events.slice(0, before.length)).toEqual(before);
  });
});
