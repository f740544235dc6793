// Time span and page of a query: fills in open ends, and bounds the length.

import type { DomainError } from '../../machines/values/errors.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { Page } from '../ports/store.js';
import { fromInstant } from '../wire/instants.js';
import type { SpanPageQuery, SpanQuery } from '../wire/operator-queries.js';
import { wrongParameter } from '../wire/plain-errors.js';
import { LAST_INSTANT_MS } from '../wire/rest.js';

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

/** A place among alarms, newest first: `skip` alarms that began at `beganAtMs` were already returned. */
interface AlarmPlace {
  readonly beganAtMs: number;
  readonly skip: number;
}

const OFFSET = /^\d{1,9}$/;
const ALARM_PLACE = /^(-?\d{1,15})-(\d{1,6})$/;

/** Number of rows that were already returned; 0 without a cursor. @throws DomainError INVALID_REQUEST_BODY */
function offsetOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!OFFSET.test(cursor)) throw unknownCursor();
  return Number(cursor);
}

/** Undefined without a cursor. @throws DomainError INVALID_REQUEST_BODY */
export function alarmPlaceOf(cursor: string | undefined): AlarmPlace | undefined {
  if (cursor === undefined) return undefined;
  const [, beganAtMs, skip] = ALARM_PLACE.exec(cursor) ?? [];
  if (beganAtMs === undefined || skip === undefined) throw unknownCursor();
  return { beganAtMs: Number(beganAtMs), skip: Number(skip) };
}

export function alarmCursorOf({ beganAtMs, skip }: AlarmPlace): string {
  return `${beganAtMs}-${skip}`;
}

export function unknownCursor(): DomainError {
  return wrongParameter('cursor', 'must be a nextCursor of this endpoint; leave it out for the first page');
}

const LONGEST_DAYS = 366;

/** Requested part of a history. */
export interface AskedHistory {
  readonly window: TimeWindow;
  /** One row more than the answer holds, which shows if there is a next page. */
  readonly page: Page;
}

/** @throws DomainError INVALID_REQUEST_BODY naming `to`, `from` or `cursor` */
export function askedHistory(asked: SpanPageQuery): AskedHistory {
  const window = askedHistorySpan(asked, LONGEST_DAYS);
  return { window, page: { offset: offsetOf(asked.cursor), count: asked.limit + 1 } };
}

/** The rows of the page, without the extra one. */
export function rowsOfPage<T>({ page }: AskedHistory, read: readonly T[]): readonly T[] {
  return read.slice(0, page.count - 1);
}

/** Start of the next page, if one of the lists goes on; otherwise null. */
export function nextCursorOf(
  { page }: AskedHistory,
  ...lists: readonly (readonly unknown[])[]
): string | null {
  const isLast = lists.every(({ length }) => length < page.count);
  return isLast ? null : String(page.offset + page.count - 1);
}
