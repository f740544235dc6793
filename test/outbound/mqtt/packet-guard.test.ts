// The guard in front of the MQTT parser, byte by byte: everything that MQTT 3.1.1 allows passes, in pieces of any size.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PacketGuard } from '../../../src/outbound/mqtt/packet-guard.js';

const LIMIT_BYTES = 300;

/** A packet with this first byte. */
function packetOf(header: number, body: readonly number[]): Buffer {
  const length = body.length < 128 ? [body.length] : [(body.length & 127) | 128, body.length >> 7];
  return Buffer.from([header, ...length, ...body]);
}

function textOf(text: string): number[] {
  return [0, text.length, ...Buffer.from(text)];
}

/** A CONNECT with a client id, a keepalive, and no more. */
function connectOf(flags = 0b10, level = 4, name = 'MQTT'): Buffer {
  return packetOf(0x10, [...textOf(name), level, flags, 0, 30, ...textOf('q1-a')]);
}

function publishOf(bodyBytes: number): Buffer {
  return packetOf(0x30, [...textOf('a'), ...Array<number>(bodyBytes - 3).fill(0xff)]);
}

function guardOf(admitPacket = () => true): PacketGuard {
  return new PacketGuard(LIMIT_BYTES, admitPacket);
}

const PING = packetOf(0xc0, []);
const ACK = packetOf(0x32, [...textOf('a/ack'), 0, 7, ...Buffer.from('{}')]);
const SUBSCRIBE = packetOf(0x82, [1, 0, ...textOf('a/limit'), 1]);
const UNSUBSCRIBE = packetOf(0xa2, [0, 1, ...textOf('a/limit')]);

describe('the packet guard', () => {
  it('counts the packets of any stream, cut into pieces of any size', () => {
    const packet = fc.oneof(
      fc.integer({ min: 3, max: LIMIT_BYTES - 3 }).map(publishOf),
      fc.constantFrom(PING, ACK, SUBSCRIBE, UNSUBSCRIBE),
    );
    const cuts = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(packet, { minLength: 1, maxLength: 8 }), cuts, (packets, pieces) => {
        let counted = 0;
        const guard = guardOf(() => {
          counted++;
          return true;
        });
        let rest = Buffer.concat([connectOf(), ...packets]);
        for (let i = 0; rest.length > 0; i++) {
          const cut = pieces[i % pieces.length] ?? 1;
          expect(guard.check(rest.subarray(0, cut))).toBeUndefined();
          rest = rest.subarray(cut);
        }
        expect(counted).toBe(1 + packets.length);
      }),
    );
  });

  it('accepts a packet of exactly the limit and none that is a byte longer', () => {
    const check = (bodyBytes: number) => guardOf().check(Buffer.concat([connectOf(), publishOf(bodyBytes)]));
    expect([check(LIMIT_BYTES - 3), check(LIMIT_BYTES - 2)]).toEqual([undefined, 'oversized']);
  });

  it('refuses a packet of 256 MB as soon as its length bytes show the size', () => {
    const guard = guardOf();
    expect(guard.check(Buffer.from([0x10, 0xff]))).toBeUndefined();
    expect(guard.check(Buffer.from([0xff]))).toBe('oversized');
  });

  it('refuses a packet beyond the allowance', () => {
    let left = 2;
    const guard = guardOf(() => left-- > 0);
    expect(guard.check(Buffer.concat([connectOf(), PING]))).toBeUndefined();
    expect(guard.check(PING)).toBe('flood');
  });

  it.each([
    ['MQTT 3.1', connectOf(0b10, 3, 'MQIsdp')],
    ['MQTT 5', connectOf(0b10, 5)],
    ['a version that is not there yet', connectOf(0b10, 6)],
    ["a bridge's mark on the version", connectOf(0b10, 0x84)],
  ])('recognizes another version by its CONNECT: %s', (_, connect) => {
    const guard = guardOf();
    const faults = [...connect].map((byte) => guard.check(Buffer.from([byte])));
    expect(faults.find((fault) => fault !== undefined)).toBe('version');
  });

  it.each([
    ['a remaining length of five bytes', Buffer.from([0x10, 0x80, 0x80, 0x80, 0x80])],
    ['another protocol', connectOf(0b10, 4, 'HTTP')],
    ['a long name of a protocol', connectOf(0b10, 4, 'MQTT or the like')],
    ['a CONNECT that is too short', packetOf(0x10, textOf('MQTT'))],
    ['a last will of QoS 3', connectOf(0b1_1110)],
    ['a password without a user name', connectOf(0b0100_0010)],
    ['anything before CONNECT', PING],
    ['a second CONNECT', Buffer.concat([connectOf(), connectOf()])],
  ])('refuses %s at the start of a connection', (_, bytes) => {
    expect(guardOf().check(bytes)).toBe('malformed');
  });

  it.each([
    ['SUBSCRIBE with packet id 0', packetOf(0x82, [0, 0, ...textOf('a/limit'), 1])],
    ['SUBSCRIBE without a topic', packetOf(0x82, [0, 1])],
    ['UNSUBSCRIBE with packet id 0', packetOf(0xa2, [0, 0, ...textOf('a/limit')])],
    ['UNSUBSCRIBE without a topic', packetOf(0xa2, [0, 1])],
    ['PUBLISH at QoS 1 with packet id 0', packetOf(0x32, [...textOf('a/ack'), 0, 0, 1, 1])],
    ['PUBLISH at QoS 1 without a packet id', packetOf(0x32, textOf('a/ack'))],
    ['PUBLISH at QoS 2 with packet id 0', packetOf(0x34, [...textOf('a/ack'), 0, 0])],
    ['PUBLISH at QoS 0 that is said to be a repetition', packetOf(0x38, textOf('a/meter'))],
    ['PUBLISH without a topic', packetOf(0x30, [0, 0])],
    ['PINGREQ with something in it', packetOf(0xc0, [1])],
    ['DISCONNECT with something in it', packetOf(0xe0, [0])],
    ['PUBACK that is too long', packetOf(0x40, [0, 1, 0])],
    ["a server's packet", packetOf(0x20, [0, 0])],
    ['a type that is not used', packetOf(0x00, [])],
    ['AUTH of MQTT 5', packetOf(0xf0, [])],
  ])('refuses %s', (_, bytes) => {
    expect(guardOf().check(Buffer.concat([connectOf(), bytes]))).toBe('malformed');
    // Single bytes have the same result.
    const guard = guardOf();
    const faults = [...Buffer.concat([connectOf(), bytes])].map((byte) => guard.check(Buffer.from([byte])));
    expect(faults.find((fault) => fault !== undefined)).toBe('malformed');
  });
});
