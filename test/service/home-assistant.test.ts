// Extension: Home Assistant finds a location that opted in, and a reader follows its state over MQTT.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import createKnex from 'knex';
import type { IClientOptions, MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { databaseUrlOf } from '../../src/config.js';
import {
  availabilitySchema,
  connectorStateSchema,
  type Discovery,
  discoverySchema,
  locationStateSchema,
} from '../../src/features/home-assistant/contract.js';
import { hashSecret } from '../../src/secrets.js';
import { ROOT } from '../docs/document.js';
import { eventually } from '../eventually.js';
import { connectOnce } from '../mqtt-client.js';
import { connectCharger } from './charger-client.js';
import { NOW_MS } from './operator-answers.js';
import {
  HARBOUR,
  provisionAt,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

const PASSWORD = 'only the reader of this site knows it';

/** A location with the reader `{id}-reader`. */
function read(id: string, more: object = {}) {
  const reader = { readerUuid: `${id}-reader`, mqttSecretHash: hashSecret(PASSWORD) };
  return { ...site(id), homeAssistant: true, reader, ...more };
}

const liveOf = (id: string, rest: string, tenant = HARBOUR) => `ems/v1/${tenant}/${id}/site/live/${rest}`;
const discoveryOf = (id: string, object: string, tenant = HARBOUR) =>
  `homeassistant/device/headroom__${tenant}__${id}/${object}/config`;

const clock = createVirtualClock(NOW_MS);
const LOCATIONS = [
  ...[
    'limits',
    'meters',
    'hidden',
    'busy',
    'attack',
    'birth',
    'again',
    'crowd',
    'silenced',
    'dotted.and_more:1',
  ].map((id) => read(id)),
  read('leaves'),
  read('smaller'),
  { ...read('silent'), homeAssistant: undefined },
  site('plain'),
];
let service: RunningService;
beforeAll(async () => {
  service = await runService(
    [tenantWith(HARBOUR, LOCATIONS), tenantWith(RIVAL, [read('limits')])],
    { clock },
    { HEADROOM_AUTH_FAILURES_PER_MIN: '1000' },
  );
});
afterAll(() => service.stop());

/** A client with all that it received, the newest payload of each topic, and if it was retained. */
interface Reader {
  readonly client: MqttClient;
  readonly seen: Map<string, { readonly text: string; readonly isRetained: boolean }>;
  readonly received: string[];
  /** The newest payload of a topic, which must fit `schema`. */
  now<T>(topic: string, schema: { parse(value: unknown): T }): T;
  stop(): Promise<void>;
}

const READER: IClientOptions = { protocolVersion: 4, keepalive: 30 };

async function connectReader(
  name: string,
  options: IClientOptions = {},
  { mqttUrl }: Pick<RunningService, 'mqttUrl'> = service,
): Promise<Reader> {
  const client = await connectOnce(mqttUrl, {
    ...READER,
    clientId: name,
    username: `${HARBOUR}/${name}`,
    password: PASSWORD,
    ...options,
  });
  const seen: Reader['seen'] = new Map();
  const received: string[] = [];
  client.on('message', (topic, payload, packet) => {
    received.push(topic);
    seen.set(topic, { text: payload.toString(), isRetained: packet.retain });
  });
  return {
    client,
    seen,
    received,
    now: (topic, schema) => schema.parse(JSON.parse(seen.get(topic)?.text ?? 'null')),
    stop: () => client.endAsync(true),
  };
}

/** A reader of the location that has subscribed to everything it may receive. */
async function follow(id: string, tenant = HARBOUR, running = service): Promise<Reader> {
  const reader = await connectReader(`${id}-reader`, { username: `${tenant}/${id}-reader` }, running);
  await reader.client.subscribeAsync([`ems/v1/${tenant}/${id}/site/live/#`, 'homeassistant/#']);
  return reader;
}

/** Lets time pass until `check` no longer throws. */
async function soon(check: () => void | Promise<void>, passMs = 200): Promise<void> {
  await eventually(async () => {
    clock.advance(passMs);
    await check();
  });
}

/** As its device discovery checks a message (schemas.py and discovery.py of its MQTT integration). */
function problemsForHomeAssistant(topic: string, message: unknown): string[] {
  const problems: string[] = [];
  const check = (isFine: boolean, problem: string) => void (isFine || problems.push(problem));
  const onlyHas = (name: string, value: object, keys: readonly string[]) =>
    check(
      Object.keys(value).every((key) => keys.includes(key)),
      `${name} has unknown keys`,
    );
  check(/^homeassistant\/device\/[a-zA-Z0-9_-]+\/[a-zA-Z0-9_-]+\/config$/.test(topic), 'illegal topic');
  const { dev, o, cmps, ...rest } = discoverySchema.strict().parse(message);
  onlyHas('the device', dev, ['ids', 'name', 'mf', 'mdl', 'sw', 'via_device']);
  onlyHas('the origin', o, ['name', 'sw']);
  onlyHas('the message', rest, ['state_topic', 'availability_topic', 'availability_template']);
  check(dev.ids.length > 0, 'no identifier');
  const ids = Object.values(cmps).map(({ unique_id }) => unique_id);
  check(new Set(ids).size === ids.length, 'ids are not unique');
  for (const [
    name,
    { p, device_class, unit_of_measurement, state_class, options, ...more },
  ] of Object.entries(cmps)) {
    check(p === 'sensor', `${name} is no sensor`);
    check(device_class !== 'power' || unit_of_measurement === 'kW', `${name} has no unit`);
    check(
      device_class !== 'enum' || (options !== undefined && state_class === undefined),
      `${name} has no options, or a class of numbers`,
    );
    check(more.expire_after > 0, `${name} never expires`);
  }
  return problems;
}

describe('discovery', () => {
  it('arrives retained, as Home Assistant takes it: the location and each connector are a device', async () => {
    await soon(async () => {
      const reader = await follow('limits');
      const topics = [...reader.seen.keys()].filter((topic) => topic.startsWith('homeassistant/'));
      await reader.stop();
      expect(topics.sort()).toEqual(
        ['limits-a__1', 'limits-a__2', 'location'].map((object) => discoveryOf('limits', object)),
      );
      expect(topics.map((topic) => reader.seen.get(topic)?.isRetained)).toEqual([true, true, true]);
      for (const topic of topics)
        expect(problemsForHomeAssistant(topic, reader.now(topic, discoverySchema))).toEqual([]);
      const location = reader.now(discoveryOf('limits', 'location'), discoverySchema);
      expect(location.dev).toMatchObject({ name: 'The limits', mdl: 'Location' });
      expect(location.cmps.gridLimitKw).toMatchObject({ device_class: 'power', unit_of_measurement: 'kW' });
      const connector = reader.now(discoveryOf('limits', 'limits-a__1'), discoverySchema);
      expect(connector.dev).toMatchObject({ name: 'The limits limits-a/1', via_device: location.dev.ids[0] });
    });
  });

  it('leads to retained states with each value that it names', async () => {
    const reader = await follow('limits');
    await soon(() => {
      const configs = [...reader.seen].filter(([topic]) => topic.startsWith('homeassistant/'));
      expect(configs).toHaveLength(3);
      for (const [, { text }] of configs) {
        const { cmps, state_topic, availability_topic } = discoverySchema.parse(JSON.parse(text));
        const state: unknown = JSON.parse(reader.seen.get(state_topic)?.text ?? 'null');
        for (const field of Object.keys(cmps)) expect(state).toHaveProperty(field);
        expect(reader.now(availability_topic, availabilitySchema).service).toBe('online');
      }
    });
    await reader.stop();
  });

  it('has ids that Home Assistant takes, also for a location with other signs in its id', async () => {
    const id = 'dotted.and_more:1';
    const reader = await connectReader(`${id}-reader`);
    await reader.client.subscribeAsync('homeassistant/device/+/+/config');
    await soon(() => expect(reader.seen.size).toBe(3));
    for (const [topic, { text }] of reader.seen)
      expect(problemsForHomeAssistant(topic, JSON.parse(text))).toEqual([]);
    await reader.stop();
  });

  it('is sent for no location that did not opt in, and its reader receives nothing', async () => {
    const reader = await connectReader('silent-reader');
    await reader.client.subscribeAsync(['homeassistant/#', liveOf('silent', '#')]);
    const other = await follow('limits');
    await soon(() => expect(other.seen.size).toBeGreaterThan(3));
    expect(reader.received).toEqual([]);
    await reader.stop();
    await other.stop();
  });
});

describe('a state', () => {
  it('follows a limit, once a second at most', async () => {
    const reader = await follow('limits');
    const topic = liveOf('limits', 'location');
    await soon(() => expect(reader.now(topic, locationStateSchema).effectiveLimitKw).toBe(50));
    reader.received.length = 0;
    await service.call('PUT', '/locations/limits/limit', { limitKw: 30 });
    await service.call('PUT', '/locations/limits/limit', { limitKw: 20 });
    await soon(() =>
      expect(reader.now(topic, locationStateSchema)).toMatchObject({ effectiveLimitKw: 20, gridLimitKw: 20 }),
    );
    expect(reader.received.filter((each) => each === topic)).toHaveLength(1);
    expect(reader.seen.get(topic)?.isRetained).toBe(false);
    await reader.stop();
  });

  it('follows a reading, and the limit and the status of its connector', async () => {
    const reader = await follow('meters');
    const charger = await connectCharger(service.mqttUrl, 'meters');
    await charger.meter('1', { powerW: 3300, status: 'Charging' });
    await soon(() => {
      expect(reader.now(liveOf('meters', 'location'), locationStateSchema).actualKw).toBe(3.3);
      expect(reader.now(liveOf('meters', 'c/meters-a/1'), connectorStateSchema)).toMatchObject({
        actualKw: 3.3,
        chargingStatus: 'Charging',
        link: 'online',
      });
      expect(reader.now(liveOf('meters', 'c/meters-a/2'), connectorStateSchema)).toMatchObject({
        actualKw: 0,
        chargingStatus: null,
      });
    });
    await charger.stop();
    await reader.stop();
  });

  it('has the number and the kinds of open alarms', async () => {
    const reader = await follow('busy');
    const charger = await connectCharger(service.mqttUrl, 'busy');
    await charger.meter('1', { powerW: 3300, status: 'Charging' });
    const topic = liveOf('busy', 'location');
    await soon(() => expect(reader.now(topic, locationStateSchema).openAlarms).toBe(0));
    charger.vanish();
    await soon(() => {
      const { openAlarms, alarmKinds } = reader.now(topic, locationStateSchema);
      expect(alarmKinds).toContain('OFFLINE');
      expect(openAlarms).toBeGreaterThan(0);
    });
    await reader.stop();
  });

  it('is sent again before Home Assistant lets it expire, without a change', async () => {
    const reader = await follow('again');
    const topic = liveOf('again', 'c/again-a/1');
    await soon(() => expect(reader.seen.has(topic)).toBe(true));
    const config: Discovery = reader.now(discoveryOf('again', 'again-a__1'), discoverySchema);
    reader.received.length = 0;
    const seconds = config.cmps.actualKw?.expire_after ?? 0;
    for (let passed = 0; passed < seconds; passed++) clock.advance(1000);
    await eventually(() => expect(reader.received.filter((each) => each === topic)).toHaveLength(3));
    await reader.stop();
  });
});

describe('the end', () => {
  it('of the opt-in clears every topic with an empty payload, also for later readers', async () => {
    const reader = await follow('leaves');
    await soon(() => expect(reader.seen.size).toBe(7));
    const topics = [...reader.seen.keys()];
    const locations = LOCATIONS.map((each) =>
      each.locationId === 'leaves' ? { ...each, homeAssistant: false } : each,
    );
    await provisionAt(clock.nowMs(), service.config, tenantWith(HARBOUR, locations));
    await soon(() =>
      expect(topics.map((topic) => reader.seen.get(topic)?.text)).toEqual(topics.map(() => '')),
    );
    const later = await follow('leaves');
    const other = await follow('limits');
    await soon(() => expect(other.seen.size).toBe(7));
    expect(later.received).toEqual([]);
    await Promise.all([reader, later, other].map((each) => each.stop()));
  });

  it('of a connector clears its topics alone', async () => {
    const reader = await follow('smaller');
    await soon(() => expect(reader.seen.size).toBe(7));
    await removeConnector('smaller-a', '2');
    await soon(() => {
      const cleared = [...reader.seen].filter(([, { text }]) => text === '').map(([topic]) => topic);
      expect(cleared.sort()).toEqual([
        liveOf('smaller', 'c/smaller-a/2'),
        discoveryOf('smaller', 'smaller-a__2'),
      ]);
    });
    await reader.stop();
  });

  it('of the service is announced, and its next start sends everything again', async () => {
    const own = await runService([tenantWith(HARBOUR, [read('quay-1')])], { clock });
    const reader = await follow('quay-1', HARBOUR, own);
    await soon(() => expect(reader.seen.size).toBe(7));
    const topic = liveOf('quay-1', 'availability');
    expect(reader.now(topic, availabilitySchema).service).toBe('online');
    const next = await own.restart({ clock });
    await eventually(() => expect(reader.now(topic, availabilitySchema).service).toBe('offline'));
    const later = await follow('quay-1', HARBOUR, next);
    await soon(() => {
      expect(later.seen.size).toBe(7);
      expect(later.now(topic, availabilitySchema).service).toBe('online');
    });
    await later.stop();
    await next.stop();
  });
});

/** No command removes one: the rows of an operator's own hand. */
async function removeConnector(controllerUuid: string, connectorId: string): Promise<void> {
  const filename = databaseUrlOf(service.config).slice('sqlite:'.length);
  const knex = createKnex({ client: 'sqlite3', connection: { filename }, useNullAsDefault: true });
  await knex.transaction(async (trx) => {
    await trx('connectors')
      .where({ tenant_uuid: HARBOUR, controller_uuid: controllerUuid, connector_id: connectorId })
      .delete();
    await trx('revision_counter').increment('revision', 1);
    const { revision } = await trx('revision_counter').first('revision');
    await trx('tenants').where({ tenant_uuid: HARBOUR }).update({ sites_revision: revision });
  });
  await knex.destroy();
}

/** QoS of each granted filter; 128 for a refused one. */
async function grants(client: MqttClient, filters: string[]): Promise<number[]> {
  const granted = new Promise<number[]>((resolve) => {
    const take = (packet: { readonly cmd?: string; readonly granted?: unknown }) => {
      if (packet.cmd !== 'suback') return;
      client.off('packetreceive', take);
      resolve(packet.granted as number[]);
    };
    client.on('packetreceive', take);
  });
  client.subscribe(filters, { qos: 1 }, () => {});
  return granted;
}

describe('a reader', () => {
  it('receives nothing of another location, or of another tenant', async () => {
    const [own, other, rival] = await Promise.all([
      follow('hidden'),
      follow('limits'),
      follow('limits', RIVAL),
    ]);
    await soon(() => {
      for (const each of [own, other, rival]) expect(each.seen.size).toBe(7);
    });
    expect(own.received.filter((topic) => !topic.includes('hidden'))).toEqual([]);
    expect(other.received.filter((topic) => !topic.includes(HARBOUR) || topic.includes('hidden'))).toEqual(
      [],
    );
    expect(rival.received.filter((topic) => !topic.includes(RIVAL))).toEqual([]);
    // Now the broker retains messages of all three.
    const later = await follow('hidden');
    await soon(() => expect(later.seen.size).toBeGreaterThanOrEqual(7));
    expect(later.received.filter((topic) => !topic.includes('hidden'))).toEqual([]);
    await Promise.all([own, other, rival, later].map((each) => each.stop()));
  });

  it.each([
    ['#'],
    ['+/#'],
    ['+/v1/#'],
    ['ems/#'],
    ['ems/v1/+/+/site/live/#'],
    [`ems/v1/${HARBOUR}/#`],
    [`ems/v1/${HARBOUR}/attack/#`],
    [`ems/v1/${HARBOUR}/attack/+/live/#`],
    [`ems/v1/${HARBOUR}/attack/site/meter`],
    [`ems/v1/${HARBOUR}/attack/attack-a/state`],
    [`ems/v1/${HARBOUR}/attack/attack-a/c/1/limit`],
    [`ems/v1/${HARBOUR}/limits/site/live/location`],
    [`ems/v1/${RIVAL}/limits/site/live/#`],
    ['$SYS/#'],
    ['$SYS/+/new/clients'],
    ['$share/all/homeassistant/#'],
    ['homeassistant'],
  ])('is refused a subscription to %s, and stays', async (filter) => {
    const reader = await connectReader('attack-reader');
    expect(await grants(reader.client, [filter])).toEqual([128]);
    await reader.client.subscribeAsync(liveOf('attack', 'availability'));
    // On a busy machine it comes again, as each minute.
    await soon(() => expect(new Set(reader.received)).toEqual(new Set([liveOf('attack', 'availability')])));
    await reader.stop();
  });

  it('that publishes is cut, and nothing arrives', async () => {
    for (const topic of [
      liveOf('attack', 'location'),
      discoveryOf('attack', 'location'),
      `ems/v1/${HARBOUR}/attack/attack-a/c/1/meter`,
      `ems/v1/${HARBOUR}/attack/attack-a/c/1/limit`,
      `ems/v1/${HARBOUR}/attack/site/operator`,
      `ems/v1/${HARBOUR}/attack/site/meter`,
      'homeassistant/sensor/mine/config',
    ])
      for (const qos of [0, 1] as const) {
        const reader = await connectReader('attack-reader');
        const closed = new Promise<void>((resolve) => reader.client.once('close', () => resolve()));
        reader.client.publish(topic, '{"powerW":1}', { qos, retain: true }, () => {});
        await closed;
      }
    const refusals = (await service.metrics.mqttRefusals.get()).values;
    expect(refusals.find(({ labels }) => labels.reason === 'topic')?.value).toBeGreaterThanOrEqual(14);
    const messages = (await service.metrics.mqttMessages.get()).values;
    expect(messages.filter(({ labels }) => labels.kind === 'operator')).toEqual([]);
  });

  it('may announce itself as Home Assistant does by default, to nobody', async () => {
    const status = 'homeassistant/status';
    const will = { topic: status, payload: Buffer.from('offline'), qos: 0 as const, retain: true };
    const reader = await connectReader('birth-reader', { will });
    await reader.client.subscribeAsync('homeassistant/#');
    await reader.client.publishAsync(status, 'online', { qos: 1, retain: true });
    await reader.client.publishAsync(status, 'online', { qos: 0, retain: true });
    await soon(() => expect(reader.seen.size).toBe(3));
    expect(reader.received).not.toContain(status);
    reader.client.stream.destroy();
    const later = await follow('birth');
    await soon(() => expect(later.seen.size).toBe(7));
    expect(later.received).not.toContain(status);
    await later.stop();
    const foreign = { ...will, topic: liveOf('birth', 'availability') };
    await expect(connectReader('birth-reader', { will: foreign })).rejects.toThrow(/Not authorized/);
  });

  it('receives nothing more of a subscription that it ends', async () => {
    const reader = await follow('silenced');
    const topic = liveOf('silenced', 'location');
    await reader.client.subscribeAsync(topic);
    await soon(() => expect(reader.seen.size).toBe(7));
    await reader.client.unsubscribeAsync([liveOf('silenced', '#'), topic]);
    reader.received.length = 0;
    await reader.client.subscribeAsync(liveOf('silenced', 'availability'));
    await soon(() => expect(reader.received).toContain(liveOf('silenced', 'availability')));
    // Before it came the last messages of the subscription that ended.
    reader.received.length = 0;
    await service.call('PUT', '/locations/silenced/limit', { limitKw: 30 });
    for (let passed = 0; passed < 60; passed++) clock.advance(1000);
    const discovery = ['location', 'silenced-a__1', 'silenced-a__2'].map((id) => discoveryOf('silenced', id));
    await eventually(() =>
      expect(new Set(reader.received)).toEqual(new Set([liveOf('silenced', 'availability'), ...discovery])),
    );
    await reader.stop();
  });

  it('holds so many subscriptions and no more', async () => {
    const reader = await connectReader('crowd-reader');
    const exact = Array.from({ length: 1_100 }, (_, i) => liveOf('crowd', `c/crowd-a/${i}`));
    let granted = 0;
    for (let at = 0; at < exact.length; at += 100)
      granted += (await grants(reader.client, exact.slice(at, at + 100))).filter((qos) => qos === 1).length;
    expect(granted).toBe(1_000);
    await reader.stop();
    const wild = await connectReader('crowd-reader');
    const filters = Array.from({ length: 200 }, (_, i) => `homeassistant/${i}/+/config`);
    expect((await grants(wild.client, filters)).filter((qos) => qos === 1)).toHaveLength(128);
    await wild.stop();
  });

  it('with a wrong password is refused, and a charger reads no state', async () => {
    await expect(connectReader('attack-reader', { password: 'wrong' })).rejects.toThrow(/Bad username/);
    const charger = await connectCharger(service.mqttUrl, 'attack');
    const filters = [liveOf('attack', '#'), liveOf('attack', 'location'), 'homeassistant/#'];
    expect(await grants(charger.client, filters)).toEqual([128, 128, 128]);
    await charger.stop();
  });

  it('may connect again and again', async () => {
    for (let i = 0; i < 100; i++) await (await follow('again')).stop();
    const reader = await follow('again');
    await soon(() => expect(reader.seen.size).toBe(7));
    await reader.stop();
  });
});

describe('docs/examples/node-red/flow.json', () => {
  it('takes the topic and a field of the state of a location', () => {
    const flow = JSON.parse(readFileSync(join(ROOT, 'docs/examples/node-red/flow.json'), 'utf8')) as {
      readonly type: string;
      readonly rules?: readonly { readonly v: string }[];
      readonly property?: string;
    }[];
    const rule = flow.find(({ type }) => type === 'switch')?.rules?.[0]?.v ?? '';
    expect(liveOf('quay-1', 'location')).toMatch(new RegExp(rule));
    expect(liveOf('quay-1', 'c/q1-a/1')).not.toMatch(new RegExp(rule));
    const field = flow.find(({ type }) => type === 'rbe')?.property?.replace('payload.', '');
    expect(Object.keys(locationStateSchema.shape)).toContain(field);
  });
});
