// A trace: the event log of one run, in a file.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EpochMs } from '../../machines/values/time.js';
import { OperatorError } from '../../src/ports/operator-error.js';
import { EventLog } from './event-log.js';
import { appendBlock, beginTrace, blocksOfTrace, contentOf, LogFile } from './log-file.js';
import type { TraceEvent } from './trace-event.js';
import type { ConnectorName, TraceState } from './trace-state.js';

export const TRACE_FILE = 'trace.log';
/** Name of a trace of release 0.2 and older. */
const OLD_TRACE_FILE = 'trace.sqlite';

export interface TraceSubject {
  /** Name of the scenario. */
  readonly scenario: string;
  readonly seed: number;
  readonly commit: string;
  readonly startsAtMs: EpochMs;
  /** UTC offset of the site's clock; constant during a run. */
  readonly utcOffsetMs: number;
  /** Locations on each line of the grid. */
  readonly grid: readonly { readonly name: string; readonly locationIds: readonly string[] }[];
}

interface TraceEnd {
  readonly endsAtMs: EpochMs;
  readonly hash: string;
}

export class TraceWriter {
  readonly #file: LogFile;
  readonly #log: EventLog;

  /** Creates a trace at `path`, and replaces an existing file. */
  constructor(path: string, subject: TraceSubject) {
    this.#file = LogFile.create(path);
    beginTrace(this.#file, subject);
    this.#log = new EventLog(this.#file, { isPacked: true });
  }

  /** @throws RangeError for an event that a trace cannot hold. @throws the error of the file system */
  add(event: TraceEvent): void {
    this.#log.add(event);
  }

  /**
   * Writes the remaining events and closes the file.
   * @param endsAtMs the instant up to which the world was recorded.
   * @returns the hash of the trace, equal to that of `createTraceHash` for the same events.
   */
  finish(endsAtMs: EpochMs): string {
    try {
      const end: TraceEnd = { endsAtMs, hash: this.#log.hash() };
      appendBlock(this.#file, 'end', JSON.stringify(end));
      return end.hash;
    } finally {
      this.#file.close();
    }
  }
}

export interface Trace {
  readonly subject: TraceSubject;
  /** Last instant of the trace. For an unfinished trace, the end of its last complete block. */
  readonly endsAtMs: EpochMs;
  /** SHA-256 in hex; absent in an unfinished trace. */
  readonly hash?: string;
  /**
   * State after all events of `instant`. `connector` narrows the state to this connector and its location.
   * @throws RangeError if the file is damaged there
   */
  at(instant: EpochMs, connector?: ConnectorName): TraceState;
  /** All events in order. @throws RangeError at a damaged place */
  events(): Generator<TraceEvent, undefined>;
  close(): void;
}

/**
 * @param path the file, or the folder of a run.
 * @throws OperatorError if there is no usable trace; its methods throw it at a damaged place.
 */
export function openTrace(path: string): Trace {
  const name = fileOf(path);
  const file = LogFile.open(name, 'trace');
  const orDamaged = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new OperatorError(`${name} is damaged (${reason}); run its scenario again`);
    }
  };
  try {
    return orDamaged(() => traceIn(file, orDamaged));
  } catch (error) {
    file.close();
    throw error;
  }
}

function traceIn(file: LogFile, orDamaged: <T>(read: () => T) => T): Trace {
  const log = EventLog.of(file);
  const blocks = [...blocksOfTrace(file)];
  const objectIn = (kind: 'head' | 'end') => {
    const block = blocks.find((each) => each.kind === kind);
    return block === undefined ? undefined : JSON.parse(contentOf(file, block).toString());
  };
  const subject: TraceSubject | undefined = objectIn('head');
  const end: TraceEnd | undefined = objectIn('end');
  if (subject === undefined) throw new RangeError('it ends before its first block');
  return {
    subject,
    endsAtMs: end?.endsAtMs ?? Math.max(subject.startsAtMs, log.lastAtMs),
    ...(end === undefined ? {} : { hash: end.hash }),
    at: (instant, connector) => orDamaged(() => log.stateAt(instant).at(instant, connector)),
    *events() {
      const events = log.events();
      for (let next = orDamaged(() => events.next()); !next.done; next = orDamaged(() => events.next()))
        yield next.value;
      return undefined;
    },
    close: () => file.close(),
  };
}

function fileOf(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return path;
  const [file, old] = [join(path, TRACE_FILE), join(path, OLD_TRACE_FILE)];
  return existsSync(old) && !existsSync(file) ? old : file;
}
