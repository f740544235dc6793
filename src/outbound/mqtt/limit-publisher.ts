// Publishes limits to chargers: a grant as the contract's message, on the connector's own topic.
import type { Grant } from '../../../machines/ledger/grant.js';
import type { ConnectorAddress } from '../../../machines/values/ids.js';
import type { LimitPublisher, MessageBus } from '../../ports/telemetry.js';
import type { LimitMessage, SyncMessage } from '../../wire/mqtt.js';
import { buildTopic } from '../../wire/topics.js';

const OPTIONS = { qos: 1, retain: false } as const;

/** `grant` as a message to the charger. */
export function limitMessageOf(grant: Grant): LimitMessage {
  const { epoch, seq, boot, ref, limitW, thenW, reallocated, reason } = grant;
  const ttlS = grant.ttlMs / 1000;
  const [limitA, thenA] = [grant.limitTenthsA / 10, grant.thenTenthsA / 10];
  // Each shape is a literal of its own: a spread would cost more than all the
  // rest, and a limit leaves with every heartbeat.
  if (reallocated !== undefined)
    return { v: 1, epoch, seq, boot, ref, ttlS, limitA, limitW, thenA, ...reallocated, reason };
  if (thenW === undefined) return { v: 1, epoch, seq, boot, ref, ttlS, limitA, limitW, thenA, reason };
  return { v: 1, epoch, seq, boot, ref, ttlS, limitA, limitW, thenA, thenW, reason };
}

export function createLimitPublisher(bus: Pick<MessageBus, 'publish'>): LimitPublisher {
  // A limit leaves with every heartbeat, so the connector's long topic is cached.
  const topics = new WeakMap<ConnectorAddress, string>();

  function topicOf(connector: ConnectorAddress): string {
    const known = topics.get(connector);
    if (known !== undefined) return known;
    const topic = buildTopic({ ...connector, kind: 'limit' });
    topics.set(connector, topic);
    return topic;
  }

  return {
    publishLimit(connector, grant) {
      const payload = JSON.stringify(limitMessageOf(grant));
      bus.publish(topicOf(connector), payload, OPTIONS);
    },
    requestSync(charger, ownerTerm) {
      const message: SyncMessage = { v: 1, epoch: ownerTerm };
      bus.publish(buildTopic({ ...charger, kind: 'sync' }), JSON.stringify(message), OPTIONS);
    },
  };
}
