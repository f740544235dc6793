// Checks packets before the MQTT parser, which would buffer any announced
// length and accept packets that the standard forbids.

/**
 * Reason to cut a connection: a packet too long, one that MQTT 3.1.1 does not
 * allow, another version of MQTT, or too many packets.
 */
export type PacketFault = 'oversized' | 'malformed' | 'version' | 'flood';

const MORE = 0x80;
// A remaining length takes at most four bytes (MQTT 3.1.1, section 2.2.3).
const LENGTH_BYTES = 4;

const CONNECT = 1;
const PUBLISH = 3;
const SUBSCRIBE = 8;
const UNSUBSCRIBE = 10;
/** Bounds for the body of each packet type. Missing types are sent by servers only, or are reserved. */
const BODY_BYTES: Readonly<Record<number, { readonly least: number; readonly most: number }>> = {
  [CONNECT]: { least: 12, most: Number.POSITIVE_INFINITY },
  [PUBLISH]: { least: 3, most: Number.POSITIVE_INFINITY },
  4: { least: 2, most: 2 },
  5: { least: 2, most: 2 },
  6: { least: 2, most: 2 },
  7: { least: 2, most: 2 },
  [SUBSCRIBE]: { least: 6, most: Number.POSITIVE_INFINITY },
  [UNSUBSCRIBE]: { least: 5, most: Number.POSITIVE_INFINITY },
  12: { least: 0, most: 0 },
  14: { least: 0, most: 0 },
};

const NAME = 'MQTT';
/** Protocol name of MQTT 3.1. */
const OLD_NAME = 'MQIsdp';
const LEVEL = 4;
const WILL_QOS = 0b0001_1000;
const USERNAME_AND_PASSWORD = 0b1100_0000;
const PASSWORD = 0b0100_0000;
const DUP_AND_QOS = 0b1110;
const DUP = 0b1000;
const QOS = 0b0110;
const ID_BYTES = 2;

export class PacketGuard {
  readonly #packetLimitBytes: number;
  readonly #admitPacket: () => boolean;
  #state: 'header' | 'length' | 'body' = 'header';
  #isConnecting = true;
  #header = 0;
  #lengthBytes = 0;
  #bodyBytes = 0;
  /** Bytes of the body that have passed. */
  #passed = 0;
  /** The last two bytes of the body, as a number. */
  #word = 0;
  /** Bytes of the body to check; the rest passes unread. */
  #looksUntil = 0;
  #name = '';

  /** `admitPacket` is called once for each packet, at its first byte. */
  constructor(packetLimitBytes: number, admitPacket: () => boolean) {
    this.#packetLimitBytes = packetLimitBytes;
    this.#admitPacket = admitPacket;
  }

  /** The next byte begins a packet. */
  get isBetweenPackets(): boolean {
    return this.#state === 'header';
  }

  /** Checks the next bytes of the stream; after a fault the connection must be closed. */
  check(chunk: Buffer): PacketFault | undefined {
    let at = 0;
    while (at < chunk.length) {
      const unread = this.#state === 'body' ? this.#unreadBytes() : 0;
      if (unread > 0) {
        at += this.#skip(Math.min(unread, chunk.length - at));
        continue;
      }
      const fault = this.#checkByte(chunk[at] ?? 0);
      if (fault !== undefined) return fault;
      at++;
    }
    return undefined;
  }

  /** Bytes of the body before the next one to check: a topic, or all that follows the last one. */
  #unreadBytes(): number {
    if (this.#passed >= this.#looksUntil) return this.#bodyBytes - this.#passed;
    const isInTopic = this.#type() === PUBLISH && this.#looksUntil > 2;
    return isInTopic ? Math.max(0, this.#looksUntil - ID_BYTES - this.#passed) : 0;
  }

  /** @returns the number of skipped bytes */
  #skip(skipped: number): number {
    this.#passed += skipped;
    if (this.#passed === this.#bodyBytes) this.#state = 'header';
    return skipped;
  }

  #checkByte(byte: number): PacketFault | undefined {
    if (this.#state === 'header') return this.#beginPacket(byte);
    if (this.#state === 'length') return this.#checkLength(byte);
    this.#word = ((this.#word << 8) | byte) & 0xffff;
    this.#passed++;
    const fault = this.#type() === CONNECT ? this.#lookAtConnect(byte) : this.#lookAtId();
    if (this.#passed === this.#bodyBytes) this.#state = 'header';
    return fault;
  }

  #type(): number {
    return this.#header >> 4;
  }

  #beginPacket(byte: number): PacketFault | undefined {
    if (!this.#admitPacket()) return 'flood';
    this.#header = byte;
    this.#lengthBytes = 0;
    this.#bodyBytes = 0;
    this.#passed = 0;
    this.#state = 'length';
    // A session begins with CONNECT, and has no second one.
    if ((this.#type() === CONNECT) !== this.#isConnecting) return 'malformed';
    this.#isConnecting = false;
    return this.#type() === PUBLISH && (byte & DUP_AND_QOS) === DUP ? 'malformed' : undefined;
  }

  #checkLength(byte: number): PacketFault | undefined {
    this.#bodyBytes += (byte & ~MORE) * 128 ** this.#lengthBytes;
    this.#lengthBytes++;
    if (1 + this.#lengthBytes + this.#bodyBytes > this.#packetLimitBytes) return 'oversized';
    if ((byte & MORE) !== 0) return this.#lengthBytes === LENGTH_BYTES ? 'malformed' : undefined;
    return this.#beginBody();
  }

  #beginBody(): PacketFault | undefined {
    const bounds = BODY_BYTES[this.#type()];
    if (bounds === undefined || this.#bodyBytes < bounds.least || this.#bodyBytes > bounds.most)
      return 'malformed';
    this.#state = this.#bodyBytes === 0 ? 'header' : 'body';
    this.#looksUntil = this.#hasIdOrIsConnect() ? 2 : 0;
    return undefined;
  }

  #hasIdOrIsConnect(): boolean {
    const type = this.#type();
    if (type === PUBLISH) return (this.#header & QOS) !== 0;
    return type === CONNECT || type === SUBSCRIBE || type === UNSUBSCRIBE;
  }

  /** The packet id comes first; in PUBLISH it follows the topic, whose length comes first. It is never 0. */
  #lookAtId(): PacketFault | undefined {
    if (this.#passed < this.#looksUntil) return undefined;
    if (this.#type() === PUBLISH && this.#looksUntil === 2) {
      this.#looksUntil = 2 + this.#word + 2;
      return this.#looksUntil > this.#bodyBytes ? 'malformed' : undefined;
    }
    return this.#word === 0 ? 'malformed' : undefined;
  }

  /** CONNECT begins with the length of a name, the name, the level, and flags. */
  #lookAtConnect(byte: number): PacketFault | undefined {
    if (this.#passed < 2) return undefined;
    if (this.#passed === 2) {
      this.#looksUntil = 2 + this.#word + 2;
      return this.#word > OLD_NAME.length ? 'malformed' : undefined;
    }
    const nameEnds = this.#looksUntil - 2;
    if (this.#passed <= nameEnds) {
      this.#name += String.fromCharCode(byte);
      return undefined;
    }
    if (this.#passed === nameEnds + 1) return versionFault(this.#name, byte);
    const isWillQos3 = (byte & WILL_QOS) === WILL_QOS;
    return isWillQos3 || (byte & USERNAME_AND_PASSWORD) === PASSWORD ? 'malformed' : undefined;
  }
}

function versionFault(name: string, level: number): PacketFault | undefined {
  if (name === NAME) return level === LEVEL ? undefined : 'version';
  return name === OLD_NAME ? 'version' : 'malformed';
}
