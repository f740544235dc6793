// The estimate of a charger's clock from its timestamps, after earlier timestamps arrived late.
import { expect, it } from 'vitest';
import { ChargerClock } from '../../machines/session/charger-clock.js';

it('A clock estimated by late timestamps is estimated better by the next, and jumps only after a request', () => {
  const clock = new ChargerClock();
  expect(clock.note(20_000, 0)).toBe('steady');
  expect(clock.note(101_000, 1_000)).toBe('lateBefore');
  expect(clock.ownAt(1_000)).toBe(101_000);
  expect(clock.note(112_000, 2_000, 1_900)).toBe('lateBefore');
  expect(clock.note(123_000, 3_000)).toBe('jumped');
});

it('A failed clock is not trusted after a timestamp that only shows earlier ones as late, but after the next', () => {
  const clock = new ChargerClock();
  clock.note(100_000, 0);
  clock.note(90_000, 20_000);
  expect(clock.note(96_000, 26_000)).toBe('jumped');
  expect(clock.note(256_000, 156_000)).toBe('lateBefore');
  expect(clock.unverifiedReason).toBe('it went 30 s back');
  expect(clock.note(257_000, 157_000)).toBe('steady');
  expect(clock.unverifiedReason).toBeUndefined();
});
