// The MQTT packets that chargers under measurement send and read, at minimum cost.

export interface Login {
  readonly clientId: string;
  readonly username: string;
  readonly password: string;
}

/** A received packet: `type` is its first byte, flags included. */
export type TakePacket = (type: number, body: Buffer) => void;

const CONNECT = 0x10;
const PUBLISH = 0x30;
const PUBACK = 0x40;
const SUBSCRIBE = 0x82;
const QOS_1 = 0x02;
const RETAIN = 0x01;

/** A CONNACK that accepts the connection. */
export const CONNECTED = Buffer.from([0x20, 2, 0, 0]);

/** The upper half of the first byte. */
export const KIND = { connack: 0x20, publish: 0x30, suback: 0x90, pingresp: 0xd0 } as const;

/** Asks for a PINGRESP, which comes after the broker has read everything before it. */
export const PINGREQ = Buffer.from([0xc0, 0]);

/** A text with its length before it. */
export function textOf(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint16(bytes.length), bytes]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}

/** A packet with that first byte. */
export function packetOf(type: number, body: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = body.length; length.length === 0 || rest > 0; rest >>= 7) {
    length.push((rest & 127) | (rest > 127 ? 128 : 0));
  }
  return Buffer.concat([Buffer.from([type, ...length]), body]);
}

/** Clean session, keepalive 60 s. */
export function connectPacket({ clientId, username, password }: Login): Buffer {
  const flags = Buffer.from([4, 0b1100_0010, 0, 60]);
  return packetOf(
    CONNECT,
    Buffer.concat([textOf('MQTT'), flags, textOf(clientId), textOf(username), textOf(password)]),
  );
}

export function subscribePacket(packetId: number, topics: readonly string[]): Buffer {
  const wanted = topics.flatMap((topic) => [textOf(topic), Buffer.from([1])]);
  return packetOf(SUBSCRIBE, Buffer.concat([uint16(packetId), ...wanted]));
}

/** QoS 0. */
export function publishPacket(topic: string, payload: Buffer): Buffer {
  return packetOf(PUBLISH, Buffer.concat([textOf(topic), payload]));
}

/** QoS 1. */
export function surePublishPacket(
  topic: string,
  payload: Buffer,
  packetId: number,
  isRetained = false,
): Buffer {
  const type = PUBLISH | QOS_1 | (isRetained ? RETAIN : 0);
  return packetOf(type, Buffer.concat([textOf(topic), uint16(packetId), payload]));
}

/** Payload of a PUBLISH of QoS 1, and the PUBACK that it requires. */
export function readSurePublish(body: Buffer): { readonly payload: Buffer; readonly puback: Buffer } {
  const topicEnd = 2 + body.readUInt16BE(0);
  const packetId = body.subarray(topicEnd, topicEnd + 2);
  return { payload: body.subarray(topicEnd + 2), puback: packetOf(PUBACK, packetId) };
}

/** Cuts a stream into packets; its chunks may end anywhere. */
export function createPacketReader(take: TakePacket): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let packet = firstOf(rest); packet !== undefined; packet = firstOf(rest)) {
      const { bodyAt, endAt } = packet;
      const type = rest[0] ?? 0;
      const body = rest.subarray(bodyAt, endAt);
      rest = rest.subarray(endAt);
      take(type, body);
    }
  };
}

/** Position of the body of the first packet of `bytes`; undefined while the packet is incomplete. */
function firstOf(bytes: Buffer): { readonly bodyAt: number; readonly endAt: number } | undefined {
  let length = 0;
  for (let at = 1; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    length += (byte & 127) * 128 ** (at - 1);
    if (byte >= 128) continue;
    const endAt = at + 1 + length;
    return endAt <= bytes.length ? { bodyAt: at + 1, endAt } : undefined;
  }
  return undefined;
}
