// Phases that a car does not use, reallocated to others for one session (R31 to R36), under attack and on calm days.
import { describe, expect, it } from 'vitest';
import { Fuses, type PhaseCurrents } from '../../machines/power/fuses.js';
import { seedsUpTo } from '../seeds.js';
import { Dice } from './agenda.js';
import { sumW, surviveAttack } from './attack.js';
import { createConnectorActor, decideWith } from './connector-actor.js';
import { CALM, type ChargerTraits } from './hostile-charger.js';
import { budgetOf, newSupervisor, SPEC } from './location-parts.js';
import { type Happened, SupervisorRig } from './supervisor-rig.js';

const PLENTY_W = 1_000_000;

const LETTERS = ['R', 'S', 'T'] as const;

/**
 * At least half of a site can have phases reallocated. The others vary like chargers elsewhere, some with one phase.
 */
function traitsOf(dice: Dice, key: string, isTight: boolean): ChargerTraits {
  const endsWithSession = !dice.isOneIn(4);
  const phases = dice.isOneIn(4) ? 1 : 3;
  const gridPhase = dice.below(3);
  const rotation = phases === 1 ? LETTERS[gridPhase] : dice.oneOf('RST', 'STR', 'TRS', undefined);
  return {
    key,
    phases,
    gridPhase,
    voltageV: 220 + dice.below(33),
    endsWithSession,
    switchesPhases: endsWithSession && !dice.isOneIn(3),
    ...(rotation !== undefined && { rotation }),
    maxTenthsA: dice.oneOf(320, 160),
    failsafeTenthsA: isTight ? 0 : dice.oneOf(60, 0),
    keepsThen: !dice.isOneIn(4),
    lease: dice.oneOf('heartbeat', 'heartbeat', 'receipt'),
    secondLastsS: dice.oneOf(1.02, 0.98, 1),
    ackAfterMs: dice.oneOf(0, 0, 5_000),
  };
}

function fusesOf(dice: Dice, chargers: readonly ChargerTraits[], isTight: boolean): Fuses {
  const mostA = chargers.reduce((sum, { maxTenthsA }) => sum + maxTenthsA / 10, 0);
  const leastA = chargers.reduce((sum, { failsafeTenthsA }) => sum + failsafeTenthsA / 10, 0);
  const ofPhase = () => Math.max(6, leastA, Math.round((isTight ? 0.1 : dice.oneOf(0.2, 0.4, 0.6)) * mostA));
  const currentA: PhaseCurrents = [ofPhase(), ofPhase(), ofPhase()];
  return new Fuses({ currentA, voltageV: 230 }, []);
}

function survive(seed: number, isFused: boolean, hasLocks: boolean): Happened {
  const dice = new Dice(seed);
  // Half of the sites have less than 6 A on three phases for each car.
  const isTight = seed % 2 === 0;
  const chargers = Array.from({ length: 4 + (seed % 5) }, (_, i) => traitsOf(dice, `quay/${i}`, isTight));
  const leastW = Math.ceil(sumW(chargers, ({ failsafeTenthsA }) => failsafeTenthsA));
  const limitW = Math.max(
    leastW,
    Math.round((isTight ? 0.08 : dice.oneOf(0.15, 0.3, 0.5)) * sumW(chargers, (each) => each.maxTenthsA)),
  );
  const rig = isFused
    ? new SupervisorRig(seed, chargers, [PLENTY_W], fusesOf(dice, chargers, isTight))
    : new SupervisorRig(seed, chargers, [limitW]);
  for (const { charger } of rig.places) charger.plugIn(charger.traits.maxTenthsA, dice.oneOf(1, 2, 3, 3), 0);
  surviveAttack(rig, seed, {
    chargers: chargers.length,
    hasCrashes: true,
    hasLocks,
    isFailsafeKept: false,
    hasReceipts: true,
  });
  return rig.happened;
}

const ATTACKED = [
  [false, false],
  [true, false],
  [false, true],
  [true, true],
] as const;

describe('Phases that are lent until a session ends, under attack', () => {
  for (const [isFused, hasLocks] of ATTACKED) {
    it(`let nobody exceed ${isFused ? 'a fuse' : 'a limit'}: cars swapped unseen, more phases used, phases switched, reboots, crashes${hasLocks ? ', locks' : ''}`, () => {
      let [played, reallocated, lentEnded, narrowed, crashes, locked] = [0, 0, 0, 0, 0, 0];
      for (const seed of seedsUpTo(124)) {
        const happened = survive(seed, isFused, hasLocks);
        played++;
        reallocated += happened.reallocated;
        lentEnded += happened.lentEnded;
        narrowed += happened.narrowed;
        crashes += happened.crashes;
        locked += happened.lockedWhileLent;
      }
      if (hasLocks) expect(locked).toBeGreaterThan(0);
      expect(crashes).toBeGreaterThan(played);
      // Locked connectors keep all of their phases, and others delay a switch that serves no more power.
      expect(Math.min(reallocated, lentEnded, narrowed)).toBeGreaterThan(hasLocks ? 0 : played / 4);
    });
  }
});

const ON_L1 = { ...CALM, gridPhase: 0 };
const PHASE_ROTATIONS = ['RST', 'STR', 'TRS'] as const;

/** Three-phase cars of 22 kW at chargers that end grants with the session, after ten minutes. */
function threePhaseCars(
  count: number,
  limitW: number,
  traits: Partial<ChargerTraits>,
  fuses?: Fuses,
): SupervisorRig {
  return cars(count, limitW, { endsWithSession: true, ...traits }, fuses, 3);
}

/** One-phase cars of 7.4 kW, after ten minutes. */
function cars(
  count: number,
  limitW: number,
  traits: Partial<ChargerTraits>,
  fuses?: Fuses,
  carPhases = 1,
): SupervisorRig {
  const chargers = Array.from({ length: count }, (_, i) => {
    const rotation = PHASE_ROTATIONS[i % 3];
    return { ...ON_L1, key: `quay/${i}`, ...(rotation !== undefined && { rotation }), ...traits };
  });
  const rig = new SupervisorRig(1, chargers, [limitW], fuses);
  for (const { charger } of rig.places) charger.plugIn(320, carPhases, 0);
  rig.run(600_000);
  return rig;
}

describe('Cars of one phase at connectors of three', () => {
  for (const [count, limitW, share] of [
    [8, 50_000, 0.98],
    [12, 43_000, 0.97],
  ] as const) {
    it(`${count} of them use ${100 * share} % of ${limitW / 1000} kW where grants end with the session, and not half where they do not`, () => {
      expect(cars(count, limitW, { endsWithSession: true }).servedW()).toBeGreaterThan(share * limitW);
      expect(cars(count, limitW, {}).servedW()).toBeLessThan(0.5 * limitW);
    });
  }

  it('all twelve on L1 use no more than the 63 A of it, and all of that', () => {
    const fuses = new Fuses({ currentA: [63, 63, 63], voltageV: 230 }, []);
    const rig = cars(12, PLENTY_W, { endsWithSession: true, rotation: 'RST' }, fuses);
    const [l1 = 0, l2, l3] = rig.ableTenthsA();
    expect(l1).toBeGreaterThan(600);
    expect(l1).toBeLessThanOrEqual(630);
    expect([l2, l3]).toEqual([0, 0]);
  });

  it('that are wired in rotation have 63 A on each phase', () => {
    const fuses = new Fuses({ currentA: [63, 63, 63], voltageV: 230 }, []);
    for (const tenthsA of cars(12, PLENTY_W, { endsWithSession: true }, fuses).ableTenthsA()) {
      expect(tenthsA).toBeGreaterThan(610);
      expect(tenthsA).toBeLessThanOrEqual(630);
    }
  });

  it('are lent nothing by a charger that keeps nothing over a restart: its fail-safe is on all phases', () => {
    const { happened } = cars(4, 20_000, { endsWithSession: true, keepsThen: false, failsafeTenthsA: 60 });
    expect(happened.reallocated).toBe(0);
  });

  it('leave nothing to the next unreported car: it gets 0 until it has a grant on all phases', () => {
    const rig = cars(8, 50_000, { endsWithSession: true });
    const [first] = rig.places;
    if (first === undefined) throw new Error('no charger');
    first.up.mode = first.down.mode = 'cut';
    first.charger.plugIn(320, 3, rig.agenda.nowMs);
    expect(first.charger.limitTenthsA).toBe(0);
    rig.run(700_000);
    expect(first.charger.limitTenthsA).toBe(0);
    first.up.open();
    first.down.open();
    rig.run(800_000);
    expect(first.charger.ableTenthsA(800_000, 2)).toBeGreaterThanOrEqual(60);
  });

  it('are reallocated to no next car by a late message of the earlier one, which a new service receives first', () => {
    const rig = cars(8, 50_000, { endsWithSession: true });
    const [first] = rig.places;
    if (first === undefined) throw new Error('no charger');
    first.up.mode = 'held';
    rig.run(615_000);
    first.down.mode = 'cut';
    first.charger.plugIn(320, 3, rig.agenda.nowMs);
    rig.crash(1_000);
    rig.run(616_500);
    first.down.open();
    const { refused } = first.charger;
    const refusedBefore = refused.STALE;
    first.up.open();
    rig.run(620_000);
    expect(refused.STALE).toBeGreaterThan(refusedBefore);
    expect(first.charger.limitTenthsA).toBe(0);
    rig.run(800_000);
    expect(first.charger.ableTenthsA(800_000, 2)).toBeGreaterThanOrEqual(60);
  });

  it('that are locked keep to theirs while others use the rest, where a new service may only know them on all', () => {
    const fuses = new Fuses({ currentA: [64, 64, 64], voltageV: 230 }, []);
    const onL3 = { ...ON_L1, rotation: 'TRS', endsWithSession: true, failsafeTenthsA: 60 } as const;
    // The charger gets no raise after it has fewer phases, so the stored row has all of them.
    const chargers: ChargerTraits[] = [{ ...onL3, key: 'quay/0', rotation: 'RST', maxTenthsA: 60 }];
    const others = [1, 2].map((i) => ({ ...onL3, key: `quay/${i}` }));
    const rig = new SupervisorRig(1, [...chargers, ...others], [PLENTY_W], fuses);
    for (const [i, { charger }] of rig.places.entries()) charger.plugIn(320, i === 0 ? 2 : 1, 0);
    rig.run(600_000);
    expect(rig.ableTenthsA()[2]).toBe(640);
    const [first] = rig.places;
    if (first === undefined) throw new Error('no charger');
    rig.lock(first, 1);
    first.up.mode = first.down.mode = 'cut';
    // Its lease ends, and the charger falls back by itself on its current phases.
    rig.run(700_000);
    rig.crash(1_000);
    first.up.open();
    first.down.open();
    for (let waitedMs = 0; waitedMs < 150_000; waitedMs += 1_000) {
      rig.run(rig.agenda.nowMs + 1_000);
      expect(first.charger.limitTenthsA, `after ${waitedMs} ms`).toBe(60);
    }
    expect(first.charger.hasLease).toBe(true);
  });

  it('are reserved on all phases once one uses another, and nothing more of that session is lent', () => {
    const rig = cars(8, 50_000, { endsWithSession: true });
    const { charger } = rig.places[0] ?? {};
    if (charger === undefined) throw new Error('no charger');
    charger.useMore(rig.agenda.nowMs);
    expect(charger.limitTenthsA).toBe(0);
    const lentBefore = charger.reallocated;
    rig.run(800_000);
    expect(charger.reallocated).toBe(lentBefore);
    expect(charger.ableTenthsA(800_000, 2)).toBeGreaterThanOrEqual(60);
  });
});

describe('Chargers of one phase that end limits with the session', () => {
  for (const keepsThen of [true, false]) {
    it(`are limited by a new service with less than is in force${keepsThen ? '' : ', with any fail-safe over a restart'}`, () => {
      const traits = {
        phases: 1,
        rotation: 'R',
        endsWithSession: true,
        failsafeTenthsA: 60,
        keepsThen,
      } as const;
      const rig = cars(4, 20_000, traits);
      expect(rig.servedW()).toBeGreaterThan(19_000);
      rig.limitFrom(rig.agenda.nowMs, 12_000);
      rig.crash(100);
      rig.run(rig.agenda.nowMs + 15_000);
      expect(rig.servedW()).toBeLessThanOrEqual(12_000);
      rig.run(rig.agenda.nowMs + 120_000);
      expect(rig.servedW()).toBeGreaterThan(11_000);
    });
  }
});

/** By this time, all cars are switched for which one phase serves no more power but avoids pauses. */
const SWITCHED_MS = 1_800_000;

describe('Cars of three phases at chargers that can switch', () => {
  it('charge on one phase where three would be more than there is, and on three again once there is enough', () => {
    const rig = threePhaseCars(1, 3_800, { switchesPhases: true });
    expect(rig.servedW()).toBeGreaterThan(3_500);
    expect(rig.servedW()).toBeLessThanOrEqual(3_800);
    expect(rig.happened.narrowed).toBeGreaterThan(0);
    rig.limitFrom(700_000, 11_000);
    rig.run(1_400_000);
    expect(rig.servedW()).toBeGreaterThan(10_500);
    expect(threePhaseCars(1, 3_800, {}).servedW()).toBe(0);
  });

  it('go on without a pause when a lock wants them on all phases, over a start of the service too, and use those once there is room', () => {
    for (const isStartedAnew of [false, true]) {
      const rig = threePhaseCars(3, 6_000, { switchesPhases: true });
      rig.run(SWITCHED_MS);
      const [first] = rig.places;
      if (first === undefined) throw new Error('no charger');
      const isOn = (own: number) => first.charger.ableTenthsA(rig.agenda.nowMs, own) >= 60;
      expect([isOn(0), isOn(1)]).toEqual([true, false]);
      rig.lock(first, 22);
      if (isStartedAnew) {
        // The service receives the charger's capabilities before its current limit.
        first.up.mode = 'held';
        rig.crash(500);
        rig.run(rig.agenda.nowMs + 4_000);
        first.up.open();
      }
      for (let waitedMs = 0; waitedMs < 150_000; waitedMs += 1_000) {
        rig.run(rig.agenda.nowMs + 1_000);
        expect(first.charger.limitTenthsA, `after ${waitedMs} ms`).toBeGreaterThanOrEqual(60);
      }
      expect([isOn(0), isOn(1), isOn(2)]).toEqual([true, true, true]);
    }
  });

  it('take turns in shortages of nine minutes, for which one phase would serve no more power', () => {
    const rig = threePhaseCars(8, 60_000, { switchesPhases: true });
    for (let nth = 0; nth < 3; nth++)
      for (const limitW of [20_000, 60_000]) {
        rig.limitFrom(rig.agenda.nowMs, limitW);
        rig.run(rig.agenda.nowMs + 540_000);
      }
    expect(rig.happened.narrowed).toBe(0);
  });

  it('share the power on one phase each, if three for some would leave nothing for others', () => {
    const rig = threePhaseCars(3, 10_000, { switchesPhases: true });
    rig.run(SWITCHED_MS);
    for (const { charger } of rig.places) {
      const servedW = 23 * charger.ableTenthsA(SWITCHED_MS);
      expect(servedW).toBeGreaterThan(3_000);
      expect(charger.ableTenthsA(SWITCHED_MS, 1)).toBe(0);
    }
  });
});

describe('A charger that was switched to one phase', () => {
  /** Its limit for three phases ends between 70 and 75 s, and no decision follows before the last reading. */
  function reportAfter75S(currentA: readonly number[]): readonly number[] {
    const supervisor = newSupervisor();
    const actor = createConnectorActor('switched');
    const spec = { ...SPEC, failsafeA: 0, rotation: 'RST' } as const;
    const connector = supervisor.place({ key: 'switched', spec }, actor, 0);
    const duties = { endsWithSession: true, switchesPhases: true, keepsThen: true } as const;
    supervisor.describe(connector, { failsafeA: 0, lease: 'heartbeat', boot: 'b', ...duties }, 0);
    let hb = 0;
    const receive = (nowMs: number, currentA: readonly number[]) => {
      const powerW = 230 * currentA.reduce((sum, each) => sum + each, 0);
      const reading = { boot: 'b', hb: ++hb, status: 'Charging', session: 's', powerW, currentA } as const;
      supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
      actor.send({ type: 'meter.received' });
      supervisor.receive(connector, reading, { now: nowMs, nowMs });
    };
    receive(0, [0, 0, 0]);
    decideWith(supervisor, budgetOf(22_100), 0);
    receive(1_000, [0, 0, 0]);
    decideWith(supervisor, budgetOf(3_800), 1_000);
    receive(20_000, [0, 0, 0]);
    const [last] = decideWith(supervisor, budgetOf(22_100), 20_000).grants;
    expect(last?.grant).toMatchObject({ limitTenthsA: 291, reallocated: { phases: 1 } });
    receive(70_000, [16, 16, 16]);
    expect(connector.account.bounds).toEqual([291, 291, 291]);
    receive(75_000, currentA);
    supervisor.ledger.release(75_000);
    return connector.account.bounds;
  }

  it('counts on all phases if it shows others after its limit for these has ended (R34)', () => {
    expect(reportAfter75S([16, 0, 0])).toEqual([291, 0, 0]);
    expect(reportAfter75S([16, 16, 16])).toEqual([291, 291, 291]);
  });
});
