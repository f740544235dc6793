// A random history of a ledger beside an oracle that forgets nothing (R1, R2, R4, R5, R7).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConnectorDescription,
  type Entitlements,
  LedgerError,
  type Restored,
} from '../../machines/ledger/entitlements.js';
import type { GrantTiming, LeaseKind } from '../../machines/ledger/grant.js';
import { Ledger } from '../../machines/ledger/ledger.js';
import { onFirst, type PhaseCount } from '../../machines/ledger/own-phases.js';
import { wattsOfTenths } from '../../machines/values/units.js';
import { casesInCi } from '../seeds.js';
import { HoldingOracle } from './grant-ledger-oracle.js';

const TIMING: GrantTiming = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const LEASE_MS = 61_200;
const SETTLE_MS = 10_000;
const MILLIWATTS = 3 * 230 * 100;

/** The first end of a limit, or of the time that others wait for it, by all records. */
function nextChangeMsOf({ records, lease }: Entitlements, nowMs: number): number {
  const times = records.map(({ untilMs, heartbeatUntilMs, settledAtMs }) => {
    const endMs = lease === 'none' ? settledAtMs : Math.min(untilMs + SETTLE_MS, settledAtMs);
    const awaitedUntilMs = Math.min(endMs, heartbeatUntilMs + SETTLE_MS);
    return awaitedUntilMs > nowMs ? awaitedUntilMs : endMs;
  });
  return Math.min(...times);
}

/** One step of a random history: time passes, and one event happens to one connector. */
interface Step {
  readonly connector: number;
  readonly passMs: number;
  readonly what:
    | 'grant'
    | 'renew'
    | 'lower'
    | 'ack'
    | 'worstCase'
    | 'describe'
    | 'widen'
    | 'restart'
    | 'hold'
    | 'leave'
    | 'lease'
    | 'openEnd';
  readonly tenthsA: number;
  readonly thenTenthsA: number;
  /** Number of phases of all further grants, or number of phases on which the charger surely holds its stored limit. */
  readonly phases: PhaseCount;
  /** Age of the answered heartbeat. */
  readonly agoMs: number;
  /** The acknowledged grant, counted back from the newest. */
  readonly back: number;
  readonly budgetW: number;
  readonly lease: LeaseKind;
  /** Lease length of the grant. */
  readonly ttlMs: number;
  /** The grant is pending persistence, if the history has such grants. */
  readonly isWaiting: boolean;
}

const step = {
  connector: fc.nat({ max: 2 }),
  passMs: fc.oneof(
    fc.constantFrom(0, 1, 1_000, 9_999, 10_000, LEASE_MS, LEASE_MS + SETTLE_MS),
    fc.nat({ max: 30_000 }),
  ),
  what: fc.constantFrom(
    ...(['grant', 'grant', 'grant', 'renew', 'lower', 'ack', 'ack', 'ack', 'worstCase'] as const),
    ...(['describe', 'widen', 'restart', 'hold', 'leave', 'lease', 'openEnd'] as const),
  ),
  tenthsA: fc.oneof(fc.constantFrom(0, 60, 100, 320), fc.nat({ max: 320 })),
  thenTenthsA: fc.constantFrom(0, 0, 60, 80),
  phases: fc.constantFrom<PhaseCount>(1, 1, 2, 3, 3),
  agoMs: fc.constantFrom(0, 1, 5_000),
  back: fc.constantFrom(0, 0, 0, 1, 2, -1),
  budgetW: fc.constantFrom(0, 3_000, 6_000, 10_000, 20_000, 45_000, 70_000),
  lease: fc.constantFrom<LeaseKind>('heartbeat', 'heartbeat', 'receipt', 'none'),
  ttlMs: fc.constantFrom(60_000, 60_000, 60_000, 15_000),
  isWaiting: fc.constantFrom(false, false, true),
};

const steps: fc.Arbitrary<Step[]> = fc.array(fc.record(step), { minLength: 1, maxLength: 60 });

const spec: fc.Arbitrary<ConnectorDescription> = fc.record({
  maxTenthsA: fc.constant(320),
  failsafeTenthsA: fc.constantFrom(0, 60),
  milliwattsPerTenth: fc.constantFrom(MILLIWATTS, 230 * 100, 3 * 253 * 100),
  lease: fc.constantFrom<LeaseKind>('heartbeat', 'heartbeat', 'receipt', 'none'),
  keepsThen: fc.boolean(),
  // One-phase and three-phase connectors, which may share circuit phases if the wiring is unknown.
  circuitPhasesOfPhases: fc.oneof(
    fc.tuple(fc.subarray([0, 1, 2, 3])),
    fc.tuple(fc.subarray([0, 3]), fc.subarray([1, 3]), fc.subarray([2, 3])),
    fc.constant([
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
    ]),
  ),
});

const capacitiesTenthsA = fc.array(fc.constantFrom(60, 320, 500, 10_000), { minLength: 4, maxLength: 4 });

/** A ledger and an oracle for each connector, compared after every step. */
class Pair {
  readonly ledger = new Ledger(TIMING);
  readonly accounts: Entitlements[];
  readonly oracles: HoldingOracle[];
  readonly #receivedAtMs: number[];
  nowMs = 0;

  readonly #specs: readonly ConnectorDescription[];
  readonly #capacitiesTenthsA: readonly number[];
  /** Some grants wait for the disk. The ledger may then forget certain parts of earlier ones, which reserves more. */
  readonly #hasWaiting: boolean;

  constructor(
    specs: readonly ConnectorDescription[],
    restored: readonly (Restored | undefined)[],
    capacities: readonly number[],
    hasWaiting = false,
  ) {
    this.#hasWaiting = hasWaiting;
    this.#specs = specs;
    this.#capacitiesTenthsA = capacities;
    this.ledger.rewire(capacities);
    this.accounts = specs.map((each, i) => this.ledger.add(`c${i}`, each));
    this.oracles = specs.map(
      (each) => new HoldingOracle(TIMING, each, each.circuitPhasesOfPhases?.length ?? 1),
    );
    this.#receivedAtMs = specs.map(() => 0);
    for (const [i, each] of restored.entries()) {
      if (each === undefined || this.accounts[i] === undefined) continue;
      this.accounts[i].restore(each, 0);
      this.oracles[i]?.restore(each.limitTenthsA, each.thenTenthsA, each.phases ?? 3, 0);
    }
  }

  take(step: Step): void {
    this.nowMs += step.passMs;
    this.ledger.release(this.nowMs);
    const account = this.accounts[step.connector];
    const oracle = this.oracles[step.connector];
    if (account === undefined || oracle === undefined) return;
    if (step.what === 'ack') {
      account.acknowledge(oracle.lastSeq - step.back, this.nowMs);
      oracle.acknowledge(oracle.lastSeq - step.back, this.nowMs);
    } else if (step.what === 'worstCase') {
      oracle.isWorstCase = !oracle.isWorstCase;
      account.setWorstCase(oracle.isWorstCase);
    } else if (step.what === 'describe') {
      const { lease } = step;
      oracle.report(lease, true, this.nowMs);
      account.describe({ keepsThen: this.#specs[step.connector]?.keepsThen === true, lease }, this.nowMs);
      this.ledger.release(this.nowMs);
    } else if (step.what === 'lease') {
      oracle.report(step.lease, false, this.nowMs);
      account.describe({ lease: step.lease }, this.nowMs);
      this.ledger.release(this.nowMs);
    } else if (step.what === 'openEnd') {
      oracle.openEnd(this.nowMs);
      account.openEnd();
    } else if (step.what === 'leave') {
      oracle.leave();
      account.noteLeft(oracle.lastSeq);
      // Each decision begins with a release, so a grant that leaves after its end gives no capacity.
      this.ledger.release(this.nowMs);
    } else if (step.what === 'widen') {
      oracle.widen();
      account.widen();
    } else if (step.what === 'restart') {
      oracle.restart();
      account.restarted();
    } else if (step.what === 'hold') {
      this.hold(step);
    } else {
      account.useOn(step.phases);
      this.#grant(step, account, oracle);
    }
  }

  /** The charger reports a limit from before the start. After the first new grant, it holds limits of this start. */
  hold({ connector, tenthsA, phases }: Pick<Step, 'connector' | 'tenthsA' | 'phases'>): void {
    const [oracle, account] = [this.oracles[connector], this.accounts[connector]];
    if (oracle === undefined || account === undefined || oracle.lastSeq > 0) return;
    oracle.hold(tenthsA, phases);
    account.noteHeld(tenthsA, onFirst(tenthsA, phases));
  }

  #grant(step: Step, account: Entitlements, oracle: HoldingOracle): void {
    const { budgetW, connector, phases } = step;
    const receivedAtMs = Math.max(this.nowMs - step.agoMs, this.#receivedAtMs[connector] ?? 0);
    this.#receivedAtMs[connector] = receivedAtMs;
    const lasting = this.#lastingOf(step);
    const isWaiting = step.isWaiting && this.#hasWaiting;
    const { ttlMs } = step;
    const limitTenthsA =
      step.what === 'grant' ? step.tenthsA : step.what === 'renew' ? lasting : Math.floor(lasting / 2);
    const thenTenthsA = step.what === 'grant' ? step.thenTenthsA : Math.min(step.thenTenthsA, limitTenthsA);
    const most = Math.max(limitTenthsA, thenTenthsA);
    const othersW = this.ledger.totalW - account.boundW;
    const granted = (own: number) => (own < phases || phases >= oracle.phases ? most : 0);
    const isCovered = [0, 1, 2]
      .slice(0, oracle.phases)
      .every((own) => granted(own) <= this.#coveredOf(connector, own));
    // Limits in force on the other phases continue beside a grant that raises anything.
    const needsW = this.#wattsOf(connector, (own) => {
      if (isCovered) return own < phases ? most : oracle.ownFailsafeTenthsA;
      return Math.max(granted(own), account.bounds[own] ?? 0);
    });
    const fits = othersW + needsW <= budgetW;
    const circuitPhasesOfPhases = this.#specs[connector]?.circuitPhasesOfPhases ?? [];
    const isCarried = circuitPhasesOfPhases.slice(0, phases).every((circuitPhases) =>
      circuitPhases.every((circuitPhase) => {
        const othersTenthsA = this.#loadTenthsA(circuitPhase) - this.#loadOn(connector, circuitPhase);
        return othersTenthsA + most <= (this.#capacitiesTenthsA[circuitPhase] ?? 0);
      }),
    );
    const isAllowed = (fits && isCarried) || most <= lasting;
    expect(most <= this.ledger.grantableTenthsA(account, budgetW)).toBe(isAllowed);
    const before = { ...account };
    const give = () => account.grant({ limitTenthsA, thenTenthsA, receivedAtMs, ttlMs, budgetW, isWaiting });
    if (isAllowed) {
      const terms = { receivedAtMs, ttlMs, isWaiting };
      expect(give()).toBe(oracle.grant(limitTenthsA, thenTenthsA, phases, terms, this.nowMs));
    } else {
      expect(give).toThrow(LedgerError);
      expect({ ...account }).toEqual(before);
    }
  }

  /** Remaining entitlement on the step's phases after the end of everything except the newest sent grant. */
  #lastingOf({ connector, phases }: Step): number {
    const [oracle, account] = [this.oracles[connector], this.accounts[connector]];
    if (oracle === undefined || account === undefined) return 0;
    const lasting = oracle.lastingTenthsA(this.nowMs, phases - 1);
    if (!this.#hasWaiting && oracle.areEndsKnown) return lasting;
    if (oracle.areEndsKnown) expect(account.lastingTenthsA).toBeLessThanOrEqual(lasting);
    return account.lastingTenthsA;
  }

  /** The part of the entitlement that is surely in force on phase number `own`. */
  #coveredOf(connector: number, own: number): number {
    const [oracle, account] = [this.oracles[connector], this.accounts[connector]];
    if (oracle === undefined || account === undefined) return 0;
    if (oracle.isWithinMemory && !this.#hasWaiting) return oracle.coveredTenthsA(this.nowMs, own);
    return account.certain[own] ?? 0;
  }

  /**
   * Possible load on the connector's phase number `own` by the oracle. Uses the ledger if its bounded memory reserves
   * more.
   */
  #loadOf(connector: number, own: number): number {
    const [oracle, account] = [this.oracles[connector], this.accounts[connector]];
    if (oracle === undefined || account === undefined) return 0;
    const bound = oracle.isWithinMemory ? oracle.boundTenthsA(this.nowMs, own) : (account.bounds[own] ?? 0);
    return Math.max(bound, oracle.ownFailsafeTenthsA);
  }

  /** A circuit phase shared by several possible phases of the connector carries one of them. */
  #loadOn(connector: number, circuitPhase: number): number {
    const circuitPhasesOfPhases = this.#specs[connector]?.circuitPhasesOfPhases ?? [];
    const loads = circuitPhasesOfPhases.map((circuitPhases, own) =>
      circuitPhases.includes(circuitPhase) ? this.#loadOf(connector, own) : 0,
    );
    return Math.max(0, ...loads);
  }

  #loadTenthsA(circuitPhase: number): number {
    return this.#specs.reduce((sum, _, i) => sum + this.#loadOn(i, circuitPhase), 0);
  }

  #wattsOf(connector: number, tenthsOf: (own: number) => number): number {
    const { circuitPhasesOfPhases = [], milliwattsPerTenth = 0 } = this.#specs[connector] ?? {};
    const tenthsA = circuitPhasesOfPhases.reduce((sum, _, own) => sum + tenthsOf(own), 0);
    return wattsOfTenths(tenthsA, milliwattsPerTenth / circuitPhasesOfPhases.length);
  }

  compare(): void {
    expect(this.ledger.loadsTenthsA).toEqual(
      this.#capacitiesTenthsA.map((_, circuitPhase) => this.#loadTenthsA(circuitPhase)),
    );
    let totalW = 0;
    for (const [i, account] of this.accounts.entries()) {
      const oracle = this.oracles[i];
      if (oracle === undefined) continue;
      totalW += account.boundW;
      expect(account.boundW).toBe(this.#wattsOf(i, (own) => account.bounds[own] ?? 0));
      expect(account.lastSeq).toBe(oracle.lastSeq);
      expect(account.nextChangeMs(this.nowMs)).toBe(nextChangeMsOf(account, this.nowMs));
      for (const own of Array.from({ length: oracle.phases }, (_, each) => each)) {
        const [bound, entitled] = [
          oracle.boundTenthsA(this.nowMs, own),
          oracle.entitledTenthsA(this.nowMs, own),
        ];
        expect(account.bounds[own]).toBeGreaterThanOrEqual(bound);
        if (!oracle.isWithinMemory) continue;
        expect([account.bounds[own], account.entitled[own]]).toEqual([bound, entitled]);
        const covered = oracle.coveredTenthsA(this.nowMs, own);
        if (this.#hasWaiting) expect(account.certain[own]).toBeLessThanOrEqual(covered);
        else expect(account.certain[own]).toBe(covered);
        expect(account.failsafes[own]).toBe(oracle.fallbackTenthsA(own));
      }
      expect([account.boundTenthsA, account.failsafeTenthsA]).toEqual([
        account.bounds[0],
        account.failsafes[0],
      ]);
    }
    expect(this.ledger.totalW).toBe(totalW);
  }
}

const restored: fc.Arbitrary<Restored> = fc.record({
  limitTenthsA: fc.constantFrom(0, 100, 320),
  thenTenthsA: fc.constant(60),
  phases: fc.constantFrom<PhaseCount>(1, 2, 3),
});

/** First reports of chargers about their stored limits. */
const held = {
  connector: fc.nat({ max: 2 }),
  tenthsA: fc.constantFrom(0, 90, 100, 320, 320),
  phases: fc.constantFrom<PhaseCount>(1, 1, 2, 3),
};

const PLENTY_TENTHS_A = [10_000, 10_000, 10_000, 10_000];

describe('A ledger beside an oracle that keeps all grants and acknowledgements for ever', () => {
  it('reserves the same after every step, and never less; throws exactly where a grant does not fit (rules 1, 2, 4, 5)', () => {
    fc.assert(
      fc.property(
        fc.array(spec, { minLength: 3, maxLength: 3 }),
        fc.array(fc.option(restored, { nil: undefined }), { maxLength: 3 }),
        fc.array(fc.record(held), { maxLength: 3 }),
        capacitiesTenthsA,
        fc.boolean(),
        steps,
        (specs, before, said, capacities, hasWaiting, life) => {
          const pair = new Pair(specs, before, capacities, hasWaiting);
          for (const each of said) pair.hold(each);
          pair.compare();
          for (const step of life) {
            pair.take(step);
            pair.compare();
          }
        },
      ),
      { numRuns: casesInCi(5_000) },
    );
  });

  it('grants after a start exactly as much as fits beside the certain earlier limits of chargers, on any phases', () => {
    fc.assert(
      fc.property(
        spec,
        restored,
        fc.record({ tenthsA: held.tenthsA, phases: held.phases }),
        fc.array(fc.record({ ...step, budgetW: fc.nat({ max: 25_000 }) }), { minLength: 1, maxLength: 3 }),
        (own, before, said, life) => {
          const pair = new Pair([own], [before], PLENTY_TENTHS_A);
          pair.hold({ connector: 0, ...said });
          for (const each of life) {
            pair.take({ ...each, connector: 0, passMs: 0, what: 'grant' });
            pair.compare();
          }
        },
      ),
      { numRuns: casesInCi(6_000) },
    );
  });
});
