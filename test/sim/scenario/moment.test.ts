// Instants and durations as scenarios write them, checked against other arithmetic.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseDuration,
  parseInstant,
  parseMoment,
  resolveMoment,
  type ScenarioSpan,
} from '../../../sim/scenario/moment.js';

const DAY_MS = 86_400_000;

function at(text: string, span: ScenarioSpan): string {
  const moment = parseMoment(text);
  if (moment === undefined) throw new Error(`"${text}" is no moment`);
  return new Date(resolveMoment(moment, span)).toISOString();
}

/** A day from noon in Berlin. */
const NOON: ScenarioSpan = {
  startsAtMs: Date.parse('2026-06-01T12:00:00+02:00'),
  endsAtMs: Date.parse('2026-06-02T12:00:00+02:00'),
  utcOffsetMs: 7_200_000,
};

describe('A point of time in a scenario', () => {
  it.each([
    ['2026-06-01T17:00:00Z', '2026-06-01T17:00:00.000Z'],
    ['2026-06-01T17:00:00.250-07:00', '2026-06-02T00:00:00.250Z'],
    ['+0s', '2026-06-01T10:00:00.000Z'],
    ['+1h30m', '2026-06-01T11:30:00.000Z'],
    ['+1d', '2026-06-02T10:00:00.000Z'],
    ['-10m', '2026-06-02T09:50:00.000Z'],
    ['12:00', '2026-06-01T10:00:00.000Z'],
    ['17:00', '2026-06-01T15:00:00.000Z'],
    ['23:59:59', '2026-06-01T21:59:59.000Z'],
    ['11:59', '2026-06-02T09:59:00.000Z'],
    ['00:00', '2026-06-01T22:00:00.000Z'],
  ])('%s is %s', (text, instant) => {
    expect(at(text, NOON)).toBe(instant);
  });

  it.each([
    ...['', '+', '-', '17', '24:00', '17:60', '17:00:60', '1h30m', '+1h30', '+m', '+-1h', '+1m1h', '+1e3s'],
    ...[
      '2026-06-01',
      '2026-06-01T17:00:00',
      '2026-02-30T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-06-01T24:00:00Z',
    ],
    ...['2026-06-01T17:00:00+25:00', '2026-06-01 17:00:00Z', 'tomorrow', 'NaN', '+999999999999999999d'],
  ])('%j is invalid', (text) => {
    expect(parseMoment(text)).toBeUndefined();
  });

  it('means the first such local time at or after the start, if it is a time of day', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) }),
        fc.integer({ min: -56, max: 56 }),
        fc.integer({ min: 0, max: 1439 }),
        (startsAtMs, quarters, minute) => {
          const utcOffsetMs = quarters * 900_000;
          const [hours, minutes] = [Math.floor(minute / 60), minute % 60];
          const text = `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
          const span = { startsAtMs, endsAtMs: startsAtMs + DAY_MS, utcOffsetMs };
          const atMs = Date.parse(at(text, span));
          expect(new Date(atMs + utcOffsetMs).toISOString().slice(11)).toBe(`${text}:00.000Z`);
          expect(atMs).toBeGreaterThanOrEqual(startsAtMs);
          expect(atMs - startsAtMs).toBeLessThan(DAY_MS);
        },
      ),
    );
  });
});

describe('An instant', () => {
  it('is the same with any offset', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) }),
        fc.integer({ min: -56, max: 56 }),
        (atMs, quarters) => {
          const minutes = Math.abs(quarters) * 15;
          const zone = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
          const sign = quarters < 0 ? '-' : '+';
          const text = new Date(atMs + quarters * 900_000).toISOString().replace('Z', `${sign}${zone}`);
          expect(parseInstant(text)).toEqual({ atMs, utcOffsetMs: quarters * 900_000 + 0 });
        },
      ),
    );
  });
});

describe('A duration', () => {
  it.each([
    ['90s', 90_000],
    ['0.5s', 500],
    ['250ms', 250],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1d2h3m4.005s6ms', 93_784_011],
    ['0s', 0],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '10', 'm', '-1m', '1 h', '1.5h', '1h 30m', '1s1h', '0.0001s', 'Infinitys'])(
    '%j is invalid',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});
