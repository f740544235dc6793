// Extension: operators acknowledge open alarms, and mute kinds of alarms until an instant.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import {
  type AlarmView,
  alarmListSchema,
  alarmSchema,
  muteDeletedSchema,
  muteListSchema,
  muteSchema,
} from '../../src/features/alarms/contract.js';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { issuedWebhookSchema } from '../../src/features/webhooks/contract.js';
import { eventually } from '../eventually.js';
import { readEvents } from '../inbound/http/event-reader.js';
import { bodyOf, refusalOf } from './answers.js';
import { connectCharger } from './charger-client.js';
import {
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.js';

const BY = `apiKey:${HARBOUR.slice(0, 8)}`;
const MUTES = '/locations/quay/alarm-mutes';
const SITES = [site('quay'), site('yard')];

let clock: VirtualClock;
let service: RunningService;
let receiver: WebhookReceiver;
beforeEach(async () => {
  clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
  receiver = await startWebhookReceiver();
  const tenants = [tenantWith(HARBOUR, SITES), tenantWith(RIVAL, [site('rivals')])];
  service = await runService(tenants, { clock }, { HEADROOM_WEBHOOK_PRIVATE: 'true' });
  const body = { url: receiver.url, types: ['alarm.began', 'alarm.ended', 'alarm.acknowledged'] };
  bodyOf(await service.call('POST', '/webhooks', body), issuedWebhookSchema, 201);
});
afterEach(async () => {
  await service.stop();
  await receiver.stop();
});

const later = (s: number) => new Date(clock.nowMs() + 1000 * s).toISOString();

async function openAlarms(location = 'quay'): Promise<readonly AlarmView[]> {
  const { alarms } = bodyOf(await service.call('GET', `/locations/${location}/alarms`), alarmListSchema);
  return alarms.filter(({ endedAt }) => endedAt === null);
}

/** No charger connects: all connectors are OFFLINE after three heartbeats. */
async function untilOffline(): Promise<readonly AlarmView[]> {
  let open: readonly AlarmView[] = [];
  await eventually(async () => {
    clock.advance(5_000);
    open = [...(await openAlarms()), ...(await openAlarms('yard'))];
    expect(open).toHaveLength(4);
  });
  return open;
}

/** Waits until as many connectors of the quay are OFFLINE. */
async function untilAtQuay(count: number): Promise<readonly AlarmView[]> {
  let offline: readonly AlarmView[] = [];
  await eventually(async () => {
    clock.advance(1_000);
    offline = (await openAlarms()).filter(({ kind }) => kind === 'OFFLINE');
    expect(offline).toHaveLength(count);
  });
  return offline;
}

async function mute(body: object) {
  const answer = await service.call('POST', MUTES, { kind: 'OFFLINE', until: later(3_600), ...body });
  const created = bodyOf(answer, muteSchema, 201);
  expect(answer.headers.get('location')).toBe(`/v1${MUTES}/${created.muteId}`);
  return created;
}

async function events(type: string) {
  return bodyOf(await service.call('GET', `/events?type=${type}`), eventPageSchema).events;
}

const delivered = () =>
  receiver.accepted().map(({ type, locationId, data }) => [type, locationId, data.alarmId]);

const acknowledge = (alarmId: string, body: object = {}, tenantUuid = HARBOUR) =>
  service.call('PUT', `/locations/quay/alarms/${alarmId}/acknowledgement`, body, tenantUuid);

describe('An acknowledgement', () => {
  it('is in every list, the stream and the event log, and survives a restart', async () => {
    await untilOffline();
    const [alarm] = await openAlarms();
    const reader = await readEvents(`${service.httpUrl}/v1/stream`, { 'x-api-key': apiKeyOf(HARBOUR) });
    const answer = await acknowledge(alarm?.alarmId ?? '', { note: 'On my way.' });
    const acknowledgement = { at: new Date(clock.nowMs()).toISOString(), by: BY, note: 'On my way.' };
    expect(bodyOf(answer, alarmSchema)).toEqual({ ...alarm, acknowledgement });
    await eventually(() =>
      expect(reader.events).toContainEqual(
        expect.objectContaining({ name: 'alarm', data: { ...alarm, acknowledgement } }),
      ),
    );
    reader.close();
    expect(await events('alarm.acknowledged')).toMatchObject([
      { source: 'rest', by: BY, locationId: 'quay', data: { alarmId: alarm?.alarmId, acknowledgement } },
    ]);
    await eventually(() =>
      expect(delivered()).toContainEqual(['alarm.acknowledged', 'quay', alarm?.alarmId]),
    );
    service = await service.restart({ clock });
    const after = await openAlarms();
    expect(after.find(({ alarmId }) => alarmId === alarm?.alarmId)).toEqual({ ...alarm, acknowledgement });
    const { body } = await service.call('GET', '/locations/quay/live');
    expect(body.alarms).toContainEqual({ ...alarm, acknowledgement });
  });

  it('ends with its alarm, so the next alarm of the kind has none', async () => {
    await untilOffline();
    const [first] = await openAlarms();
    bodyOf(await acknowledge(first?.alarmId ?? ''), alarmSchema);
    const charger = await connectCharger(service.mqttUrl, 'quay');
    await untilAtQuay(0);
    refusalOf(await acknowledge(first?.alarmId ?? ''), 'NOT_FOUND');
    charger.vanish();
    const again = await untilAtQuay(2);
    expect(again.map(({ acknowledgement }) => acknowledgement)).toEqual([null, null]);
    const { alarms } = bodyOf(await service.call('GET', '/locations/quay/alarms'), alarmListSchema);
    const past = alarms.find(({ alarmId }) => alarmId === first?.alarmId);
    expect(past?.acknowledgement).toMatchObject({ by: BY, note: null });
  });

  it('is refused for alarms of others, unknown ones, and a note that is too long', async () => {
    await untilOffline();
    const [alarm] = await openAlarms();
    const [elsewhere] = await openAlarms('yard');
    refusalOf(await acknowledge(alarm?.alarmId ?? '', {}, RIVAL), 'LOCATION_NOT_FOUND');
    refusalOf(await acknowledge(elsewhere?.alarmId ?? ''), 'NOT_FOUND');
    refusalOf(await acknowledge('no-such-alarm'), 'NOT_FOUND');
    const tooLong = await acknowledge(alarm?.alarmId ?? '', { note: 'x'.repeat(501) });
    expect(refusalOf(tooLong, 'INVALID_REQUEST_BODY')).toMatch(/^note: must be text of 1 to 500 characters/);
    expect((await openAlarms()).every(({ acknowledgement }) => acknowledgement === null)).toBe(true);
  });
});

describe('A mute', () => {
  it('withholds alarms of its kind and location from webhooks, and they are listed all the same', async () => {
    const { until } = await mute({ note: 'Works on the network.' });
    const open = await untilOffline();
    for (const { locationId, mutedUntil, isWithheld } of open)
      expect([mutedUntil, isWithheld]).toEqual(locationId === 'quay' ? [until, true] : [null, false]);
    await eventually(() => expect(delivered()).toHaveLength(2));
    expect(receiver.accepted().every(({ locationId }) => locationId === 'yard')).toBe(true);
    // The log is whole, and marks the withheld ones.
    const logged = await events('alarm.began');
    expect(logged.filter(({ data }) => data.isWithheld === true)).toHaveLength(2);
    expect(await events('alarm.muted')).toMatchObject([
      { source: 'rest', by: BY, locationId: 'quay', data: { kind: 'OFFLINE', until } },
    ]);
  });

  it('withholds no later alarm of a location whose webhook waits', async () => {
    await mute({ controllerUuid: 'quay-a', connectorId: '1' });
    receiver.answer = ({ locationId }) => (locationId === 'quay' ? 500 : 204);
    const open = await untilOffline();
    const [withheld, sent] = ['1', '2'].map(
      (id) =>
        open.find(({ locationId, connectorId }) => locationId === 'quay' && connectorId === id)?.alarmId,
    );
    await eventually(() => expect(receiver.received.some(({ status }) => status === 500)).toBe(true));
    // More of them than a look at the location reads.
    for (let nth = 0; nth < 25; nth++) bodyOf(await acknowledge(withheld ?? ''), alarmSchema);
    bodyOf(await acknowledge(sent ?? ''), alarmSchema);
    receiver.answer = () => 204;
    await eventually(() => {
      clock.advance(1_000);
      expect(delivered().filter(([, locationId]) => locationId === 'quay')).toEqual([
        ['alarm.began', 'quay', sent],
        ['alarm.acknowledged', 'quay', sent],
      ]);
    });
  });

  it('ends at its instant: webhooks then receive the alarms that are still open', async () => {
    await mute({ until: later(6_000) });
    await untilOffline();
    const charger = await connectCharger(service.mqttUrl, 'quay');
    await untilAtQuay(0);
    charger.vanish();
    const still = (await untilAtQuay(2)).map(({ alarmId }) => alarmId);
    expect(receiver.accepted().some(({ locationId }) => locationId === 'quay')).toBe(false);
    clock.advance(6_000_000);
    const quays = () => delivered().filter(([, locationId]) => locationId === 'quay');
    // Alarms that ended under the mute are never sent.
    await eventually(() => {
      clock.advance(100);
      expect(quays().toSorted()).toEqual(still.map((id) => ['alarm.began', 'quay', id]).toSorted());
    });
    expect(await events('alarm.unmuted')).toMatchObject([
      { source: 'service', by: null, locationId: 'quay' },
    ]);
    for (const alarm of await untilAtQuay(2))
      expect(alarm).toMatchObject({ mutedUntil: null, isWithheld: false });
    expect(bodyOf(await service.call('GET', MUTES), muteListSchema).mutes).toEqual([]);
  });

  it('is withdrawn by DELETE, once', async () => {
    const { muteId } = await mute({});
    await untilOffline();
    refusalOf(await service.call('DELETE', `${MUTES}/${muteId}`, undefined, RIVAL), 'LOCATION_NOT_FOUND');
    refusalOf(await service.call('DELETE', `/locations/yard/alarm-mutes/${muteId}`), 'NOT_FOUND');
    bodyOf(await service.call('DELETE', `${MUTES}/${muteId}`), muteDeletedSchema);
    refusalOf(await service.call('DELETE', `${MUTES}/${muteId}`), 'NOT_FOUND');
    await eventually(() => {
      clock.advance(1);
      expect(delivered().filter(([, locationId]) => locationId === 'quay')).toHaveLength(2);
    });
    expect(await events('alarm.unmuted')).toMatchObject([{ source: 'rest', by: BY }]);
    expect((await openAlarms()).every(({ mutedUntil }) => mutedUntil === null)).toBe(true);
  });

  it('of a connector covers that connector alone; the later end counts, and a second one replaces it', async () => {
    await untilOffline();
    const connector = { controllerUuid: 'quay-a', connectorId: '1' };
    await mute(connector);
    const mutedUntil = async (id: string) =>
      (await openAlarms()).find(({ connectorId }) => connectorId === id)?.mutedUntil;
    expect([await mutedUntil('1'), await mutedUntil('2')]).toEqual([later(3_600), null]);
    await mute({ until: later(60) });
    expect([await mutedUntil('1'), await mutedUntil('2')]).toEqual([later(3_600), later(60)]);
    await mute({ ...connector, until: later(30) });
    expect([await mutedUntil('1'), await mutedUntil('2')]).toEqual([later(60), later(60)]);
    const { mutes } = bodyOf(await service.call('GET', MUTES), muteListSchema);
    expect(mutes.map(({ connectorId, until }) => [connectorId, until])).toEqual([
      ['1', later(30)],
      [null, later(60)],
    ]);
    // An alarm that webhooks have is not withheld: they receive its end.
    expect((await openAlarms()).every(({ isWithheld }) => !isWithheld)).toBe(true);
  });

  it('survives a restart, and one that ended meanwhile ends at the start', async () => {
    const { until } = await mute({ until: later(900) });
    await untilOffline();
    service = await service.restart({ clock });
    expect((await openAlarms()).map(({ mutedUntil }) => mutedUntil)).toEqual([until, until]);
    service = await service.restart({ clock }, async () => clock.advance(1_000_000));
    await eventually(async () => {
      clock.advance(1);
      expect(await events('alarm.unmuted')).toHaveLength(1);
    });
    await eventually(() => {
      clock.advance(1);
      expect(delivered().filter(([, locationId]) => locationId === 'quay')).toHaveLength(2);
    });
  });

  it.each([
    [{ until: '2026-06-01T11:59:59Z' }, /^until: must be in the future and at most 366 days ahead/],
    [{ until: '2028-06-01T12:00:00Z' }, /^until: must be in the future and at most 366 days ahead/],
    [{ until: 'soon' }, /^until: must be an RFC 3339/],
    [{ kind: 'HUNGRY' }, /^kind: must be one of LIMIT_UNATTAINABLE/],
    [{ controllerUuid: 'quay-a' }, /^connectorId: required beside controllerUuid/],
    [{ connectorId: '1' }, /^controllerUuid: required beside connectorId/],
    [{ note: '' }, /^note: must be text of 1 to 500 characters/],
  ])('of %j is refused with the field and the rule', async (body, message) => {
    const answer = await service.call('POST', MUTES, { kind: 'OFFLINE', until: later(60), ...body });
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(message);
  });

  it('of a connector elsewhere is refused', async () => {
    for (const controllerUuid of ['yard-a', 'rivals-a', 'nobody']) {
      const body = { kind: 'OFFLINE', until: later(60), controllerUuid, connectorId: '1' };
      refusalOf(await service.call('POST', MUTES, body), 'CHARGER_NOT_FOUND');
    }
  });
});
