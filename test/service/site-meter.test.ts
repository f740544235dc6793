// Extension: a meter reports the building's load on the connection, and the chargers keep to the remaining capacity.
import type { MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alarmListSchema } from '../../src/features/alarms/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationTimelineSchema } from '../../src/features/locations/contract.js';
import { siteMeterSchema } from '../../src/features/site-meter/contract.js';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { connectOnce } from '../mqtt-client.js';
import { bodyOf } from './answers.js';
import { at, NOW, type OperatedService, runOperatedService } from './operator-answers.js';
import { CHARGER_PASSWORD, HARBOUR, RIVAL, site, tenantWith } from './running-service.js';

const PASSWORD = 'only the meter of the building knows this';

/** A connection of 80 kW and a meter `{id}-meter`; its building takes 40 kW at most. */
function metered(id: string, more: object = {}) {
  return {
    ...site(id, { permanentLimitKw: 500 }),
    siteMeter: {
      meterUuid: `${id}-meter`,
      mqttSecretHash: hashSecret(PASSWORD),
      covers: 'connection' as const,
      maxBuildingKw: 40,
      reserveKw: [2, 5] as const,
      pvRaisesHeadroom: false,
      ...more,
    },
  };
}

const IDS = [
  'rest',
  'bad',
  'mqtt',
  'silent',
  'rising',
  'charging',
  'lower',
  'alarmed',
  'ahead',
  'again',
  'told',
];
const WIRED = { connection: { currentA: [63, 63, 63] as const, voltageV: 230 } };

let service: OperatedService;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(HARBOUR, [
      ...IDS.map((id) => metered(id)),
      metered('sunny'),
      metered('export', { pvRaisesHeadroom: true }),
      { ...metered('fused', { covers: 'building' }), ...WIRED, gridLimitKw: null },
      { ...metered('wired', { covers: 'building', reserveKw: [0, 0] }), ...WIRED, gridLimitKw: null },
      site('plain'),
    ]),
    tenantWith(RIVAL, [metered('rest')]),
  ]);
});
afterAll(() => service.stop());

const read = (id: string) => service.read(`/locations/${id}/site-meter`, siteMeterSchema);
/** Alarms about the meter. */
const meterAlarms = async (id: string) =>
  (await live(id)).alarms.filter(({ kind }) => kind.startsWith('SITE_METER'));
const live = (id: string) => service.read(`/locations/${id}/live`, locationLiveSchema);
const put = (id: string, body: object) => service.call('PUT', `/locations/${id}/site-meter`, body);

/** A reading at the present instant. */
async function reads(id: string, powerW: number, more: object = {}) {
  const instant = new Date(service.clock.nowMs()).toISOString();
  return bodyOf(await put(id, { v: 1, at: instant, powerW, ...more }), siteMeterSchema);
}

async function connect(clientId: string, password: string): Promise<MqttClient> {
  const client = await connectOnce(service.mqttUrl, {
    clientId,
    username: `${HARBOUR}/${clientId}`,
    password,
    protocolVersion: 4,
    keepalive: 30,
  });
  return client;
}

describe('PUT /locations/{locationId}/site-meter', () => {
  it('leaves the rest beside the building for the chargers, less the reserve, at any other limit', async () => {
    expect(await read('rest')).toMatchObject({ state: 'STALE', buildingKw: 40, reserveKw: 0, leavesKw: 40 });
    expect((await live('rest')).gridLimitKw).toBe(40);
    const answer = await reads('rest', 23_400, { energyWh: 1_000_000 });
    expect(answer).toMatchObject({
      state: 'FRESH',
      powerKw: 23.4,
      buildingKw: 23.4,
      reserveKw: 5,
      leavesKw: 51.6,
      energyWh: 1_000_000,
      isReserveLearnt: false,
      lastHeardAt: NOW,
      cadenceS: 10,
      staleAt: at('12:00:30'),
    });
    expect(answer.explanation).toBe(
      'The building takes 23.4 kW and may rise by 5.0 kW (its maximum, until its past is recorded), so of the 80.0 kW of the connection chargers may use 51.6 kW.',
    );
    const seen = await live('rest');
    expect(seen).toMatchObject({ gridLimitKw: 51.6, gridLimitCause: { kind: 'building' } });
    expect(seen.siteMeter).toEqual(answer);
    expect(seen.budgetKw).toBeLessThanOrEqual(51.6);
    const { segments } = await service.read('/locations/rest/timeline', locationTimelineSchema);
    expect(segments.map(({ endTime, limitKw, cause }) => [endTime, limitKw, cause.kind])).toEqual([
      [expect.any(String), 51.6, 'building'],
    ]);
  });

  it.each([
    ['no power', { powerW: undefined }, 'powerW'],
    ['text for a number', { powerW: '5' }, 'powerW'],
    ['a power that no number holds', { powerW: 1e12 }, 'powerW'],
    ['no instant', { at: undefined }, 'at'],
    ['a clock that runs ahead', { at: at('12:01:01') }, 'at'],
    ['a reading of long ago', { at: at('11:58:59') }, 'at'],
    ['two phases', { currentA: [1, 2] }, 'currentA'],
    ['another version', { v: 2 }, 'v'],
    ['an energy below zero', { energyWh: -1 }, 'energyWh'],
  ])('refuses %s, naming the field', async (_what, wrong, field) => {
    const answer = await put('bad', { at: NOW, powerW: 1_000, ...wrong });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(`${field}:`);
    expect((await read('bad')).state).toBe('STALE');
  });

  it('takes a reading once: one that is doubled or was overtaken changes nothing', async () => {
    await reads('again', 10_000, { hb: 7 });
    const earlier = new Date(service.clock.nowMs() - 1).toISOString();
    const now = new Date(service.clock.nowMs()).toISOString();
    for (const [instant, hb] of [
      [now, 7],
      [now, 6],
      [now, undefined],
      [earlier, 8],
    ])
      expect((await put('again', { at: instant, hb, powerW: 90_000 })).status).toBe(400);
    expect((await read('again')).powerKw).toBe(10);
    expect((await reads('again', 12_000, { hb: 8 })).powerKw).toBe(12);
  });

  it('is not found where the location has no meter, nor for another tenant', async () => {
    expect((await put('plain', { at: NOW, powerW: 1 })).status).toBe(404);
    expect((await service.call('GET', '/locations/plain/site-meter')).status).toBe(404);
    const other = await service.call('PUT', '/locations/bad/site-meter', { at: NOW, powerW: 1 }, RIVAL);
    expect(other.status).toBe(404);
  });

  it("uses nothing of the site's export, unless that is provisioned", async () => {
    expect(await reads('sunny', -30_000)).toMatchObject({ buildingKw: 0, leavesKw: 75 });
    expect(await reads('export', -30_000)).toMatchObject({ buildingKw: -30, leavesKw: 105 });
    expect((await live('export')).gridLimitKw).toBe(105);
  });

  it('leaves amperes on each phase, if the connection is provisioned in amperes', async () => {
    const { leavesA, leavesKw, connectionKw } = await reads('fused', 9_000, { currentA: [20, 10.2, 8] });
    expect(connectionKw).toBe(43.47);
    expect(leavesKw).toBe(29.47);
    // 5 kW may rise on one phase alone: 21.7 A.
    expect(leavesA).toEqual([21.2, 30.7, 33.2]);
    const evenly = await reads('fused', 9_000, {
      hb: 2,
      at: new Date(service.clock.nowMs() + 1).toISOString(),
    });
    expect(evenly.leavesA).toEqual([42.7, 42.7, 42.7]);
  });
});

describe('A meter on MQTT', () => {
  const topicOf = (id: string) => `ems/v1/${HARBOUR}/${id}/site/meter`;

  it('reports the draw of its own location, and may do no more', async () => {
    const client = await connect('mqtt-meter', PASSWORD);
    const message = { v: 1, hb: 1, at: new Date(service.clock.nowMs()).toISOString(), powerW: 12_000 };
    await client.publishAsync(topicOf('mqtt'), JSON.stringify(message));
    await eventually(async () =>
      expect(await read('mqtt')).toMatchObject({ state: 'FRESH', buildingKw: 12 }),
    );
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.publish(topicOf('silent'), JSON.stringify(message), { qos: 1 });
    await closed;
    expect((await read('silent')).state).toBe('STALE');
    await client.endAsync(true);
  });

  it('is not spoken for by a charger', async () => {
    const client = await connect('lower-a', CHARGER_PASSWORD);
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.publish(topicOf('lower'), JSON.stringify({ at: NOW, powerW: 0 }), { qos: 1 });
    await closed;
    expect((await read('lower')).state).toBe('STALE');
  });

  it('counts the chargers that report as no part of the building', async () => {
    const charger = await connect('charging-a', CHARGER_PASSWORD);
    const topic = `ems/v1/${HARBOUR}/charging/charging-a/c/1/meter`;
    await charger.publishAsync(
      topic,
      JSON.stringify({ v: 1, boot: 'b', hb: 1, status: 'Charging', powerW: 11_000 }),
    );
    await eventually(async () => expect((await live('charging')).actualKw).toBe(11));
    expect(await reads('charging', 31_000)).toMatchObject({ powerKw: 31, buildingKw: 20, leavesKw: 55 });
    await charger.endAsync(true);
  });
});

describe('A rise that chargers may have caused', () => {
  it("is the building's once they have reported since that they did not", async () => {
    const charger = await connect('told-a', CHARGER_PASSWORD);
    let hb = 0;
    const report = async (powerW: number) => {
      const value = { v: 1, boot: 'b', hb: ++hb, status: 'Charging', powerW };
      await charger.publishAsync(`ems/v1/${HARBOUR}/told/told-a/c/1/meter`, JSON.stringify(value));
      await eventually(async () => expect((await live('told')).actualKw).toBe(powerW / 1000));
    };
    await report(100);
    expect((await reads('told', 20_100)).buildingKw).toBe(20);
    service.clock.advance(1_000);
    expect((await reads('told', 24_100)).buildingKw).toBe(20);
    service.clock.advance(1_000);
    await report(200);
    service.clock.advance(1_000);
    expect((await read('told')).buildingKw).toBe(23.9);
    await charger.endAsync(true);
  });
});

describe('A building on the phases of the connection', () => {
  it('leaves the chargers no more amperes than it does not take itself', async () => {
    await reads('wired', 9_000, { currentA: [30, 5, 5] });
    const client = await connect('wired-a', CHARGER_PASSWORD);
    const topic = `ems/v1/${HARBOUR}/wired/wired-a/c/1/meter`;
    let hb = 0;
    await eventually(async () => {
      service.clock.advance(200);
      const value = { v: 1, boot: 'b', hb: ++hb, status: 'Charging', powerW: 4_000 };
      await client.publishAsync(topic, JSON.stringify(value));
      // Of 63 A the building takes 30 A on L1, and 6 A are the fail-safe of the other connector: 32 A would be too
      // much.
      expect((await live('wired')).connectors[0]?.limitA).toBe(27);
    });
    await client.endAsync(true);
  });
});

describe('As time passes', () => {
  it('a meter that falls silent makes the building count as its maximum, smoothly before', async () => {
    await reads('silent', 10_000);
    service.clock.advance(10_000);
    await reads('silent', 10_000);
    service.clock.advance(19_999);
    expect(await read('silent')).toMatchObject({ state: 'FRESH', leavesKw: 65 });
    service.clock.advance(1);
    expect(await read('silent')).toMatchObject({ state: 'FADING', leavesKw: 65 });
    service.clock.advance(5_000);
    const half = await read('silent');
    expect(half.leavesKw).toBeCloseTo(52.5, 1);
    expect((await live('silent')).gridLimitKw).toBe(half.leavesKw);
    service.clock.advance(5_000);
    expect(await read('silent')).toMatchObject({
      state: 'STALE',
      buildingKw: 40,
      reserveKw: 0,
      leavesKw: 40,
    });
    expect(await meterAlarms('silent')).toMatchObject([
      { kind: 'SITE_METER_STALE', reason: expect.stringContaining('counts as 40.0 kW, its maximum') },
    ]);
    await reads('silent', 9_000);
    expect(await meterAlarms('silent')).toEqual([]);
  });

  it('follows a building that rises at once, and one that falls after a minute', async () => {
    await reads('rising', 10_000);
    service.clock.advance(1_000);
    expect((await reads('rising', 30_000)).leavesKw).toBe(45);
    for (let second = 0; second < 60; second++) {
      service.clock.advance(1_000);
      expect((await reads('rising', 10_000)).leavesKw).toBe(45);
    }
    service.clock.advance(1_000);
    expect((await reads('rising', 10_000)).leavesKw).toBe(65);
  });

  it('raises an alarm of a meter that jumps by more than the site can, and trusts it a minute later', async () => {
    await reads('alarmed', 10_000);
    service.clock.advance(1_000);
    expect(await reads('alarmed', -200_000)).toMatchObject({ state: 'DISTRUSTED', leavesKw: 40 });
    expect(await meterAlarms('alarmed')).toMatchObject([{ kind: 'SITE_METER_IMPLAUSIBLE', endedAt: null }]);
    for (let second = 0; second < 61; second++) {
      service.clock.advance(1_000);
      await reads('alarmed', 10_000);
    }
    expect(await read('alarmed')).toMatchObject({ state: 'FRESH', buildingKw: 10 });
    expect(await meterAlarms('alarmed')).toEqual([]);
    await eventually(async () => {
      service.clock.advance(1_000);
      const { alarms } = await service.read('/locations/alarmed/alarms', alarmListSchema);
      expect(alarms).toContainEqual(
        expect.objectContaining({ kind: 'SITE_METER_IMPLAUSIBLE', endedAt: expect.any(String) }),
      );
    });
  });

  it('a meter that never sent a reading is missed after a minute', async () => {
    expect(await meterAlarms('ahead')).toMatchObject([{ kind: 'SITE_METER_STALE' }]);
  });

  it('counts as its maximum after a restart, until it is read again', async () => {
    await reads('rest', 23_400);
    const restarted = await service.restart({ clock: service.clock });
    try {
      const answer = await restarted.call('GET', '/locations/rest/site-meter');
      expect(answer.body).toMatchObject({ state: 'STALE', leavesKw: 40, powerKw: null, maxBuildingKw: 40 });
      const seen = await restarted.call('GET', '/locations/rest/live');
      expect(seen.body).toMatchObject({ gridLimitKw: 40, gridLimitCause: { kind: 'building' } });
    } finally {
      await restarted.stop();
    }
  });
});
