// Reports of the chargers behind a meter expose a wrong meter. A correct meter raises no doubt.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MeterJudge } from '../../../machines/limits/meter-judge.js';

const S = 1000;
const MOST_CHANGE_W = 100_000;

interface Site {
  /** By second. */
  readonly building: (second: number) => number;
  readonly chargers: (second: number) => number;
  /** Returns the reading for the true import. */
  readonly meter: (importW: number, second: number) => number;
  readonly cadenceS?: number;
  readonly reportLagS?: number;
  readonly mayFeedBack?: boolean;
}

/** Repeatable pseudo-random numbers from 0 to 1. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** The doubts raised within `seconds`, in order. */
function doubtsOn(
  { building, chargers, meter, cadenceS = 1, reportLagS = 8, mayFeedBack = false }: Site,
  seconds: number,
) {
  const judge = new MeterJudge(mayFeedBack);
  const doubts: (string | undefined)[] = [];
  for (let second = 0; second < seconds; second += cadenceS) {
    const chargersW = chargers(Math.max(0, second - reportLagS));
    const reading = {
      powerW: Math.round(meter(building(second) + chargers(second), second)),
      chargersW,
      witnessedW: chargersW,
      reportAgeMs: 10 * S,
      delayMs: 0,
      mostChangeW: MOST_CHANGE_W,
    };
    judge.judge(reading, second * S);
    if (doubts.at(-1) !== judge.doubt || doubts.length === 0) doubts.push(judge.doubt);
  }
  return doubts;
}

/** Cars that change every minute and a half. */
const cars = (second: number) => [0, 11_000, 18_400, 7_400][Math.floor(second / 90) % 4] ?? 0;
const noisy = (wattage: number) => {
  const random = randomNumbers(7);
  return (second: number) => wattage + 500 * Math.sin(second / 40) + 200 * random();
};
const honest = (importW: number) => importW;
const swapped = (importW: number) => -importW;
const tenth = (importW: number) => importW / 10;
const HOUR = 3_600;

describe('A meter at the connection', () => {
  it.each([1, 10, 60])('that is right is accepted, read every %i s', (cadenceS) => {
    expect(doubtsOn({ building: noisy(8_000), chargers: cars, meter: honest, cadenceS }, HOUR)).toEqual([
      undefined,
    ]);
  });

  it('is accepted while chargers follow the building down and up', () => {
    const building = (second: number) => 10_000 + (Math.floor(second / 100) % 2) * 20_000;
    const chargers = (second: number) => 40_000 - building(Math.max(0, second - 12));
    expect(doubtsOn({ building, chargers, meter: honest }, HOUR)).toEqual([undefined]);
  });

  it('is accepted while the site feeds back if that is declared, clouds or not', () => {
    const random = randomNumbers(3);
    const building = (second: number) => -60_000 + 15_000 * Math.sin(second / 50) + 8_000 * random();
    const site = { building, chargers: cars, meter: honest, mayFeedBack: true };
    expect(doubtsOn(site, 4 * HOUR)).toEqual([undefined]);
  });

  it('is not accepted as feeding back if that is not declared', () => {
    const building = (second: number) => (second < 600 ? 4_000 : -4_000);
    expect(doubtsOn({ building, chargers: () => 7_400, meter: honest }, HOUR)).toEqual([undefined, 'tooLow']);
    const alone = { building: () => -2_000, chargers: () => 0, meter: honest };
    expect(doubtsOn(alone, HOUR)).toEqual([undefined, 'signSwapped']);
  });

  it.each([
    [1, false],
    [10, false],
    [60, false],
    [1, true],
    [10, true],
  ])('with its sign swapped is found out, read every %i s, feed-in declared: %s', (cadenceS, mayFeedBack) => {
    const site = { building: noisy(8_000), chargers: cars, meter: swapped, cadenceS, mayFeedBack };
    expect(doubtsOn(site, HOUR)).toEqual([undefined, 'signSwapped']);
  });

  it.each([
    ['its sign swapped', 9, false, swapped],
    ['its sign swapped', 11, false, swapped],
    ['its sign swapped', 13, false, swapped],
    ['its sign swapped', 9, true, swapped],
    ['its sign swapped', 11, true, swapped],
    ['its sign swapped', 13, true, swapped],
    ['a tenth', 9, false, tenth],
    ['a tenth', 11, false, tenth],
    ['a tenth', 13, false, tenth],
  ])(
    'with %s is found out within three minutes while chargers step every %i s, feed-in declared: %s',
    (_, everyS, mayFeedBack, meter) => {
      const chargers = (second: number) => [0, 11_000, 18_400, 7_400][Math.floor(second / everyS) % 4] ?? 0;
      const site = { building: noisy(18_000), chargers, meter, mayFeedBack };
      expect(doubtsOn(site, 180)).toEqual([undefined, expect.stringMatching(/signSwapped|tooLow/)]);
      expect(doubtsOn({ ...site, meter: honest }, HOUR)).toEqual([undefined]);
    },
  );

  it('that shows a tenth is accepted while the building takes more than nine times the power of the chargers', () => {
    expect(doubtsOn({ building: noisy(60_000), chargers: () => 4_000, meter: tenth }, HOUR)).toEqual([
      undefined,
    ]);
  });

  it('that shows too little once or twice is accepted', () => {
    const meter = (importW: number, second: number) => (second % 300 < 2 ? -60_000 : importW);
    expect(doubtsOn({ building: noisy(8_000), chargers: () => 20_000, meter }, HOUR)).toEqual([undefined]);
  });

  it('that shows too little again is doubted for twice as long each time, though its chargers stop meanwhile', () => {
    const judge = new MeterJudge(false);
    const doubtedS: number[] = [];
    let stoppedS = 0;
    for (let second = 0; second < 2 * HOUR; second++) {
      const chargersW = judge.doubt === undefined ? 40_000 : 0;
      if (judge.doubt === undefined && stoppedS > 0) doubtedS.push(stoppedS);
      stoppedS = judge.doubt === undefined ? 0 : stoppedS + 1;
      const reading = { chargersW, witnessedW: chargersW, reportAgeMs: 10 * S, delayMs: 0 };
      judge.judge({ ...reading, powerW: tenth(18_000 + chargersW), mostChangeW: MOST_CHANGE_W }, second * S);
    }
    expect(doubtedS.slice(0, 5)).toEqual([60, 120, 240, 480, 960]);
  });

  it('that is put right is accepted again', () => {
    const meter = (importW: number, second: number) => (second < 1_000 ? -importW : importW);
    const doubts = doubtsOn({ building: noisy(8_000), chargers: cars, meter }, HOUR);
    expect(doubts).toEqual([undefined, 'signSwapped', undefined]);
  });

  it('that is stuck is found as soon as chargers change, and accepted a minute after it moves', () => {
    const meter = (importW: number, second: number) => (second > 400 && second < 900 ? 12_345 : importW);
    expect(doubtsOn({ building: noisy(8_000), chargers: cars, meter }, HOUR)).toEqual([
      undefined,
      'stuck',
      undefined,
    ]);
  });

  it('that shows the same because nothing changes is accepted', () => {
    expect(doubtsOn({ building: () => 3_000, chargers: () => 7_400, meter: honest }, HOUR)).toEqual([
      undefined,
    ]);
  });

  it('that jumps by more than the whole site can is not accepted for a minute', () => {
    const meter = (importW: number, second: number) => (second === 500 ? 250_000 : importW);
    expect(doubtsOn({ building: noisy(8_000), chargers: cars, meter }, HOUR)).toEqual([
      undefined,
      'jumped',
      undefined,
    ]);
  });
});

/** One charger: its power over time, the offset of its reports, and its measuring error. */
const chargerArbitrary = fc.record({
  levelsW: fc.array(fc.integer({ min: 0, max: 22_000 }), { minLength: 1, maxLength: 12 }),
  stepS: fc.integer({ min: 3, max: 200 }),
  offsetS: fc.integer({ min: 0, max: 9 }),
  error: fc.double({ min: -0.05, max: 0.05, noNaN: true }),
  /** The charger loses power at this second in the middle of charging. Its last report counts for 30 s. */
  diesAtS: fc.option(fc.integer({ min: 60, max: 1_200 })),
});
const HEARTBEAT_S = 10;
const SILENT_AFTER_S = 30;

describe('A meter at the connection that is right', () => {
  it('is accepted at any power of chargers, however late they and it report, and at any tolerance of meters', () => {
    const site = fc.record({
      chargers: fc.array(chargerArbitrary, { minLength: 1, maxLength: 6 }),
      buildingW: fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 1, maxLength: 20 }),
      buildingStepS: fc.integer({ min: 1, max: 120 }),
      cadenceS: fc.constantFrom(1, 2, 5, 10, 30, 60),
      delayS: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(site, ({ chargers, buildingW, buildingStepS, cadenceS, delayS }) => {
        const judge = new MeterJudge(false);
        const buildingAt = (second: number) =>
          buildingW[Math.floor(Math.max(0, second) / buildingStepS) % buildingW.length] ?? 0;
        const drawnBy = ({ levelsW, stepS, diesAtS }: (typeof chargers)[number], second: number) =>
          second < 0 || (diesAtS !== null && second >= diesAtS)
            ? 0
            : (levelsW[Math.floor(second / stepS) % levelsW.length] ?? 0);
        for (let second = 0; second < 1_500; second += cadenceS) {
          const importW = chargers.reduce(
            (sum, each) => sum + drawnBy(each, second - delayS),
            buildingAt(second - delayS),
          );
          let [chargersW, ageS] = [0, 0];
          for (const each of chargers) {
            const lastS = (each.diesAtS ?? Number.POSITIVE_INFINITY) - 1;
            const heardS = Math.min(second, lastS);
            const reportedS = heardS - ((heardS + each.offsetS) % HEARTBEAT_S);
            if (reportedS < 0 || second - reportedS >= SILENT_AFTER_S) continue;
            ageS = Math.max(ageS, second - reportedS);
            chargersW += drawnBy(each, reportedS) * (1 + each.error);
          }
          const delayMs = delayS * S;
          const reading = { powerW: Math.round(importW), chargersW, witnessedW: chargersW, delayMs };
          judge.judge({ ...reading, reportAgeMs: ageS * S, mostChangeW: 500_000 }, second * S);
          if (judge.doubt !== undefined && judge.doubt !== 'stuck') return false;
        }
        return true;
      }),
      { seed: 4, numRuns: 150 },
    );
  });
});
