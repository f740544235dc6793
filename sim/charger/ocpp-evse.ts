// One EVSE of a virtual OCPP charger: its outlet with the cars, its charging profiles and its running transaction.
import type { GatewayRequest, LimitSlot, TransactionRef } from '../../machines/session/gateway-request.js';
import type { LeaseSchedule, RateUnit, ShownSchedule } from '../../machines/session/lease-schedule.js';
import type { CarNote, PerPhase } from './car.js';
import { ampereOfDcW, dcWOfAmpere } from './direct-current.js';
import type { SetProfile, Shown } from './ocpp-words.js';
import { Outlet } from './outlet.js';
import type { OcppBehaviour } from './traits.js';
import { nextCarsOf, type VirtualConnectorSpec, type Visitors } from './virtual-connector.js';

// The charging profiles of one virtual OCPP connector, and their limit at an instant of its own clock.
interface Step {
  readonly atOwnMs: number;
  readonly limit: number;
}

interface Profile {
  readonly unit: RateUnit;
  readonly steps: readonly Step[];
}

type SetFailsafe = Extract<GatewayRequest, { kind: 'setFailsafe' }>;

/** Faults in the use of accepted profiles; an honest charger has none. */
interface ProfileFaults {
  /** It keeps only the first period. */
  readonly losesPeriods: boolean;
  /** The first period begins on receipt, regardless of `startSchedule`. */
  readonly ignoresStart: boolean;
}

const PRECEDENCE: readonly LimitSlot[] = ['transaction', 'default', 'failsafe'];

/** Limits are in the unit of their profile; all profiles of one connector have the same unit. */
export class ProfileStore {
  readonly #profiles = new Map<LimitSlot, Profile>();
  readonly #faults: ProfileFaults;

  constructor(faults: ProfileFaults) {
    this.#faults = faults;
  }

  setFailsafe({ unit, limit }: SetFailsafe): void {
    this.#profiles.set('failsafe', { unit, steps: [{ atOwnMs: Number.NEGATIVE_INFINITY, limit }] });
  }

  setLease(
    slot: 'default' | 'transaction',
    schedule: Omit<LeaseSchedule, 'phases' | 'counted'>,
    ownMs: number,
  ): void {
    const { unit, limit, endsAfterS, thenLimit } = schedule;
    const fromMs = this.#faults.ignoresStart ? ownMs : schedule.startsAtOwnMs;
    const first = { atOwnMs: fromMs, limit };
    const second = { atOwnMs: fromMs + 1000 * endsAfterS, limit: thenLimit };
    this.#profiles.set(slot, { unit, steps: this.#faults.losesPeriods ? [first] : [first, second] });
  }

  clear(slot: LimitSlot): void {
    this.#profiles.delete(slot);
  }

  clearAll(): void {
    this.#profiles.clear();
  }

  /**
   * Instant, of its own clock, at which the deciding lease reaches its last period. Infinite for a lease with one
   * period. Undefined if no lease decides, or if the lease does not end with less.
   */
  leaseEndsMs(ownMs: number): number | undefined {
    for (const slot of ['transaction', 'default'] as const) {
      const steps = this.#profiles.get(slot)?.steps ?? [];
      if (!steps.some(({ atOwnMs }) => atOwnMs <= ownMs)) continue;
      const [first, last] = [steps[0], steps.at(-1)];
      if (steps.length === 1) return Number.POSITIVE_INFINITY;
      // A lease that ends with more than before may last for any time.
      return (last?.limit ?? 0) < (first?.limit ?? 0) ? last?.atOwnMs : undefined;
    }
    return undefined;
  }

  /** Undefined if no profile limits the connector. */
  limitAt(ownMs: number): { readonly unit: RateUnit; readonly limit: number } | undefined {
    for (const slot of PRECEDENCE) {
      const profile = this.#profiles.get(slot);
      const step = profile?.steps.findLast(({ atOwnMs }) => atOwnMs <= ownMs);
      if (profile !== undefined && step !== undefined) return { unit: profile.unit, limit: step.limit };
    }
    return undefined;
  }

  /** Next instant, of its own clock, at which the limit may change; infinite if it never changes by itself. */
  nextChangeMs(ownMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { steps } of this.#profiles.values())
      for (const { atOwnMs } of steps) if (atOwnMs > ownMs) nextMs = Math.min(nextMs, atOwnMs);
    return nextMs;
  }

  /** Schedule from `ownMs` on, in whole seconds. */
  composite(ownMs: number, durationS: number, unit: RateUnit): ShownSchedule {
    const periods: { startS: number; limit: number }[] = [];
    const untilMs = ownMs + 1000 * durationS;
    for (let atMs = ownMs; atMs < untilMs; atMs = this.nextChangeMs(atMs)) {
      const startS = Math.ceil((atMs - ownMs) / 1000);
      periods.push({ startS, limit: this.limitAt(atMs)?.limit ?? -1 });
    }
    return { unit: this.limitAt(ownMs)?.unit ?? unit, startsAtOwnMs: ownMs, durationS, periods };
  }
}

// The clock of a virtual OCPP charger: it runs fast or slow, and can be set.
const ROUNDING_MS = 1e-6;

/** `nowMs` are instants of a true monotonic clock; names with `own` are epoch ms that the charger's clock shows. */
export class OcppOwnClock {
  readonly #secondLastsS: number;
  #setToMs: number;
  #setAtMs: number;

  constructor(options: { readonly ownMs: number; readonly nowMs: number; readonly driftShare: number }) {
    this.#setToMs = options.ownMs;
    this.#setAtMs = options.nowMs;
    this.#secondLastsS = 1 + options.driftShare;
  }

  set(ownMs: number, nowMs: number): void {
    this.#setToMs = ownMs;
    this.#setAtMs = nowMs;
  }

  ownAt(nowMs: number): number {
    return Math.floor(this.#setToMs + (nowMs - this.#setAtMs) / this.#secondLastsS + ROUNDING_MS);
  }

  /** True instant from which its clock shows `ownMs`. */
  trueAt(ownMs: number): number {
    return Math.ceil(this.#setAtMs + (ownMs - this.#setToMs) * this.#secondLastsS);
  }

  /** Timestamp for its messages, in whole seconds. */
  secondAt(nowMs: number): string {
    return new Date(1000 * Math.floor(this.ownAt(nowMs) / 1000)).toISOString();
  }
}

/** Voltage of every car at a DC connector, and the highest one by the provisioning file. */
const DC_VOLTAGE_V = 400;
const MOST_DC_V = 1000;

/** `evse` is the charger's own number of the connector. */
export interface OcppEvseSpec extends VirtualConnectorSpec {
  readonly evse: number;
}

/** `ref` is undefined until the answer to the start; `ownName`, the charger's own id, until the start is sent. */
export interface RunningTransaction {
  ref: TransactionRef | undefined;
  ownName: TransactionRef | undefined;
}

interface OcppEvseOptions {
  readonly behaviours: ReadonlySet<OcppBehaviour>;
  readonly clock: OcppOwnClock;
  readonly visitors: Visitors;
  readonly seed: number;
  readonly startsAtMs: number;
  readonly lateMs: number | undefined;
  /** Its fail-safe profile is there from the start, as after an installation. */
  readonly isInstalled: boolean;
  readonly onCar: (note: CarNote) => void;
}

/** Currents in A per phase, times in ms of one monotonic clock. */
export class OcppEvse {
  readonly spec: OcppEvseSpec;
  transaction: RunningTransaction | undefined;
  readonly #options: OcppEvseOptions;
  readonly #store: ProfileStore;
  readonly #outlet: Outlet;
  readonly #slotOfProfile = new Map<number, 'failsafe' | 'default' | 'transaction'>();
  #voltagesV: PerPhase;
  /** Instant of the next period of a profile. */
  #changesAtMs = Number.POSITIVE_INFINITY;
  #offeredPhases = 0;

  constructor(spec: OcppEvseSpec, options: OcppEvseOptions) {
    const { behaviours, startsAtMs, visitors, seed, lateMs, onCar } = options;
    this.spec = spec;
    this.#options = options;
    this.#voltagesV = [spec.voltageV, spec.voltageV, spec.voltageV];
    this.#store = new ProfileStore({
      losesPeriods: behaviours.has('loses-periods'),
      ignoresStart: behaviours.has('ignores-start'),
    });
    if (options.isInstalled) this.#install();
    this.#outlet = new Outlet({
      rating: spec,
      startsAtMs,
      lateMs,
      onCar,
      overdraw: 1,
      offeredA: behaviours.has('shows-only') ? spec.maxCurrentA : this.mayDrawA(startsAtMs),
      nextCar: nextCarsOf(visitors, spec.connectorId, seed),
    });
  }

  get outlet(): Outlet {
    return this.#outlet;
  }

  /** Limit of its profiles, A on each phase of the grid; its maximum if no profile applies. */
  mayDrawA(nowMs: number): number {
    const { voltageV, phases, maxCurrentA, dc } = this.spec;
    const allowed = this.#store.limitAt(this.#options.clock.ownAt(nowMs));
    if (allowed === undefined) return maxCurrentA;
    const { unit, limit } = allowed;
    if (dc != null)
      return Math.min(maxCurrentA, ampereOfDcW(unit === 'W' ? limit : limit * DC_VOLTAGE_V, this.spec));
    return Math.min(maxCurrentA, unit === 'A' ? limit : limit / (voltageV * phases));
  }

  /** Instant at which the deciding lease falls back: now without a lease, infinite for a lease without an end. */
  leaseEndsAtMs(nowMs: number): number {
    const { clock } = this.#options;
    const endsAtOwnMs = this.#store.leaseEndsMs(clock.ownAt(nowMs));
    return endsAtOwnMs === undefined ? nowMs : clock.trueAt(endsAtOwnMs);
  }

  get nextDueMs(): number {
    return Math.min(this.#changesAtMs, this.#outlet.nextDueMs);
  }

  advance(nowMs: number): void {
    while (this.#changesAtMs <= nowMs) this.#offer(this.#changesAtMs);
    this.#outlet.advance(nowMs);
    // For another car, a limit in watts is another current.
    if (this.#outlet.phases !== this.#offeredPhases) this.#offer(nowMs);
  }

  supply(voltagesV: PerPhase, nowMs: number): void {
    this.#outlet.supply(voltagesV, nowMs);
    this.#voltagesV = voltagesV;
  }

  /** A restart loses the profile of a transaction, unless the charger resumes its transactions. */
  restart(nowMs: number): void {
    const { behaviours } = this.#options;
    if (behaviours.has('forgets-profiles')) this.#store.clearAll();
    else if (!behaviours.has('resumes-transactions')) this.#store.clear('transaction');
    this.#offer(nowMs);
  }

  /** Renews the offer after the charger's clock was set. */
  review(nowMs: number): void {
    this.#offer(nowMs);
  }

  endTransaction(nowMs: number): void {
    this.transaction = undefined;
    this.#store.clear('transaction');
    this.#offer(nowMs);
  }

  /** False if the charger refuses the profile. */
  setProfile(profile: SetProfile, nowMs: number): boolean {
    const { behaviours, clock } = this.#options;
    const { id, isOfTransaction, transaction, stackLevel, unit, periods, startSchedule } = profile;
    if (behaviours.has('rejects-profiles') || (behaviours.has('watts-only') && unit === 'A')) return false;
    if (behaviours.has('amperes-only') && unit === 'W') return false;
    if (isOfTransaction && !this.#runs(transaction)) return false;
    const slot = isOfTransaction ? 'transaction' : stackLevel > 0 ? 'default' : 'failsafe';
    this.#slotOfProfile.set(id, slot);
    if (behaviours.has('ignores-profiles')) return true;
    const { evse } = this.spec;
    const [first, second] = periods;
    const limit = this.#rounded(first?.limit ?? 0, unit);
    if (slot === 'failsafe') {
      this.#store.setFailsafe({ kind: 'setFailsafe', evse, unit, limit });
    } else {
      const endsAfterS = second?.startPeriod ?? 0;
      const thenLimit = this.#rounded(second?.limit ?? limit, unit);
      const startsAtOwnMs = Date.parse(startSchedule);
      this.#store.setLease(slot, { unit, startsAtOwnMs, limit, endsAfterS, thenLimit }, clock.ownAt(nowMs));
    }
    this.#offer(nowMs);
    return true;
  }

  /** False for an unknown profile id. */
  clearProfile(id: number, nowMs: number): boolean {
    const slot = this.#slotOfProfile.get(id);
    if (slot === undefined) return false;
    this.#slotOfProfile.delete(id);
    this.#store.clear(slot);
    this.#offer(nowMs);
    return true;
  }

  /** Undefined for a charger that hides its schedule. */
  composite(durationS: number, unit: RateUnit, nowMs: number) {
    const { behaviours, clock } = this.#options;
    if (behaviours.has('hides-schedule')) return undefined;
    const shown = this.#store.composite(clock.ownAt(nowMs), durationS, unit);
    const isHidden = behaviours.has('hides-idle') && this.transaction === undefined;
    return {
      unit: shown.unit,
      startTime: new Date(shown.startsAtOwnMs).toISOString(),
      periods: isHidden
        ? [{ startPeriod: 0, limit: -1 }]
        : shown.periods.map(({ startS, limit }) => ({ startPeriod: startS, limit })),
    };
  }

  shown(nowMs: number): Shown {
    const { evse, phases: ratedPhases, dc } = this.spec;
    const { status, energyWh, currentA: drawnA, phases, socPercent } = this.#outlet;
    const isPowerOnly = this.#options.behaviours.has('meters-power');
    const ownTime = this.#options.clock.secondAt(nowMs);
    if (dc != null) {
      const dcW = dcWOfAmpere(this.#outlet.drawnA, this.spec);
      const dcA = dcW / DC_VOLTAGE_V;
      return {
        evse,
        ownTime,
        status,
        energyWh,
        powerW: dcW,
        drawnA: dcA,
        isDc: true,
        phases,
        voltagesV: [DC_VOLTAGE_V],
        socPercent,
        isPowerOnly,
      };
    }
    const powerW = drawnA * this.#outlet.voltageV * phases;
    const voltagesV = ratedPhases === 1 ? [this.#voltagesV[0]] : [...this.#voltagesV];
    const measured = { energyWh, powerW, drawnA, phases, voltagesV, socPercent: undefined, isPowerOnly };
    return { evse, ownTime, status, isDc: false, ...measured };
  }

  /** A profile for a transaction that is over or unknown applies to no other transaction. */
  #runs(transaction: TransactionRef | undefined): boolean {
    if (this.transaction === undefined) return false;
    const { ref, ownName } = this.transaction;
    return transaction === undefined || transaction === ref || transaction === ownName;
  }

  #rounded(limit: number, unit: RateUnit): number {
    if (unit === 'W') return limit;
    const { behaviours } = this.#options;
    if (behaviours.has('rounds-up')) return Math.round(limit);
    return behaviours.has('whole-amperes') ? Math.floor(limit) : limit;
  }

  #offer(nowMs: number): void {
    const { behaviours, clock } = this.#options;
    const { maxCurrentA } = this.spec;
    this.#offeredPhases = this.#outlet.phases;
    this.#outlet.offer(behaviours.has('shows-only') ? maxCurrentA : this.#offeredA(nowMs), nowMs);
    this.#changesAtMs = clock.trueAt(this.#store.nextChangeMs(clock.ownAt(nowMs)));
  }

  /** A limit in watts applies to the phases that the car uses. */
  #offeredA(nowMs: number): number {
    const { phases, maxCurrentA, dc } = this.spec;
    if (dc != null) return this.mayDrawA(nowMs);
    const isInWatts = this.#store.limitAt(this.#options.clock.ownAt(nowMs))?.unit === 'W';
    const inUse = isInWatts ? this.#outlet.phases || phases : phases;
    return Math.min(maxCurrentA, (this.mayDrawA(nowMs) * phases) / inUse);
  }

  #install(): void {
    const { evse, failsafeA: limit, voltageV, phases, dc } = this.spec;
    if (dc != null) {
      const dcW = dcWOfAmpere(limit, this.spec);
      const inAmperes = this.#options.behaviours.has('amperes-only');
      const unit = inAmperes ? 'A' : 'W';
      this.#store.setFailsafe({ kind: 'setFailsafe', evse, unit, limit: inAmperes ? dcW / MOST_DC_V : dcW });
      return;
    }
    const inWatts = this.#options.behaviours.has('watts-only');
    this.#store.setFailsafe({
      kind: 'setFailsafe',
      evse,
      unit: inWatts ? 'W' : 'A',
      limit: inWatts ? limit * voltageV * phases : limit,
    });
  }
}
