// The span of time a query asks for: its open ends filled in, its length bounded.
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import { fromInstant } from '../wire/instants.js';
import type { SpanQuery } from '../wire/operator-queries.js';
import { wrongParameter } from '../wire/plain-errors.js';
import { LAST_INSTANT_MS } from '../wire/rest.js';

const DAY_MS = 86_400_000;

/** A span that names no length has this one. */
const DEFAULT_MS = DAY_MS;

/**
 * A span of the past: until now where `to` is left out, a day long where `from` is.
 * @throws DomainError INVALID_REQUEST_BODY naming `to` or `from`
 */
export function askedPast(asked: SpanQuery, now: EpochMs, longestDays: number): TimeWindow {
  // What happened in this very millisecond belongs to it.
  const endsAtMs = asked.to === undefined ? now + 1 : fromInstant(asked.to);
  const startsAtMs = asked.from === undefined ? endsAtMs - DEFAULT_MS : fromInstant(asked.from);
  return bounded({ startsAtMs, endsAtMs }, longestDays);
}

/**
 * A span of a history, whose rows are found by their windows: an end that is left out is open, so that without a range nothing is
 * hidden. Answers come page by page, so only a span that names both ends is bounded.
 * @throws DomainError INVALID_REQUEST_BODY naming `to` or `from`
 */
export function askedHistorySpan(asked: SpanQuery, longestDays: number): TimeWindow {
  const startsAtMs = asked.from === undefined ? 0 : fromInstant(asked.from);
  const endsAtMs = asked.to === undefined ? LAST_INSTANT_MS : fromInstant(asked.to);
  const areBothNamed = asked.from !== undefined && asked.to !== undefined;
  return bounded({ startsAtMs, endsAtMs }, areBothNamed ? longestDays : Infinity);
}

/**
 * A span of the future: from now where `from` is left out, a day long where `to` is.
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
  if (lengthMs <= 0) throw wrongParameter('to', 'must be after from; where one is left out, give both');
  if (lengthMs > longestDays * DAY_MS)
    throw wrongParameter('from', `must be at most ${longestDays} days before to`);
  return window;
}
