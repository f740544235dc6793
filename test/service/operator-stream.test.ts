// Extension: events of limits, windows, locks and power in the stream while the service runs.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import {
  type StreamEventData,
  type StreamEventName,
  streamEventSchema,
} from '../../src/features/stream-contract.js';
import { eventually } from '../eventually.js';
import { type EventReader, readEvents } from '../inbound/http/event-reader.js';
import { connectCharger } from './charger-client.js';
import { at, NOW_MS, type OperatedService, runOperatedService } from './operator-answers.js';
import { apiKeyOf, HARBOUR, RIVAL, site, tenantWith } from './running-service.js';

const SITES = ['quay-1', 'quay-2', 'locking', 'drawing', 'granted'];

let service: OperatedService;
const readers: EventReader[] = [];
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(
      HARBOUR,
      SITES.map((id) => site(id)),
    ),
    tenantWith(RIVAL, [site('quay-1')]),
  ]);
});
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});
afterAll(() => service.stop());

async function follow(query = '', tenantUuid = HARBOUR, more: object = {}): Promise<EventReader> {
  const headers = { 'x-api-key': apiKeyOf(tenantUuid), ...more };
  const reader = await readEvents(`${service.httpUrl}/v1/stream${query}`, headers);
  readers.push(reader);
  return reader;
}

/** The data of the events of one name, which must fit its schema. */
function dataOf<N extends StreamEventName>(reader: EventReader, name: N): StreamEventData<N>[] {
  return reader.of(name).map(({ id, data }) => {
    const parsed = streamEventSchema.parse({ event: name, id: Number(id), data });
    expect(data).toStrictEqual(parsed.data);
    return parsed.data as StreamEventData<N>;
  });
}

async function submit(path: string, limitKw: number, from: number, to: number, tenantUuid = HARBOUR) {
  const instant = (minutes: number) => new Date(NOW_MS + minutes * 60_000).toISOString();
  const body = { limitKw, startTime: instant(from), endTime: instant(to) };
  const answer = await service.call('POST', path, body, tenantUuid);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

describe('GET /stream', () => {
  it('has changes of a limit, and begins and ends of windows, at their instants', async () => {
    const reader = await follow('?locationId=quay-1');
    await submit('/locations/quay-1/schedules', 20, 1, 2);
    service.clock.advanceTo(NOW_MS + 120_000);
    await eventually(() => expect(reader.of('gridLimit')).toHaveLength(2));
    const profile = { priority: 0, limitKw: 20, startTime: at('12:01'), endTime: at('12:02') };
    expect(dataOf(reader, 'profile')).toEqual([
      { locationId: 'quay-1', at: at('12:01'), ...profile, status: 'ACTIVE' },
      { locationId: 'quay-1', at: at('12:02'), ...profile, status: 'EXPIRED' },
    ]);
    expect(dataOf(reader, 'effectiveLimit')).toEqual([
      { locationId: 'quay-1', at: at('12:01'), effectiveLimitKw: 20 },
      { locationId: 'quay-1', at: at('12:02'), effectiveLimitKw: 50 },
    ]);
    expect(dataOf(reader, 'gridLimit').map(({ gridLimitKw }) => gridLimitKw)).toEqual([20, 50]);
    const ids = reader.events.map(({ id }) => Number(id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });

  it('has locks, their limits, and their ends', async () => {
    const reader = await follow();
    await submit('/chargers/locking-a/connectors/2/schedules', 11, 0, 4);
    service.clock.advanceTo(NOW_MS + 240_000);
    await eventually(() => expect(reader.of('lock')).toHaveLength(2));
    const connector = { locationId: 'locking', controllerUuid: 'locking-a', connectorId: '2' };
    expect(dataOf(reader, 'lock')).toEqual([
      { ...connector, at: at('12:02'), limitKw: 11 },
      { ...connector, at: at('12:04'), limitKw: null },
    ]);
  });

  it('has nothing of other locations if one is named, and never of another tenant', async () => {
    const [mine, named, rivals] = [
      await follow(),
      await follow('?locationId=quay-2'),
      await follow('', RIVAL),
    ];
    await submit('/locations/quay-1/schedules', 30, 0, 60);
    await submit('/locations/quay-2/schedules', 31, 0, 60);
    await submit('/locations/quay-1/schedules', 32, 0, 60, RIVAL);
    const limits = (reader: EventReader) =>
      dataOf(reader, 'effectiveLimit').map(({ effectiveLimitKw }) => effectiveLimitKw);
    await eventually(() =>
      expect([limits(mine), limits(named), limits(rivals)]).toEqual([[30, 31], [31], [32]]),
    );
  });

  it('numbers the events of a tenant without a gap, however busy another is', async () => {
    const [mine, rivals] = [await follow(), await follow('', RIVAL)];
    for (const limitKw of [20, 21, 22]) {
      await submit('/locations/quay-1/schedules', limitKw, 0, 60);
      await submit('/locations/quay-1/schedules', limitKw, 0, 60, RIVAL);
    }
    await eventually(() =>
      expect([mine, rivals].map((reader) => reader.of('effectiveLimit').length)).toEqual([3, 3]),
    );
    for (const reader of [mine, rivals]) {
      const [first = Number.NaN, ...ids] = reader.events.map(({ id }) => Number(id));
      expect(ids).toEqual(ids.map((_, i) => first + 1 + i));
    }
  });

  it('replays nothing and reports no gap, for any last event id of a reader, of another tenant too', async () => {
    const mine = await follow();
    for (const limitKw of [23, 24]) await submit('/locations/quay-1/schedules', limitKw, 0, 60);
    await eventually(() => expect(mine.of('effectiveLimit')).toHaveLength(2));
    const told = await follow('', RIVAL);
    await submit('/locations/quay-1/schedules', 25, 0, 60, RIVAL);
    await eventually(() => expect(told.of('effectiveLimit')).toHaveLength(1));
    const lastIds = [mine.events.at(-1)?.id, told.events.at(-1)?.id, '0', '-1', '1e99', 'x'.repeat(1_000)];
    const readers: EventReader[] = [];
    for (const lastId of lastIds) readers.push(await follow('', RIVAL, { 'last-event-id': String(lastId) }));
    await submit('/locations/quay-1/schedules', 26, 0, 60, RIVAL);
    await eventually(() => expect(told.of('effectiveLimit')).toHaveLength(2));
    const [, last] = told.of('effectiveLimit');
    for (const reader of readers) await eventually(() => expect(reader.of('effectiveLimit')).toEqual([last]));
    const first = Number(told.events[0]?.id);
    const ids = told.events.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.map((_, i) => first + i));
    expect(readers.flatMap(({ events }) => events).every(({ id }) => ids.includes(Number(id)))).toBe(true);
  });

  it('has the power of a location once a second at most, and only after a change', async () => {
    const charger = await connectCharger(service.mqttUrl, 'drawing');
    const reader = await follow('?locationId=drawing');
    const powers = () => dataOf(reader, 'power').map(({ actualKw }) => actualKw);
    service.clock.advance(1000);
    await eventually(() => expect(powers()).toEqual([0]));
    await charger.meter('1', { powerW: 4000 });
    await charger.meter('1', { powerW: 7000 });
    await charger.meter('2', { powerW: 400 });
    await eventually(async () => {
      const answer = await service.call('GET', '/locations');
      expect(JSON.stringify(answer.body)).toContain('7.4');
    });
    service.clock.advance(1000);
    await eventually(() => expect(powers()).toEqual([0, 7.4]));
    service.clock.advance(5000);
    await submit('/locations/drawing/schedules', 40, 0, 60);
    await eventually(() => expect(reader.of('effectiveLimit')).toHaveLength(1));
    expect(powers()).toEqual([0, 7.4]);
    await charger.stop();
  });

  it('has each new limit of a connector, not its renewals, and its alarms', async () => {
    const reader = await follow('?locationId=granted');
    const charger = await connectCharger(service.mqttUrl, 'granted');
    const limits = () => dataOf(reader, 'connectorLimit');
    const report = (powerW: number) => charger.meter('1', { status: 'Charging', powerW });
    await eventually(async () => {
      await report(22_000);
      service.clock.advance(200);
      expect(limits().at(-1)).toMatchObject({ connectorId: '1', limitA: 32, reason: 'maximum' });
    });
    const told = limits().length;
    for (let beat = 0; beat < 3; beat++) {
      service.clock.advance(10_000);
      await report(22_000);
      // Time must not pass before the service receives the message: otherwise the charger would count as silent.
      await eventually(async () => {
        const { connectors } = await service.read('/locations/granted/live', locationLiveSchema);
        expect(connectors[0]?.lastHeardSecondsAgo).toBe(0);
      });
    }
    expect(limits()).toHaveLength(told);
    await submit('/locations/granted/schedules', 20, 0, 60);
    await eventually(() => {
      service.clock.advance(200);
      expect(limits().length).toBeGreaterThan(told);
    });
    expect(limits()[told]).toMatchObject({ connectorId: '1', reason: 'fairShare' });
    expect(limits()[told]?.limitKw).toBeLessThanOrEqual(20);
    charger.vanish();
    await eventually(() => {
      service.clock.advance(1000);
      expect(dataOf(reader, 'alarm')).toContainEqual(
        expect.objectContaining({ kind: 'OFFLINE', connectorId: '1', endedAt: null }),
      );
    });
    await charger.stop();
  });
});
