// One log of events, readable at any instant: a trace on disk, and the recorded past that rewind and branch read.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EpochMs } from '../../machines/values/time.js';
import { EventDecoder, EventEncoder } from './event-codec.js';
import {
  appendBlock,
  type Block,
  type BlockKind,
  blocksOfTrace,
  contentOf,
  type GrowingLog,
  LogFile,
} from './log-file.js';
import type { TraceEvent } from './trace-event.js';
import { TraceStateFold } from './trace-state.js';

/** Memory of one past. A day of twenty connectors fits into it, so a shorter past needs no file. */
const MOST_HELD_BYTES = 1 << 20;

/** A past stays readable as long as a reference to it exists; the garbage collector then closes the file. */
const unreferencedFiles = new FinalizationRegistry<LogFile>((file) => file.close());

/** The newest bytes in memory. Older ones move to a file, so that a long past needs no memory. */
export class PastBytes implements GrowingLog {
  readonly #mostHeldBytes: number;
  /** The newest pieces by their position in the log, oldest first. */
  readonly #held = new Map<number, Uint8Array>();
  #heldBytes = 0;
  #sizeBytes = 0;
  #file: LogFile | undefined;

  constructor(mostHeldBytes = MOST_HELD_BYTES) {
    this.#mostHeldBytes = mostHeldBytes;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  append(piece: Uint8Array): number {
    const begin = this.#sizeBytes;
    this.#held.set(begin, piece);
    this.#heldBytes += piece.length;
    this.#sizeBytes += piece.length;
    for (const [place, oldest] of this.#held) {
      if (this.#heldBytes <= this.#mostHeldBytes) break;
      this.#openFile().append(oldest);
      this.#held.delete(place);
      this.#heldBytes -= oldest.length;
    }
    return begin;
  }

  /** @param begin position of a piece, of which `sizeBytes` is the size. */
  read(begin: number, sizeBytes: number): Uint8Array {
    return this.#held.get(begin) ?? this.#openFile().read(begin, sizeBytes);
  }

  #openFile(): LogFile {
    if (this.#file !== undefined) return this.#file;
    this.#file = LogFile.nameless();
    unreferencedFiles.register(this, this.#file);
    return this.#file;
  }
}

const STRETCH_BYTES = 1 << 16;
/** The state of a thousand connectors is as large as several stretches. */
const STRETCHES_PER_STATE = 16;

/** An instant, and the number of recorded events up to it. */
export interface Mark {
  readonly atMs: EpochMs;
  readonly events: number;
}

/** The events of one block. */
interface Stretch {
  readonly block: Block;
  /** Number of events in earlier stretches. */
  readonly eventsBefore: number;
  /** Instant of the event before the first one. */
  readonly previousAtMs: EpochMs;
  /** The events that make up the state before this stretch; undefined if the log has none at this place. */
  readonly state: Block | undefined;
}

export class EventLog {
  readonly #log: GrowingLog;
  readonly #isPacked: boolean;
  readonly #encoder = new EventEncoder();
  /** Names in the blocks so far. */
  readonly #names: string[] = [];
  readonly #state = new TraceStateFold();
  readonly #stretches: Stretch[] = [];
  /** The newest block with a state, if no events follow it. */
  #stateBefore: Block | undefined;
  /** Number of events in stretches, and of events that are only in the encoder. */
  #stored = 0;
  #added = 0;
  #firstAtMs: EpochMs = 0;
  #lastAtMs: EpochMs = 0;

  /** @param options.isPacked compresses the blocks. */
  constructor(log: GrowingLog = new PastBytes(), { isPacked = false }: { readonly isPacked?: boolean } = {}) {
    this.#log = log;
    this.#isPacked = isPacked;
  }

  /**
   * The events of the trace in `log`, up to its last complete block. No event may be added.
   * @throws RangeError if the log is damaged
   */
  static of(log: GrowingLog): Omit<EventLog, 'add'> {
    const events = new EventLog(log);
    for (const block of blocksOfTrace(log)) {
      if (block.kind === 'names') events.#names.push(...JSON.parse(contentOf(log, block).toString()));
      else if (block.kind === 'state') events.#stateBefore = block;
      else if (block.kind === 'entries') events.#index(block);
    }
    return events;
  }

  /** @throws RangeError for an event that a trace cannot hold, see `EventEncoder`. */
  add(event: TraceEvent): void {
    this.#encoder.add(event);
    this.#state.apply(event);
    if (this.#added++ === 0) this.#firstAtMs = event.atMs;
    this.#lastAtMs = event.atMs;
    if (this.#encoder.sizeBytes >= STRETCH_BYTES) this.#store();
  }

  get count(): number {
    return this.#stored + this.#added;
  }

  /** Instant of the last event; 0 if there is none. */
  get lastAtMs(): EpochMs {
    return this.#lastAtMs;
  }

  /** The state after all events of `instant`. Only the first `most` events count. */
  stateAt(instant: EpochMs, most: number = this.count): TraceStateFold {
    this.#store();
    const last = this.#stretches.findLastIndex(
      ({ block, eventsBefore }) => block.firstAtMs <= instant && eventsBefore < most,
    );
    const first = this.#stretches.findLastIndex(({ state }, i) => i <= last && state !== undefined);
    const state = new TraceStateFold();
    const known = this.#stretches[first]?.state;
    if (known !== undefined)
      for (const event of JSON.parse(contentOf(this.#log, known).toString())) state.apply(event);
    for (const stretch of this.#stretches.slice(Math.max(0, first), last + 1))
      for (const event of this.#eventsOf(stretch, most)) if (event.atMs <= instant) state.apply(event);
    return state;
  }

  /** The first `most` events, in order. */
  *events(most: number = this.count): Generator<TraceEvent, undefined> {
    this.#store();
    for (const stretch of this.#stretches) yield* this.#eventsOf(stretch, most);
    return undefined;
  }

  /** Number of events before `instant`. */
  countBefore(instant: EpochMs): number {
    this.#store();
    const stretch = this.#stretches.findLast(({ block }) => block.firstAtMs < instant);
    if (stretch === undefined) return 0;
    return stretch.eventsBefore + this.#eventsOf(stretch).filter(({ atMs }) => atMs < instant).length;
  }

  /** SHA-256 in hex of the first `most` events; equal to that of `createTraceHash` for the same events. */
  hash(most: number = this.count): string {
    this.#store();
    const hash = createHash('sha256');
    for (const stretch of this.#stretches) {
      const events = Math.min(most - stretch.eventsBefore, stretch.block.entries);
      if (events <= 0) break;
      const bytes = contentOf(this.#log, stretch.block);
      if (events === stretch.block.entries) {
        hash.update(bytes);
        continue;
      }
      const decoder = this.#decoderOf(bytes, stretch);
      for (let i = 0; i < events; i++) decoder.next();
      hash.update(bytes.subarray(0, decoder.place));
    }
    return hash.digest('hex');
  }

  /** Moves all events to the log. */
  #store(): void {
    if (this.#added === 0) return;
    const names = this.#encoder.names.slice(this.#names.length);
    if (names.length > 0) this.#append('names', JSON.stringify(names));
    this.#names.push(...names);
    const [entries, firstAtMs, lastAtMs] = [this.#added, this.#firstAtMs, this.#lastAtMs];
    this.#index(this.#append('entries', this.#encoder.take(), { entries, firstAtMs, lastAtMs }));
    this.#added = 0;
    if (this.#stretches.length % STRETCHES_PER_STATE === 0)
      this.#stateBefore = this.#append('state', JSON.stringify(this.#state.newest()));
  }

  #append(
    kind: BlockKind,
    content: Uint8Array | string,
    options?: Pick<Block, 'entries' | 'firstAtMs' | 'lastAtMs'>,
  ): Block {
    return appendBlock(this.#log, kind, content, { ...options, isPacked: this.#isPacked });
  }

  #index(block: Block): void {
    this.#stretches.push({
      block,
      eventsBefore: this.#stored,
      previousAtMs: this.#stretches.at(-1)?.block.lastAtMs ?? 0,
      state: this.#stateBefore,
    });
    this.#stored += block.entries;
    this.#lastAtMs = block.lastAtMs;
    this.#stateBefore = undefined;
  }

  /** The events of `stretch` that are among the first `most`. */
  #eventsOf(stretch: Stretch, most: number = Number.POSITIVE_INFINITY): readonly TraceEvent[] {
    const count = Math.min(most - stretch.eventsBefore, stretch.block.entries);
    if (count <= 0) return [];
    const decoder = this.#decoderOf(contentOf(this.#log, stretch.block), stretch);
    return Array.from({ length: count }, () => decoder.next());
  }

  #decoderOf(bytes: Uint8Array, { previousAtMs }: Stretch): EventDecoder {
    return new EventDecoder(bytes, previousAtMs, this.#names);
  }
}

/**
 * The first instant before `instant` with different events in `recorded` and `again`; undefined if there is none. The
 * order of locations within one instant does not count: it differs if the locations ran in one world. Events at
 * `instant` itself are not compared, because a world that stops there has not finished that instant.
 */
export function firstDifference(recorded: EventLog, again: EventLog, instant: EpochMs): EpochMs | undefined {
  const before = recorded.countBefore(instant);
  const isSame = again.countBefore(instant) === before && again.hash(before) === recorded.hash(before);
  return isSame ? undefined : instantOfDifference(recorded, again, instant);
}

function instantOfDifference(recorded: EventLog, again: EventLog, instant: EpochMs): EpochMs | undefined {
  const expected = byInstant(recorded.events(recorded.countBefore(instant)));
  for (const { atMs, texts } of byInstant(again.events(again.countBefore(instant)))) {
    const then = expected.next().value;
    if (then === undefined) return atMs;
    if (then.atMs !== atMs || !isDeepStrictEqual(then.texts, texts)) return Math.min(atMs, then.atMs);
  }
  return expected.next().value?.atMs;
}

/** Events of each instant, in an order that depends only on their content. */
function* byInstant(
  events: Iterable<TraceEvent>,
): Generator<{ readonly atMs: EpochMs; readonly texts: readonly string[] }, undefined> {
  let atMs: EpochMs | undefined;
  let texts: string[] = [];
  for (const event of events) {
    if (atMs !== undefined && event.atMs !== atMs) {
      yield { atMs, texts: texts.sort() };
      texts = [];
    }
    atMs = event.atMs;
    texts.push(JSON.stringify(event));
  }
  if (atMs !== undefined) yield { atMs, texts: texts.sort() };
  return undefined;
}
