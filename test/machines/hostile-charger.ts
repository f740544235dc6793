// The worst charger that keeps to the contract. For the settling time after a decrease, it draws the highest permitted
// current.

import type { AckResult, Grant, LeaseKind, ReallocatedTo } from '../../machines/ledger/grant.js';
import type { PhaseRotation } from '../../machines/power/fuses.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';

/** Currents in tenths of A per phase. */
export interface ChargerTraits {
  readonly key: string;
  readonly phases: 1 | 3;
  /** As provisioned, or absent if unknown. */
  readonly rotation?: PhaseRotation;
  readonly feeder?: string;
  /** The feeders above the charger by its true wiring, besides the connection. */
  readonly fusesAbove?: readonly string[];
  /** The true grid phase of a one-phase connector, 0 to 2. */
  readonly gridPhase?: number;
  /** On each phase, true and constant. */
  readonly voltageV: number;
  readonly maxTenthsA: number;
  readonly failsafeTenthsA: number;
  readonly keepsThen: boolean;
  readonly lease: LeaseKind;
  /** True length of a second of its clock, s. */
  readonly secondLastsS: number;
  /** Delay between taking a grant and acknowledging it. */
  readonly ackAfterMs: number;
  /** As provisioned, false by default. */
  readonly neverPause?: boolean;
  /** A session grant ends with its session. False by default. */
  readonly endsWithSession?: boolean;
  /** Charges a car on fewer phases than the car could use, if a grant requires it. False by default. */
  readonly switchesPhases?: boolean;
}

/** A three-phase charger that follows all limits at once. */
export const CALM: Omit<ChargerTraits, 'key'> = {
  phases: 3,
  voltageV: 230,
  maxTenthsA: 320,
  failsafeTenthsA: 0,
  keepsThen: true,
  lease: 'heartbeat',
  secondLastsS: 1,
  ackAfterMs: 0,
};

export interface Acknowledged {
  readonly boot: string;
  readonly epoch: number;
  readonly seq: number;
  readonly result: AckResult;
  readonly appliedA: number;
}

/** Charger and car may take this long to follow a lower limit. */
const SETTLE_MS = 10_000;

interface Held {
  readonly epoch: number;
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  readonly endsAtMs: number;
  readonly reallocated: ReallocatedTo | undefined;
}

/** Permits the car `tenthsA` on the first `phases` phases. */
interface Allowed {
  readonly tenthsA: number;
  readonly phases: number;
}

export class HostileCharger {
  readonly traits: ChargerTraits;
  boot = 'boot-0';
  /** Highest draw of the car, or undefined without a car. */
  wantsTenthsA: number | undefined;
  /** A draw that ignores the limit, for a charger that breaks the contract. */
  drawsAnywayTenthsA: number | undefined;
  /** Refused grants by reason. */
  readonly refused = { STALE: 0, EXPIRED: 0 };
  leasesEnded = 0;
  /** Accepted session grants, and the ones that ended with the session or with the use of another phase. */
  reallocated = 0;
  lentEnded = 0;
  /** Accepted grants for fewer phases than the car could use, and changes of the number of phases between grants. */
  narrowed = 0;
  switches = 0;
  /** The car uses this number of phases, from the first one on. */
  carPhases = 3;
  session: string | undefined;
  #sessions = 0;
  #boots = 0;
  #hb = 0;
  #sentAtMs = new Map<number, number>();
  #fence = { epoch: -1, seq: -1 };
  #held: Held | undefined;
  #keptThenTenthsA: number;
  #limit: Allowed;
  /** The restriction to a limit's phases stays in force after the lease has ended. */
  #lentTo: ReallocatedTo | undefined;
  #peaks: (Allowed & { readonly untilMs: number })[] = [];

  constructor(traits: ChargerTraits) {
    this.traits = traits;
    this.#keptThenTenthsA = traits.failsafeTenthsA;
    this.#limit = { tenthsA: traits.failsafeTenthsA, phases: 3 };
  }

  get failsafeTenthsA(): number {
    return this.traits.keepsThen ? this.#keptThenTenthsA : this.traits.failsafeTenthsA;
  }

  get hasLease(): boolean {
    return this.#held !== undefined;
  }

  get limitTenthsA(): number {
    return this.#limit.tenthsA;
  }

  get leaseEndsAtMs(): number | undefined {
    return this.#held?.endsAtMs;
  }

  /** True while the charger holds a session grant. */
  get isLent(): boolean {
    return this.#held?.reallocated !== undefined;
  }

  /** Highest possible draw at this instant on the connector's phase number `own`. */
  ableTenthsA(nowMs: number, own = 0): number {
    this.advance(nowMs);
    this.#peaks = this.#peaks.filter(({ untilMs }) => untilMs > nowMs);
    const allowed = [this.#limit, ...this.#peaks].filter(({ phases }) => own < phases);
    return Math.max(0, ...allowed.map(({ tenthsA }) => tenthsA));
  }

  ableW(nowMs: number): number {
    let tenthsA = 0;
    for (const own of this.gridPhases.keys()) tenthsA += this.ableTenthsA(nowMs, own);
    return (tenthsA * this.traits.voltageV) / 10;
  }

  /** The true grid phase, 0 to 2, of each of the connector's phases. */
  get gridPhases(): readonly number[] {
    const { phases, gridPhase = 0, rotation } = this.traits;
    if (phases === 1) return [gridPhase];
    if (rotation !== undefined) return [...rotation].map((letter) => 'RST'.indexOf(letter));
    return [0, 1, 2].map((own) => (own + gridPhase) % 3);
  }

  /** Swaps or removes the car without a message. */
  plugIn(wantsTenthsA: number | undefined, carPhases: number, nowMs: number): void {
    this.advance(nowMs);
    this.#endLent(nowMs);
    this.wantsTenthsA = wantsTenthsA;
    this.carPhases = carPhases;
    this.session = wantsTenthsA === undefined ? undefined : `session-${++this.#sessions}`;
  }

  /** The car begins to use all three phases. */
  useMore(nowMs: number): void {
    this.advance(nowMs);
    this.carPhases = 3;
    if (this.traits.switchesPhases === true) return;
    if ((this.#lentTo?.phases ?? 3) < 3 && (this.wantsTenthsA ?? 0) > 0) this.#endLent(nowMs);
  }

  /** Opens the contactor. No current flows, and the next current begins under the limit in force then. */
  #endLent(nowMs: number): void {
    if (this.#lentTo === undefined) return;
    this.lentEnded++;
    this.#interrupt();
    this.#held = undefined;
    this.#lentTo = undefined;
    this.#follow({ tenthsA: 0, phases: 3 }, nowMs);
  }

  #interrupt(): void {
    const isForAll = ({ phases }: Allowed) => phases === 3;
    this.#peaks = this.#peaks.filter(isForAll);
    if (!isForAll(this.#limit)) this.#limit = { tenthsA: 0, phases: 3 };
  }

  /** Ends the lease if its time is over. */
  advance(nowMs: number): void {
    const held = this.#held;
    if (held === undefined || held.endsAtMs > nowMs) return;
    this.#held = undefined;
    this.leasesEnded++;
    this.#follow({ tenthsA: held.thenTenthsA, phases: held.reallocated?.phases ?? 3 }, held.endsAtMs);
  }

  beat(nowMs: number): MeterReading {
    this.advance(nowMs);
    const { voltageV, phases } = this.traits;
    const drawnA = (this.drawsAnywayTenthsA ?? Math.min(this.#limit.tenthsA, this.wantsTenthsA ?? 0)) / 10;
    const currentA = [0, 1, 2].map((own) => this.#drawnOn(own, drawnA, nowMs));
    this.#sentAtMs.set(++this.#hb, nowMs);
    return {
      boot: this.boot,
      hb: this.#hb,
      status: this.wantsTenthsA === undefined ? 'Available' : drawnA > 0 ? 'Charging' : 'SuspendedEVSE',
      powerW: Math.round(currentA.reduce((sumA, phaseA) => sumA + phaseA, 0) * voltageV),
      currentA,
      voltageV: [0, 1, 2].map((own) => (own < phases ? voltageV : 0)),
      limitA: this.#limit.tenthsA / 10,
      session: this.session,
      epoch: this.#held?.epoch ?? 0,
      seq: this.#held?.seq ?? 0,
    };
  }

  /** The number of permitted phases that the car uses. */
  get phasesUsed(): number {
    const { phases, switchesPhases } = this.traits;
    return Math.min(phases, this.carPhases, switchesPhases === true ? this.#limit.phases : 3);
  }

  /**
   * A on the connector's phase number `own`. A charger that switches uses a phase that it must open for as long as it
   * may.
   */
  #drawnOn(own: number, drawnA: number, nowMs: number): number {
    if (own >= Math.min(this.carPhases, this.traits.phases)) return 0;
    if (this.traits.switchesPhases !== true || own < this.#limit.phases) return drawnA;
    return Math.min(this.ableTenthsA(nowMs, own), this.wantsTenthsA ?? 0) / 10;
  }

  receive(grant: Grant, nowMs: number): Acknowledged {
    this.advance(nowMs);
    const result = this.#judge(grant, nowMs);
    if (result === 'APPLIED') this.#take(grant, nowMs);
    else if (result !== 'REJECTED') this.refused[result]++;
    const { epoch, seq } = grant;
    return { boot: this.boot, epoch, seq, result, appliedA: this.#limit.tenthsA / 10 };
  }

  restart(nowMs: number): void {
    this.advance(nowMs);
    this.boot = `boot-${++this.#boots}`;
    this.#hb = 0;
    this.#sentAtMs = new Map();
    this.#fence = { epoch: -1, seq: -1 };
    this.#held = undefined;
    // The charger does not remember a limit for some phases only, so it begins without current.
    this.#interrupt();
    this.#lentTo = undefined;
    if (this.session !== undefined) this.session = `session-${++this.#sessions}`;
    this.#follow({ tenthsA: this.failsafeTenthsA, phases: 3 }, nowMs);
  }

  #judge(grant: Grant, nowMs: number): AckResult {
    const { boot, epoch, seq, ref, reallocated } = grant;
    const isOlder = epoch < this.#fence.epoch || (epoch === this.#fence.epoch && seq <= this.#fence.seq);
    if (boot !== this.boot || isOlder) return 'STALE';
    if (reallocated !== undefined && reallocated.session !== this.session) return 'STALE';
    const isUsed =
      reallocated !== undefined &&
      this.traits.switchesPhases !== true &&
      this.carPhases > reallocated.phases &&
      (this.wantsTenthsA ?? 0) > 0;
    if (ref > this.#hb || ref < 1 || isUsed) return 'REJECTED';
    return this.#endOf(grant, nowMs) <= nowMs ? 'EXPIRED' : 'APPLIED';
  }

  #endOf({ ref, ttlMs }: Grant, nowMs: number): number {
    const fromMs = this.traits.lease === 'heartbeat' ? this.#sentAtMs.get(ref) : nowMs;
    return (fromMs ?? Number.NEGATIVE_INFINITY) + ttlMs * this.traits.secondLastsS;
  }

  #take(grant: Grant, nowMs: number): void {
    const { epoch, seq, limitTenthsA, thenTenthsA, reallocated } = grant;
    this.#fence = { epoch, seq };
    this.#held = { epoch, seq, limitTenthsA, thenTenthsA, reallocated, endsAtMs: this.#endOf(grant, nowMs) };
    this.#keptThenTenthsA = reallocated === undefined ? thenTenthsA : 0;
    const phases = reallocated?.phases ?? 3;
    if (phases > (this.#lentTo?.phases ?? 3)) this.#interrupt();
    if (reallocated !== undefined && reallocated.phases < this.carPhases) this.narrowed++;
    if (phases !== (this.#lentTo?.phases ?? 3)) this.switches++;
    this.#lentTo = reallocated;
    if (reallocated !== undefined) this.reallocated++;
    this.#follow({ tenthsA: limitTenthsA, phases }, nowMs);
  }

  #follow(limit: Allowed, nowMs: number): void {
    const { tenthsA, phases } = this.#limit;
    if (limit.tenthsA < tenthsA || limit.phases < phases)
      this.#peaks.push({ ...this.#limit, untilMs: nowMs + SETTLE_MS });
    this.#limit = limit;
  }
}
