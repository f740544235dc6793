// The worst charger that still keeps to the contract, written from its words alone: it draws the most it was ever allowed within settle.
import type { Rotation } from '../../machines/power/fuses.js';
import type { AckResult, Grant, LeaseKind } from '../../machines/power/grant.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';

/** Currents in tenths of A per phase. */
export interface ChargerTraits {
  readonly key: string;
  readonly phases: 1 | 3;
  /** As the operator says; left out where nobody knows. */
  readonly rotation?: Rotation;
  readonly feeder?: string;
  /** The feeders that what it draws truly flows through, beside the connection. */
  readonly fusesAbove?: readonly string[];
  /** The phase of the grid, 0 to 2, that a connector of one phase truly hangs on. */
  readonly gridPhase?: number;
  /** Of each phase, true and constant. */
  readonly voltageV: number;
  readonly maxTenthsA: number;
  readonly failsafeTenthsA: number;
  readonly keepsThen: boolean;
  readonly lease: LeaseKind;
  /** How long a second of its clock truly lasts, s. */
  readonly secondLastsS: number;
  /** From taking a grant until it says so. */
  readonly ackAfterMs: number;
  /** Provisioned so; left out: no. */
  readonly neverPause?: boolean;
}

export interface Acknowledged {
  readonly boot: string;
  readonly epoch: number;
  readonly seq: number;
  readonly result: AckResult;
  readonly appliedA: number;
}

/** Charger and car may take as long to follow a lower limit. */
const SETTLE_MS = 10_000;

interface Held {
  readonly epoch: number;
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  readonly endsAtMs: number;
}

export class HostileCharger {
  readonly traits: ChargerTraits;
  boot = 'boot-0';
  /** What its car takes at most; undefined while none is there. */
  wantsTenthsA: number | undefined;
  /** What its meter shows whatever it was told: one that does not keep to the contract after all. */
  drawsAnywayTenthsA: number | undefined;
  /** Grants it did not take, by why. */
  readonly refused = { STALE: 0, EXPIRED: 0 };
  leasesEnded = 0;
  #boots = 0;
  #hb = 0;
  #sentAtMs = new Map<number, number>();
  #fence = { epoch: -1, seq: -1 };
  #held: Held | undefined;
  #keptThenTenthsA: number;
  #limitTenthsA: number;
  #peaks: { readonly tenthsA: number; readonly untilMs: number }[] = [];

  constructor(traits: ChargerTraits) {
    this.traits = traits;
    this.#keptThenTenthsA = traits.failsafeTenthsA;
    this.#limitTenthsA = traits.failsafeTenthsA;
  }

  get failsafeTenthsA(): number {
    return this.traits.keepsThen ? this.#keptThenTenthsA : this.traits.failsafeTenthsA;
  }

  get hasLease(): boolean {
    return this.#held !== undefined;
  }

  get limitTenthsA(): number {
    return this.#limitTenthsA;
  }

  get leaseEndsAtMs(): number | undefined {
    return this.#held?.endsAtMs;
  }

  /** The most that charger and car can draw at this instant. */
  ableTenthsA(nowMs: number): number {
    this.advance(nowMs);
    this.#peaks = this.#peaks.filter(({ untilMs }) => untilMs > nowMs);
    return Math.max(this.#limitTenthsA, ...this.#peaks.map(({ tenthsA }) => tenthsA));
  }

  ableW(nowMs: number): number {
    return (this.ableTenthsA(nowMs) * this.traits.voltageV * this.traits.phases) / 10;
  }

  /** The phases of the grid, 0 to 2, that its car can draw `ableTenthsA` from. */
  get gridPhases(): readonly number[] {
    const { phases, gridPhase = 0 } = this.traits;
    return phases === 3 ? [0, 1, 2] : [gridPhase];
  }

  /** The lease ends by itself. */
  advance(nowMs: number): void {
    const held = this.#held;
    if (held === undefined || held.endsAtMs > nowMs) return;
    this.#held = undefined;
    this.leasesEnded++;
    this.#follow(held.thenTenthsA, held.endsAtMs);
  }

  beat(nowMs: number): MeterReading {
    this.advance(nowMs);
    const { voltageV, phases } = this.traits;
    const drawnA = (this.drawsAnywayTenthsA ?? Math.min(this.#limitTenthsA, this.wantsTenthsA ?? 0)) / 10;
    this.#sentAtMs.set(++this.#hb, nowMs);
    return {
      boot: this.boot,
      hb: this.#hb,
      status: this.wantsTenthsA === undefined ? 'Available' : drawnA > 0 ? 'Charging' : 'SuspendedEVSE',
      powerW: Math.round(drawnA * voltageV * phases),
      currentA: phases === 3 ? [drawnA, drawnA, drawnA] : [drawnA, 0, 0],
      voltageV: phases === 3 ? [voltageV, voltageV, voltageV] : [voltageV, 0, 0],
      limitA: this.#limitTenthsA / 10,
      epoch: this.#held?.epoch ?? 0,
      seq: this.#held?.seq ?? 0,
    };
  }

  receive(grant: Grant, nowMs: number): Acknowledged {
    this.advance(nowMs);
    const result = this.#judge(grant, nowMs);
    if (result === 'APPLIED') this.#take(grant, nowMs);
    else if (result !== 'REJECTED') this.refused[result]++;
    const { epoch, seq } = grant;
    return { boot: this.boot, epoch, seq, result, appliedA: this.#limitTenthsA / 10 };
  }

  restart(nowMs: number): void {
    this.advance(nowMs);
    this.boot = `boot-${++this.#boots}`;
    this.#hb = 0;
    this.#sentAtMs = new Map();
    this.#fence = { epoch: -1, seq: -1 };
    this.#held = undefined;
    this.#follow(this.failsafeTenthsA, nowMs);
  }

  #judge(grant: Grant, nowMs: number): AckResult {
    const { boot, epoch, seq, ref } = grant;
    const isOlder = epoch < this.#fence.epoch || (epoch === this.#fence.epoch && seq <= this.#fence.seq);
    if (boot !== this.boot || isOlder) return 'STALE';
    if (ref > this.#hb || ref < 1) return 'REJECTED';
    return this.#endOf(grant, nowMs) <= nowMs ? 'EXPIRED' : 'APPLIED';
  }

  #endOf({ ref, ttlMs }: Grant, nowMs: number): number {
    const fromMs = this.traits.lease === 'heartbeat' ? this.#sentAtMs.get(ref) : nowMs;
    return (fromMs ?? Number.NEGATIVE_INFINITY) + ttlMs * this.traits.secondLastsS;
  }

  #take(grant: Grant, nowMs: number): void {
    const { epoch, seq, limitTenthsA, thenTenthsA } = grant;
    this.#fence = { epoch, seq };
    this.#held = { epoch, seq, limitTenthsA, thenTenthsA, endsAtMs: this.#endOf(grant, nowMs) };
    this.#keptThenTenthsA = thenTenthsA;
    this.#follow(limitTenthsA, nowMs);
  }

  #follow(limitTenthsA: number, nowMs: number): void {
    if (limitTenthsA < this.#limitTenthsA) {
      this.#peaks.push({ tenthsA: this.#limitTenthsA, untilMs: nowMs + SETTLE_MS });
    }
    this.#limitTenthsA = limitTenthsA;
  }
}
