// Topics that a virtual charger subscribes to, and the delivery of a message on one of them.
import type { z } from 'zod';
import { limitSchema, syncSchema } from '../../src/wire/mqtt.js';
import { buildTopic, parseTopic } from '../../src/wire/topics.js';
import type { VirtualCharger } from './virtual-charger.js';

/** Exact topics: `sync`, and `limit` for each connector. A charger that takes no limits subscribes to none. */
export function topicsFor({
  address,
  connectors,
  takesLimits,
}: Pick<VirtualCharger, 'address' | 'connectors' | 'takesLimits'>): readonly string[] {
  if (!takesLimits) return [];
  const limits = connectors.map(({ connectorId }) => buildTopic({ ...address, kind: 'limit', connectorId }));
  return [buildTopic({ ...address, kind: 'sync' }), ...limits];
}

type Addressee = Pick<VirtualCharger, 'address' | 'receiveLimit' | 'receiveSync'>;

/**
 * Hands a message on one of the charger's topics to the charger.
 * @returns false for a message that is for another charger or does not parse; such a message changes nothing
 */
export function deliver(charger: Addressee, topic: string, payload: string, nowMs: number): boolean {
  const to = parseTopic(topic);
  if (to?.controllerUuid !== charger.address.controllerUuid) return false;
  if (to.kind === 'limit') {
    const limit = parseJson(limitSchema, payload);
    if (limit !== undefined) charger.receiveLimit(to.connectorId, limit, nowMs);
    return limit !== undefined;
  }
  if (to.kind !== 'sync' || parseJson(syncSchema, payload) === undefined) return false;
  charger.receiveSync(nowMs);
  return true;
}

function parseJson<S extends z.ZodType>(schema: S, payload: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(payload)).data;
  } catch {
    return undefined;
  }
}
