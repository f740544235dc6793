// The departure that the provisioning file expects of a car, by its arrival and the clocks of its location.
import { describe, expect, it } from 'vitest';
import { type DepartureRule, defaultNeedOf, WEEKDAYS } from '../../../machines/policy/default-needs.js';

const HOUR_MS = 3_600_000;
const WORKDAYS = WEEKDAYS.slice(0, 5);
const at = (hours: number, days: DepartureRule['days'] = WORKDAYS, energyWh = 40_000): DepartureRule => ({
  days,
  timeOfDayMs: hours * HOUR_MS,
  need: { energyWh },
});

function departureOf(arrival: string, rules = [at(6)], timeZone = 'Europe/Berlin'): string | undefined {
  const departsAtMs = defaultNeedOf({ timeZone, rules }, Date.parse(arrival))?.departsAtMs;
  return departsAtMs === undefined ? undefined : new Date(departsAtMs).toISOString();
}

describe('The default departure of a car', () => {
  it.each([
    ['in the evening', '2026-06-01T17:00:00Z', '2026-06-02T04:00:00.000Z'],
    ['before it on the same day', '2026-06-02T03:59:59Z', '2026-06-02T04:00:00.000Z'],
    ['at its very instant', '2026-06-02T04:00:00Z', '2026-06-03T04:00:00.000Z'],
    ['before a weekend', '2026-06-05T17:00:00Z', '2026-06-08T04:00:00.000Z'],
    [
      'after midnight of the location, before that of UTC',
      '2026-06-07T22:30:00Z',
      '2026-06-08T04:00:00.000Z',
    ],
  ])('is the next one if it arrives %s', (_when, arrival, departure) => {
    expect(departureOf(arrival)).toBe(departure);
  });

  it('keeps the time of day when clocks change in the night', () => {
    const daily = [at(6, WEEKDAYS)];
    expect(departureOf('2026-03-28T18:00:00Z', daily)).toBe('2026-03-29T04:00:00.000Z');
    expect(departureOf('2026-10-24T18:00:00Z', daily)).toBe('2026-10-25T05:00:00.000Z');
  });

  it('is as long after midnight as usual if clocks skip its time, and the first of two', () => {
    const daily = [at(2.5, WEEKDAYS)];
    expect(departureOf('2026-03-28T18:00:00Z', daily)).toBe('2026-03-29T01:30:00.000Z');
    expect(departureOf('2026-10-24T18:00:00Z', daily)).toBe('2026-10-25T00:30:00.000Z');
    expect(departureOf('2026-10-25T00:45:00Z', daily)).toBe('2026-10-26T01:30:00.000Z');
  });

  it('is a week after an arrival just behind the only one', () => {
    expect(departureOf('2026-06-01T04:00:01Z', [at(6, ['Mon'])])).toBe('2026-06-08T04:00:00.000Z');
  });

  it('is the first of several, with the need of that one', () => {
    const rules = [at(14, WEEKDAYS, 10_000), at(6, ['Tue'], 30_000)];
    const need = (arrival: string) =>
      defaultNeedOf({ timeZone: 'America/New_York', rules }, Date.parse(arrival));
    expect(need('2026-06-01T20:00:00Z')).toEqual({
      departsAtMs: Date.parse('2026-06-02T10:00:00Z'),
      energyWh: 30_000,
    });
    expect(need('2026-06-02T10:00:00Z')?.energyWh).toBe(10_000);
  });

  it('is unknown without a rule, or in a zone that this Node does not know', () => {
    expect(departureOf('2026-06-01T17:00:00Z', [])).toBeUndefined();
    expect(departureOf('2026-06-01T17:00:00Z', [at(6)], 'Europe/Atlantis')).toBeUndefined();
  });
});
