// Reads trace.sqlite: the whole state at any instant, and all events in order.
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import type { EpochMs } from '../../machines/values/time.js';
import { decodeEvents } from './trace-decoder.js';
import type { TraceEvent } from './trace-event.js';
import {
  type BlockRow,
  type KeyframeRow,
  type MetaRow,
  type NameRow,
  openTraceFile,
  type TraceSubject,
} from './trace-file.js';
import { type ConnectorName, type TraceState, TraceStateFold } from './trace-state.js';

const inflated = promisify(inflateRaw);

const BLOCKS_AT_ONCE = 16;

export interface TraceReader {
  readonly subject: TraceSubject;
  /** Last instant of the trace. For an unfinished trace, the end of its last complete block. */
  readonly endsAtMs: EpochMs;
  /** SHA-256 in hex; absent in an unfinished trace. */
  readonly hash?: string;
  /** State after all events of `instant`. `connector` narrows the state to this connector and its location. */
  at(instant: EpochMs, connector?: ConnectorName): Promise<TraceState>;
  /** All events in order, in batches. */
  batches(): AsyncGenerator<readonly TraceEvent[]>;
  close(): Promise<void>;
}

/** @throws Error if there is no file at `path`, or the file is no trace. */
export async function openTraceReader(path: string): Promise<TraceReader> {
  if (!existsSync(path)) throw new Error(`There is no trace at ${path}`);
  const knex = openTraceFile(path);
  try {
    return await readerOf(knex, path);
  } catch (error) {
    await knex.destroy();
    throw new Error(`${path} is no trace`, { cause: error });
  }
}

async function readerOf(knex: ReturnType<typeof openTraceFile>, path: string): Promise<TraceReader> {
  const meta: MetaRow | undefined = await knex('meta').first();
  if (meta === undefined) throw new Error(`${path} says nothing of what it is of`);
  const nameRows: NameRow[] = await knex('names').orderBy('id');
  const names = nameRows.map(({ name }) => name);

  async function eventsOf(block: BlockRow): Promise<TraceEvent[]> {
    return decodeEvents(await inflated(block.bytes), { lastAtMs: block.previous_at_ms, names });
  }

  async function* batchesFrom(firstId: number, lastId: number): AsyncGenerator<readonly TraceEvent[]> {
    for (let id = firstId; id <= lastId; id += BLOCKS_AT_ONCE) {
      const blocks: BlockRow[] = await knex('blocks')
        .whereBetween('id', [id, Math.min(id + BLOCKS_AT_ONCE - 1, lastId)])
        .orderBy('id');
      for (const block of blocks) yield await eventsOf(block);
    }
  }

  async function lastBlockBy(instant: EpochMs): Promise<number> {
    const row = await knex('blocks').where('first_at_ms', '<=', instant).max({ id: 'id' }).first();
    return row?.id ?? -1;
  }

  const lastId = await lastBlockBy(Number.MAX_SAFE_INTEGER);

  async function lastInstant(): Promise<EpochMs> {
    let last = meta?.starts_at_ms ?? 0;
    for await (const batch of batchesFrom(lastId, lastId)) last = batch.at(-1)?.atMs ?? last;
    return last;
  }

  return {
    subject: subjectOf(meta),
    endsAtMs: meta.ends_at_ms ?? (await lastInstant()),
    ...(meta.hash === null ? {} : { hash: meta.hash }),
    async at(instant, connector) {
      const state = new TraceStateFold();
      const lastBlock = await lastBlockBy(instant);
      const keyframe: KeyframeRow | undefined = await knex('keyframes')
        .where('block_id', '<=', lastBlock)
        .orderBy('block_id', 'desc')
        .first();
      if (keyframe === undefined) return state.at(instant, connector);
      const events: TraceEvent[] = JSON.parse((await inflated(keyframe.state)).toString());
      for (const event of events) state.apply(event);
      for await (const batch of batchesFrom(keyframe.block_id, lastBlock)) {
        for (const event of batch) if (event.atMs <= instant) state.apply(event);
      }
      return state.at(instant, connector);
    },
    batches: () => batchesFrom(0, lastId),
    close: async () => void (await knex.destroy()),
  };
}

function subjectOf({ scenario, seed, commit, starts_at_ms, utc_offset_ms, grid }: MetaRow): TraceSubject {
  return {
    scenario,
    seed,
    commit,
    startsAtMs: starts_at_ms,
    utcOffsetMs: utc_offset_ms ?? 0,
    ...(grid === undefined ? {} : { grid: JSON.parse(grid) }),
  };
}
