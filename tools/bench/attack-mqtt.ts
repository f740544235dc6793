// MQTT packets that a charger does not send: invalid ones from strangers; garbage, foreign topics and floods from
// chargers with a valid login.
import { connect, type Socket } from 'node:net';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { buildTopic } from '../../src/wire/topics.js';
import type { Dice } from './attack-dice.js';
import {
  connectPacket,
  createPacketReader,
  KIND,
  type Login,
  PINGREQ,
  packetOf,
  publishPacket,
  subscribePacket,
  surePublishPacket,
  textOf,
} from './mqtt-packets.js';

export interface MqttPrey {
  readonly mqttUrl: string;
  /** The attackers' own chargers. */
  readonly members: readonly { readonly address: ChargerAddress; readonly login: Login }[];
  /** A charger of another tenant. */
  readonly foreign: ChargerAddress;
}

export interface MqttTally {
  packets: number;
  connections: number;
  /** Connections that the service did not accept. */
  refused: number;
}

/** Longest wait for an answer: a broker owes no answer to most packets. */
const STAYS_MS = 1_500;
const STRANGER_STAYS_MS = 100;
const CONNECTOR = '1' as ConnectorId;
const TYPES = Array.from({ length: 256 }, (_, type) => type);

/** A CONNECT packet with the given parts. */
function connectWith(
  protocol: string,
  level: number,
  flags: number,
  keepaliveS: number,
  ...texts: string[]
): Buffer {
  const head = Buffer.from([level, flags, keepaliveS >> 8, keepaliveS & 255]);
  return packetOf(0x10, Buffer.concat([textOf(protocol), head, ...texts.map(textOf)]));
}

/** Packets before or instead of a valid CONNECT. */
function drawStranger(dice: Dice, { members, foreign }: MqttPrey): Buffer {
  const { login } = dice.pick(members);
  const name = dice.name();
  const { clientId, username, password } = login;
  return dice.pick<() => Buffer>([
    () => dice.bytes(1 + dice.below(200)),
    () => Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    () => connectWith('MQTT', dice.pick([0, 3, 5, 6, 132, 255]), 0xc2, 60, clientId, username, password),
    () => connectWith(dice.pick(['MQIsdp', 'mqtt', '', 'MQTTX']), 4, 0xc2, 60, clientId, username, password),
    () =>
      connectWith('MQTT', 4, dice.below(256), dice.pick([0, 1, 61, 65_535]), clientId, username, password),
    () => connectWith('MQTT', 4, 0xe6, 30, clientId, stateTopicOf(foreign), '{}', username, password),
    () => connectPacket({ ...login, password: name }),
    () => connectPacket({ ...login, clientId: name }),
    () => connectPacket({ ...login, username: name }),
    () => connectPacket({ ...login, username: '\u0000', password: '' }),
    () => connectPacket(login).subarray(0, 1 + dice.below(40)),
    () => dice.flipped(connectPacket(login)),
    () => Buffer.concat([connectPacket(login), connectPacket(login)]),
    () => Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]),
    () => Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0xff]),
    () => publishPacket(stateTopicOf(foreign), Buffer.from('{}')),
    () => packetOf(dice.pick(TYPES), dice.bytes(dice.below(40))),
  ])();
}

function stateTopicOf(address: ChargerAddress): string {
  return buildTopic({ ...address, kind: 'state' });
}

/** Packets after a valid login: garbage on the charger's own topics and on others, and bytes that are not a packet. */
function drawMember(dice: Dice, address: ChargerAddress, foreign: ChargerAddress): Buffer {
  const whose = dice.isOneIn(12) ? foreign : address;
  const connector = { ...whose, connectorId: CONNECTOR };
  const meter = { v: 1, boot: 'mob', hb: dice.below(9), powerW: 5, currentA: [1, 1, 1], status: 'Charging' };
  const state = {
    v: 1,
    online: true,
    boot: 'mob',
    connectors: [{ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'heartbeat' }],
  };
  const ack = { v: 1, boot: 'mob', epoch: dice.below(9), seq: dice.below(9), status: 'accepted' };
  const [kind, body] = dice.pick([
    ['meter', meter],
    ['ack', ack],
    ['state', state],
    ['limit', { v: 1, limitA: 32 }],
  ] as const);
  const topic = kind === 'state' ? stateTopicOf(whose) : buildTopic({ ...connector, kind });
  const payload = dice.isOneIn(6) ? dice.bytes(dice.below(300)) : Buffer.from(dice.json(body));
  const good = surePublishPacket(topic, payload, 1 + dice.below(65_535), kind === 'state' || dice.isOneIn(9));
  return dice.pick<() => Buffer>([
    ...Array.from({ length: 12 }, () => () => good),
    ...Array.from({ length: 12 }, () => () => publishPacket(topic, payload)),
    () => dice.flipped(good),
    () => publishPacket(`${dice.name().slice(0, 200)}/${dice.name().slice(0, 200)}`, payload),
    () => publishPacket('a/'.repeat(200), payload),
    () => subscribePacket(1, [dice.pick(['#', '+/+', '$SYS/#', 'ems/#', '']), topic]),
    () =>
      subscribePacket(
        0,
        Array.from({ length: 30 }, (_, i) => `${topic}/${i}`),
      ),
    () => subscribePacket(2, []),
    () => packetOf(0x34, Buffer.concat([textOf(topic), Buffer.from([0, 1]), payload])),
    () => packetOf(0x36, Buffer.concat([textOf(topic), payload])),
    () => packetOf(0x30, Buffer.from([0xff, 0xff, 0x61])),
    () => publishPacket(topic, Buffer.alloc(20_000, 'x')),
    () => Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]),
    () => packetOf(dice.pick(TYPES), dice.bytes(dice.below(60))),
    () => packetOf(dice.pick([0x40, 0x50, 0x62, 0x70]), dice.bytes(2)),
    () => packetOf(0xa2, Buffer.concat([Buffer.from([0, 1]), textOf(topic)])),
  ])();
}

interface Talk {
  /** Sent after the login is accepted, or at once if there is no login. */
  readonly packets: readonly Buffer[];
  readonly login: Buffer | undefined;
  readonly staysMs: number;
}

/** Resolves after the broker has closed the connection or has answered every packet, or after the wait. */
function talk(prey: MqttPrey, tally: MqttTally, { packets, login, staysMs }: Talk): Promise<void> {
  const { hostname, port } = new URL(prey.mqttUrl);
  tally.connections++;
  return new Promise((resolve) => {
    let isConnected = false;
    const socket: Socket = connect(Number(port), hostname, () => {
      isConnected = true;
      if (login === undefined) send();
      else socket.write(login);
    });
    const send = () => void socket.write(Buffer.concat([...packets, PINGREQ]));
    const leave = () => {
      cancel();
      socket.destroy();
      resolve();
    };
    const cancel = systemClock.after(staysMs, leave);
    socket.on(
      'data',
      createPacketReader((type, body) => {
        if (type === KIND.connack && body[1] === 0 && login !== undefined) send();
        else if (type === KIND.connack || type === KIND.pingresp) leave();
      }),
    );
    socket.on('error', () => {
      if (!isConnected) tally.refused++;
    });
    socket.on('close', leave);
  });
}

/** Sends `count` packets, many connections at once. */
export async function attackMqtt(
  dice: Dice,
  prey: MqttPrey,
  tally: MqttTally,
  {
    count,
    atOnce,
    isOver,
  }: { readonly count: number; readonly atOnce: number; readonly isOver: () => boolean },
): Promise<void> {
  const until = tally.packets + count;
  const attacker = async () => {
    while (tally.packets < until && !isOver()) {
      const most = until - tally.packets;
      if (dice.isOneIn(2)) {
        const packets = Array.from({ length: Math.min(most, 1 + dice.below(3)) }, () =>
          drawStranger(dice, prey),
        );
        tally.packets += packets.length;
        await talk(prey, tally, { packets, login: undefined, staysMs: STRANGER_STAYS_MS });
        continue;
      }
      const { address, login } = dice.pick(prey.members);
      const isFlood = dice.isOneIn(4);
      const length = Math.min(most, 1 + dice.below(isFlood ? 400 : 20));
      // A flood repeats one packet.
      const first = drawMember(dice, address, prey.foreign);
      const packets = Array.from({ length }, () =>
        isFlood ? first : drawMember(dice, address, prey.foreign),
      );
      tally.packets += length;
      await talk(prey, tally, { packets, login: connectPacket(login), staysMs: STAYS_MS });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, attacker));
}
