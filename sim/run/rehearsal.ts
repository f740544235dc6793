// Interface of a rehearsal: a scenario with time travel forward, back, and into branches.
import type { EpochMs } from '../../machines/values/time.js';
import type { ConnectorName, EventOf, TraceState } from '../log/trace-state.js';
import type { Summary } from '../report/summary.js';
import type { FaultInput } from '../scenario/fault-schema.js';
import type { BranchInput } from '../scenario/parse-scenario.js';
import type { RestAnswer } from '../world/rest-client.js';

/**
 * A scenario on its way through time. Going back and branching cost next to nothing, because the past is recorded and
 * time goes on through the recording. A step that differs from the recording needs a world. A world of the same seed
 * then runs up to that instant and repeats earlier steps by hand. Every event of this run is compared with the
 * recording. If the locations of a scenario are divided into cells, only the cells that the step concerns run again.
 */
export interface Rehearsal {
  /** First instant of the scenario, and the last one that it plans for. All instants here are epoch ms. */
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  nowMs(): EpochMs;
  /**
   * Lets time pass until `instant`; the calls and faults of the scenario happen on the way. @throws RangeError if
   * `instant` lies in the past
   */
  travelTo(instant: EpochMs): Promise<void>;
  /** Lets `ms` pass. */
  advance(ms: number): Promise<void>;
  /**
   * A request of a tenant to the service, now. `path` begins after `/v1`; the default of `tenantUuid` is the first
   * tenant of the scenario. The answer has status 0 while the service is down.
   * @throws Error if a second run of the past differs from its recording; all methods that act on a past can throw it.
   */
  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer>;
  /**
   * A fault, from now on, in the notation of a scenario: `{ kind: 'serviceCrash', for: '5s' }`. Offsets such as `until:
   * '+10m'` count from now.
   * @throws UnusableFileError with the problems of the fault.
   */
  inflict(fault: FaultInput): Promise<void>;
  /**
   * Goes back to `instant`, to the state on arrival there. Later steps by hand are forgotten.
   * @throws RangeError if `instant` is not in the past.
   */
  rewindTo(instant: EpochMs): Promise<void>;
  /**
   * Another future from now on, with these additional calls and faults in the notation of a scenario. The branch is a
   * rehearsal of its own and must be closed on its own; this rehearsal does not change.
   * @throws UnusableFileError with all problems of the calls and faults.
   */
  branch(otherwise: BranchInput): Promise<Rehearsal>;
  /**
   * Resolves after the prewarmed worlds have reached their instants; at once if there are none. Waiting is optional: a
   * step after going back uses the nearest world that is ready.
   */
  ready(): Promise<void>;
  /** Recorded state after all events of `instant`. @throws RangeError if `instant` is not in the past */
  at(instant: EpochMs, connector?: ConnectorName): TraceState;
  /** All violations of invariants, in order of time. */
  violations(): readonly EventOf<'violation'>[];
  /** Energy, limits and starts from the beginning until now, per location and connector. */
  summary(): Summary;
  /** SHA-256 in hex of all events until now. */
  hash(): string;
  close(): Promise<void>;
}
