// Converts instants from and to their form on the wire. It is separate from the schemas, which
// commands that only print an instant need not load.
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';

/** UTC, milliseconds, `Z`, as in the contract. */
export function toInstant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The date of an instant in UTC, such as 2026-06-01. */
export function toDate(epochMs: number): string {
  return toInstant(epochMs).slice(0, 10);
}

/** Epoch milliseconds of an instant that passed `instantSchema`; a finer fraction is cut. */
export function fromInstant(text: string): number {
  return Date.parse(text.toUpperCase());
}

/** The rule for its end that the window breaks; undefined if the profile can be submitted. */
export function brokenWindowRule(
  { startsAtMs, endsAtMs }: TimeWindow,
  now: EpochMs,
  startName: string,
): string | undefined {
  if (endsAtMs <= startsAtMs) return `must be after ${startName}`;
  return endsAtMs <= now ? 'must be in the future' : undefined;
}
