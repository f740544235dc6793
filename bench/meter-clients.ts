// Chargers that send meter values as fast as they are taken, in a process of their own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { CONNECTED, connectPacket, type Login, publishPacket } from './mqtt-packets.js';

/** One charger with one connector: how it signs in and where it publishes. */
export interface MeterClient extends Login {
  readonly topic: string;
}

export interface MeterClients {
  /** Lets them send until `pause`. */
  send(): void;
  pause(): void;
  stop(): void;
}

// Ten digits from the start, so that every message of a charger has the same length.
const FIRST_HB = 1_000_000_000;
const UNSENT_BYTES = 2_048;
/** A value with every field of the contract but the lease. */
export function meterPayload(hb: number, clientId: string): string {
  return JSON.stringify({
    v: 1,
    boot: `0b6cf0c4-6d0f-4e0e-9f0a-${clientId}`,
    hb,
    at: '2026-06-01T17:00:00.000Z',
    status: 'Charging',
    powerW: 7_360,
    currentA: [10.6, 10.7, 10.7],
    voltageV: [230.1, 229.9, 230],
    energyWh: 123_456,
    epoch: 0,
    seq: 0,
    limitA: 16,
  });
}

async function connectOne(url: URL, client: MeterClient): Promise<Socket> {
  const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
  await once(socket, 'connect');
  socket.write(connectPacket(client));
  const [connack] = await once(socket, 'data');
  if (!CONNECTED.equals(connack)) throw new Error(`${client.clientId} was refused`);
  return socket;
}

async function runClients(url: URL, clients: readonly MeterClient[]): Promise<void> {
  const senders: { readonly socket: Socket; readonly packet: Buffer; readonly hbAt: number }[] = [];
  for (const client of clients) {
    const socket = await connectOne(url, client);
    socket.on('close', () => process.exit(1));
    const payload = Buffer.from(meterPayload(FIRST_HB, client.clientId));
    const packet = publishPacket(client.topic, payload);
    senders.push({ socket, packet, hbAt: packet.indexOf(String(FIRST_HB)) });
  }
  let isSending = false;
  let hb = FIRST_HB;
  function sendRound(): void {
    hb++;
    const digits = String(hb);
    for (const { socket, packet, hbAt } of senders) {
      if (socket.writableLength > UNSENT_BYTES) continue;
      const message = Buffer.from(packet);
      message.write(digits, hbAt, 'latin1');
      socket.write(message);
    }
    if (isSending) setImmediate(sendRound);
  }
  process.on('message', (order) => {
    isSending = order === 'send';
    if (isSending) sendRound();
  });
  process.send?.('ready');
}

/** Starts the clients in a process of their own; resolves when all are connected. */
export async function startMeterClients(url: string, clients: readonly MeterClient[]): Promise<MeterClients> {
  const child = fork(fileURLToPath(import.meta.url), [url]);
  child.send(clients as MeterClient[]);
  await once(child, 'message');
  return {
    send: () => void child.send('send'),
    pause: () => void child.send('pause'),
    stop: () => void child.kill(),
  };
}

const [, script, url] = process.argv;
if (script === fileURLToPath(import.meta.url) && url !== undefined) {
  const [clients] = await once(process, 'message');
  await runClients(new URL(url), clients as MeterClient[]);
}
