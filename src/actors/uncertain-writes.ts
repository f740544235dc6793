// What a write may have left behind whose answer never came: rows that the actors do not know of.
import { type Store, StoreUnavailableError } from '../ports/store.js';
import type { Follower } from './follower.js';

/** `store` for commands: where the outcome of a write is unknown, its tenant's rows are read again, whatever they say. */
export function readingAgainWhenUnknown(
  store: Pick<Store, 'append'>,
  follower: Pick<Follower, 'readAgain'>,
): Pick<Store, 'append'> {
  return {
    async append(tenantUuid, changes) {
      try {
        await store.append(tenantUuid, changes);
      } catch (error) {
        if (error instanceof StoreUnavailableError && error.isOutcomeUnknown) follower.readAgain(tenantUuid);
        throw error;
      }
    },
  };
}
