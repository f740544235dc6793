// What a rehearsal of a scenario can do: time travel, on to any instant, back to any that has been, and a look at what was.
import type { EpochMs } from '../../machines/values/time.js';
import type { Summary } from '../report/summary.js';
import type { FaultInput } from '../scenario/fault-schema.js';
import type { BranchInput } from '../scenario/parse-branch.js';
import type { ConnectorName, EventOf, TraceState } from '../trace/trace-state.js';
import type { RestAnswer } from '../world/rest-client.js';

/**
 * A scenario on its way through time. Going back and branching cost next to nothing: what was recorded is read, and lived
 * through again as it was recorded, until something is done otherwise. Only then is a world of the same seed run up to that
 * instant again, what was done by hand before it is done again, and every event is held against the recording. Of a scenario
 * whose locations are divided into cells, only the cells are run again in which something is done otherwise.
 */
export interface Rehearsal {
  /** The first instant of the scenario, and the last that it plans for: epoch ms, as all instants here. */
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  nowMs(): EpochMs;
  /** Lets time pass until `instant`; the scenario's calls and faults happen on the way. @throws RangeError back in time */
  travelTo(instant: EpochMs): Promise<void>;
  /** Lets `ms` pass. */
  advance(ms: number): Promise<void>;
  /**
   * A request of a tenant to the service, now. `path` begins after `/v1`; `tenantUuid` is the first of the scenario where it
   * is left out. The answer has status 0 while the service is down.
   * @throws Error where what was recorded before does not come again, as everything does that acts on a past entered again.
   */
  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer>;
  /**
   * A fault, from now on, as a scenario writes it: `{ kind: 'serviceCrash', for: '5s' }`. Offsets such as `until: '+10m'` count
   * from now.
   * @throws UnusableFileError with what is wrong with it.
   */
  inflict(fault: FaultInput): Promise<void>;
  /**
   * Goes back to `instant`, as it was on arriving there. What was done by hand from then on is forgotten.
   * @throws RangeError where it has not been.
   */
  rewindTo(instant: EpochMs): Promise<void>;
  /**
   * Another future from now on, with these calls and faults besides those of the scenario, as a scenario writes them. It is a
   * rehearsal of its own, to be closed by itself; this one stays as it is.
   * @throws UnusableFileError with everything that is wrong with them.
   */
  branch(otherwise: BranchInput): Promise<Rehearsal>;
  /**
   * Waits until the spare worlds are where they are to wait; where there are none, they are. Nothing has to wait for it: what
   * is done after going back takes the nearest that is there.
   */
  ready(): Promise<void>;
  /** What was recorded of `instant`, everything that happened at it included. @throws RangeError where it has not been */
  at(instant: EpochMs, connector?: ConnectorName): TraceState;
  /** What must never happen, and did, in the order of time. */
  violations(): readonly EventOf<'violation'>[];
  /** Energy, limits and starts from the beginning until now, per location and connector. */
  summary(): Summary;
  /** SHA-256 in hex of all that happened until now. */
  hash(): string;
  close(): Promise<void>;
}
