// A NATS without sockets. The test decides the move of each message, its repetitions, and the cuts of links.
import type { BusLink, LinkUser } from '../../src/outbound/nats/nats-link.js';

interface Sent {
  readonly subject: string;
  readonly payload: Buffer;
}

/** A packet from or to a client, in order. A ping returns as a pong after all earlier packets to its sender. */
type Packet = Sent | { readonly ping: (isSure: boolean) => void };

/** Wildcards of NATS: `*` is one level, `>` all that follow. */
function matches(filter: string, subject: string): boolean {
  const [levels, asked] = [subject.split('.'), filter.split('.')];
  return (
    asked.every(
      (each, i) => each === '>' || (levels[i] !== undefined && (each === '*' || each === levels[i])),
    ) && (asked.at(-1) === '>' ? levels.length >= asked.length : levels.length === asked.length)
  );
}

export class VirtualNats {
  readonly links: VirtualLink[] = [];

  link(): VirtualLink {
    const link = new VirtualLink(this);
    this.links.push(link);
    return link;
  }

  /** Sends to all links, in the same order for all. */
  spread(sent: Sent): void {
    for (const link of this.links) link.queue(sent);
  }
}

export class VirtualLink implements BusLink {
  readonly url = 'nats://virtual';
  readonly #nats: VirtualNats;
  #user: LinkUser = { onConnected() {}, onLost() {} };
  #isConnected = false;
  /** Nothing passes, and this end has not noticed yet. */
  isCut = false;
  #up: Packet[] = [];
  #down: Packet[] = [];
  /** All messages delivered over this connection, for repetition. */
  #heard: Sent[] = [];
  readonly #filters = new Set<{ readonly filter: string; hear(subject: string, payload: Buffer): void }>();

  constructor(nats: VirtualNats) {
    this.#nats = nats;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  async start(user: LinkUser): Promise<void> {
    this.#user = user;
    this.connect();
  }

  publish(subject: string, payload: string | Buffer): boolean {
    if (!this.#isConnected) return false;
    this.#up.push({ subject, payload: Buffer.from(payload) });
    return true;
  }

  subscribe(filter: string, hear: (subject: string, payload: Buffer) => void): () => void {
    const subscription = { filter, hear };
    this.#filters.add(subscription);
    return () => this.#filters.delete(subscription);
  }

  settled(): Promise<boolean> {
    if (!this.#isConnected) return Promise.resolve(false);
    return new Promise((ping) => this.#up.push({ ping }));
  }

  async stop(): Promise<void> {
    this.lose();
  }

  connect(): void {
    if (this.#isConnected) return;
    this.isCut = false;
    this.#isConnected = true;
    this.#user.onConnected();
  }

  /** This end notices the loss of its connection, with all pending packets. */
  lose(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    const lost = [...this.#up, ...this.#down];
    this.#up = [];
    this.#down = [];
    this.#heard = [];
    this.#filters.clear();
    for (const packet of lost) if ('ping' in packet) packet.ping(false);
    this.#user.onLost();
  }

  /** The next packet reaches the server. False if none moves. */
  rise(): boolean {
    const packet = this.isCut ? undefined : this.#up.shift();
    if (packet === undefined) return false;
    if ('ping' in packet) this.#down.push(packet);
    else this.#nats.spread(packet);
    return true;
  }

  queue(sent: Sent): void {
    if (!this.#isConnected || this.isCut) return;
    this.#heard.push(sent);
    this.#down.push(sent);
  }

  /** A message of this connection is on its way once more. */
  repeat(which: number): void {
    const again = this.#heard[which % this.#heard.length];
    if (again !== undefined && !this.isCut) this.#down.push(again);
  }

  /** The next packet reaches this end. False if none moves. */
  fall(): boolean {
    const packet = this.isCut ? undefined : this.#down.shift();
    if (packet === undefined) return false;
    if ('ping' in packet) packet.ping(true);
    else
      for (const { filter, hear } of [...this.#filters])
        if (matches(filter, packet.subject)) hear(packet.subject, packet.payload);
    return true;
  }
}
