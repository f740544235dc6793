// The embedded broker against real clients: it passes everything that the MQTT contract allows, and other packets harm
// only their sender.
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { generateSecret, hashPassword } from '../../../src/secrets.js';
import {
  createPacketReader,
  publishPacket,
  readSurePublish,
  subscribePacket,
  surePublishPacket,
} from '../../../tools/bench/mqtt-packets.js';
import { eventually } from '../../eventually.js';
import {
  type BrokerRig,
  CREDENTIALS,
  closed,
  connectBytes,
  credentialsOf,
  HARBOUR,
  loginOf,
  nextMessage,
  STRANGER,
  startBroker,
  topicOf,
} from './broker-rig.js';

let rig: BrokerRig;

beforeEach(async () => {
  rig = await startBroker();
});

afterEach(async () => {
  await rig.stop();
});

it('The embedded broker leaves no timer behind if its port is in use', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const mqttPort = Number(new URL(rig.url).port);
  await expect(startBroker({ mqttPort })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(timers()).toBeLessThanOrEqual(before);
});

describe('The embedded broker at login', () => {
  it('accepts a charger with its own name, password and client id', async () => {
    const client = await rig.connect('q1-a');
    client.publish(topicOf('c/1/meter'), '{"powerW":7360}');
    await rig.heard('{"powerW":7360}');
    expect(rig.received).toEqual([{ topic: topicOf('c/1/meter'), text: '{"powerW":7360}' }]);
    expect(rig.bus.isHealthy()).toBe(true);
  });

  it.each([
    ['a wrong password', { password: 'wrong' }, 'credentials', 4],
    ['no password', { password: undefined }, 'credentials', 4],
    ['an unknown name', { username: `${HARBOUR}/nobody` }, 'credentials', 4],
    ['a name like __proto__', { username: '__proto__' }, 'credentials', 4],
    ["another charger's client id", { clientId: 'q1-b' }, 'client-id', 2],
    ['no client id', { clientId: '' }, 'client-id', 2],
    ["another tenant's name", { username: `${STRANGER}/q1-b` }, 'credentials', 4],
    ['keepalive switched off', { keepalive: 0 }, 'keepalive', 5],
    ['a keepalive over 60 s', { keepalive: 61 }, 'keepalive', 5],
  ])('refuses %s', async (_, options, reason, code) => {
    await expect(rig.connect('q1-a', options as object)).rejects.toMatchObject({ code });
    expect(await rig.refusals(reason)).toBe(1);
    await rig.stillServes();
  });

  it('refuses MQTT 5 and continues to serve', async () => {
    await expect(rig.connect('q1-a', { protocolVersion: 5 })).rejects.toThrow();
    await rig.stillServes();
  });

  it('keeps a session while others claim its client id', async () => {
    const owner = await rig.connect('q1-a');
    await expect(rig.connect('q1-b', { clientId: 'q1-a' })).rejects.toMatchObject({ code: 2 });
    await expect(rig.connect('q1-a', { password: 'wrong' })).rejects.toMatchObject({ code: 4 });
    owner.publish(topicOf('c/1/meter'), 'still here');
    await rig.heard('still here');
  });

  it('separates chargers of the same id in two tenants', async () => {
    const ours = await rig.connect('q1-a');
    const theirs = await rig.connect('q1-a', { tenant: STRANGER });
    ours.publish(topicOf('c/1/meter'), 'ours');
    theirs.publish(topicOf('c/1/meter', 'q1-a', STRANGER), 'theirs');
    await rig.heard('ours');
    await rig.heard('theirs');
    theirs.publish(topicOf('c/1/meter'), 'forged');
    await closed(theirs);
    expect(rig.received.map(({ text }) => text)).not.toContain('forged');
  });

  it('replaces a session by a later one of the same charger', async () => {
    const will = { topic: topicOf('state'), payload: Buffer.from('lost'), qos: 1 as const, retain: true };
    const first = await rig.connect('q1-a', { will });
    const gone = closed(first);
    const second = await rig.connect('q1-a');
    await gone;
    second.publish(topicOf('c/1/meter'), 'second');
    await rig.heard('second');
    // The charger is back, so the will of its lost connection would wrongly show it as offline.
    expect(rig.received.map(({ text }) => text)).toEqual(['second']);
  });

  it('forces a clean session: no message is kept for an absent charger', async () => {
    const topic = topicOf('c/1/limit');
    const first = await rig.connect('q1-a', { clean: false });
    await first.subscribeAsync(topic, { qos: 1 });
    await first.endAsync();
    rig.bus.publish(topic, 'while away', { qos: 1, retain: false });
    const second = await rig.connect('q1-a', { clean: false });
    const heard: string[] = [];
    second.on('message', (_, payload) => heard.push(payload.toString()));
    await second.subscribeAsync(topic, { qos: 1 });
    rig.bus.publish(topic, 'now', { qos: 1, retain: false });
    await nextMessage(second);
    expect(heard).toEqual(['now']);
  });

  it('closes a running session at once after its login is removed or its password changes', async () => {
    const will = { topic: topicOf('state'), payload: Buffer.from('lost'), qos: 1 as const, retain: true };
    const a = await rig.connect('q1-a', { will });
    const b = await rig.connect('q1-b');
    const stranger = await rig.connect('q1-a', { tenant: STRANGER });
    const bothGone = Promise.all([closed(a), closed(b)]);
    const changed = { ...loginOf(HARBOUR, 'q1-b'), secretHash: loginOf(HARBOUR, 'other').secretHash };
    rig.logins.replace(credentialsOf(changed, loginOf(STRANGER, 'q1-a')));
    await bothGone;
    await rig.heard('lost');
    expect(await rig.refusals('revoked')).toBe(2);
    await expect(rig.connect('q1-a')).rejects.toMatchObject({ code: 4 });
    stranger.publish(topicOf('c/1/meter', 'q1-a', STRANGER), 'untouched');
    await rig.heard('untouched');
  });

  it('keeps sessions after a reload of unchanged logins', async () => {
    const client = await rig.connect('q1-a');
    rig.logins.replace(structuredClone(CREDENTIALS));
    client.publish(topicOf('c/1/meter'), 'here');
    await rig.heard('here');
  });

  /** A generated secret, so that a hundred wrong passwords take a moment: a chosen password costs a slow hash each. */
  const guess = (i: number) => ({ password: generateSecret(`guess ${i}`) });

  async function guessOften(name = 'q1-a'): Promise<void> {
    for (let i = 0; i < 100; i++) {
      await expect(rig.connect(name, guess(i))).rejects.toMatchObject({ code: 4 });
    }
  }

  it('checks no more passwords of a charger after too many wrong ones, but still those of its neighbours', async () => {
    await rig.stop();
    rig = await startBroker({ authFailuresPerMin: 0.001 });
    await guessOften();
    await expect(rig.connect('q1-a')).rejects.toMatchObject({ code: 3 });
    await expect(rig.connect('q1-a', { username: `${HARBOUR}/nobody` })).rejects.toMatchObject({ code: 3 });
    expect(await rig.refusals('attempts')).toBe(2);
    const { values } = await rig.metrics.authFailures.get();
    expect(values).toMatchObject([{ labels: { via: 'mqtt' }, value: 100 }]);
    await rig.stillServes('q1-b');
  });

  it('accepts a charger with an earlier success or a generated password while others guess at its name', async () => {
    await rig.stop();
    rig = await startBroker({ authFailuresPerMin: 0.001 });
    const generated = generateSecret();
    rig.logins.replace(
      credentialsOf(loginOf(HARBOUR, 'q1-a'), {
        ...loginOf(HARBOUR, 'q1-b'),
        secretHash: await hashPassword(generated),
      }),
    );
    await (await rig.connect('q1-a')).endAsync();
    await guessOften('q1-a');
    for (let i = 0; i < 10; i++)
      await expect(rig.connect('q1-b', guess(i))).rejects.toMatchObject({ code: 3 });
    for (const name of ['q1-a', 'q1-b']) {
      await expect(rig.connect(name, { password: 'one more' })).rejects.toMatchObject({ code: 3 });
    }
    await (await rig.connect('q1-b', { password: generated })).endAsync();
    const client = await rig.connect('q1-a');
    client.publish(topicOf('c/1/meter'), 'here again');
    await rig.heard('here again');
  });

  it('accepts a password with a slow hash, and no other', async () => {
    const secretHash = await hashPassword('password of q1-a');
    rig.logins.replace(credentialsOf({ ...loginOf(HARBOUR, 'q1-a'), secretHash }));
    await expect(rig.connect('q1-a', { password: 'password of q1-b' })).rejects.toMatchObject({ code: 4 });
    const client = await rig.connect('q1-a');
    client.publish(topicOf('c/1/meter'), 'checked slowly');
    await rig.heard('checked slowly');
  });

  it('forgets a client that disconnects during the password check', async () => {
    const secretHash = await hashPassword('password of q1-a');
    rig.logins.replace(credentialsOf({ ...loginOf(HARBOUR, 'q1-a'), secretHash }, loginOf(HARBOUR, 'q1-b')));
    for (let i = 0; i < 3; i++) {
      const socket = await rig.socket();
      socket.write(connectBytes('q1-a'));
      socket.destroy();
    }
    const client = await rig.connect('q1-a');
    client.publish(topicOf('c/1/meter'), 'mine');
    await rig.heard('mine');
    await rig.stillServes();
  });

  it('logs each failed sign-in with address and name, once a minute, without passwords', async () => {
    for (let i = 0; i < 3; i++) await expect(rig.connect('q1-a', guess(i))).rejects.toThrow();
    await expect(
      rig.connect('q1-a', { username: 'hr_demo0001_PublicDemoKeyNotForRealUse' }),
    ).rejects.toThrow();
    expect(rig.lines.map(({ level, fields }) => ({ level, ...fields }))).toEqual([
      {
        level: 'warn',
        via: 'mqtt',
        address: '127.0.0.1',
        username: `${HARBOUR}/q1-a`,
        reason: 'wrong password',
      },
      { level: 'warn', via: 'mqtt', address: '127.0.0.1', reason: 'no such name' },
    ]);
    expect(JSON.stringify(rig.lines)).not.toContain(guess(0).password);
  });
});

describe('A publishing client', () => {
  it.each(['state', 'c/1/meter', 'c/1/ack'])('may publish its own %s', async (rest) => {
    const client = await rig.connect('q1-a');
    await client.publishAsync(topicOf(rest), rest, { qos: 1 });
    await rig.heard(rest);
  });

  it.each([
    ["another charger's meter", topicOf('c/1/meter', 'q1-b')],
    ["another tenant's meter", topicOf('c/1/meter', 'q1-a', STRANGER)],
    ['a charger whose id begins like its own', topicOf('c/1/meter', 'q1-ab')],
    ['its own limit', topicOf('c/1/limit')],
    ['its own sync', topicOf('sync')],
    ['an unknown topic of its own', topicOf('c/1/reboot')],
    ['a deeper topic of its own', topicOf('c/1/meter/x')],
    ['its prefix alone', topicOf('').slice(0, -1)],
    ['an unescaped connector id', topicOf('c/1.2/meter')],
    ['$SYS', '$SYS/x/heartbeat'],
    ['another root', 'powerW'],
    ['a topic of eleven levels', topicOf('c/1/meter/9/10/11')],
  ])('is disconnected for publishing to %s', async (_, topic) => {
    const client = await rig.connect('q1-a');
    client.publish(topic, 'foreign');
    await closed(client);
    await rig.stillServes();
    expect(rig.received.map(({ text }) => text)).not.toContain('foreign');
  });

  it('is disconnected for QoS 2, and for retaining any message but its state', async () => {
    const first = await rig.connect('q1-a');
    first.publish(topicOf('c/1/meter'), 'x', { qos: 2 });
    await closed(first);
    const second = await rig.connect('q1-a');
    second.publish(topicOf('c/1/meter'), 'x', { retain: true });
    await closed(second);
    expect([await rig.refusals('qos'), await rig.refusals('retain')]).toEqual([1, 1]);
    const third = await rig.connect('q1-a');
    await third.publishAsync(topicOf('state'), 'retained', { qos: 1, retain: true });
    await rig.heard('retained');
    expect(rig.received).toHaveLength(1);
  });

  it('may be a gateway, for each of its chargers and for no other', async () => {
    const gateway = await rig.connect('gateway-1');
    for (const charger of ['g-1', 'g-2', 'g-3'])
      gateway.publish(topicOf('c/1/meter', charger), `of ${charger}`);
    await rig.heard('of g-3');
    gateway.publish(topicOf('c/1/meter', 'q1-a'), 'foreign');
    await closed(gateway);
    expect(rig.received.map(({ text }) => text)).toEqual(['of g-1', 'of g-2', 'of g-3']);
  });

  it('loses messages above 5 a second after 20 at once, while others are served', async () => {
    const client = await rig.connect('q1-a');
    for (let i = 0; i < 100; i++) client.publish(topicOf('c/1/meter'), `value ${i}`);
    await client.publishAsync(topicOf('c/1/meter'), 'last', { qos: 1 });
    await rig.stillServes();
    const taken = rig.received.filter(({ text }) => text.startsWith('value')).length;
    expect(taken).toBeGreaterThanOrEqual(20);
    expect(taken).toBeLessThan(60);
    const { values } = await rig.metrics.mqttMessages.get();
    const limited = values.find(({ labels }) => labels.result === 'limited');
    expect(limited?.labels).toEqual({ kind: 'meter', result: 'limited' });
    expect(limited?.value).toBeGreaterThan(40);
  });

  it('has the allowance of all its chargers if it is a gateway', async () => {
    const gateway = await rig.connect('gateway-1');
    for (let i = 0; i < 60; i++) gateway.publish(topicOf('c/1/meter', 'g-1'), `value ${i}`);
    await rig.heard('value 59');
  });

  it('is disconnected after a flood', async () => {
    const socket = await rig.socket();
    socket.write(connectBytes());
    await once(socket, 'data');
    const ping = Buffer.from([0xc0, 0]);
    socket.write(Buffer.concat(Array.from({ length: 5_000 }, () => ping)));
    await closed(socket);
    expect(await rig.refusals('flood')).toBe(1);
    await rig.stillServes();
  });
});

describe('The last will of a charger', () => {
  const ownState = { topic: topicOf('state'), payload: Buffer.from('lost'), qos: 1 as const, retain: true };

  it('is published after a lost connection, even of a charger that sent too much', async () => {
    const client = await rig.connect('q1-a', { will: ownState });
    for (let i = 0; i < 60; i++) client.publish(topicOf('c/1/meter'), 'value');
    await client.publishAsync(topicOf('c/1/meter'), 'value', { qos: 1 });
    client.stream.destroy();
    await rig.heard('lost');
  });

  it('is not published after a clean disconnect', async () => {
    const client = await rig.connect('q1-a', { will: ownState });
    await client.endAsync();
    await rig.stillServes();
    expect(rig.received.map(({ text }) => text)).not.toContain('lost');
  });

  it.each([
    ["another charger's state", { ...ownState, topic: topicOf('state', 'q1-b') }],
    ['its own meter', { ...ownState, topic: topicOf('c/1/meter') }],
    ['QoS 2', { ...ownState, qos: 2 as const }],
  ])('is refused for %s', async (_, will) => {
    await expect(rig.connect('q1-a', { will })).rejects.toMatchObject({ code: 5 });
    expect(await rig.refusals('will')).toBe(1);
  });

  it('is not published at a stop of the service', async () => {
    await rig.connect('q1-a', { will: ownState });
    await rig.bus.stop();
    expect(rig.received).toEqual([]);
    expect(rig.bus.isHealthy()).toBe(false);
  });
});

describe('A stop of the embedded broker', () => {
  it('logs nothing about pending or late messages to chargers', async () => {
    const client = await rig.connect('q1-a');
    await client.subscribeAsync(topicOf('sync'), { qos: 1 });
    for (let i = 0; i < 50; i++) rig.bus.publish(topicOf('sync'), 'now', { qos: 1, retain: false });
    const stopped = rig.bus.stop();
    rig.bus.publish(topicOf('sync'), 'later', { qos: 1, retain: false });
    await stopped;
    rig.bus.publish(topicOf('sync'), 'too late', { qos: 1, retain: false });
    // aedes reports the fate of a message only then.
    await new Promise((resolve) => setImmediate(resolve));
    expect(rig.lines).toEqual([]);
  });

  it('does not wait for a charger that does not read', async () => {
    const socket = await rig.socket();
    socket.write(connectBytes());
    await once(socket, 'data');
    const topic = Buffer.from(topicOf('sync'));
    const head = Buffer.from([0x82, topic.length + 5, 0, 1, 0, topic.length]);
    socket.write(Buffer.concat([head, topic, Buffer.from([1])]));
    await once(socket, 'data');
    socket.pause();
    for (let i = 0; i < 60; i++) {
      rig.bus.publish(topicOf('sync'), 'x'.repeat(1_000_000), { qos: 1, retain: false });
    }
    await rig.bus.stop();
    expect(rig.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('The embedded broker under MQTT 3.1.1', () => {
  it.each([3, 5, 6])('answers protocol level %i with CONNACK 1, and closes the connection', async (level) => {
    const socket = await rig.socket();
    const end = closed(socket);
    socket.write(connectBytes('q1-a', { level }));
    const [answer] = await once(socket, 'data');
    expect([...answer]).toEqual([0x20, 2, 0, 1]);
    await end;
    expect(await rig.refusals('version')).toBe(1);
    await rig.stillServes();
  });

  it.each([
    ['subscribes with packet id 0', [0x82, 8, 0, 0, 0, 3, 0x61, 0x2f, 0x62, 1]],
    ['unsubscribes with packet id 0', [0xa2, 7, 0, 0, 0, 3, 0x61, 0x2f, 0x62]],
    ['publishes at QoS 1 with packet id 0', [0x32, 7, 0, 3, 0x61, 0x2f, 0x62, 0, 0]],
    ['connects again', [...connectBytes()]],
  ])('closes the connection of a charger that %s', async (_, bytes) => {
    const socket = await rig.socket();
    socket.write(connectBytes());
    const [connack] = await once(socket, 'data');
    expect([...connack]).toEqual([0x20, 2, 0, 0]);
    const end = closed(socket);
    socket.resume();
    socket.write(Buffer.from(bytes));
    await end;
    expect(await rig.refusals('malformed')).toBe(1);
    await rig.stillServes();
  });

  it('closes a connection whose CONNECT arrives too slowly, byte by byte', async () => {
    await rig.stop();
    rig = await startBroker({ mqttConnectTimeoutS: 0.3 });
    const socket = await rig.socket();
    const end = closed(socket);
    const bytes = connectBytes();
    let sent = 0;
    const dribble = setInterval(() => {
      // The last byte never comes.
      if (sent < bytes.length - 1) socket.write(bytes.subarray(sent, ++sent));
    }, 5);
    await end;
    clearInterval(dribble);
    await rig.stillServes();
  });
});

describe('The embedded broker at its connection limits', () => {
  it('closes the oldest silent connections in favour of chargers', async () => {
    await rig.stop();
    rig = await startBroker({ mqttPendingConnections: 2 });
    const charger = await rig.connect('q1-a');
    const silent = [await rig.socket(), await rig.socket()];
    const gone = silent.map(closed);
    const newest = await rig.socket();
    await gone[0];
    await rig.stillServes();
    await gone[1];
    charger.publish(topicOf('c/1/meter'), 'still here');
    await rig.heard('still here');
    expect([newest.destroyed, await rig.refusals('pending')]).toEqual([false, 2]);
  });

  it('closes a connection without login in favour of a charger', async () => {
    await rig.stop();
    rig = await startBroker({ mqttConnections: 2 });
    const gone = closed(await rig.socket());
    const charger = await rig.connect('q1-a');
    await rig.stillServes();
    await gone;
    expect(charger.connected).toBe(true);
  });
});

describe('A subscribing charger', () => {
  it('receives its own limit and sync, at QoS 0 or 1', async () => {
    const client = await rig.connect('q1-a');
    const heard: string[] = [];
    client.on('message', (topic, payload) => heard.push(`${topic} ${payload}`));
    await client.subscribeAsync([topicOf('c/1/limit'), topicOf('sync')], { qos: 1 });
    rig.bus.publish(topicOf('c/1/limit'), 'six', { qos: 1, retain: false });
    await nextMessage(client);
    rig.bus.publish(topicOf('sync'), 'now', { qos: 1, retain: false });
    await nextMessage(client);
    expect(heard).toEqual([`${topicOf('c/1/limit')} six`, `${topicOf('sync')} now`]);
  });

  it.each([
    '#',
    '+/#',
    '$SYS/#',
    'ems/v1/#',
    topicOf('#'),
    topicOf('c/+/limit'),
    topicOf('c/1/meter'),
    topicOf('state'),
    topicOf('c/1/limit', 'q1-b'),
    topicOf('c/1/limit', 'q1-a', STRANGER),
  ])('is refused the filter %s, and stays connected', async (filter) => {
    const client = await rig.connect('q1-a');
    await expect(client.subscribeAsync(filter)).rejects.toThrow();
    expect(await rig.refusals('topic')).toBe(1);
    client.publish(topicOf('c/1/meter'), 'still here');
    await rig.heard('still here');
  });

  it('is refused QoS 2', async () => {
    const client = await rig.connect('q1-a');
    await expect(client.subscribeAsync(topicOf('sync'), { qos: 2 })).rejects.toThrow();
    expect(await rig.refusals('qos')).toBe(1);
  });

  it('is disconnected by a message of QoS 3, which no release of the standard has', async () => {
    const socket = await rig.socket();
    socket.write(connectBytes());
    await once(socket, 'data');
    const meter = surePublishPacket(topicOf('c/1/meter'), Buffer.from('4 kW'), 7);
    meter[0] = 0x36;
    socket.write(meter);
    await once(socket, 'close');
    expect(rig.received).toEqual([]);
  });

  /** A connection to a broker that answers each message with a limit. */
  async function connectToAnswering() {
    await rig.stop();
    rig = await startBroker({}, undefined, (bus, text) =>
      bus.publish(topicOf('c/1/limit'), `limit for ${text}`, { qos: 1, retain: false }),
    );
    const socket = await rig.socket();
    socket.write(connectBytes());
    await once(socket, 'data');
    return socket;
  }

  it('receives the acknowledgement of its meter value before the limit that answers it', async () => {
    const socket = await connectToAnswering();
    // The limit may precede the SUBACK (MQTT 3.1.1, section 3.8.4).
    const meter = surePublishPacket(topicOf('c/1/meter'), Buffer.from('4 kW'), 7);
    socket.write(subscribePacket(1, [topicOf('c/1/limit')]));
    await once(socket, 'data');
    socket.write(meter);
    const [answer]: Buffer[] = await once(socket, 'data');
    const packets: number[] = [];
    let text = '';
    createPacketReader((type, body) => {
      packets.push(type);
      if (type === 0x32) text = readSurePublish(body).payload.toString();
    })(answer ?? Buffer.alloc(0));
    expect(packets).toEqual([0x40, 0x32]);
    expect(text).toBe('limit for 4 kW');
  });

  it('receives a limit at once, though its first meter value came with its subscription', async () => {
    const socket = await connectToAnswering();
    const limits: string[] = [];
    const read = createPacketReader((type, body) => {
      if (type === 0x32) limits.push(readSurePublish(body).payload.toString());
    });
    socket.on('data', read);
    const meter = publishPacket(topicOf('c/1/meter'), Buffer.from('4 kW'));
    socket.write(Buffer.concat([subscribePacket(1, [topicOf('c/1/limit')]), meter]));
    await eventually(() => expect(limits).toEqual(['limit for 4 kW']));
  });

  it('receives nothing more after it has cancelled its subscription', async () => {
    const client = await rig.connect('q1-a');
    const heard: string[] = [];
    client.on('message', (_, payload) => heard.push(`${payload}`));
    await client.subscribeAsync([topicOf('c/1/limit'), topicOf('sync')], { qos: 1 });
    await client.unsubscribeAsync(topicOf('c/1/limit'));
    rig.bus.publish(topicOf('c/1/limit'), 'six', { qos: 1, retain: false });
    rig.bus.publish(topicOf('sync'), 'now', { qos: 1, retain: false });
    await nextMessage(client);
    expect(heard).toEqual(['now']);
  });

  it('is refused a ninth subscription until it cancels one', async () => {
    const client = await rig.connect('q1-a');
    for (let k = 1; k <= 8; k++) await client.subscribeAsync(topicOf(`c/${k}/limit`));
    await client.subscribeAsync(topicOf('c/8/limit'), { qos: 1 });
    await expect(client.subscribeAsync(topicOf('sync'))).rejects.toThrow();
    expect(await rig.refusals('subscriptions')).toBe(1);
    await client.unsubscribeAsync(topicOf('c/8/limit'));
    await client.subscribeAsync(topicOf('sync'));
  });
});

describe('The embedded broker under hostile connections', () => {
  it('closes a socket that announces 256 MB before its login', async () => {
    const socket = await rig.socket();
    socket.write(Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]));
    await closed(socket);
    expect(await rig.refusals('oversized')).toBe(1);
    await rig.stillServes();
  });

  it('disconnects a charger that sends a packet over 16 KiB', async () => {
    const client = await rig.connect('q1-a');
    client.publish(topicOf('c/1/meter'), 'x'.repeat(16_384));
    await closed(client);
    expect(await rig.refusals('oversized')).toBe(1);
    expect(rig.received).toEqual([]);
    await rig.stillServes();
  });

  it('refuses a remaining length of five bytes', async () => {
    const socket = await rig.socket();
    socket.write(Buffer.from([0x10, 0x80, 0x80, 0x80, 0x80, 0x01]));
    await closed(socket);
    expect(await rig.refusals('malformed')).toBe(1);
  });

  it('closes a connection that does not finish its CONNECT in time', async () => {
    await rig.stop();
    rig = await startBroker({ mqttConnectTimeoutS: 0.2 });
    const silent = await rig.socket();
    const halfway = await rig.socket();
    halfway.write(connectBytes().subarray(0, 20));
    await Promise.all([closed(silent), closed(halfway)]);
    await rig.stillServes();
  });

  it('disconnects a charger that stays silent for one and a half keepalives', async () => {
    const socket = await rig.socket();
    socket.write(connectBytes('q1-a', { keepaliveS: 1 }));
    const [connack] = await once(socket, 'data');
    expect([...connack]).toEqual([0x20, 2, 0, 0]);
    await closed(socket);
    await rig.refused('connection');
  });

  it('keeps a charger whose only packets are messages', async () => {
    await rig.stop();
    rig = await startBroker({ mqttMessagesPerS: 1_000_000 });
    const socket = await rig.socket();
    socket.write(connectBytes('q1-a', { keepaliveS: 1 }));
    await once(socket, 'data');
    const meter = surePublishPacket(topicOf('c/1/meter'), Buffer.from('4 kW'), 7);
    const began = systemClock.monotonicMs();
    while (systemClock.monotonicMs() - began < 2_000) {
      socket.write(meter);
      await once(socket, 'data');
    }
    expect(socket.readyState).toBe('open');
  });

  it('takes a message that arrives in pieces, and those after it', async () => {
    const socket = await rig.socket();
    socket.write(connectBytes());
    await once(socket, 'data');
    const messages = ['one', 'two', 'three'].map((text) =>
      surePublishPacket(topicOf('c/1/meter'), Buffer.from(text), 7),
    );
    const bytes = Buffer.concat(messages);
    for (const [from, to] of [
      [0, 1],
      [1, 30],
      [30, 140],
      [140, bytes.length],
    ] as const) {
      socket.write(bytes.subarray(from, to));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await rig.heard('three');
    expect(rig.received.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
  });

  it('accepts no connection above its limit', async () => {
    await rig.stop();
    rig = await startBroker({ mqttConnections: 2 });
    await rig.connect('q1-a');
    await rig.connect('q1-b');
    const third = await rig.socket();
    await closed(third);
    expect(await rig.refusals('connections')).toBe(1);
    expect((await rig.metrics.mqttConnections.get()).values[0]?.value).toBe(2);
  });

  it('disconnects a charger that does not read', async () => {
    const socket = await rig.socket();
    socket.write(connectBytes());
    await once(socket, 'data');
    const topic = Buffer.from(topicOf('sync'));
    const subscribe = Buffer.concat([
      Buffer.from([0x82, topic.length + 5, 0, 1, 0, topic.length]),
      topic,
      Buffer.from([0]),
    ]);
    socket.write(subscribe);
    await once(socket, 'data');
    socket.pause();
    while ((await rig.refusals('slow-reader')) === 0) {
      rig.bus.publish(topicOf('sync'), 'x'.repeat(10_000), { qos: 0, retain: false });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await rig.stillServes();
  });

  it('survives packets of every type with every kind of damage', async () => {
    // A fixed sequence (a linear congruential generator), so that a failure can be repeated.
    let seed = 20_260_601;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff;
      return (seed >> 8) % below;
    };
    for (let round = 0; round < 600; round++) {
      const socket = await rig.socket();
      const end = closed(socket);
      socket.resume();
      if (round % 3 > 0) socket.write(connectBytes('q1-a', { level: round % 3 === 1 ? 4 : 5 }));
      const packets = Array.from({ length: 3 }, () => {
        const body = Buffer.from(Array.from({ length: random(24) }, () => random(256)));
        return Buffer.concat([Buffer.from([random(256), body.length]), body]);
      });
      socket.end(Buffer.concat(packets));
      await end;
    }
    await rig.stillServes();
    expect(rig.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
