// Spans of time and pages: their parameters, all optional, with defaults and bounds, and their fields in answers.
import { z } from 'zod';
import 'zod-openapi';
import type { DomainError } from '../../machines/values/errors.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { Page } from '../ports/store.js';
import { fromInstant, toInstant } from './instants.js';
import { mustBeText, wrongParameter } from './plain-errors.js';
import { instantSchema, LAST_INSTANT_MS } from './rest.js';

/** Default and maximum of the rows of a page. */
const ROWS_AT_MOST = 1_000;

/** A number in decimal digits alone: no sign, no exponent, no `0x`. */
export function digits<S extends z.ZodNumber>(schema: S) {
  return z.preprocess((text) => (/^\d{1,9}$/.test(String(text)) ? Number(text) : text), schema);
}

const limitParameter = digits(
  z
    .number(mustBeText(`an integer from 1 to ${ROWS_AT_MOST}`))
    .int()
    .min(1)
    .max(ROWS_AT_MOST),
)
  .default(ROWS_AT_MOST)
  .meta({ description: 'Highest number of rows.' });

const cursorParameter = z
  .string('must be a nextCursor of this endpoint')
  .max(200)
  .optional()
  .meta({ description: '`nextCursor` of the page before; without it, the first page.' });

export const spanParameters = {
  from: instantSchema.optional().meta({ description: 'First instant (inclusive).' }),
  to: instantSchema.optional().meta({ description: 'End (exclusive); after from.' }),
};

/** The span of a history. */
const historySpanParameters = {
  from: instantSchema
    .optional()
    .meta({ description: 'First instant (inclusive). Left out: from the first entry on.' }),
  to: instantSchema.optional().meta({
    description: 'End (exclusive); after from. Left out: no end, with windows in the future.',
  }),
};

/** A page of a list. */
export const pageQuerySchema = z.object({ limit: limitParameter, cursor: cursorParameter });

/** A span of time; the endpoint has defaults for missing ends. */
type SpanQuery = Pick<z.output<typeof spanPageQuerySchema>, 'from' | 'to'>;

/** A page of events in a span of time. */
export const spanPageQuerySchema = z.object({ ...spanParameters, ...pageQuerySchema.shape });
export type SpanPageQuery = z.output<typeof spanPageQuerySchema>;

/** A page of submissions. */
export const historyQuerySchema = z.object({ ...historySpanParameters, ...pageQuerySchema.shape });

/** Fields of an answer about a span of time. */
export const spanShape = { from: instantSchema, to: instantSchema };
export const nextCursorSchema = z.string().nullable().meta({ description: 'Null on the last page.' });

const DAY_MS = 86_400_000;

/** Length of a span that names none. */
const DEFAULT_MS = DAY_MS;

/**
 * A past span: `to` defaults to now, `from` to a day earlier.
 * @throws DomainError INVALID_REQUEST_BODY naming `to` or `from`
 */
export function askedPast(asked: SpanQuery, now: EpochMs, longestDays: number): TimeWindow {
  // Events of this very millisecond belong to the span.
  const endsAtMs = asked.to === undefined ? now + 1 : fromInstant(asked.to);
  const startsAtMs = asked.from === undefined ? endsAtMs - DEFAULT_MS : fromInstant(asked.from);
  return bounded({ startsAtMs, endsAtMs }, longestDays);
}

/**
 * Span of a history, whose rows are found by their windows. A missing end is open, so that without a range nothing is
 * hidden. Answers come page by page, so only a span with both ends is bounded.
 * @throws DomainError INVALID_REQUEST_BODY naming `to` or `from`
 */
function askedHistorySpan(asked: SpanQuery, longestDays: number): TimeWindow {
  const startsAtMs = asked.from === undefined ? 0 : fromInstant(asked.from);
  const endsAtMs = asked.to === undefined ? LAST_INSTANT_MS : fromInstant(asked.to);
  const areBothNamed = asked.from !== undefined && asked.to !== undefined;
  return bounded({ startsAtMs, endsAtMs }, areBothNamed ? longestDays : Infinity);
}

/**
 * A future span: `from` defaults to now, `to` to a day later.
 * @throws DomainError INVALID_REQUEST_BODY naming `to` or `from`
 */
export function askedFuture(asked: SpanQuery, now: EpochMs, longestDays: number): TimeWindow {
  const startsAtMs = asked.from === undefined ? now : fromInstant(asked.from);
  const endsAtMs =
    asked.to === undefined ? Math.min(startsAtMs + DEFAULT_MS, LAST_INSTANT_MS) : fromInstant(asked.to);
  return bounded({ startsAtMs, endsAtMs }, longestDays);
}

function bounded(window: TimeWindow, longestDays: number): TimeWindow {
  const lengthMs = window.endsAtMs - window.startsAtMs;
  if (lengthMs <= 0) throw wrongParameter('to', 'must be after from; give both from and to');
  if (lengthMs > longestDays * DAY_MS)
    throw wrongParameter('from', `must be at most ${longestDays} days before to`);
  return window;
}

// Start of the next page of a long answer: text for use by the issuing endpoint alone.

const OFFSET = /^\d{1,9}$/;

/** Number of rows that were already returned; 0 without a cursor. @throws DomainError INVALID_REQUEST_BODY */
function offsetOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!OFFSET.test(cursor)) throw unknownCursor();
  return Number(cursor);
}

export function unknownCursor(): DomainError {
  return wrongParameter('cursor', 'must be a nextCursor of this endpoint; leave it out for the first page');
}

const PLACE = /^(-?\d{1,15})-(\d{1,6})$/;

/**
 * A page of a past span, whose rows come by an instant, newest first. It continues at an instant, so rows that are added
 * between two pages do not shift the next one.
 * @param read the rows of a window, at most `count`
 * @throws DomainError INVALID_REQUEST_BODY naming `to`, `from` or `cursor`
 */
export async function newestFirst<T>(
  query: SpanPageQuery,
  now: EpochMs,
  read: (window: TimeWindow, count: number) => Promise<readonly T[]>,
  atMsOf: (row: T) => EpochMs,
): Promise<{
  readonly span: { readonly from: string; readonly to: string };
  readonly rows: readonly T[];
  readonly nextCursor: string | null;
}> {
  const { startsAtMs, endsAtMs } = askedPast(query, now, LONGEST_DAYS);
  const { atMs, skip } = placeOf(query.cursor);
  const end = skip + query.limit;
  const found = await read({ startsAtMs, endsAtMs: Math.min(endsAtMs, atMs + 1) }, end + 1);
  const last = found.length > end ? found[end - 1] : undefined;
  return {
    span: { from: toInstant(startsAtMs), to: toInstant(endsAtMs) },
    rows: found.slice(skip, end),
    nextCursor: last === undefined ? null : cursorAfter(found.slice(0, end), atMsOf(last), atMsOf),
  };
}

/** The place that a cursor names: `skip` rows of the instant `atMs` were already returned. */
function placeOf(cursor: string | undefined): { readonly atMs: EpochMs; readonly skip: number } {
  if (cursor === undefined) return { atMs: Number.POSITIVE_INFINITY, skip: 0 };
  const [, atMs, skip] = PLACE.exec(cursor) ?? [];
  if (atMs === undefined || skip === undefined) throw unknownCursor();
  return { atMs: Number(atMs), skip: Number(skip) };
}

function cursorAfter<T>(returned: readonly T[], atMs: EpochMs, atMsOf: (row: T) => EpochMs): string {
  return `${atMs}-${returned.filter((row) => atMsOf(row) === atMs).length}`;
}

const LONGEST_DAYS = 366;

/**
 * Requested part of a history. Its page has one row more than the answer holds, which shows if there is a next one.
 * @throws DomainError INVALID_REQUEST_BODY naming `to`, `from` or `cursor`
 */
export function askedHistory(asked: SpanPageQuery): { readonly window: TimeWindow; readonly page: Page } {
  const window = askedHistorySpan(asked, LONGEST_DAYS);
  return { window, page: { offset: offsetOf(asked.cursor), count: asked.limit + 1 } };
}

/** The rows of the page, without the extra one. */
export function rowsOfPage<T>({ count }: Page, read: readonly T[]): readonly T[] {
  return read.slice(0, count - 1);
}

/** Start of the next page, if one of the lists goes on; otherwise null. */
export function nextCursorOf(
  { offset, count }: Page,
  ...lists: readonly (readonly unknown[])[]
): string | null {
  const isLast = lists.every(({ length }) => length < count);
  return isLast ? null : String(offset + count - 1);
}
