// A random life of a ledger beside an oracle that forgets nothing (power safety, rules 1, 2, 4, 5 and 7).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GrantTiming, LeaseKind } from '../../machines/power/grant.js';
import { GrantLedger, LedgerError } from '../../machines/power/grant-ledger.js';
import type { Holding, HoldingSpec } from '../../machines/power/holding.js';
import { wattsOfTenths } from '../../machines/values/units.js';
import { HoldingOracle } from './grant-ledger-oracle.js';

const TIMING: GrantTiming = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const LEASE_MS = 61_200;
const SETTLE_MS = 10_000;
const MILLIWATTS = 3 * 230 * 100;

/** One step of a random life: time passes, and one thing happens to one connector. */
interface Step {
  readonly connector: number;
  readonly passMs: number;
  readonly what: 'grant' | 'renew' | 'lower' | 'ack' | 'worstCase' | 'describe';
  readonly tenthsA: number;
  readonly thenTenthsA: number;
  /** How long ago the heartbeat came that is answered. */
  readonly agoMs: number;
  /** How many grants ago the acknowledged one was. */
  readonly back: number;
  readonly budgetW: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    connector: fc.nat({ max: 2 }),
    passMs: fc.oneof(
      fc.constantFrom(0, 1, 1_000, 9_999, 10_000, LEASE_MS, LEASE_MS + SETTLE_MS),
      fc.nat({ max: 30_000 }),
    ),
    what: fc.constantFrom('grant', 'grant', 'renew', 'lower', 'ack', 'ack', 'worstCase', 'describe'),
    tenthsA: fc.oneof(fc.constantFrom(0, 60, 100, 320), fc.nat({ max: 320 })),
    thenTenthsA: fc.constantFrom(0, 0, 60, 80),
    agoMs: fc.constantFrom(0, 1, 5_000),
    back: fc.constantFrom(0, 0, 0, 1, 2, -1),
    budgetW: fc.constantFrom(0, 10_000, 20_000, 45_000, 70_000),
  }),
  { minLength: 1, maxLength: 60 },
);

const spec: fc.Arbitrary<HoldingSpec> = fc.record({
  maxTenthsA: fc.constant(320),
  failsafeTenthsA: fc.constantFrom(0, 60),
  milliwattsPerTenth: fc.constantFrom(MILLIWATTS, 230 * 100, 3 * 253 * 100),
  lease: fc.constantFrom<LeaseKind>('heartbeat', 'heartbeat', 'receipt', 'none'),
  keepsThen: fc.boolean(),
  poles: fc.subarray([0, 1, 2, 3]),
});

const capacitiesTenthsA = fc.array(fc.constantFrom(60, 320, 500, 10_000), { minLength: 4, maxLength: 4 });

/** A ledger and the oracles beside it; compared after every step. */
class Pair {
  readonly ledger = new GrantLedger(TIMING);
  readonly holdings: Holding[];
  readonly oracles: HoldingOracle[];
  readonly #heardAtMs: number[];
  nowMs = 0;

  readonly #specs: readonly HoldingSpec[];
  readonly #capacitiesTenthsA: readonly number[];

  constructor(
    specs: readonly HoldingSpec[],
    restoredTenthsA: readonly (number | undefined)[],
    capacities: readonly number[],
  ) {
    this.#specs = specs;
    this.#capacitiesTenthsA = capacities;
    this.ledger.rewire(capacities);
    this.holdings = specs.map((each, i) => this.ledger.add(`c${i}`, each));
    this.oracles = specs.map((each) => new HoldingOracle(TIMING, each));
    this.#heardAtMs = specs.map(() => 0);
    for (const [i, tenthsA] of restoredTenthsA.entries()) {
      if (tenthsA === undefined || this.holdings[i] === undefined) continue;
      this.ledger.restore(this.holdings[i], tenthsA, 60, 0);
      this.oracles[i]?.restore(tenthsA, 60, 0);
    }
  }

  take(step: Step): void {
    this.nowMs += step.passMs;
    this.ledger.release(this.nowMs);
    const holding = this.holdings[step.connector];
    const oracle = this.oracles[step.connector];
    if (holding === undefined || oracle === undefined) return;
    if (step.what === 'ack') {
      this.ledger.acknowledge(holding, oracle.lastSeq - step.back, this.nowMs);
      oracle.acknowledge(oracle.lastSeq - step.back, this.nowMs);
    } else if (step.what === 'worstCase') {
      oracle.isWorstCase = !oracle.isWorstCase;
      this.ledger.setWorstCase(holding, oracle.isWorstCase);
    } else if (step.what === 'describe') {
      oracle.isDescribed = true;
      this.ledger.describe(holding, { keepsThen: holding.keepsThen });
    } else this.#grant(step, holding, oracle);
  }

  #grant(step: Step, holding: Holding, oracle: HoldingOracle): void {
    const { budgetW, connector } = step;
    const heardAtMs = Math.max(this.nowMs - step.agoMs, this.#heardAtMs[connector] ?? 0);
    this.#heardAtMs[connector] = heardAtMs;
    const lasting = oracle.lastingTenthsA(this.nowMs);
    const limitTenthsA =
      step.what === 'grant' ? step.tenthsA : step.what === 'renew' ? lasting : Math.floor(lasting / 2);
    const thenTenthsA = step.what === 'grant' ? step.thenTenthsA : Math.min(step.thenTenthsA, limitTenthsA);
    const most = Math.max(limitTenthsA, thenTenthsA);
    const othersW = this.ledger.totalW - holding.boundW;
    const fits = othersW + wattsOfTenths(most, holding.milliwattsPerTenth) <= budgetW;
    const othersOnPole = (pole: number) => this.#loadTenthsA(pole) - this.#loadOf(connector);
    const isCarried = holding.poles.every((pole) => {
      return othersOnPole(pole) + most <= (this.#capacitiesTenthsA[pole] ?? 0);
    });
    const isAllowed = (fits && isCarried) || most <= lasting;
    expect(most <= this.ledger.grantableTenthsA(holding, budgetW)).toBe(isAllowed);
    const before = { ...holding };
    const give = () => this.ledger.grant(holding, { limitTenthsA, thenTenthsA, heardAtMs, budgetW });
    if (isAllowed) {
      expect(give()).toBe(oracle.grant(limitTenthsA, thenTenthsA, heardAtMs, this.nowMs));
    } else {
      expect(give).toThrow(LedgerError);
      expect({ ...holding }).toEqual(before);
    }
  }

  /** What a connector may load its poles with, by the oracle; by the ledger where that remembers less and keeps more. */
  #loadOf(connector: number): number {
    const [oracle, spec, holding] = [
      this.oracles[connector],
      this.#specs[connector],
      this.holdings[connector],
    ];
    if (oracle === undefined || spec === undefined || holding === undefined) return 0;
    const bound = oracle.isWithinMemory ? oracle.boundTenthsA(this.nowMs) : holding.boundTenthsA;
    return Math.max(bound, spec.keepsThen ? 0 : spec.failsafeTenthsA);
  }

  #loadTenthsA(pole: number): number {
    return this.#specs.reduce((sum, { poles }, i) => sum + (poles?.includes(pole) ? this.#loadOf(i) : 0), 0);
  }

  compare(): void {
    expect(this.ledger.loadsTenthsA).toEqual(
      this.#capacitiesTenthsA.map((_, pole) => this.#loadTenthsA(pole)),
    );
    let totalW = 0;
    for (const [i, holding] of this.holdings.entries()) {
      const oracle = this.oracles[i];
      if (oracle === undefined) continue;
      totalW += holding.boundW;
      expect(holding.boundW).toBe(wattsOfTenths(holding.boundTenthsA, holding.milliwattsPerTenth));
      expect(holding.lastSeq).toBe(oracle.lastSeq);
      const [bound, entitled] = [oracle.boundTenthsA(this.nowMs), oracle.entitledTenthsA(this.nowMs)];
      expect(holding.boundTenthsA).toBeGreaterThanOrEqual(bound);
      if (!oracle.isWithinMemory) continue;
      expect([holding.boundTenthsA, holding.entitledTenthsA]).toEqual([bound, entitled]);
      expect(holding.failsafeTenthsA).toBe(oracle.fallbackTenthsA());
    }
    expect(this.ledger.totalW).toBe(totalW);
  }
}

describe('A ledger beside an oracle that keeps all grants and acknowledgements for ever', () => {
  it('reserves the same after every step, and never less; throws exactly where a grant does not fit (rules 1, 2, 4, 5)', () => {
    fc.assert(
      fc.property(
        fc.array(spec, { minLength: 3, maxLength: 3 }),
        fc.array(fc.option(fc.constantFrom(0, 100, 320), { nil: undefined }), { maxLength: 3 }),
        capacitiesTenthsA,
        steps,
        (specs, restored, capacities, life) => {
          const pair = new Pair(specs, restored, capacities);
          pair.compare();
          for (const step of life) {
            pair.take(step);
            pair.compare();
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});
