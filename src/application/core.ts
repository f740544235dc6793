// What every command and query works with.

import type { TenantUuid } from '../../machines/values/ids.js';
import type { Assembly } from '../actors/assembly.js';
import type { Directory } from '../actors/directory.js';
import type { LocationEntity } from '../actors/entities.js';
import type { EntityQueue } from '../actors/entity-queue.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import type { EventStream } from './event-stream.js';

export interface Core {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'append'>;
  /** Resolves when all that was handed over to be written for the tenant is on disk; rejects where it has to wait. */
  readonly written: (tenantUuid: TenantUuid) => Promise<void>;
  /** What rows tell of the past. */
  readonly archive: Pick<
    Store,
    'profileHistory' | 'profilesAt' | 'permanentLimitHistory' | 'alarms' | 'powerHistory' | 'operatorEvents'
  >;
  readonly events: EventStream;
  /** Lets readings of the location that came too long ago stop counting, however late the next look is. */
  readonly expireReadings: (location: LocationEntity) => void;
  readonly directory: Directory;
  readonly assembly: Assembly;
  /** One command at a time for each cluster: what it checks is still so when it writes. */
  readonly clusterQueue: EntityQueue;
  readonly newId: () => string;
}
