// A site whose cars cannot all charge at once: rotation, `neverPause`, and the fallbacks of the chargers.
import { describe, expect, it } from 'vitest';
import { Fuses, NO_FUSES } from '../../machines/power/fuses.js';
import { DWELL_MS, LONGEST_TURN_MS } from '../../machines/power/rotation.js';
import { CALM, type ChargerTraits } from './hostile-charger.js';
import { SupervisorRig } from './supervisor-rig.js';

/** One ampere on three phases, W. */
const AMPERE_W = 690;
const MINUTE_MS = 60_000;

/** A site of hungry cars under `limitA`, which is known `aheadMs` before it begins. */
function siteOf(
  limitA: number,
  chargers: readonly Partial<ChargerTraits>[],
  fuses: Fuses = NO_FUSES,
  aheadMs = 0,
): SupervisorRig {
  const traits = chargers.map((each, i) => ({ ...CALM, key: `quay/${i}`, ...each }));
  const rig = new SupervisorRig(1, traits, [500_000, limitA * AMPERE_W], fuses);
  for (const place of rig.places) place.charger.wantsTenthsA = 320;
  rig.run(MINUTE_MS);
  rig.limitFrom(rig.agenda.nowMs + aheadMs, limitA * AMPERE_W);
  rig.run(5 * MINUTE_MS);
  return rig;
}

const limitsOf = (rig: SupervisorRig) => rig.places.map(({ charger }) => charger.limitTenthsA);
const runningOf = (rig: SupervisorRig) => limitsOf(rig).filter((limit) => limit >= 60).length;

/** Fail-safes of the connectors, tenths of A. */
const thenOf = (rig: SupervisorRig) =>
  [...(rig.site?.supervisor.connectors.values() ?? [])].map(({ account }) => account.failsafeTenthsA);

/** Cuts the charger off in both directions. */
function cut(rig: SupervisorRig, place: number): void {
  for (const link of [rig.places[place]?.up, rig.places[place]?.down])
    if (link !== undefined) link.mode = 'cut';
}

/** Reconnects the charger. */
function reopen(rig: SupervisorRig, place: number): void {
  for (const link of [rig.places[place]?.up, rig.places[place]?.down])
    if (link !== undefined) link.mode = 'open';
}

/** The lowest limit of any charger while `ms` pass. */
function leastOf(rig: SupervisorRig, ms: number): number {
  let leastTenthsA = Number.POSITIVE_INFINITY;
  watch(rig, ms, () => {
    leastTenthsA = Math.min(leastTenthsA, ...limitsOf(rig));
  });
  return leastTenthsA;
}

/** Lets time pass and calls `look` every second. */
function watch(rig: SupervisorRig, ms: number, look: () => void): void {
  for (const untilMs = rig.agenda.nowMs + ms; rig.agenda.nowMs < untilMs; ) {
    rig.run(rig.agenda.nowMs + 1_000);
    look();
  }
}

describe('A site whose floors do not all fit', () => {
  it('swaps one car after another, so that the others go on charging, and gives everybody a turn', () => {
    const rig = siteOf(24.5, [{}, {}, {}, {}, {}, {}, {}, {}]);
    expect(runningOf(rig)).toBe(4);
    const hadTurn = new Set<number>();
    let least = Number.POSITIVE_INFINITY;
    watch(rig, 2 * LONGEST_TURN_MS + 5 * MINUTE_MS, () => {
      least = Math.min(least, runningOf(rig));
      for (const [i, limit] of limitsOf(rig).entries()) if (limit >= 60) hadTurn.add(i);
    });
    expect(least).toBe(3);
    expect(hadTurn.size).toBe(8);
  });

  it('never pauses a car that would not wake up, once it charges, and others take turns beside it', () => {
    const rig = siteOf(12.5, [{}, {}, { neverPause: true }]);
    const kept = () => limitsOf(rig)[2] ?? 0;
    for (let waitedMs = 0; kept() < 60 && waitedMs < 2 * LONGEST_TURN_MS; waitedMs += MINUTE_MS)
      rig.run(rig.agenda.nowMs + MINUTE_MS);
    let leastTenthsA = Number.POSITIVE_INFINITY;
    const others = new Set<number>();
    watch(rig, 3 * LONGEST_TURN_MS, () => {
      leastTenthsA = Math.min(leastTenthsA, kept());
      for (const i of [0, 1]) if ((limitsOf(rig)[i] ?? 0) >= 60) others.add(i);
    });
    expect(leastTenthsA).toBeGreaterThanOrEqual(60);
    expect(others.size).toBe(2);
  });

  it('lets as many chargers as fit fall back to their fail-safes, so that a short cut stops none of their cars', () => {
    const chargers = Array.from({ length: 8 }, () => ({ failsafeTenthsA: 60 }));
    // Eight fail-safes of 6 A are 48 A, and the voltage may rise by 3 %. Seven fit.
    const rig = siteOf(49, chargers);
    const then = () => thenOf(rig);
    expect(then().filter((tenthsA) => tenthsA === 60)).toHaveLength(7);
    const running = rig.places.find((_, i) => then()[i] === 60 && (limitsOf(rig)[i] ?? 0) >= 60);
    if (running === undefined) throw new Error('nobody runs');
    running.up.mode = 'cut';
    running.down.mode = 'cut';
    let leastTenthsA = Number.POSITIVE_INFINITY;
    watch(rig, 2 * MINUTE_MS, () => {
      leastTenthsA = Math.min(leastTenthsA, running.charger.limitTenthsA);
    });
    expect(leastTenthsA).toBe(60);
    // In any order of cuts, the fallbacks together never exceed the limit.
    watch(rig, 2 * LONGEST_TURN_MS + DWELL_MS, () => {
      const sumTenthsA = then().reduce((sum, tenthsA) => sum + tenthsA, 0);
      expect(sumTenthsA).toBeLessThanOrEqual(490 / 1.03);
    });
  });
});

describe('A site whose floors fit its limit, but not beside the limits of unreachable chargers', () => {
  const EIGHT = Array.from({ length: 8 }, () => ({ failsafeTenthsA: 60 }));
  /** All chargers have more than 10 A. */
  const roomy = () => siteOf(87, EIGHT);
  const LOW_W = 51 * AMPERE_W;

  it('stops no car for a lease that ends before a planned fall of the limit', () => {
    const rig = roomy();
    cut(rig, 0);
    cut(rig, 1);
    rig.limitFrom(rig.agenda.nowMs + 72_000, LOW_W);
    expect(leastOf(rig, 3 * MINUTE_MS)).toBe(60);
    expect(rig.servedW()).toBeLessThanOrEqual(LOW_W);
  });

  it('stops nobody for a lease that ends before chargers must have followed one that nobody announced', () => {
    const rig = roomy();
    cut(rig, 0);
    rig.run(rig.agenda.nowMs + 57_000);
    rig.limitFrom(rig.agenda.nowMs, LOW_W);
    expect(leastOf(rig, 2 * MINUTE_MS)).toBe(60);
  });

  it('stops no car for a charger that had missed a heartbeat when the grid operator, who limits the site, orders less', () => {
    const rig = roomy();
    rig.takeOrders();
    rig.run(rig.agenda.nowMs + 20_000);
    cut(rig, 0);
    rig.run(rig.agenda.nowMs + 10_000);
    rig.limitFrom(rig.agenda.nowMs, LOW_W);
    expect(leastOf(rig, 2 * MINUTE_MS)).toBe(60);
    expect(rig.ableW()).toBeLessThanOrEqual(LOW_W);
  });

  it('shortens no lease for the grid operator whose end would stop a car', () => {
    const rig = siteOf(
      87,
      Array.from({ length: 8 }, () => ({})),
    );
    rig.takeOrders();
    rig.run(rig.agenda.nowMs + 20_000);
    cut(rig, 0);
    expect(leastOf(rig, 45_000)).toBeGreaterThan(100);
  });

  it('stops as many as must make room for a lease that lasts longer, and lets the others keep their fail-safes', () => {
    // No decrease bound at once before, so leases have their full length.
    const rig = siteOf(87, EIGHT, NO_FUSES, 2 * MINUTE_MS);
    cut(rig, 0);
    rig.run(rig.agenda.nowMs + 41_000);
    rig.limitFrom(rig.agenda.nowMs, LOW_W);
    rig.run(rig.agenda.nowMs + 15_000);
    expect(rig.ableW()).toBeLessThanOrEqual(LOW_W);
    expect(runningOf(rig)).toBe(7);
    const running = limitsOf(rig).map((limit) => limit >= 60);
    expect(thenOf(rig).filter((tenthsA, i) => running[i] === true && tenthsA < 60)).toEqual([]);
  });

  it('stops nobody for a charger that missed a heartbeat, once a limit was lowered at once within the hour', () => {
    const rig = roomy();
    cut(rig, 0);
    rig.run(rig.agenda.nowMs + 41_000);
    rig.limitFrom(rig.agenda.nowMs, LOW_W);
    rig.run(rig.agenda.nowMs + 15_000);
    expect(rig.ableW()).toBeLessThanOrEqual(LOW_W);
    expect(runningOf(rig)).toBe(8);
  });
});

describe('A limit that falls while a charger does not take its own', () => {
  /** An unannounced decrease, such as a limit of the grid operator. */
  const lower = (rig: SupervisorRig, limitA: number) => rig.limitFrom(rig.agenda.nowMs, limitA * AMPERE_W);

  it('has the others make room for it within seconds, long before it counts as silent, until it has taken it', () => {
    const rig = siteOf(64, [{}, {}]);
    cut(rig, 0);
    lower(rig, 40);
    rig.run(rig.agenda.nowMs + 1_500);
    expect(limitsOf(rig)).toEqual([320, 200]);
    rig.run(rig.agenda.nowMs + 1_500);
    expect(limitsOf(rig)).toEqual([320, 80]);
    reopen(rig, 0);
    rig.run(rig.agenda.nowMs + 40_000);
    expect(limitsOf(rig)).toEqual([200, 200]);
  });

  it('sends a charger that returns just before its lease would have ended no more than fits, until the others have followed', () => {
    const rig = siteOf(64, [{}, {}]);
    cut(rig, 0);
    // The charger has already fallen back, but its lease counts for some more seconds. No other charger makes room for
    // it.
    rig.run(rig.agenda.nowMs + 62_000);
    expect(limitsOf(rig)[0]).toBeLessThanOrEqual(60);
    lower(rig, 40);
    rig.run(rig.agenda.nowMs + 1_000);
    expect(limitsOf(rig)[1]).toBe(320);
    reopen(rig, 0);
    const untilMs = rig.agenda.nowMs + 9_000;
    while (rig.agenda.nowMs < untilMs) {
      rig.run(rig.agenda.nowMs + 250);
      expect(limitsOf(rig)[0]).toBeLessThanOrEqual(80);
    }
    rig.run(rig.agenda.nowMs + MINUTE_MS);
    expect(limitsOf(rig)).toEqual([200, 200]);
  });

  it('gives a charger that returns no lease beyond a lower limit, beside another whose lease lasts', () => {
    const rig = siteOf(64, [{}, {}]);
    const [first, second] = rig.places;
    if (first === undefined || second === undefined) throw new Error('no chargers');
    const lowFromMs = rig.agenda.nowMs + 101_500;
    first.up.mode = 'held';
    first.down.mode = 'cut';
    rig.run(lowFromMs - 55_000);
    // A message from during the lease arrives after its end.
    first.up.mode = 'cut';
    rig.run(lowFromMs - 41_000);
    expect(limitsOf(rig)).toEqual([0, 320]);
    // The lease of the second outlasts the start of a limit that is announced so late.
    rig.limitFrom(lowFromMs, 40 * AMPERE_W);
    cut(rig, 1);
    first.up.open();
    first.down.mode = 'open';
    rig.run(lowFromMs - 25_000);
    expect(limitsOf(rig)).toEqual([320, 320]);
    cut(rig, 0);
    rig.run(lowFromMs);
    expect(limitsOf(rig)[1]).toBe(320);
    expect(limitsOf(rig)[0]).toBeLessThanOrEqual(80);
    expect(rig.ableW()).toBeLessThanOrEqual(40 * AMPERE_W);
  });

  it('has one that comes back keep less than it had no longer than it would have kept that, until the other has made room', () => {
    // Leases from receipt have no known end, so the site makes room for the lower limit a lease before.
    const rig = siteOf(128, [{}, {}, { lease: 'receipt' }, { lease: 'receipt' }]);
    const lowFromMs = rig.agenda.nowMs + 105_000;
    rig.limitFrom(lowFromMs, 60 * AMPERE_W);
    cut(rig, 0);
    rig.run(lowFromMs - 70_000);
    cut(rig, 1);
    reopen(rig, 0);
    rig.run(lowFromMs - 60_000);
    expect(limitsOf(rig)).toEqual([150, 200, 150, 150]);
    cut(rig, 0);
    rig.run(lowFromMs - 43_000);
    expect(limitsOf(rig)[0]).toBe(0);
  });

  it('stops neither of two that return shortly before the fall: each keeps its limit until the other has made room', () => {
    const rig = siteOf(64, [{}, {}]);
    const lowFromMs = rig.agenda.nowMs + 105_000;
    rig.limitFrom(lowFromMs, 40 * AMPERE_W);
    cut(rig, 0);
    cut(rig, 1);
    rig.run(lowFromMs - 70_000);
    reopen(rig, 0);
    reopen(rig, 1);
    expect(leastOf(rig, 3 * MINUTE_MS)).toBe(200);
    expect(limitsOf(rig)).toEqual([200, 200]);
  });

  it('sends it again at once and not only after its next heartbeat, since messages get lost', () => {
    const rig = siteOf(64, [{}, {}]);
    const [place] = rig.places;
    if (place === undefined) throw new Error('no charger');
    place.down.mode = 'cut';
    lower(rig, 40);
    rig.run(rig.agenda.nowMs + 1_000);
    place.down.mode = 'open';
    place.up.mode = 'cut';
    rig.run(rig.agenda.nowMs + 2_000);
    expect(limitsOf(rig)[0]).toBe(200);
  });

  it('stops nobody for one that is only slow to take it', () => {
    const rig = siteOf(60, [{ ackAfterMs: 3_500 }, {}, {}]);
    lower(rig, 19);
    expect(leastOf(rig, MINUTE_MS)).toBe(60);
    expect(rig.servedW()).toBeLessThanOrEqual(19 * AMPERE_W + 1);
  });

  it('stops as many as must for one that has not taken it when every charger in reach has', () => {
    const rig = siteOf(60, [{}, {}, {}]);
    cut(rig, 0);
    lower(rig, 31);
    rig.run(rig.agenda.nowMs + 4_500);
    expect(limitsOf(rig)).toEqual([200, 60, 60]);
    rig.run(rig.agenda.nowMs + 1_000);
    expect(limitsOf(rig)[0]).toBe(200);
    expect(runningOf(rig)).toBe(2);
    expect(rig.servedW()).toBeLessThanOrEqual(31 * AMPERE_W + 1);
  });

  it('stops them in time, too, if the next fall is planned for a time when its lease will have ended', () => {
    const rig = siteOf(60, [{}, {}, {}]);
    cut(rig, 0);
    lower(rig, 31);
    rig.limitFrom(rig.agenda.nowMs + 71_100, 25 * AMPERE_W);
    rig.run(rig.agenda.nowMs + 15_000);
    expect(limitsOf(rig)[0]).toBe(200);
    expect(rig.servedW()).toBeLessThanOrEqual(31 * AMPERE_W + 1);
    expect(runningOf(rig)).toBe(2);
  });

  it('has them make room on a fuse of which a building takes more than before, too', () => {
    const fuses = new Fuses({ currentA: [64, 64, 64], voltageV: 230 }, []);
    const rig = siteOf(200, [{}, {}], fuses);
    expect(limitsOf(rig)).toEqual([320, 320]);
    cut(rig, 0);
    rig.buildingTakes([240, 240, 240]);
    rig.run(rig.agenda.nowMs + 1_500);
    expect(limitsOf(rig)).toEqual([320, 200]);
    rig.run(rig.agenda.nowMs + 1_500);
    expect(limitsOf(rig)).toEqual([320, 80]);
  });

  it('lowers nobody where nothing fell: a charger that does not take less keeps others from more, and no more than that', () => {
    const rig = siteOf(40, [{}, {}]);
    const [first, second] = rig.places;
    if (first === undefined || second === undefined) throw new Error('no chargers');
    second.charger.wantsTenthsA = 60;
    rig.run(rig.agenda.nowMs + 2 * MINUTE_MS);
    const before = limitsOf(rig);
    cut(rig, 0);
    second.charger.wantsTenthsA = 320;
    expect(leastOf(rig, 20_000)).toBe(Math.min(...before));
  });
});
