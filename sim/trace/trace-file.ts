// File format of a trace: blocks of encoded events, and at intervals a keyframe with the whole state before a block.
import createKnex, { type Knex } from 'knex';
import type { EpochMs } from '../../machines/values/time.js';

export interface TraceSubject {
  /** The scenario as it was read. */
  readonly scenario: string;
  readonly seed: number;
  readonly commit: string;
  readonly startsAtMs: EpochMs;
  /** UTC offset of the site's clock; constant during a run. */
  readonly utcOffsetMs: number;
  /** Locations on each line of the grid. Traces of release 0.1 lack this field. */
  readonly grid?: readonly { readonly name: string; readonly locationIds: readonly string[] }[];
}

export interface BlockRow {
  readonly id: number;
  readonly first_at_ms: EpochMs;
  /** Instant of the event before the first one of the block. */
  readonly previous_at_ms: EpochMs;
  /** Number of events in the block. */
  readonly events: number;
  /** Raw deflate. */
  readonly bytes: Buffer;
}

export interface KeyframeRow {
  /** The keyframe holds the state before this block. */
  readonly block_id: number;
  /** Raw deflate of the state's events as JSON. */
  readonly state: Buffer;
}

export interface NameRow {
  readonly id: number;
  readonly name: string;
}

export interface MetaRow {
  readonly scenario: string;
  readonly seed: number;
  readonly commit: string;
  readonly starts_at_ms: EpochMs;
  /** Traces of release 0.1 lack this column. */
  readonly utc_offset_ms?: number;
  /** JSON. Traces of release 0.1 lack this column. */
  readonly grid?: string;
  /** Both are null until the trace is finished. */
  readonly ends_at_ms: EpochMs | null;
  readonly hash: string | null;
}

/** Opens the SQLite file at `path`, and creates a missing one. */
export function openTraceFile(path: string): Knex {
  return createKnex({
    client: 'sqlite3',
    connection: { filename: path },
    useNullAsDefault: true,
    pool: { min: 1, max: 1 },
    // The caller receives the errors; without this, knex would also print them.
    log: { warn() {}, error() {} },
  });
}

/** Writes do not wait for the disk, because the scenario and the seed reproduce a lost trace. */
export async function createTraceTables(knex: Knex): Promise<void> {
  await knex.raw('pragma journal_mode = off');
  await knex.raw('pragma synchronous = off');
  await knex.schema.createTable('meta', (table) => {
    table.text('scenario').notNullable();
    table.bigInteger('seed').notNullable();
    table.text('commit').notNullable();
    table.bigInteger('starts_at_ms').notNullable();
    table.bigInteger('utc_offset_ms').notNullable();
    table.text('grid').notNullable();
    table.bigInteger('ends_at_ms');
    table.text('hash');
  });
  await knex.schema.createTable('names', (table) => {
    table.integer('id').primary();
    table.text('name').notNullable();
  });
  await knex.schema.createTable('blocks', (table) => {
    table.integer('id').primary();
    table.bigInteger('first_at_ms').notNullable().index();
    table.bigInteger('previous_at_ms').notNullable();
    table.integer('events').notNullable();
    table.binary('bytes').notNullable();
  });
  await knex.schema.createTable('keyframes', (table) => {
    table.integer('block_id').primary();
    table.binary('state').notNullable();
  });
}
