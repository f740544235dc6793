// The worst charger that still keeps to the contract, written from its words alone: it draws the most it was ever allowed within settle.
import type { Rotation } from '../../machines/power/fuses.js';
import type { AckResult, Grant, LeaseKind, LentTo } from '../../machines/power/grant.js';
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
  /** A grant with a session ends with that; left out: no. */
  readonly endsWithSession?: boolean;
  /** It charges a car on fewer phases than that uses, where a grant says so; left out: no. */
  readonly switchesPhases?: boolean;
}

/** Of a charger of three phases that does all it is told at once. */
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

/** Charger and car may take as long to follow a lower limit. */
const SETTLE_MS = 10_000;

interface Held {
  readonly epoch: number;
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  readonly endsAtMs: number;
  readonly lent: LentTo | undefined;
}

/** The car may draw so much on the first so many phases. */
interface Allowed {
  readonly tenthsA: number;
  readonly phases: number;
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
  /** Grants for a session that it took, and those that ended with it, or because its car used another phase. */
  lent = 0;
  lentEnded = 0;
  /** Grants for fewer phases than its car uses, which it took, and how often one was for another number than that before. */
  narrowed = 0;
  switches = 0;
  /** So many of the first phases its car uses. */
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
  /** What lets the connector keep to the phases that a limit was for goes on when its lease has ended. */
  #lentTo: LentTo | undefined;
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

  /** It holds a grant for a session. */
  get isLent(): boolean {
    return this.#held?.lent !== undefined;
  }

  /** The most that charger and car can draw at this instant, on its phase number `own`. */
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

  /** The phase of the grid, 0 to 2, on which each of its own truly is. */
  get gridPhases(): readonly number[] {
    const { phases, gridPhase = 0, rotation } = this.traits;
    if (phases === 1) return [gridPhase];
    if (rotation !== undefined) return [...rotation].map((letter) => 'RST'.indexOf(letter));
    return [0, 1, 2].map((own) => (own + gridPhase) % 3);
  }

  /** Another car than before, or none, without a word to anybody. */
  plugIn(wantsTenthsA: number | undefined, carPhases: number, nowMs: number): void {
    this.advance(nowMs);
    this.#endLent(nowMs);
    this.wantsTenthsA = wantsTenthsA;
    this.carPhases = carPhases;
    this.session = wantsTenthsA === undefined ? undefined : `session-${++this.#sessions}`;
  }

  /** Its car goes on to more phases. */
  useMore(nowMs: number): void {
    this.advance(nowMs);
    this.carPhases = 3;
    if (this.traits.switchesPhases === true) return;
    if ((this.#lentTo?.phases ?? 3) < 3 && (this.wantsTenthsA ?? 0) > 0) this.#endLent(nowMs);
  }

  /** It opens its contactor: no current flows, and the next begins at what it is held to then. */
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

  /** The lease ends by itself. */
  advance(nowMs: number): void {
    const held = this.#held;
    if (held === undefined || held.endsAtMs > nowMs) return;
    this.#held = undefined;
    this.leasesEnded++;
    this.#follow({ tenthsA: held.thenTenthsA, phases: held.lent?.phases ?? 3 }, held.endsAtMs);
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

  /** As many as its car uses of those that it may. */
  get phasesUsed(): number {
    const { phases, switchesPhases } = this.traits;
    return Math.min(phases, this.carPhases, switchesPhases === true ? this.#limit.phases : 3);
  }

  /** A of its phase number `own`: one that switches draws on a phase that it is to open for as long as it may. */
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
    // What it was held to for some phases alone it does not remember, so it begins without current.
    this.#interrupt();
    this.#lentTo = undefined;
    if (this.session !== undefined) this.session = `session-${++this.#sessions}`;
    this.#follow({ tenthsA: this.failsafeTenthsA, phases: 3 }, nowMs);
  }

  #judge(grant: Grant, nowMs: number): AckResult {
    const { boot, epoch, seq, ref, lent } = grant;
    const isOlder = epoch < this.#fence.epoch || (epoch === this.#fence.epoch && seq <= this.#fence.seq);
    if (boot !== this.boot || isOlder) return 'STALE';
    if (lent !== undefined && lent.session !== this.session) return 'STALE';
    const isUsed =
      lent !== undefined &&
      this.traits.switchesPhases !== true &&
      this.carPhases > lent.phases &&
      (this.wantsTenthsA ?? 0) > 0;
    if (ref > this.#hb || ref < 1 || isUsed) return 'REJECTED';
    return this.#endOf(grant, nowMs) <= nowMs ? 'EXPIRED' : 'APPLIED';
  }

  #endOf({ ref, ttlMs }: Grant, nowMs: number): number {
    const fromMs = this.traits.lease === 'heartbeat' ? this.#sentAtMs.get(ref) : nowMs;
    return (fromMs ?? Number.NEGATIVE_INFINITY) + ttlMs * this.traits.secondLastsS;
  }

  #take(grant: Grant, nowMs: number): void {
    const { epoch, seq, limitTenthsA, thenTenthsA, lent } = grant;
    this.#fence = { epoch, seq };
    this.#held = { epoch, seq, limitTenthsA, thenTenthsA, lent, endsAtMs: this.#endOf(grant, nowMs) };
    this.#keptThenTenthsA = lent === undefined ? thenTenthsA : 0;
    const phases = lent?.phases ?? 3;
    if (phases > (this.#lentTo?.phases ?? 3)) this.#interrupt();
    if (lent !== undefined && lent.phases < this.carPhases) this.narrowed++;
    if (phases !== (this.#lentTo?.phases ?? 3)) this.switches++;
    this.#lentTo = lent;
    if (lent !== undefined) this.lent++;
    this.#follow({ tenthsA: limitTenthsA, phases }, nowMs);
  }

  #follow(limit: Allowed, nowMs: number): void {
    const { tenthsA, phases } = this.#limit;
    if (limit.tenthsA < tenthsA || limit.phases < phases)
      this.#peaks.push({ ...this.#limit, untilMs: nowMs + SETTLE_MS });
    this.#limit = limit;
  }
}
