// A node's bus to the chargers over NATS; fronts hold their connections.

import type { TenantUuid } from '../../../machines/values/ids.js';
import { type Shard, shardOf } from '../../../machines/values/shards.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus } from '../../ports/telemetry.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import {
  downSubjectOf,
  type LoginMessage,
  loginFilterOf,
  loginSchema,
  parseBusMessage,
  topicOfSubject,
  upFilterOf,
  willFilterOf,
  willSchema,
} from '../../wire/bus.js';
import { LoginOrder } from './login-order.js';
import { type BusLink, type LinkOptions, NatsLink } from './nats-link.js';

/** Messages without a connection are dropped, because they would be out of date later. */
export class NatsBus implements MessageBus {
  readonly #link: BusLink;
  #onMessage: (topic: string, payload: Buffer) => void = () => {};
  #onReader: (prefix: string) => void = () => {};
  /** undefined: all. */
  #shards: Set<Shard> | undefined;
  readonly #log: Log;
  readonly #rareLog: RareLog;
  /** The newest login of each username on this connection: at most one for each client of the tenants. */
  readonly #order = new LoginOrder();
  readonly #newestLogins = new Map<string, Pick<LoginMessage, 'front' | 'login'>>();

  constructor(options: LinkOptions, link: BusLink = new NatsLink(options)) {
    this.#link = link;
    this.#log = options.log;
    this.#rareLog = createRareLog(options.clock);
  }

  async start(
    onMessage: (topic: string, payload: Buffer) => void,
    onBack: () => void = () => {},
  ): Promise<{ readonly url: string }> {
    this.#onMessage = onMessage;
    let wasLost = false;
    await this.#link.start({
      onConnected: () => {
        for (const shard of this.#shards ?? [undefined]) this.#subscribe(shard);
        if (wasLost) onBack();
      },
      onLost: () => {
        wasLost = true;
        this.#newestLogins.clear();
        this.#order.forget();
      },
    });
    // A failed first attempt leaves a gap, too.
    wasLost ||= !this.#link.isConnected;
    return { url: this.#link.url };
  }

  listenTo(tenants: readonly TenantUuid[]): void {
    const known = this.#shards ?? new Set();
    const added = new Set(tenants.map(shardOf).filter((shard) => !known.has(shard)));
    this.#shards = new Set([...known, ...added]);
    if (this.#link.isConnected) for (const shard of added) this.#subscribe(shard);
  }

  publish(topic: string, payload: string): void {
    this.#link.publish(downSubjectOf(topic), payload);
  }

  onReader(listener: (prefix: string) => void): void {
    this.#onReader = listener;
  }

  isHealthy(): boolean {
    return this.#link.isConnected;
  }

  stop(): Promise<void> {
    this.#onMessage = () => {};
    return this.#link.stop();
  }

  #subscribe(shard: Shard | undefined): void {
    this.#link.subscribe(upFilterOf(shard), (subject, payload) =>
      this.#onMessage(topicOfSubject(subject), payload),
    );
    this.#link.subscribe(loginFilterOf(shard), (_, payload) =>
      this.#orWarn(() => {
        const { username, reads, ...login } = parseBusMessage(loginSchema, payload);
        if (!this.#order.isNew(login)) return;
        this.#newestLogins.set(username, login);
        if (reads !== undefined) this.#onReader(reads);
      }),
    );
    this.#link.subscribe(willFilterOf(shard), (_, payload) => this.#orWarn(() => this.#receiveWill(payload)));
  }

  /**
   * A front announces a login before it passes on a message of that connection, and NATS keeps that order. So a will
   * that arrives after newer messages of the client also arrives after the newer login: it is out of date.
   */
  #receiveWill(payload: Buffer): void {
    const { front, login, username, topic, payload: said } = parseBusMessage(willSchema, payload);
    const newest = this.#newestLogins.get(username);
    if (newest !== undefined && (newest.front !== front || newest.login !== login)) return;
    this.#onMessage(topic, Buffer.from(said));
  }

  #orWarn(take: () => void): void {
    try {
      take();
    } catch (error) {
      this.#rareLog('front', () => this.#log.warn({ err: error }, 'a message of a front cannot be read'));
    }
  }
}
