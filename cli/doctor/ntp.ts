// Asks a time server once for the lead of its clock: one packet of SNTP (RFC 4330), unauthenticated, for information
// only.
import { createSocket } from 'node:dgram';
import type { Clock } from '../../src/ports/clock.js';

const PORT = 123;
const ANSWER_WITHIN_MS = 3_000;
const PACKET_BYTES = 48;
/** Version 4, mode 3: a client asks. */
const CLIENT = 0x23;
const SERVER_MODE = 4;
/** From 1900, the epoch of NTP, to 1970, s. */
const EPOCH_S = 2_208_988_800;
const RECEIVED_AT = 32;
const SENT_AT = 40;

/**
 * @param server a host, or host:port.
 * @returns the lead of its clock over `clock`, ms; the error is at most half the round-trip time.
 * @throws if the server does not answer within 3 s, or the answer is not from a time server.
 */
export function ntpAheadMs(server: string, clock: Clock): Promise<number> {
  const { hostname, port } = new URL(`udp://${server}`);
  const isIpV6 = hostname.startsWith('[');
  const socket = createSocket(isIpV6 ? 'udp6' : 'udp4');
  return new Promise<number>((resolve, reject) => {
    const cancel = clock.after(ANSWER_WITHIN_MS, () =>
      reject(new Error(`${server} did not answer within ${ANSWER_WITHIN_MS / 1000} s`)),
    );
    const asked = Buffer.alloc(PACKET_BYTES);
    asked[0] = CLIENT;
    socket.on('error', reject);
    socket.on('close', cancel);
    const askedAtMs = clock.nowMs();
    socket.on('message', (answer) => {
      const receivedAtMs = clock.nowMs();
      if (answer.length < PACKET_BYTES || ((answer[0] ?? 0) & 7) !== SERVER_MODE || answer[1] === 0)
        return reject(new Error(`${server} does not answer as a time server`));
      resolve((instantAt(answer, RECEIVED_AT) - askedAtMs + instantAt(answer, SENT_AT) - receivedAtMs) / 2);
    });
    socket.send(asked, Number(port) || PORT, hostname.replace(/[[\]]/g, ''));
  }).finally(() => socket.close());
}

/** ms since 1970. */
function instantAt(packet: Buffer, offset: number): number {
  return 1000 * (packet.readUInt32BE(offset) - EPOCH_S + packet.readUInt32BE(offset + 4) / 2 ** 32);
}
