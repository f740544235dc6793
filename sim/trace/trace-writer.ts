// Writes the events of a running world to trace.sqlite; the world does not wait for compression or disk.
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import type { Knex } from 'knex';
import type { EpochMs } from '../../machines/values/time.js';
import { TraceEncoder } from './trace-encoder.js';
import type { TraceEvent } from './trace-event.js';
import { createTraceTables, openTraceFile, type TraceSubject } from './trace-file.js';
import { TraceStateFold } from './trace-state.js';

const deflated = promisify(deflateRaw);

const BLOCK_BYTES = 1 << 16;
/** A keyframe costs as much as a few blocks; a look-up reads at most this many blocks after a keyframe. */
const BLOCKS_PER_KEYFRAME = 24;
/** Gives most of the compression for a small part of the time. */
const COMPRESSION_LEVEL = 3;

export interface TraceWriter {
  /** Takes `event` at once. @throws RangeError for an event that a trace cannot hold, see TraceEncoder. */
  add(event: TraceEvent): void;
  /** Resolves after all complete blocks are written, so that memory stays bounded; rejects if a write fails. */
  drained(): Promise<void>;
  /**
   * Writes the remaining events and closes the file.
   * @param endsAtMs the instant up to which the world was recorded.
   * @returns the hash of the trace, equal to that of TraceHash for the same events.
   */
  finish(endsAtMs: EpochMs): Promise<string>;
}

interface Block {
  readonly id: number;
  readonly firstAtMs: EpochMs;
  readonly previousAtMs: EpochMs;
  readonly events: number;
  readonly bytes: Uint8Array;
  readonly names: readonly { readonly id: number; readonly name: string }[];
  /** JSON of the state before the block, if a keyframe is due. */
  readonly state: string | undefined;
}

/** Creates a trace at `path`, and replaces an existing file. */
export async function openTraceWriter(path: string, subject: TraceSubject): Promise<TraceWriter> {
  rmSync(path, { force: true });
  const knex = openTraceFile(path);
  await createTraceTables(knex);
  const { startsAtMs: starts_at_ms, utcOffsetMs: utc_offset_ms, grid = [], ...told } = subject;
  await knex('meta').insert({ ...told, starts_at_ms, utc_offset_ms, grid: JSON.stringify(grid) });

  const encoder = new TraceEncoder();
  const hash = createHash('sha256');
  const state = new TraceStateFold();
  let stateBefore: string | undefined = '[]';
  let blocks = 0;
  let events = 0;
  let namesStored = 0;
  let firstAtMs: EpochMs = 0;
  let lastAtMs: EpochMs = 0;
  let previousAtMs: EpochMs = 0;
  let writes: Promise<unknown> = Promise.resolve();

  function cutBlock(): void {
    const bytes = encoder.take();
    hash.update(bytes);
    const names = encoder.names.slice(namesStored).map((name, i) => ({ id: namesStored + i, name }));
    const block = { id: blocks, firstAtMs, previousAtMs, events, bytes, names, state: stateBefore };
    writes = writes.then(() => storeBlock(knex, block));
    // `drained` and `finish` report a failure.
    writes.catch(() => {});
    blocks++;
    events = 0;
    namesStored = encoder.names.length;
    previousAtMs = lastAtMs;
    stateBefore = blocks % BLOCKS_PER_KEYFRAME === 0 ? JSON.stringify(state.newest()) : undefined;
  }

  return {
    add(event) {
      encoder.add(event);
      state.apply(event);
      if (events++ === 0) firstAtMs = event.atMs;
      lastAtMs = event.atMs;
      if (encoder.sizeBytes >= BLOCK_BYTES) cutBlock();
    },
    drained: async () => void (await writes),
    async finish(endsAtMs) {
      if (events > 0) cutBlock();
      const digest = hash.digest('hex');
      try {
        await writes;
        await knex('meta').update({ ends_at_ms: endsAtMs, hash: digest });
      } finally {
        await knex.destroy();
      }
      return digest;
    },
  };
}

async function storeBlock(knex: Knex, block: Block): Promise<void> {
  const bytes = await deflated(block.bytes, { level: COMPRESSION_LEVEL });
  const state = block.state === undefined ? undefined : await deflated(block.state);
  await knex.transaction(async (trx) => {
    if (block.names.length > 0) await trx.batchInsert('names', [...block.names], 200);
    if (state !== undefined) await trx('keyframes').insert({ block_id: block.id, state });
    await trx('blocks').insert({
      id: block.id,
      first_at_ms: block.firstAtMs,
      previous_at_ms: block.previousAtMs,
      events: block.events,
      bytes,
    });
  });
}
