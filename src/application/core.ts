// Dependencies of every command and query.

import type { TenantUuid } from '../../machines/values/ids.js';
import type { Assembly } from '../actors/assembly.js';
import type { Directory, LocationEntity } from '../actors/directory.js';
import type { EntityQueue } from '../actors/entity-queue.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';

export interface Core {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'append'>;
  /** Resolves once all earlier changes of the tenant are on disk; rejects if the database does not take them now. */
  readonly written: (tenantUuid: TenantUuid) => Promise<void>;
  /** Rows of the past. */
  readonly archive: Pick<
    Store,
    'profileHistory' | 'profilesAt' | 'permanentLimitHistory' | 'alarms' | 'powerHistory' | 'operatorEvents'
  >;
  /** Readings of the location that are too old stop counting, however late the next sweep is. */
  readonly expireReadings: (location: LocationEntity) => void;
  readonly directory: Directory;
  readonly assembly: Assembly;
  /** One command at a time per cluster, so that its checks still hold at its write. */
  readonly clusterQueue: EntityQueue;
  readonly newId: () => string;
}
