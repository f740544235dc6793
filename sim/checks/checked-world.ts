// The world as its checks see it. Each check takes the parts that it names.
import type { EpochMs } from '../../machines/values/time.js';
import type { Metrics } from '../../src/metrics.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Building } from '../scenario/scenario.js';
import type { CallBook } from '../world/call-book.js';
import type { ChargerRun } from '../world/charger-run.js';
import type { LimitOracle } from '../world/limit-oracle.js';
import type { PowerWatch } from '../world/power-watch.js';
import type { Question, RestAnswer } from '../world/rest-client.js';
import type { Report } from '../world/world-record.js';
import type { LeaseTimes, SiteBook } from './connector-book.js';
import type { Reached } from './reached.js';
import type { SiteBooks } from './site-book.js';

export interface CheckedWorld {
  readonly tenants: readonly TenantEntry[];
  readonly buildings: readonly Building[];
  readonly runs: readonly ChargerRun[];
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  readonly book: CallBook;
  readonly books: SiteBooks;
  /** Index of `books` by location. */
  readonly sites: ReadonlyMap<string, SiteBook>;
  readonly times: LeaseTimes;
  /** Longest time that a lease may last. */
  readonly horizonMs: number;
  /** Wall clock. */
  readonly nowMs: () => EpochMs;
  readonly monotonicMs: () => number;
  /** Runs `work` at an instant of the wall clock. */
  readonly at: (atMs: EpochMs, work: () => void) => void;
  /** Runs `work` before anything else happens in the world. */
  readonly soon: (work: () => Promise<void>) => void;
  /** A REST request in no virtual time and without an entry in `book`. Status 0 while no service runs. */
  readonly ask: (question: Question, tenantUuid: string) => Promise<RestAnswer>;
  /** A policy that is no part of the product replaces those of all locations. */
  readonly hasOwnPolicy: boolean;
  /** Keeps messages for repetition, which causes most of the garbage collector's work. */
  readonly keepsMessages: boolean;
  /** Delivers the message to the service at once; undefined if the carrier cannot do that. */
  readonly deliver: ((run: ChargerRun, message: ChargerMessage) => void) | undefined;
  readonly isServiceUp: () => boolean;
  /** Metrics of the running service; undefined if none runs. */
  readonly metrics: () => Metrics | undefined;
  /** The running service stood still for a while, as a frozen process does, so its due work came late. */
  readonly stoodStill: () => boolean;
  /** Number of shards on all nodes together; 0 for a service without shards. */
  readonly shards: number;
  readonly pendingTimers: () => number;
  /** Amount of due work in the world. */
  readonly waiting: () => number;
  /** Draw of a location's chargers, W. */
  readonly drawnW: (locationId: string) => number;
  /** Lowest recent limit of the grid operator for a location, W. */
  readonly operatorW: (locationId: string) => number;
  /** The grid operator may order less at any moment. */
  readonly areOrdersExpected: (locationId: string) => boolean;
  readonly reached: Reached;
  readonly report: Report;
}
