// Days in time zones, with nights in which clocks go forward or back.
import { describe, expect, it } from 'vitest';
import { TimeZone } from '../../machines/values/time-zone.js';

const HOUR_MS = 3_600_000;

function dayAt(zone: string, at: string) {
  return (TimeZone.named(zone) ?? TimeZone.utc).dayAt(Date.parse(at));
}

describe('A day', () => {
  it.each([
    ['Europe/Berlin', '2026-03-29', 23, '2026-03-28T23:00:00Z'],
    ['Europe/Berlin', '2026-10-25', 25, '2026-10-24T22:00:00Z'],
    ['Europe/Berlin', '2026-06-01', 24, '2026-05-31T22:00:00Z'],
    ['Australia/Lord_Howe', '2026-10-04', 23.5, '2026-10-03T13:30:00Z'],
    ['Asia/Kathmandu', '2026-06-01', 24, '2026-05-31T18:15:00Z'],
    // Its clocks skip the hour from midnight on.
    ['Asia/Beirut', '2026-03-29', 23, '2026-03-28T22:00:00Z'],
    ['UTC', '2026-06-01', 24, '2026-06-01T00:00:00Z'],
  ])('in %s on %s has %d hours', (zone, day, hours, begin) => {
    const startsAtMs = Date.parse(begin);
    const midnightMs = Date.parse(`${day}T00:00:00Z`);
    const endsAtMs = startsAtMs + hours * HOUR_MS;
    for (let atMs = startsAtMs; atMs < endsAtMs; atMs += HOUR_MS / 4)
      expect(dayAt(zone, new Date(atMs).toISOString())).toEqual({ startsAtMs, midnightMs });
    expect(dayAt(zone, new Date(endsAtMs).toISOString()).startsAtMs).toBe(endsAtMs);
    expect(dayAt(zone, new Date(startsAtMs - 1).toISOString()).midnightMs).toBeLessThan(midnightMs);
  });
});
