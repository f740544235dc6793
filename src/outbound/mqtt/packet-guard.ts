// Stands in front of the MQTT parser, which buffers whatever length a packet announces, logged in or not.

/** Why a connection is cut: a packet too long, a length no packet can have, or too many packets. */
export type PacketFault = 'oversized' | 'malformed' | 'flood';

export interface PacketGuard {
  /** Looks at the next bytes of the stream; after a fault the stream is of no more use. */
  check(chunk: Buffer): PacketFault | undefined;
}

const MORE = 0x80;
// A remaining length takes at most four bytes (MQTT 3.1.1, section 2.2.3).
const LENGTH_BYTES = 4;

/** `takePacket` is asked once per packet, as soon as its first byte is there. */
export function createPacketGuard(packetLimitBytes: number, takePacket: () => boolean): PacketGuard {
  let lengthBytes = 0;
  let bodyBytes = 0;
  let state: 'header' | 'length' | 'body' = 'header';

  function readLength(byte: number): PacketFault | undefined {
    bodyBytes += (byte & ~MORE) * 128 ** lengthBytes;
    lengthBytes++;
    if (1 + lengthBytes + bodyBytes > packetLimitBytes) return 'oversized';
    if ((byte & MORE) === 0) state = bodyBytes === 0 ? 'header' : 'body';
    else if (lengthBytes === LENGTH_BYTES) return 'malformed';
    return undefined;
  }

  return {
    check(chunk) {
      let at = 0;
      while (at < chunk.length) {
        if (state === 'body') {
          const taken = Math.min(bodyBytes, chunk.length - at);
          at += taken;
          bodyBytes -= taken;
          if (bodyBytes === 0) state = 'header';
        } else if (state === 'header') {
          if (!takePacket()) return 'flood';
          at++;
          lengthBytes = 0;
          bodyBytes = 0;
          state = 'length';
        } else {
          const fault = readLength(chunk[at] ?? 0);
          if (fault !== undefined) return fault;
          at++;
        }
      }
      return undefined;
    },
  };
}
