// The guard in front of the MQTT parser, byte by byte.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPacketGuard } from '../../../src/outbound/mqtt/packet-guard.js';

const LIMIT_BYTES = 300;

function packetOf(bodyBytes: number): Buffer {
  const length = bodyBytes < 128 ? [bodyBytes] : [(bodyBytes & 127) | 128, bodyBytes >> 7];
  return Buffer.from([0x30, ...length, ...Array<number>(bodyBytes).fill(0xff)]);
}

describe('the packet guard', () => {
  it('counts the packets of any stream, however it is cut into pieces', () => {
    const bodies = fc.array(fc.integer({ min: 0, max: LIMIT_BYTES - 3 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(bodies, fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }), (sizes, cuts) => {
        let packets = 0;
        const guard = createPacketGuard(LIMIT_BYTES, () => {
          packets++;
          return true;
        });
        let rest = Buffer.concat(sizes.map(packetOf));
        for (let i = 0; rest.length > 0; i++) {
          const cut = cuts[i % cuts.length] ?? 1;
          expect(guard.check(rest.subarray(0, cut))).toBeUndefined();
          rest = rest.subarray(cut);
        }
        expect(packets).toBe(sizes.length);
      }),
    );
  });

  it('takes a packet of exactly the limit and none that is a byte longer', () => {
    const check = (bodyBytes: number) =>
      createPacketGuard(LIMIT_BYTES, () => true).check(packetOf(bodyBytes));
    expect([check(LIMIT_BYTES - 3), check(LIMIT_BYTES - 2)]).toEqual([undefined, 'oversized']);
  });

  it('refuses 256 MB as soon as the length says so', () => {
    const guard = createPacketGuard(LIMIT_BYTES, () => true);
    expect(guard.check(Buffer.from([0x10, 0xff]))).toBeUndefined();
    expect(guard.check(Buffer.from([0xff]))).toBe('oversized');
  });

  it('refuses a length of more than four bytes', () => {
    const guard = createPacketGuard(LIMIT_BYTES, () => true);
    expect(guard.check(Buffer.from([0x10, 0x80, 0x80, 0x80, 0x80]))).toBe('malformed');
  });

  it('refuses a packet for which there is no more allowance', () => {
    let left = 2;
    const guard = createPacketGuard(LIMIT_BYTES, () => left-- > 0);
    expect(guard.check(Buffer.concat([packetOf(0), packetOf(9)]))).toBeUndefined();
    expect(guard.check(packetOf(0))).toBe('flood');
  });
});
