// Extension: the grid operator limits a location over REST and MQTT, despite all other settings, and no order is lost.
import type { MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationTimelineSchema } from '../../src/features/locations/contract.js';
import { operatorHistorySchema, operatorLimitSchema } from '../../src/features/operator-limit/contract.js';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { connectOnce } from '../mqtt-client.js';
import { bodyOf } from './answers.js';
import { at, NOW, type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, RIVAL, site, tenantWith } from './running-service.js';

const PASSWORD = 'only the network operator knows this';
const FAILSAFE_KW = 8;
/** State before any order. */
const INIT = { source: null, sentAt: null, endsAt: null };

/** A location whose grid operator logs in as `{id}-dso`. */
function limited(id: string) {
  return {
    ...site(id),
    operator: {
      operatorUuid: `${id}-dso`,
      mqttSecretHash: hashSecret(PASSWORD),
      failsafeKw: FAILSAFE_KW,
      failsafeMinMs: 7_200_000,
      missingAfterMs: 120_000,
    },
  };
}

const IDS = [
  'burst',
  'rest',
  'lifted',
  'late',
  'lasting',
  'lost',
  'mqtt',
  'history',
  'bad',
  'timeline',
  'ended',
];

let service: OperatedService;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(HARBOUR, [...IDS.map(limited), site('free')]),
    tenantWith(RIVAL, [limited('rest')]),
  ]);
});
afterAll(() => service.stop());

const read = (id: string) => service.read(`/locations/${id}/operator-limit`, operatorLimitSchema);
const live = (id: string) => service.read(`/locations/${id}/live`, locationLiveSchema);

/**
 * Repeats the request as an operator does while nothing can be stored, such as after a clock step over a pending write.
 */
const put = (id: string, body: object) =>
  eventually(async () => {
    const answer = await service.call('PUT', `/locations/${id}/operator-limit`, body);
    expect(answer.status).not.toBe(503);
    return answer;
  });

/** An order with the present instant. */
async function order(id: string, limitKw: number | undefined, more: object = {}) {
  const sentAt = new Date(service.clock.nowMs()).toISOString();
  const body = { source: 'DSO box 17', isActive: limitKw !== undefined, limitKw, sentAt, ...more };
  return bodyOf(await put(id, body), operatorLimitSchema);
}

describe('PUT /locations/{locationId}/operator-limit', () => {
  it('limits the location at once, and shows its source', async () => {
    expect(await read('rest')).toMatchObject({ state: 'INIT', limitKw: FAILSAFE_KW, source: null });
    const answer = await order('rest', 12.5);
    expect(answer).toMatchObject({ state: 'LIMITED', limitKw: 12.5, source: 'DSO box 17', endsAt: null });
    expect(await live('rest')).toMatchObject({
      gridLimitKw: 12.5,
      gridLimitCause: { kind: 'operatorLimit' },
      effectiveLimitKw: 50,
      operatorLimit: { state: 'LIMITED', limitKw: 12.5 },
    });
  });

  it('is lifted by no profile, no permanent limit and no lock', async () => {
    await order('lifted', 10);
    const window = { startTime: NOW, endTime: at('18:00') };
    await service.call('POST', '/locations/lifted/schedules', { priority: 10, limitKw: 70, ...window });
    await service.call('PUT', '/locations/lifted/limit', { limitKw: 75 });
    await service.call('POST', '/chargers/lifted-a/connectors/1/schedules', { limitKw: 22, ...window });
    expect((await live('lifted')).gridLimitKw).toBe(10);
    expect(await order('lifted', undefined)).toMatchObject({ state: 'UNLIMITED_CONTROLLED', limitKw: null });
    expect((await live('lifted')).gridLimitKw).toBe(70);
  });

  it('takes an order once: one that is older is refused and changes nothing', async () => {
    const sentAt = NOW;
    expect((await put('late', { source: 'DSO', isActive: true, limitKw: 9, sentAt })).status).toBe(200);
    expect((await put('late', { source: 'DSO', isActive: true, limitKw: 9, sentAt })).status).toBe(200);
    const older = { source: 'DSO', isActive: false, sentAt: new Date(Date.parse(NOW) - 1).toISOString() };
    const refused = await put('late', older);
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain('sentAt');
    expect(await read('late')).toMatchObject({ state: 'LIMITED', limitKw: 9 });
  });

  it('is an event of the log with each order, although the clock reads one millisecond for all', async () => {
    // The last one is as the first.
    for (const limitKw of [9, 8, 9]) await order('burst', limitKw);
    const { events } = await service.read(
      '/events?type=operatorLimit.changed&locationId=burst',
      eventPageSchema,
    );
    expect(events.map(({ data }) => data.limitKw)).toEqual([FAILSAFE_KW, 9, 8, 9]);
    expect(new Set(events.map(({ at }) => at)).size).toBe(1);
  });

  it.each([
    ['a negative limit', { isActive: true, limitKw: -1 }, 'limitKw'],
    ['no limit', { isActive: true }, 'limitKw'],
    ['a limit that nobody activates', { limitKw: 5 }, 'isActive'],
    ['a duration of nothing', { isActive: true, limitKw: 5, durationS: 0 }, 'durationS'],
    ['a clock that runs ahead', { isActive: true, limitKw: 5, sentAt: at('12:01:01') }, 'sentAt'],
    ['no source', { source: '', isActive: true, limitKw: 5 }, 'source'],
    ['text for a number', { isActive: true, limitKw: '5' }, 'limitKw'],
  ])('refuses %s, naming the field', async (_what, body, field) => {
    const answer = await put('bad', { source: 'DSO', sentAt: NOW, ...body });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(`${field}:`);
    expect((await read('bad')).state).toBe('INIT');
  });

  it('is not found where no operator may limit the location, nor for another tenant', async () => {
    expect((await put('free', { source: 'DSO', isActive: false, sentAt: NOW })).status).toBe(404);
    const body = { source: 'DSO', isActive: true, limitKw: 1, sentAt: NOW };
    const other = await service.call('PUT', '/locations/lasting/operator-limit', body, RIVAL);
    expect(other.status).toBe(404);
    expect((await read('lasting')).state).toBe('INIT');
  });
});

describe('GET /locations/{locationId}/timeline', () => {
  it('shows the limit until it ends by itself', async () => {
    await order('timeline', 11, { durationS: 3600 });
    const { segments } = await service.read('/locations/timeline/timeline', locationTimelineSchema);
    expect(segments.map(({ endTime, limitKw, cause }) => [endTime, limitKw, cause.kind])).toEqual([
      [at('13:00'), 11, 'operatorLimit'],
      [expect.any(String), 50, 'permanentLimit'],
    ]);
  });
});

describe('A grid operator on MQTT', () => {
  async function connect(id: string): Promise<MqttClient> {
    const client = await connectOnce(service.mqttUrl, {
      clientId: `${id}-dso`,
      username: `${HARBOUR}/${id}-dso`,
      password: PASSWORD,
      protocolVersion: 4,
      keepalive: 30,
    });
    return client;
  }
  const topicOf = (id: string) => `ems/v1/${HARBOUR}/${id}/site/operator`;

  it('limits its location, and is not trusted with more', async () => {
    const client = await connect('mqtt');
    const message = { source: 'DSO', isActive: true, limitKw: 6, sentAt: NOW };
    await client.publishAsync(topicOf('mqtt'), JSON.stringify(message), { qos: 1 });
    await eventually(async () => expect(await read('mqtt')).toMatchObject({ state: 'LIMITED', limitKw: 6 }));
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    // The broker closes the connection instead of answering, so the client's promise never settles.
    client.publish(topicOf('lasting'), JSON.stringify(message), { qos: 1 });
    await closed;
    expect((await read('lasting')).state).toBe('INIT');
    await client.endAsync(true);
  });
});

describe('As time passes', () => {
  it('an order without a duration lasts as long as heartbeats of the operator arrive, and its loss leads to the fail-safe', async () => {
    await order('lasting', 9);
    await order('lost', 30);
    for (let minute = 0; minute < 10; minute++) {
      service.clock.advance(60_000);
      const sentAt = new Date(service.clock.nowMs()).toISOString();
      expect((await put('lasting', { source: 'DSO', sentAt })).status).toBe(200);
    }
    expect(await read('lasting')).toMatchObject({ state: 'LIMITED', limitKw: 9 });
    expect(await read('lost')).toMatchObject({ state: 'FAILSAFE', limitKw: FAILSAFE_KW, since: at('12:02') });
  });

  it('an order that names its end frees the location then; an operator that is back after the fail-safe and sends none, too', async () => {
    const startsAtMs = service.clock.nowMs();
    const instantOn = (minutes: number) => new Date(startsAtMs + minutes * 60_000).toISOString();
    await order('ended', 9, { durationS: 60 });
    service.clock.advance(60_000);
    expect(await read('ended')).toMatchObject({ state: 'UNLIMITED_CONTROLLED', since: instantOn(1) });
    service.clock.advance(60_000);
    expect(await read('ended')).toMatchObject({
      state: 'FAILSAFE',
      limitKw: FAILSAFE_KW,
      since: instantOn(2),
    });
    await put('ended', { source: 'DSO', sentAt: instantOn(2) });
    service.clock.advance(119_999);
    expect(await read('ended')).toMatchObject({ state: 'FAILSAFE' });
    service.clock.advance(1);
    expect(await read('ended')).toMatchObject({
      state: 'UNLIMITED_AUTONOMOUS',
      limitKw: null,
      since: instantOn(4),
    });
  });

  it('keeps everything it stood at, to be read page by page', async () => {
    await order('history', 7);
    await order('history', undefined, { sentAt: new Date(service.clock.nowMs() + 1).toISOString() });
    const { events } = await service.read(
      `/locations/history/operator-limit/history?from=${NOW}`,
      operatorHistorySchema,
    );
    expect(events.map(({ state, limitKw, source }) => [state, limitKw, source])).toEqual([
      ['INIT', FAILSAFE_KW, null],
      ['UNLIMITED_AUTONOMOUS', null, null],
      ['LIMITED', 7, 'DSO box 17'],
      ['UNLIMITED_CONTROLLED', null, 'DSO box 17'],
    ]);
  });

  it('keeps since when the fail-safe limit held before the first order, and nothing again at a restart', async () => {
    const first = await runOperatedService([tenantWith(HARBOUR, [limited('waiting')])]);
    const history = (from: string) => `/locations/waiting/operator-limit/history?from=${from}`;
    first.clock.advance(30_000);
    const restarted = await first.restart({ clock: first.clock });
    try {
      first.clock.advance(119_999);
      const { events } = bodyOf(await restarted.call('GET', history(NOW)), operatorHistorySchema);
      expect(events).toEqual([{ ...INIT, state: 'INIT', recordedAt: NOW, since: NOW, limitKw: FAILSAFE_KW }]);
      first.clock.advance(1);
      const later = bodyOf(await restarted.call('GET', history(NOW)), operatorHistorySchema);
      expect(later.events.slice(1)).toMatchObject([{ state: 'UNLIMITED_AUTONOMOUS', since: at('12:02:30') }]);
    } finally {
      await restarted.stop();
      await first.stop();
    }
  });

  it('goes on after a restart in the state it was in', async () => {
    await order('rest', 13);
    const restarted = await service.restart({ clock: service.clock });
    try {
      const answer = await restarted.call('GET', '/locations/rest/operator-limit');
      expect(answer.body).toMatchObject({ state: 'LIMITED', limitKw: 13, source: 'DSO box 17' });
      const lost = await restarted.call('GET', '/locations/lost/operator-limit');
      expect(lost.body).toMatchObject({ state: 'FAILSAFE', since: at('12:02') });
      // The first is free by an order; the second because its operator never sent a message.
      const freed = await restarted.call('GET', '/locations/history/operator-limit');
      expect(freed.body).toMatchObject({ state: 'UNLIMITED_CONTROLLED', source: 'DSO box 17' });
      const alone = await restarted.call('GET', '/locations/bad/operator-limit');
      expect(alone.body).toMatchObject({ state: 'UNLIMITED_AUTONOMOUS', since: at('12:02') });
    } finally {
      await restarted.stop();
    }
  });
});
