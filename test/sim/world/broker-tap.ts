// Reads and changes bytes at the embedded broker's own sockets, in both directions.
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

export interface Publication {
  readonly topic: string;
  readonly payload: string;
}

export interface BrokerTap {
  readonly publications: readonly Publication[];
  /** Number of CONNECT packets. */
  readonly connects: number;
  close(): void;
}

/** Replaces text by other text of the same length. */
export type Forgery = (text: string) => string;

const ACCEPTED = 'net.server.socket';
const CONNECT = 1;
const PUBLISH = 3;

/** Taps every connection until `close`. `forge` changes bytes in either direction. */
export function tapBroker(forge: Forgery = (text) => text): BrokerTap {
  const publications: Publication[] = [];
  let connects = 0;

  function note(header: number, body: Buffer): void {
    if (header >> 4 === CONNECT) connects++;
    if (header >> 4 !== PUBLISH) return;
    const topicEnd = 2 + body.readUInt16BE(0);
    const hasPacketId = ((header >> 1) & 3) > 0;
    const payload = body.subarray(topicEnd + (hasPacketId ? 2 : 0)).toString();
    publications.push({ topic: body.subarray(2, topicEnd).toString(), payload });
  }

  function tap(message: unknown): void {
    const { socket } = message as { socket: Socket };
    const taken = packetReader(note);
    const put = packetReader(note);
    // Of the servers here only the broker takes the bytes of its sockets by a `push` of its own.
    if (!Object.hasOwn(socket, 'push')) return;
    const take = socket.push;
    socket.push = (chunk: Buffer | null) => {
      if (chunk === null) return take(null);
      const forged = Buffer.from(forge(chunk.toString('latin1')), 'latin1');
      taken(forged);
      return take(forged);
    };
    const write = socket.write.bind(socket) as (chunk: Buffer | string, ...rest: unknown[]) => boolean;
    socket.write = (chunk: Buffer | string, ...rest: unknown[]) => {
      const forged = Buffer.from(forge(Buffer.from(chunk).toString('latin1')), 'latin1');
      put(forged);
      return write(forged, ...rest.filter((argument) => typeof argument === 'function'));
    };
  }

  channel(ACCEPTED).subscribe(tap);
  return {
    publications,
    get connects() {
      return connects;
    },
    close: () => void channel(ACCEPTED).unsubscribe(tap),
  };
}

/** Calls `onPacket` with the first byte and the body of every whole MQTT packet of a stream. */
function packetReader(onPacket: (header: number, body: Buffer) => void): (chunk: Uint8Array) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (let length = lengthOf(rest); length !== undefined; length = lengthOf(rest)) {
      const end = length.startsAt + length.bytes;
      if (rest.length < end) return;
      onPacket(rest.readUInt8(0), rest.subarray(length.startsAt, end));
      rest = rest.subarray(end);
    }
  };
}

/** The remaining length of MQTT 3.1.1, section 2.2.3; undefined if more bytes must come first. */
function lengthOf(packet: Buffer): { readonly bytes: number; readonly startsAt: number } | undefined {
  let bytes = 0;
  for (let i = 1; i < packet.length; i++) {
    const byte = packet.readUInt8(i);
    bytes += (byte & 127) * 128 ** (i - 1);
    if (byte < 128) return { bytes, startsAt: i + 1 };
  }
  return undefined;
}
