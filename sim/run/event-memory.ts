// The recorded past of a world, kept in memory: what happened as bytes, and every so often the whole state.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EpochMs } from '../../machines/time.js';
import { decodeEvents } from '../trace/trace-decoder.js';
import { createTraceEncoder } from '../trace/trace-encoder.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { type ConnectorName, createTraceState, type TraceState } from '../trace/trace-state.js';

export interface EventMemory {
  add(event: TraceEvent): void;
  /** The state once everything that happened at `instant` has happened. */
  at(instant: EpochMs, connector?: ConnectorName): TraceState;
  /** SHA-256 in hex of all that happened: that of a run's trace, where the events are the same. */
  hash(): string;
  /** All that happened, in order. */
  events(): Generator<TraceEvent>;
  /** How many events happened before `instant`. */
  countBefore(instant: EpochMs): number;
  /** All that happened, as canonical bytes. */
  bytes(): Uint8Array;
}

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

export function createEventMemory(): EventMemory {
  const encoder = createTraceEncoder();
  const state = createTraceState();
  const blocks: Block[] = [];
  let stateBefore: readonly TraceEvent[] | undefined = [];
  let events = 0;
  let firstAtMs: EpochMs = 0;
  let lastAtMs: EpochMs = 0;
  let previousAtMs: EpochMs = 0;

  /** Ends the block that is being filled, so that all that happened is in blocks. */
  function cut(): void {
    if (events === 0) return;
    blocks.push({ firstAtMs, previousAtMs, events, bytes: encoder.take(), state: stateBefore });
    events = 0;
    previousAtMs = lastAtMs;
    stateBefore = blocks.length % BLOCKS_PER_KEYFRAME === 0 ? state.newest() : undefined;
  }

  function eventsOf(block: Block): readonly TraceEvent[] {
    return decodeEvents(block.bytes, { lastAtMs: block.previousAtMs, names: encoder.names });
  }

  return {
    add(event) {
      encoder.add(event);
      state.apply(event);
      if (events++ === 0) firstAtMs = event.atMs;
      lastAtMs = event.atMs;
      if (encoder.sizeBytes >= BLOCK_BYTES) cut();
    },
    at(instant, connector) {
      cut();
      const last = blocks.findLastIndex((block) => block.firstAtMs <= instant);
      const first = blocks.findLastIndex((block, i) => i <= last && block.state !== undefined);
      const then = createTraceState();
      for (const event of blocks[first]?.state ?? []) then.apply(event);
      for (const block of blocks.slice(Math.max(0, first), last + 1))
        for (const event of eventsOf(block)) if (event.atMs <= instant) then.apply(event);
      return then.at(instant, connector);
    },
    hash() {
      cut();
      const hash = createHash('sha256');
      for (const { bytes } of blocks) hash.update(bytes);
      return hash.digest('hex');
    },
    *events() {
      cut();
      for (const block of blocks) yield* eventsOf(block);
    },
    countBefore(instant) {
      cut();
      let count = 0;
      for (const [i, block] of blocks.entries()) {
        const isAllBefore = (blocks[i + 1]?.previousAtMs ?? lastAtMs) < instant;
        if (isAllBefore) count += block.events;
        else return count + eventsOf(block).filter(({ atMs }) => atMs < instant).length;
      }
      return count;
    },
    bytes() {
      cut();
      return Buffer.concat(blocks.map(({ bytes }) => bytes));
    },
  };
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
