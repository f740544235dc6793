// A location with fuses, under attack and on calm days. No circuit phase ever carries more than its fuse.
import { describe, expect, it } from 'vitest';
import { Fuses, type PhaseCurrents } from '../../machines/power/fuses.js';
import { seedsUpTo } from '../seeds.js';
import { Dice } from './agenda.js';
import { type Attack, surviveAttack } from './attack.js';
import { CALM, type ChargerTraits } from './hostile-charger.js';
import { type Happened, SupervisorRig } from './supervisor-rig.js';

const LETTERS = ['R', 'S', 'T'] as const;
const FEEDERS = ['hall', 'yard', 'corner'] as const;
const ABOVE = { hall: ['hall'], yard: ['yard'], corner: ['corner', 'hall'] } as const;
const PLENTY_W = 1_000_000;

interface Site {
  readonly chargers: readonly ChargerTraits[];
  readonly fuses: Fuses;
}

function traitsOf(dice: Dice, key: string): ChargerTraits {
  const gridPhase = dice.below(3);
  const feeder = dice.oneOf(undefined, ...FEEDERS);
  // Half of the one-phase connectors have no known phase.
  const rotation = dice.isOneIn(2) ? LETTERS[gridPhase] : undefined;
  const phases = dice.oneOf(3, 1, 1);
  return {
    key,
    phases,
    gridPhase,
    voltageV: 220 + dice.below(33),
    ...(feeder !== undefined && { feeder, fusesAbove: ABOVE[feeder] }),
    ...(phases === 1 && rotation !== undefined && { rotation }),
    maxTenthsA: dice.oneOf(320, 160),
    failsafeTenthsA: dice.oneOf(60, 0),
    keepsThen: dice.isOneIn(2),
    lease: dice.oneOf('heartbeat', 'heartbeat', 'receipt'),
    secondLastsS: dice.oneOf(1.02, 0.98, 1),
    ackAfterMs: dice.oneOf(0, 0, 5_000),
  };
}

/**
 * Fuses that carry all fail-safes below them as the service counts them, and a part of the highest possible current.
 */
function siteOf(dice: Dice, count: number): Site {
  const chargers = Array.from({ length: count }, (_, i) => traitsOf(dice, `quay/${i}`));
  const carried = (below: readonly ChargerTraits[]): PhaseCurrents => {
    const ofPhase = (phase: number) => {
      const here = below.filter(({ phases, rotation, gridPhase }) => {
        return phases === 3 || rotation === undefined || gridPhase === phase;
      });
      const leastA = here.reduce((sum, { failsafeTenthsA }) => sum + failsafeTenthsA / 10, 0);
      const mostA = here.reduce((sum, { maxTenthsA }) => sum + maxTenthsA / 10, 0);
      return Math.max(6, leastA, Math.round(dice.oneOf(0.2, 0.5, 0.8) * mostA));
    };
    return [ofPhase(0), ofPhase(1), ofPhase(2)];
  };
  const below = (names: readonly (string | undefined)[]) =>
    chargers.filter(({ feeder }) => names.includes(feeder));
  const fuses = new Fuses({ currentA: carried(chargers), voltageV: 230 }, [
    { name: 'hall', currentA: carried(below(['hall', 'corner'])), parent: null },
    { name: 'corner', currentA: carried(below(['corner'])), parent: 'hall' },
    { name: 'yard', currentA: carried(below(['yard'])), parent: null },
  ]);
  return { chargers, fuses };
}

function survive(seed: number, attack: Attack): Happened {
  const dice = new Dice(seed);
  const { chargers, fuses } = siteOf(dice, attack.chargers);
  const rig = new SupervisorRig(seed, chargers, [PLENTY_W], fuses);
  for (const { charger } of rig.places) charger.wantsTenthsA = charger.traits.maxTenthsA;
  surviveAttack(rig, seed, attack);
  return rig.happened;
}

describe('The fuses of a location under attack (P1 on every phase)', () => {
  for (const hasLocks of [false, true]) {
    it(`carry no more than they can, through faults, reboots and crashes${hasLocks ? ', and with any locks' : ''}`, () => {
      let [played, raises, crashes, locks] = [0, 0, 0, 0];
      for (const seed of seedsUpTo(60)) {
        played++;
        const attack = { hasCrashes: true, hasLocks, isFailsafeKept: false, hasReceipts: true };
        const happened = survive(seed, { ...attack, chargers: 4 + (seed % 7) });
        raises += happened.raises;
        crashes += happened.crashes;
        locks += happened.lastResort;
      }
      // The test proves nothing if these events never happen.
      expect(Math.min(raises, crashes)).toBeGreaterThan(2 * played);
      if (hasLocks) expect(locks).toBeGreaterThan(0);
    });
  }
});

const ONE_PHASE = { ...CALM, phases: 1 } as const;

/** Twelve one-phase cars behind 63 A, after ten minutes. */
function twelve(phaseOf: (i: number) => number, isTold: boolean): SupervisorRig {
  const chargers = Array.from({ length: 12 }, (_, i) => {
    const gridPhase = phaseOf(i);
    const rotation = LETTERS[gridPhase];
    return {
      ...ONE_PHASE,
      key: `quay/${i}`,
      gridPhase,
      ...(isTold && rotation !== undefined && { rotation }),
    };
  });
  const fuses = new Fuses({ currentA: [63, 63, 63], voltageV: 230 }, []);
  const rig = new SupervisorRig(1, chargers, [PLENTY_W], fuses);
  for (const { charger } of rig.places) charger.wantsTenthsA = 320;
  rig.run(600_000);
  return rig;
}

describe('Cars of one phase behind a connection of 63 A', () => {
  it('share 63 A where all hang on L1: ten have their 6 A, two wait', () => {
    const rig = twelve(() => 0, true);
    const limits = rig.places.map(({ charger }) => charger.limitTenthsA);
    expect(limits.filter((limit) => limit === 0)).toHaveLength(2);
    expect(rig.ableTenthsA()[0]).toBeGreaterThan(600);
    expect(rig.ableTenthsA()[0]).toBeLessThanOrEqual(630);
  });

  it('share 63 A of each phase if they are wired in rotation, and provisioned so', () => {
    const rig = twelve((i) => i % 3, true);
    const [l1 = 0, l2 = 0, l3 = 0] = rig.ableTenthsA();
    expect(Math.min(l1, l2, l3)).toBeGreaterThan(620);
    expect(Math.max(l1, l2, l3)).toBeLessThanOrEqual(630);
  });

  it('count on every phase while their rotation is unknown', () => {
    const rig = twelve((i) => i % 3, false);
    const sum = rig.places.reduce((total, { charger }) => total + charger.limitTenthsA, 0);
    expect(sum).toBeLessThanOrEqual(630);
    expect(sum).toBeGreaterThan(600);
  });
});

describe('Cars that take turns at a fuse of 10 A (R27)', () => {
  it('make room on the full phase: no car of another phase pauses, and none waits without end', () => {
    const chargers = [1, 0, 0].map((gridPhase, i) => {
      const rotation = LETTERS[gridPhase];
      return { ...ONE_PHASE, key: `quay/${i}`, gridPhase, ...(rotation !== undefined && { rotation }) };
    });
    const rig = new SupervisorRig(
      1,
      chargers,
      [PLENTY_W],
      new Fuses({ currentA: [10, 10, 10], voltageV: 230 }, []),
    );
    for (const { charger } of rig.places) charger.wantsTenthsA = 320;
    const minutesOn = [0, 0, 0];
    for (let minute = 0; minute < 360; minute++) {
      rig.run((minute + 1) * 60_000);
      for (const [i, { charger }] of rig.places.entries())
        if (charger.limitTenthsA >= 60) minutesOn[i] = (minutesOn[i] ?? 0) + 1;
    }
    const [alone = 0, ...sharing] = minutesOn;
    expect(alone).toBeGreaterThan(350);
    expect(Math.min(...sharing)).toBeGreaterThan(150);
  });
});

it('counts the connectors of a feeder on all feeders above it, with and without fuses of the connection', () => {
  const currentA = [40, 40, 40] as const;
  const feeders = [
    { name: 'corner', currentA, parent: 'hall' },
    { name: 'yard', currentA, parent: null },
    { name: 'hall', currentA, parent: null },
  ];
  for (const connection of [null, { currentA, voltageV: 230 }]) {
    const fuses = new Fuses(connection, feeders);
    const named = (feeder: string | null) => fuses.feedersAbove(feeder).map((i) => fuses.feederNames[i]);
    expect(named('corner')).toEqual(['corner', 'hall']);
    expect(named('yard')).toEqual(['yard']);
    expect(named(null)).toEqual([]);
  }
});
