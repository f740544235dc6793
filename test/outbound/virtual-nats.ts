// A NATS without sockets: whoever plays it decides when each message moves on, which of them come twice, and which links are cut.
import type { BusLink, LinkUser } from '../../src/outbound/nats/nats-link.js';

interface Sent {
  readonly subject: string;
  readonly payload: Buffer;
}

/** What is on its way from a client, or to it, in order; a ping comes back as a pong after all that was there for its sender. */
type Packet = Sent | { readonly ping: (isSure: boolean) => void };

/** As NATS has it: `*` is one level, `>` all that follow. */
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

  /** To all that listen, in one order for all of them. */
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
  /** All that came over this connection. */
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

  /** This end notices that its connection is gone, with all that was on its way. */
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

  /** The next packet reaches the server. False where none moves. */
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

  /** One of the messages that came over this connection is on its way once more. */
  repeat(which: number): void {
    const again = this.#heard[which % this.#heard.length];
    if (again !== undefined && !this.isCut) this.#down.push(again);
  }

  /** The next packet reaches this end. False where none moves. */
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
