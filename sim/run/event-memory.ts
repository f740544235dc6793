// The recorded past of a world, kept in memory: what happened as bytes, and every so often the whole state.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EpochMs } from '../../machines/values/time.js';
import { decodeEvents } from '../trace/trace-decoder.js';
import { TraceEncoder } from '../trace/trace-encoder.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { type ConnectorName, type TraceState, TraceStateFold } from '../trace/trace-state.js';

interface Block {
  readonly firstAtMs: EpochMs;
  readonly previousAtMs: EpochMs;
  readonly events: number;
  readonly bytes: Uint8Array;
  /** Events that make up the state before it, where it has a keyframe. */
  readonly state: readonly TraceEvent[] | undefined;
}

const BLOCK_BYTES = 1 << 16;
/** A state of a thousand connectors is as large as some blocks. */
const BLOCKS_PER_KEYFRAME = 16;

export class EventMemory {
  readonly #encoder = new TraceEncoder();
  readonly #state = new TraceStateFold();
  readonly #blocks: Block[] = [];
  #stateBefore: readonly TraceEvent[] | undefined = [];
  #events = 0;
  #firstAtMs: EpochMs = 0;
  #lastAtMs: EpochMs = 0;
  #previousAtMs: EpochMs = 0;

  add(event: TraceEvent): void {
    this.#encoder.add(event);
    this.#state.apply(event);
    if (this.#events++ === 0) this.#firstAtMs = event.atMs;
    this.#lastAtMs = event.atMs;
    if (this.#encoder.sizeBytes >= BLOCK_BYTES) this.#cut();
  }

  /** The state once everything that happened at `instant` has happened. */
  at(instant: EpochMs, connector?: ConnectorName): TraceState {
    this.#cut();
    const last = this.#blocks.findLastIndex((block) => block.firstAtMs <= instant);
    const first = this.#blocks.findLastIndex((block, i) => i <= last && block.state !== undefined);
    const then = new TraceStateFold();
    for (const event of this.#blocks[first]?.state ?? []) then.apply(event);
    for (const block of this.#blocks.slice(Math.max(0, first), last + 1))
      for (const event of this.#eventsOf(block)) if (event.atMs <= instant) then.apply(event);
    return then.at(instant, connector);
  }

  /** SHA-256 in hex of all that happened: that of a run's trace, where the events are the same. */
  hash(): string {
    this.#cut();
    const hash = createHash('sha256');
    for (const { bytes } of this.#blocks) hash.update(bytes);
    return hash.digest('hex');
  }

  /** All that happened, in order. */
  *events(): Generator<TraceEvent> {
    this.#cut();
    for (const block of this.#blocks) yield* this.#eventsOf(block);
  }

  /** How many events happened before `instant`. */
  countBefore(instant: EpochMs): number {
    this.#cut();
    let count = 0;
    for (const [i, block] of this.#blocks.entries()) {
      const isAllBefore = (this.#blocks[i + 1]?.previousAtMs ?? this.#lastAtMs) < instant;
      if (isAllBefore) count += block.events;
      else return count + this.#eventsOf(block).filter(({ atMs }) => atMs < instant).length;
    }
    return count;
  }

  /** All that happened, as canonical bytes. */
  bytes(): Uint8Array {
    this.#cut();
    return Buffer.concat(this.#blocks.map(({ bytes }) => bytes));
  }

  /** Ends the block that is being filled, so that all that happened is in blocks. */
  #cut(): void {
    if (this.#events === 0) return;
    this.#blocks.push({
      firstAtMs: this.#firstAtMs,
      previousAtMs: this.#previousAtMs,
      events: this.#events,
      bytes: this.#encoder.take(),
      state: this.#stateBefore,
    });
    this.#events = 0;
    this.#previousAtMs = this.#lastAtMs;
    this.#stateBefore = this.#blocks.length % BLOCKS_PER_KEYFRAME === 0 ? this.#state.newest() : undefined;
  }

  #eventsOf(block: Block): readonly TraceEvent[] {
    return decodeEvents(block.bytes, { lastAtMs: block.previousAtMs, names: this.#encoder.names });
  }
}

/**
 * The instant at which what `again` tells is not what `recorded` tells; undefined where it is all of that before
 * `instant`, and nothing else.
 */
export function firstDifference(
  recorded: EventMemory,
  again: EventMemory,
  instant: EpochMs,
): EpochMs | undefined {
  const bytes = again.bytes();
  const isBeginning = Buffer.compare(recorded.bytes().subarray(0, bytes.length), bytes) === 0;
  const isAllOfIt = again.countBefore(instant) === recorded.countBefore(instant);
  return isBeginning && isAllOfIt ? undefined : instantOfDifference(recorded, again, instant);
}

function instantOfDifference(recorded: EventMemory, again: EventMemory, instant: EpochMs): EpochMs {
  const told = recorded.events();
  for (const event of again.events()) {
    const then = told.next();
    if (then.done === true || !isDeepStrictEqual(then.value, event))
      return Math.min(event.atMs, then.value?.atMs ?? event.atMs);
  }
  const missing = told.next();
  return missing.done === true ? instant : missing.value.atMs;
}
