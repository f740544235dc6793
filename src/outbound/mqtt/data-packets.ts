// PUBLISH and PUBACK (MQTT 3.1.1, sections 3.3 and 3.4) as bytes. Nearly all packets of a charger are of these two
// types, and a parser of all types takes longer than the rest of a heartbeat.

const PUBLISH = 0x30;
const PUBACK = 0x40;
const TYPE = 0xf0;
const RETAIN = 0x01;
const QOS_1 = 0x02;
const MORE = 0x80;
const ID_BYTES = 2;

export interface PublishedMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: number;
  readonly retain: boolean;
  /** 0 at QoS 0. */
  readonly packetId: number;
}

/**
 * Reads the PUBLISH packets at the start of `chunk`, which a `PacketGuard` has checked, up to the first packet that is
 * incomplete, of another type, or not taken. A PUBACK is skipped: nothing waits for it, because sessions are clean.
 * @param chunk begins at a packet
 * @param take returns false to end the reading before this message
 * @returns the number of read bytes
 */
export function readMessages(chunk: Buffer, take: (message: PublishedMessage) => boolean): number {
  let at = 0;
  for (;;) {
    const header = chunk[at] ?? 0;
    const type = header & TYPE;
    if (type !== PUBLISH && header !== PUBACK) return at;
    let bodyAt = at + 1;
    let length = 0;
    for (let unit = 1, more = true; more; unit *= MORE) {
      const byte = chunk[bodyAt++];
      if (byte === undefined) return at;
      length += (byte & ~MORE) * unit;
      more = (byte & MORE) !== 0;
    }
    const endAt = bodyAt + length;
    if (endAt > chunk.length) return at;
    if (header === PUBACK && length !== ID_BYTES) return at;
    if (type === PUBLISH) {
      const message = messageOf(header, chunk, bodyAt, endAt);
      if (message === undefined || !take(message)) return at;
    }
    at = endAt;
  }
}

/** Undefined for a packet that is to be refused: its QoS is above 1, or its topic longer than the packet. */
function messageOf(
  header: number,
  chunk: Buffer,
  bodyAt: number,
  endAt: number,
): PublishedMessage | undefined {
  const qos = (header >> 1) & 3;
  const topicAt = bodyAt + 2;
  const topicEnd = topicAt + chunk.readUInt16BE(bodyAt);
  const payloadAt = qos === 0 ? topicEnd : topicEnd + ID_BYTES;
  if (qos > 1 || payloadAt > endAt) return undefined;
  return {
    // All topics of the contract are ASCII; a topic that is not is none of them in either encoding.
    topic: chunk.toString('latin1', topicAt, topicEnd),
    payload: chunk.subarray(payloadAt, endAt),
    qos,
    retain: (header & RETAIN) !== 0,
    packetId: qos === 0 ? 0 : chunk.readUInt16BE(topicEnd),
  };
}

/** A PUBLISH in one piece, so that it leaves by one write. @param packetId 0 at QoS 0 */
export function publishPacket(
  topic: string,
  payload: string | Buffer,
  packetId: number,
  isRetained = false,
): Buffer {
  const topicBytes = Buffer.byteLength(topic);
  const idBytes = packetId === 0 ? 0 : ID_BYTES;
  const length = 2 + topicBytes + idBytes + Buffer.byteLength(payload);
  const packet = Buffer.allocUnsafe(1 + lengthBytesOf(length) + length);
  packet[0] = PUBLISH | (packetId === 0 ? 0 : QOS_1) | (isRetained ? RETAIN : 0);
  let at = 1;
  for (let rest = length; at === 1 || rest > 0; rest = Math.floor(rest / MORE))
    packet[at++] = (rest % MORE) | (rest >= MORE ? MORE : 0);
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (packetId !== 0) at = packet.writeUInt16BE(packetId, at);
  if (typeof payload === 'string') packet.write(payload, at);
  else payload.copy(packet, at);
  return packet;
}

function lengthBytesOf(length: number): number {
  let bytes = 1;
  for (let rest = length; rest >= MORE; rest = Math.floor(rest / MORE)) bytes++;
  return bytes;
}

export function pubackPacket(packetId: number): Buffer {
  return Buffer.from([PUBACK, ID_BYTES, packetId >> 8, packetId & 0xff]);
}
