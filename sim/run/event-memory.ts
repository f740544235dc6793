// The recorded past of a world, readable at any instant: encoded events, and at intervals a keyframe with the whole
// state.
import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { EpochMs } from '../../machines/values/time.js';
import { decodeEvents, type StretchStart, sizeOfEvents } from '../trace/trace-decoder.js';
import { TraceEncoder } from '../trace/trace-encoder.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { TraceStateFold } from '../trace/trace-state.js';

// An append-only log of bytes. Old bytes move to a file, so that a long past needs no memory.

/** Memory of one log. A day of twenty connectors fits into it, so a shorter past needs no file. */
const MOST_HELD_BYTES = 1 << 20;

/** A past stays readable as long as a reference to it exists; the garbage collector then closes the file. */
const ofNobody = new FinalizationRegistry<number>(closeSync);

export class ByteLog {
  readonly #mostHeldBytes: number;
  /** The newest pieces by their position in the log, oldest first. */
  readonly #held = new Map<number, Uint8Array>();
  #heldBytes = 0;
  #sizeBytes = 0;
  #file: number | undefined;

  constructor(mostHeldBytes = MOST_HELD_BYTES) {
    this.#mostHeldBytes = mostHeldBytes;
  }

  /** @returns the position of `piece` in the log. The log keeps `piece` itself, not a copy. */
  append(piece: Uint8Array): number {
    const begin = this.#sizeBytes;
    this.#held.set(begin, piece);
    this.#heldBytes += piece.length;
    this.#sizeBytes += piece.length;
    for (const [place, oldest] of this.#held) {
      if (this.#heldBytes <= this.#mostHeldBytes) break;
      this.#write(oldest, place);
      this.#held.delete(place);
      this.#heldBytes -= oldest.length;
    }
    return begin;
  }

  /** The piece of `sizeBytes` at position `begin`. */
  read(begin: number, sizeBytes: number): Uint8Array {
    return this.#held.get(begin) ?? this.#readFile(begin, sizeBytes);
  }

  #write(piece: Uint8Array, place: number): void {
    this.#file ??= this.#openFile();
    for (let done = 0; done < piece.length; )
      done += writeSync(this.#file, piece, done, piece.length - done, place + done);
  }

  #readFile(begin: number, sizeBytes: number): Uint8Array {
    const piece = new Uint8Array(sizeBytes);
    for (let done = 0; done < sizeBytes; ) {
      const read = readSync(this.#file ?? -1, piece, done, sizeBytes - done, begin + done);
      if (read === 0) throw new RangeError(`nothing was appended at ${begin + done}`);
      done += read;
    }
    return piece;
  }

  #openFile(): number {
    const folder = mkdtempSync(join(tmpdir(), 'headroom-past-'));
    const file = openSync(join(folder, 'events'), 'wx+', 0o600);
    // The file has no name, so the operating system removes it when the process ends, in any way.
    rmSync(folder, { recursive: true });
    ofNobody.register(this, file);
    return file;
  }
}

interface Block {
  readonly firstAtMs: EpochMs;
  readonly previousAtMs: EpochMs;
  readonly events: number;
  /** Number of events in earlier blocks. */
  readonly eventsBefore: number;
  /** Position of the block in the log. */
  readonly begin: number;
  readonly sizeBytes: number;
  /** Events that make up the state before the block; undefined if the block has no keyframe. */
  readonly state: readonly TraceEvent[] | undefined;
}

const BLOCK_BYTES = 1 << 16;
/** The state of a thousand connectors is as large as several blocks. */
const BLOCKS_PER_KEYFRAME = 16;

/** An instant, and the number of recorded events up to it. */
export interface Mark {
  readonly atMs: EpochMs;
  readonly events: number;
}

export class EventMemory {
  readonly #log: ByteLog;
  readonly #encoder = new TraceEncoder();
  readonly #state = new TraceStateFold();
  readonly #blocks: Block[] = [];
  #stateBefore: readonly TraceEvent[] | undefined = [];
  /** Number of events in the incomplete block. */
  #events = 0;
  #count = 0;
  #firstAtMs: EpochMs = 0;
  #lastAtMs: EpochMs = 0;
  #previousAtMs: EpochMs = 0;

  /** @param log an empty log. */
  constructor(log = new ByteLog()) {
    this.#log = log;
  }

  add(event: TraceEvent): void {
    this.#encoder.add(event);
    this.#state.apply(event);
    this.#count++;
    if (this.#events++ === 0) this.#firstAtMs = event.atMs;
    this.#lastAtMs = event.atMs;
    if (this.#encoder.sizeBytes >= BLOCK_BYTES) this.#cut();
  }

  get count(): number {
    return this.#count;
  }

  /** The events that make up the state after all events of `instant`. Only the first `most` events count. */
  newestAt(instant: EpochMs, most: number = this.#count): readonly TraceEvent[] {
    this.#cut();
    const last = this.#blocks.findLastIndex(
      (block) => block.firstAtMs <= instant && block.eventsBefore < most,
    );
    const first = this.#blocks.findLastIndex((block, i) => i <= last && block.state !== undefined);
    const then = new TraceStateFold();
    for (const event of this.#blocks[first]?.state ?? []) then.apply(event);
    for (const block of this.#blocks.slice(Math.max(0, first), last + 1))
      for (const event of this.#eventsOf(block).slice(0, most - block.eventsBefore))
        if (event.atMs <= instant) then.apply(event);
    return then.newest();
  }

  /** SHA-256 in hex of the first `most` events; equal to the hash of a trace with the same events. */
  hash(most: number = this.#count): string {
    this.#cut();
    const hash = createHash('sha256');
    for (const block of this.#blocks) {
      const { events, eventsBefore } = block;
      if (eventsBefore >= most) break;
      const bytes = this.#bytesOf(block);
      const isWhole = eventsBefore + events <= most;
      const size = isWhole ? bytes.length : sizeOfEvents(bytes, this.#startOf(block), most - eventsBefore);
      hash.update(bytes.subarray(0, size));
    }
    return hash.digest('hex');
  }

  /** The first `most` events, in order. */
  *events(most: number = this.#count): Generator<TraceEvent> {
    this.#cut();
    for (const block of this.#blocks)
      if (block.eventsBefore < most) yield* this.#eventsOf(block).slice(0, most - block.eventsBefore);
  }

  /** Number of events before `instant`. */
  countBefore(instant: EpochMs): number {
    this.#cut();
    const block = this.#blocks.findLast(({ firstAtMs }) => firstAtMs < instant);
    if (block === undefined) return 0;
    return block.eventsBefore + this.#eventsOf(block).filter(({ atMs }) => atMs < instant).length;
  }

  /** Ends the incomplete block, so that all events are in blocks. */
  #cut(): void {
    if (this.#events === 0) return;
    const bytes = this.#encoder.take();
    this.#blocks.push({
      firstAtMs: this.#firstAtMs,
      previousAtMs: this.#previousAtMs,
      events: this.#events,
      eventsBefore: this.#count - this.#events,
      begin: this.#log.append(bytes),
      sizeBytes: bytes.length,
      state: this.#stateBefore,
    });
    this.#events = 0;
    this.#previousAtMs = this.#lastAtMs;
    this.#stateBefore = this.#blocks.length % BLOCKS_PER_KEYFRAME === 0 ? this.#state.newest() : undefined;
  }

  #eventsOf(block: Block): readonly TraceEvent[] {
    return decodeEvents(this.#bytesOf(block), this.#startOf(block));
  }

  #bytesOf({ begin, sizeBytes }: Block): Uint8Array {
    return this.#log.read(begin, sizeBytes);
  }

  #startOf({ previousAtMs }: Block): StretchStart {
    return { lastAtMs: previousAtMs, names: this.#encoder.names };
  }
}

/**
 * The first instant before `instant` with different events in `recorded` and `again`; undefined if there is none. The
 * order of locations within one instant does not count: it differs if the locations ran in one world. Events at
 * `instant` itself are not compared, because a world that stops there has not finished that instant.
 */
export function firstDifference(
  recorded: EventMemory,
  again: EventMemory,
  instant: EpochMs,
): EpochMs | undefined {
  const before = recorded.countBefore(instant);
  const isSame = again.countBefore(instant) === before && again.hash(before) === recorded.hash(before);
  return isSame ? undefined : instantOfDifference(recorded, again, instant);
}

function instantOfDifference(
  recorded: EventMemory,
  again: EventMemory,
  instant: EpochMs,
): EpochMs | undefined {
  const told = byInstant(recorded.events(recorded.countBefore(instant)));
  for (const { atMs, texts } of byInstant(again.events(again.countBefore(instant)))) {
    const then = told.next().value;
    if (then === undefined) return atMs;
    if (then.atMs !== atMs || !isDeepStrictEqual(then.texts, texts)) return Math.min(atMs, then.atMs);
  }
  return told.next().value?.atMs;
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
