// Messages of chargers as bytes, against the packets that the benchmarks' chargers send.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type PublishedMessage,
  pubackPacket,
  publishPacket,
  readMessages,
} from '../../../src/outbound/mqtt/data-packets.js';
import * as other from '../../../tools/bench/mqtt-packets.js';

const TOPIC = 'ems/v1/harbour/quay-1/q1-a/c/1/meter';
const PING = Buffer.from([0xc0, 0]);

const topic = fc.string({ unit: fc.constantFrom('a', 'b', '/', '%'), minLength: 1, maxLength: 200 });
const payload = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
const message = fc.record({
  topic,
  payload,
  packetId: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 65_535 })),
  retain: fc.boolean(),
});

function bytesOf({ topic, payload, packetId, retain }: Omit<PublishedMessage, 'qos'>): Buffer {
  if (packetId !== 0) return other.surePublishPacket(topic, payload, packetId, retain);
  const packet = other.publishPacket(topic, payload);
  packet[0] = (packet[0] ?? 0) | Number(retain);
  return packet;
}

function readFrom(chunk: Buffer, most = Number.POSITIVE_INFINITY) {
  const read: PublishedMessage[] = [];
  const bytes = readMessages(chunk, (each) => {
    if (read.length === most) return false;
    read.push(each);
    return true;
  });
  return { read, bytes };
}

it('reads messages of any length, past acknowledgements, up to the first other packet or a cut', () => {
  const tail = fc.oneof(
    fc.constantFrom(Buffer.alloc(0), PING, Buffer.from([0x30]), Buffer.from([0x32, 0x80])),
    message.map((each) => bytesOf(each).subarray(0, -1)),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), tail, (messages, end) => {
      const whole = messages.flatMap((each) => [bytesOf(each), pubackPacket(7)]);
      const start = Buffer.concat(whole);
      const { read, bytes } = readFrom(Buffer.concat([start, end]));
      expect(bytes).toBe(start.length);
      expect(read).toEqual(messages.map((each) => ({ ...each, qos: Number(each.packetId !== 0) })));
    }),
  );
});

it('stops before a message that is not taken', () => {
  const first = other.publishPacket(TOPIC, Buffer.from('first'));
  const { read, bytes } = readFrom(Buffer.concat([first, first]), 1);
  expect([read.length, bytes]).toEqual([1, first.length]);
});

it('leaves a packet to the parser whose topic is longer than the packet', () => {
  const longTopic = Buffer.from([0x30, 5, 0, 9, 0x61, 0x62, 0x63]);
  expect(readFrom(Buffer.concat([longTopic, PING]))).toEqual({ read: [], bytes: 0 });
});

it.each([
  ['a QoS of 2', Buffer.from([0x34, 5, 0, 1, 0x61, 0, 7])],
  ['a QoS of 3', Buffer.from([0x36, 5, 0, 1, 0x61, 0, 7])],
  ['an acknowledgement with flags', Buffer.from([0x42, 2, 0, 7])],
  ['an acknowledgement without a packet id', Buffer.from([0x40, 0])],
])('leaves %s to the parser', (_, packet) => {
  expect(readFrom(Buffer.concat([packet, PING]))).toEqual({ read: [], bytes: 0 });
});

it.each([0, 1, 80, 120, 16_000, 17_000, 70_000])('writes a message with %i bytes in one piece', (length) => {
  const text = 'ä'.repeat(length);
  const payloads = [text, Buffer.from(text)] as const;
  for (const each of payloads) {
    const bytes = Buffer.from(text);
    expect(publishPacket(TOPIC, each, 0).equals(other.publishPacket(TOPIC, bytes))).toBe(true);
    expect(publishPacket(TOPIC, each, 513).equals(other.surePublishPacket(TOPIC, bytes, 513))).toBe(true);
  }
});
