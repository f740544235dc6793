// Chargers that hold grants and send meter values as fast as the broker takes them, in a process of their own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/clock.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import {
  CONNECTED,
  connectPacket,
  createPacketReader,
  KIND,
  type Login,
  PINGREQ,
  publishPacket,
  readSurePublish,
  subscribePacket,
} from './mqtt-packets.js';

/** One charger with one connector: its login and its topics. */
export interface MeterClient extends Login {
  readonly meterTopic: string;
  readonly limitTopic: string;
}

export interface MeterClients {
  /** Each sends as fast as the broker reads, until `pause`. */
  send(): void;
  /** Each sends once a second, until `pause`. */
  beat(): void;
  pause(): void;
  stop(): void;
}

// Ten digits from the start, so that the number can be replaced in place in an encoded message.
const FIRST_HB = 1_000_000_000;
const BEAT_MS = 1_000;
/** Interval of a PINGREQ, which keeps the connection alive during a pause, too. */
const ALIVE_EVERY_BEATS = 20;
/**
 * A PINGREQ after each `ASKED_EVERY` values shows the progress of the broker, and at most `UNREAD_VALUES` are unread.
 * Without this bound the kernel would buffer values of several seconds. On a busy machine the broker would then be late
 * for everything else.
 */
const ASKED_EVERY = 16;
const UNREAD_VALUES = 32;
const FAILSAFE_A = 6;
type Held = Pick<LimitMessage, 'epoch' | 'seq' | 'limitA'>;

const NO_GRANT: Held = { epoch: 0, seq: 0, limitA: FAILSAFE_A };

/** A value with every field of the contract except the lease, of a car that draws its whole limit. */
export function meterPayload(hb: number, clientId: string, { epoch, seq, limitA }: Held = NO_GRANT): string {
  return JSON.stringify({
    v: 1,
    boot: `0b6cf0c4-6d0f-4e0e-9f0a-${clientId}`,
    hb,
    at: '2026-06-01T17:00:00.000Z',
    status: 'Charging',
    powerW: Math.round(limitA * 690),
    currentA: [limitA, limitA, limitA],
    voltageV: [230.1, 229.9, 230],
    energyWh: 123_456,
    epoch,
    seq,
    limitA,
  });
}

interface Sender {
  readonly socket: Socket;
  sent: number;
  /**
   * `asked`: number of values sent before each open PINGREQ, oldest first. `read`: number of values that the broker has
   * read for certain.
   */
  read: number;
  readonly asked: number[];
  /** The encoded meter value, with `FIRST_HB` at `hbAt`. */
  packet: Buffer;
  hbAt: number;
}

async function connectOne(url: URL, client: MeterClient): Promise<Sender> {
  const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
  await once(socket, 'connect');
  socket.write(connectPacket(client));
  const [connack] = await once(socket, 'data');
  if (!CONNECTED.equals(connack)) throw new Error(`${client.clientId} was refused`);
  const sender: Sender = { socket, packet: CONNECTED, hbAt: 0, sent: 0, read: 0, asked: [] };
  hold(sender, client, NO_GRANT);
  const read = createPacketReader((type, body) => {
    if (type === KIND.pingresp) sender.read = sender.asked.shift() ?? sender.read;
    if ((type & 0xf0) !== KIND.publish) return;
    const { payload, puback } = readSurePublish(body);
    socket.write(puback);
    hold(sender, client, JSON.parse(payload.toString()) as LimitMessage);
  });
  socket.on('data', read);
  socket.write(subscribePacket(1, [client.limitTopic]));
  socket.on('close', () => {
    throw new Error(`${client.clientId} lost its connection`);
  });
  return sender;
}

/** From now on its meter values report this grant as applied. */
function hold(sender: Sender, { meterTopic, clientId }: MeterClient, held: Held): void {
  sender.packet = publishPacket(meterTopic, Buffer.from(meterPayload(FIRST_HB, clientId, held)));
  sender.hbAt = sender.packet.indexOf(String(FIRST_HB));
}

async function runClients(url: URL, clients: readonly MeterClient[]): Promise<void> {
  const senders: Sender[] = [];
  for (const client of clients) senders.push(await connectOne(url, client));
  let order: unknown = 'pause';
  let hb = FIRST_HB;
  function sendRound(): void {
    const digits = String(++hb);
    for (const sender of senders) if (sender.sent - sender.read < UNREAD_VALUES) sendValue(sender, digits);
    if (order === 'send') setImmediate(sendRound);
  }
  function beat(nth: number): void {
    if (order === 'beat') sendRound();
    if (nth % ALIVE_EVERY_BEATS === 0) senders.forEach(ask);
    systemClock.after(BEAT_MS, () => beat(nth + 1));
  }
  process.on('message', (next) => {
    order = next;
    if (order === 'send') sendRound();
  });
  beat(1);
  process.send?.('ready');
}

function ask({ socket, asked, sent }: Sender): void {
  asked.push(sent);
  socket.write(PINGREQ);
}

function sendValue(sender: Sender, digits: string): void {
  const { socket, packet, hbAt } = sender;
  const message = Buffer.from(packet);
  message.write(digits, hbAt, 'latin1');
  socket.write(message);
  sender.sent++;
  if (sender.sent % ASKED_EVERY === 0) ask(sender);
}

/** Starts the clients in a process of their own; resolves after all are connected. */
export async function startMeterClients(url: string, clients: readonly MeterClient[]): Promise<MeterClients> {
  const child = fork(fileURLToPath(import.meta.url), [url]);
  child.send(clients as MeterClient[]);
  await once(child, 'message');
  return {
    send: () => void child.send('send'),
    beat: () => void child.send('beat'),
    pause: () => void child.send('pause'),
    stop: () => void child.kill(),
  };
}

const [, script, url] = process.argv;
if (script === fileURLToPath(import.meta.url) && url !== undefined) {
  const [clients] = await once(process, 'message');
  await runClients(new URL(url), clients as MeterClient[]);
}
