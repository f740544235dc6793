// A meter that lies is found out by what the chargers behind it report; one that does not is believed.
import { describe, expect, it } from 'vitest';
import { MeterJudge } from '../../../machines/limits/meter-judge.js';

const S = 1000;
const MOST_CHANGE_W = 100_000;

interface Site {
  /** By second. */
  readonly building: (second: number) => number;
  readonly chargers: (second: number) => number;
  /** Makes the reading of the true import. */
  readonly meter: (importW: number, second: number) => number;
  readonly cadenceS?: number;
  readonly reportLagS?: number;
}

/** Numbers from 0 to 1 that look random, the same each time. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** The doubts that came up within `seconds`, in order. */
function doubtsOn({ building, chargers, meter, cadenceS = 1, reportLagS = 8 }: Site, seconds: number) {
  const judge = new MeterJudge();
  const doubts: (string | undefined)[] = [];
  for (let second = 0; second < seconds; second += cadenceS) {
    const reading = {
      powerW: Math.round(meter(building(second) + chargers(second), second)),
      chargersW: chargers(Math.max(0, second - reportLagS)),
      mostChangeW: MOST_CHANGE_W,
    };
    judge.judge(reading, second * S);
    if (doubts.at(-1) !== judge.doubt || doubts.length === 0) doubts.push(judge.doubt);
  }
  return doubts;
}

/** Cars that come and go every minute and a half. */
const cars = (second: number) => [0, 11_000, 18_400, 7_400][Math.floor(second / 90) % 4] ?? 0;
const noisy = (wattage: number) => {
  const random = randomNumbers(7);
  return (second: number) => wattage + 500 * Math.sin(second / 40) + 200 * random();
};
const honest = (importW: number) => importW;
const HOUR = 3_600;

describe('A meter at the connection', () => {
  it.each([1, 10, 60])('that is honest is believed, read every %i s', (cadenceS) => {
    expect(doubtsOn({ building: noisy(8_000), chargers: cars, meter: honest, cadenceS }, HOUR)).toEqual([
      undefined,
    ]);
  });

  it('is believed while chargers follow the building down and up', () => {
    const building = (second: number) => 10_000 + (Math.floor(second / 100) % 2) * 20_000;
    const chargers = (second: number) => 40_000 - building(Math.max(0, second - 12));
    expect(doubtsOn({ building, chargers, meter: honest }, HOUR)).toEqual([undefined]);
  });

  it('is believed while the site feeds back, clouds or not', () => {
    const random = randomNumbers(3);
    const building = (second: number) => -60_000 + 15_000 * Math.sin(second / 50) + 8_000 * random();
    expect(doubtsOn({ building, chargers: cars, meter: honest }, 4 * HOUR)).toEqual([undefined]);
  });

  it.each([1, 10])('with its sign swapped is found out, read every %i s', (cadenceS) => {
    const meter = (importW: number) => -importW;
    expect(doubtsOn({ building: noisy(8_000), chargers: cars, meter, cadenceS }, HOUR)).toEqual([
      undefined,
      'signSwapped',
    ]);
  });

  it('that is put right is believed again', () => {
    const meter = (importW: number, second: number) => (second < 1_000 ? -importW : importW);
    const doubts = doubtsOn({ building: noisy(8_000), chargers: cars, meter }, HOUR);
    expect(doubts).toEqual([undefined, 'signSwapped', undefined]);
  });

  it('that is stuck is found out as soon as chargers change, and believed a minute after it moves', () => {
    const meter = (importW: number, second: number) => (second > 400 && second < 900 ? 12_345 : importW);
    expect(doubtsOn({ building: noisy(8_000), chargers: cars, meter }, HOUR)).toEqual([
      undefined,
      'stuck',
      undefined,
    ]);
  });

  it('that shows the same because nothing changes is believed', () => {
    expect(doubtsOn({ building: () => 3_000, chargers: () => 7_400, meter: honest }, HOUR)).toEqual([
      undefined,
    ]);
  });

  it('that jumps by more than the whole site can is not believed for a minute', () => {
    const meter = (importW: number, second: number) => (second === 500 ? 250_000 : importW);
    expect(doubtsOn({ building: noisy(8_000), chargers: cars, meter }, HOUR)).toEqual([
      undefined,
      'jumped',
      undefined,
    ]);
  });
});
