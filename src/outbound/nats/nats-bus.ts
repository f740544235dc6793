// A node's way to the chargers over NATS, where fronts have their connections.

import type { TenantUuid } from '../../../machines/values/ids.js';
import { type Shard, shardOf } from '../../../machines/values/shards.js';
import type { MessageBus } from '../../ports/telemetry.js';
import { downSubjectOf, topicOfSubject, upFilterOf } from '../../wire/bus.js';
import { NatsLink } from './nats-link.js';

/** What is published while there is no connection is dropped, because it would be out of date by the time there is one. */
export class NatsBus implements MessageBus {
  readonly #link: NatsLink;
  #onMessage: (topic: string, payload: Buffer) => void = () => {};
  /** undefined: all. */
  #shards: Set<Shard> | undefined;

  constructor(options: ConstructorParameters<typeof NatsLink>[0]) {
    this.#link = new NatsLink(options);
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
      },
    });
    // A first attempt that failed leaves a gap, too.
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
  }
}
