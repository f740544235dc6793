// A connector's own profiles, as its actor holds them.
import { EMPTY_STACK, type ProfileStack } from '../../machines/profile-stack.js';
import type { LocationEntity } from './entities.js';

/** The stack of the connector `key` of a location. */
export function connectorStackOf(location: LocationEntity, key: string): ProfileStack {
  const actor = location.actor.getSnapshot().context.connectors.get(key);
  return actor?.getSnapshot().context.stack ?? EMPTY_STACK;
}
