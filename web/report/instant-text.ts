// Text of instants and durations in a report: UTC, and the clock of the site.
import type { EpochMs } from '../../machines/values/time.js';

/** Such as `2026-06-01T17:00:03Z`; milliseconds only if they are not 0. */
export function iso(instant: EpochMs): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

/** Such as `19:00:03 (UTC+02:00)`: the clock of the site, with the offset `utcOffsetMs`. */
export function siteTime(instant: EpochMs, utcOffsetMs: number): string {
  const minutes = Math.abs(utcOffsetMs) / 60_000;
  const offset = [Math.floor(minutes / 60), minutes % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
  return `${iso(instant + utcOffsetMs).slice(11, 19)} (UTC${utcOffsetMs < 0 ? '−' : '+'}${offset})`;
}

export function durationText(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')}`;
}
