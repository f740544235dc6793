// The file of a trace: blocks of events as bytes, and every so often a keyframe with the whole state before a block.
import createKnex, { type Knex } from 'knex';
import type { EpochMs } from '../../machines/values/time.js';

/** What a trace is of. */
export interface TraceSubject {
  /** The scenario as it was read. */
  readonly scenario: string;
  readonly seed: number;
  readonly commit: string;
  readonly startsAtMs: EpochMs;
  /** Of the site's clock from UTC, all through the run. */
  readonly utcOffsetMs: number;
  /** Which location hangs on which line of the grid; traces of release 0.1 do not say it. */
  readonly grid?: readonly { readonly name: string; readonly locationIds: readonly string[] }[];
}

export interface BlockRow {
  readonly id: number;
  readonly first_at_ms: EpochMs;
  /** Instant of the event before its first. */
  readonly previous_at_ms: EpochMs;
  /** Events in it. */
  readonly events: number;
  /** Raw deflate. */
  readonly bytes: Buffer;
}

export interface KeyframeRow {
  /** The state before this block. */
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
  /** Traces of release 0.1 do not say it. */
  readonly utc_offset_ms?: number;
  /** JSON; traces of release 0.1 do not say it. */
  readonly grid?: string;
  /** Both null until the trace is finished. */
  readonly ends_at_ms: EpochMs | null;
  readonly hash: string | null;
}

/** Opens SQLite's file at `path`, which is made where there is none. */
export function openTraceFile(path: string): Knex {
  return createKnex({
    client: 'sqlite3',
    connection: { filename: path },
    useNullAsDefault: true,
    pool: { min: 1, max: 1 },
    // Errors are thrown to the caller; knex would also print them.
    log: { warn() {}, error() {} },
  });
}

/** A trace can be made again from its scenario and seed: no write waits for the disk. */
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
