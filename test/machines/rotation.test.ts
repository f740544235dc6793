// The rotation of cars if not all minimums of 6 A fit (R15), and the dwell times of R9.
import { describe, expect, it } from 'vitest';
import { type Connector, throttleOf, turnOf } from '../../machines/power/connector.js';
import { forgetCar } from '../../machines/power/connector-demand.js';
import { aimAt, contenderOf } from '../../machines/power/connector-targets.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import {
  DWELL_MS,
  isDwelling,
  nextTurnAtMs,
  sortByRotation,
  TURN_MS,
  TurnLength,
  turnEventOf,
} from '../../machines/power/rotation.js';
import { createConnectorActor } from './connector-actor.js';
import { CALM } from './hostile-charger.js';
import { SupervisorRig } from './supervisor-rig.js';

const NOW_MS = 10_000_000;

interface Turn {
  readonly onSinceMs?: number;
  readonly pausedSinceMs?: number;
  readonly arrivedAtMs?: number;
  readonly isResting?: boolean;
  readonly chargedMs?: number;
}

/** Connectors with a car each, by name. */
function connectorsOf(turns: Readonly<Record<string, Turn>>): Connector[] {
  const timing = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
  const supervisor = new LocationSupervisor({ timing, ownerTerm: 1 });
  const spec = { phases: 3, voltageV: 230, maxCurrentA: 32, isActive: true, failsafeA: 0 } as const;
  return Object.entries(turns).map(
    ([key, { arrivedAtMs = 0, isResting = false, chargedMs = 0, ...turn }]) => {
      const { onSinceMs, pausedSinceMs } = turn;
      const actor = createConnectorActor(key);
      const connector = supervisor.place({ key, spec }, actor, 0);
      Object.assign(connector.car.demand, { hasCar: true, arrivedAtMs, isResting, chargedMs });
      if (onSinceMs !== undefined) {
        actor.send({ type: 'charging.allowed', nowMs: onSinceMs });
        aimAt(connector, connector.account.leastTenthsA, 'fairShare');
      }
      if (pausedSinceMs !== undefined) {
        actor.send({ type: 'charging.allowed', nowMs: 0 });
        actor.send({ type: 'charging.paused', nowMs: pausedSinceMs });
      }
      return connector;
    },
  );
}

/** The connector's machine follows its target, as after a decision. */
function follow(connector: Connector, nowMs: number): void {
  const event = turnEventOf(connector, nowMs);
  if (event !== undefined) connector.actor.send(event);
}

/** @param passingOn the cars that pass their turns on in the order of a policy */
function orderOf(turns: Readonly<Record<string, Turn>>, passingOn?: RegExp): string[] {
  const contenders = connectorsOf(turns).map((connector) => contenderOf(connector, 0, false));
  const inOrder = new Set(contenders.filter(({ connector }) => passingOn?.test(connector.key)));
  sortByRotation(contenders, NOW_MS, { swapsFromMs: Number.NEGATIVE_INFINITY, turnMs: TURN_MS, inOrder });
  return contenders.map(({ connector }) => connector.key);
}

describe('The order in which floors are given', () => {
  it('is: claims in their turn, waiting claims, claims past their turn, and claims that could charge and do not', () => {
    expect(
      orderOf({
        resting: { onSinceMs: NOW_MS - TURN_MS, isResting: true },
        pastTurn: { onSinceMs: NOW_MS - TURN_MS },
        waiting: { pausedSinceMs: NOW_MS - DWELL_MS },
        inTurn: { onSinceMs: NOW_MS - TURN_MS + 1 },
      }),
    ).toEqual(['inTurn', 'waiting', 'pastTurn', 'resting']);
  });

  it('begins with the car that has charged least, where a minute of waiting makes up for a minute of charging', () => {
    expect(
      orderOf({
        d: { pausedSinceMs: NOW_MS - 400_000, chargedMs: 350_000 },
        c: { arrivedAtMs: NOW_MS - 100_000 },
        b: { pausedSinceMs: NOW_MS - 400_000, chargedMs: 200_000 },
        a: { arrivedAtMs: NOW_MS - 300_000 },
      }),
    ).toEqual(['a', 'b', 'c', 'd']);
  });

  it('puts no claim further back than three hours for its charging', () => {
    const night = { pausedSinceMs: NOW_MS - 9_000_000, chargedMs: 100_000_000 };
    const threeHoursMs = 3 * 3_600_000;
    const orderWith = (ms: number) => orderOf({ night, came: { arrivedAtMs: NOW_MS - 9_000_000 + ms } });
    expect([orderWith(threeHoursMs - 1), orderWith(threeHoursMs + 1)]).toEqual([
      ['came', 'night'],
      ['night', 'came'],
    ]);
  });

  it('first ends the turn of the claim that charged longest past it', () => {
    expect(
      orderOf({
        long: { onSinceMs: NOW_MS - 3 * TURN_MS },
        short: { onSinceMs: NOW_MS - TURN_MS },
      }),
    ).toEqual(['short', 'long']);
  });

  it('has cars that pass their turns on wait as long as they do on average', () => {
    const turns = {
      declaredOn: { onSinceMs: NOW_MS - 2 * TURN_MS },
      declaredOff: { arrivedAtMs: NOW_MS - 9 * TURN_MS },
      other: { arrivedAtMs: NOW_MS - 5 * TURN_MS },
    };
    expect(orderOf(turns)).toEqual(['declaredOff', 'other', 'declaredOn']);
    expect(orderOf(turns, /^declared/)).toEqual(['other', 'declaredOff', 'declaredOn']);
  });

  it('is the same in every run if nothing distinguishes two claims', () => {
    expect(orderOf({ b: {}, a: {}, c: {} })).toEqual(['a', 'b', 'c']);
  });

  it('keeps a car that was just let charge, unless it makes no use of it', () => {
    const waiting = { pausedSinceMs: 0 };
    const onSinceMs = NOW_MS - DWELL_MS + 1;
    expect(orderOf({ waiting, on: { onSinceMs } })[0]).toBe('on');
    expect(orderOf({ waiting, on: { onSinceMs, isResting: true } })[0]).toBe('waiting');
  });
});

describe('A turn', () => {
  it('is so long that nobody waits for more than two hours, where it is not shortened below 15 minutes by that', () => {
    const minutes = (charging: number, waiting: number) => {
      const turns: Record<string, Turn> = {};
      for (let i = 0; i < charging; i++) turns[`on-${i}`] = { onSinceMs: NOW_MS };
      for (let i = 0; i < waiting; i++) turns[`off-${i}`] = { pausedSinceMs: NOW_MS };
      const length = new TurnLength();
      for (const connector of connectorsOf(turns)) length.count(connector);
      return length.ms / 60_000;
    };
    expect([minutes(4, 0), minutes(4, 1), minutes(4, 6), minutes(5, 15), minutes(1, 20)]).toEqual([
      90, 90, 80, 40, 15,
    ]);
  });

  it('begins once, and ends once, by the decided limits', () => {
    const [connector] = connectorsOf({ a: {} });
    if (connector === undefined) throw new Error('no connector');
    const give = (targetTenthsA: number, nowMs: number) => {
      aimAt(connector, targetTenthsA, 'fairShare');
      follow(connector, nowMs);
    };
    give(60, 1_000);
    give(160, 2_000);
    expect(turnOf(connector)).toEqual({ onSinceMs: 1_000, pausedSinceMs: undefined });
    give(0, 3_000);
    give(0, 4_000);
    expect(turnOf(connector)).toEqual({ onSinceMs: undefined, pausedSinceMs: 3_000 });
    expect(isDwelling(turnOf(connector), 3_000 + DWELL_MS - 1)).toBe(true);
    expect(isDwelling(turnOf(connector), 3_000 + DWELL_MS)).toBe(false);
    forgetCar(connector.car.demand);
    give(0, 5_000);
    expect(turnOf(connector)).toEqual({ onSinceMs: undefined, pausedSinceMs: undefined });
  });

  it.each([
    [0, true, 'paused'],
    [60, true, 'minimum'],
    [61, true, 'limited'],
    [200, true, 'free'],
    [320, true, 'free'],
    [0, false, 'free'],
  ] as const)(
    'of %i tenths of an ampere for a car that wants 20 A (or none: %s) is %s',
    (tenthsA, hasCar, throttle) => {
      const [connector] = connectorsOf({ a: {} });
      if (connector === undefined) throw new Error('no connector');
      Object.assign(connector.car.demand, { hasCar, mostTenthsA: 200 });
      aimAt(connector, tenthsA, 'fairShare');
      follow(connector, 1_000);
      expect(throttleOf(connector)).toBe(throttle);
    },
  );

  it('is looked at again when it, or a dwell time, ends while somebody waits', () => {
    const waiting = { pausedSinceMs: 0 };
    const next = (turns: Readonly<Record<string, Turn>>) =>
      nextTurnAtMs(
        connectorsOf(turns).map((connector) => ({ connector, turn: turnOf(connector) })),
        NOW_MS,
        10_000,
        TURN_MS,
      );
    expect(next({ on: { onSinceMs: NOW_MS - 1_000 } })).toBeUndefined();
    expect(next({ waiting })).toBeUndefined();
    expect(next({ waiting, on: { onSinceMs: NOW_MS - 1_000 } })).toBe(NOW_MS - 1_000 + DWELL_MS);
    expect(next({ waiting, on: { onSinceMs: NOW_MS - DWELL_MS } })).toBe(NOW_MS - DWELL_MS + TURN_MS);
    // The others need 10 s to settle and 2 s to acknowledge before there is remaining capacity (R21).
    expect(next({ waiting: { pausedSinceMs: NOW_MS - 1_000 } })).toBe(NOW_MS - 13_000 + DWELL_MS);
    expect(next({ waiting: { pausedSinceMs: NOW_MS - 50_000 } })).toBe(NOW_MS - 50_000 + DWELL_MS);
    expect(next({ waiting: { ...waiting, isResting: true }, on: { onSinceMs: NOW_MS } })).toBeUndefined();
    expect(next({ resting: { pausedSinceMs: NOW_MS - 50_000, isResting: true } })).toBe(
      NOW_MS - 50_000 + DWELL_MS,
    );
  });
});

describe('20 cars where five floors fit', () => {
  it('all charge within 5 h, each for about its quarter of the time, never more than five at once', () => {
    const charger = { ...CALM, failsafeTenthsA: 60 };
    const chargers = Array.from({ length: 20 }, (_, i) => ({ ...charger, key: `quay/${i}` }));
    // First there is enough power for all, so that every charger can take a fallback of 0.
    const floorsW = 5 * 6 * 3 * 230;
    const rig = new SupervisorRig(1, chargers, [500_000, floorsW]);
    for (const place of rig.places) place.charger.wantsTenthsA = 320;
    rig.run(60_000);
    rig.limitFrom(rig.agenda.nowMs, floorsW);
    rig.run(240_000);
    const chargedMin = chargers.map(() => 0);
    const beganMs = rig.agenda.nowMs;
    for (let minute = 1; minute <= 300; minute++) {
      rig.run(beganMs + minute * 60_000);
      for (const [i, { charger: each }] of rig.places.entries()) {
        if (each.limitTenthsA >= 60) chargedMin[i] = (chargedMin[i] ?? 0) + 1;
      }
      const charging = rig.places.filter(({ charger: each }) => each.limitTenthsA > 0);
      expect(charging.length).toBeLessThanOrEqual(5);
    }
    expect(Math.min(...chargedMin)).toBeGreaterThanOrEqual(60);
    expect(Math.max(...chargedMin)).toBeLessThanOrEqual(90);
  });
});
