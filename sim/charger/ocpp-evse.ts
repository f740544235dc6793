// One EVSE of a virtual OCPP charger: its outlet with the cars, its charging profiles and its running transaction.
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import type { RateUnit } from '../../machines/session/lease-schedule.js';
import type { CarNote, PerPhase } from './car.js';
import type { OcppOwnClock } from './ocpp-own-clock.js';
import type { OcppBehaviour } from './ocpp-traits.js';
import type { SetProfile, Shown } from './ocpp-words.js';
import { createOutlet, type Outlet } from './outlet.js';
import { ProfileStore } from './profile-store.js';
import { nextCarsOf, type VirtualConnectorSpec, type Visitors } from './virtual-connector.js';

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
    this.#outlet = createOutlet({
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

  /** Limit of its profiles, A on each phase of the connector; its maximum if no profile applies. */
  mayDrawA(nowMs: number): number {
    const { voltageV, phases, maxCurrentA } = this.spec;
    const allowed = this.#store.limitAt(this.#options.clock.ownAt(nowMs));
    if (allowed === undefined) return maxCurrentA;
    const { unit, limit } = allowed;
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
    const { evse, phases: ratedPhases } = this.spec;
    const { status, energyWh, currentA: drawnA, phases } = this.#outlet;
    const powerW = drawnA * this.#outlet.voltageV * phases;
    const ownTime = this.#options.clock.secondAt(nowMs);
    const voltagesV = ratedPhases === 1 ? [this.#voltagesV[0]] : [...this.#voltagesV];
    return { evse, ownTime, status, energyWh, powerW, drawnA, phases, voltagesV };
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
    const { phases, maxCurrentA } = this.spec;
    const isInWatts = this.#store.limitAt(this.#options.clock.ownAt(nowMs))?.unit === 'W';
    const inUse = isInWatts ? this.#outlet.phases || phases : phases;
    return Math.min(maxCurrentA, (this.mayDrawA(nowMs) * phases) / inUse);
  }

  #install(): void {
    const { evse, failsafeA: limit, voltageV, phases } = this.spec;
    const inWatts = this.#options.behaviours.has('watts-only');
    this.#store.setFailsafe({
      kind: 'setFailsafe',
      evse,
      unit: inWatts ? 'W' : 'A',
      limit: inWatts ? limit * voltageV * phases : limit,
    });
  }
}
