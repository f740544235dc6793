// Entitlements of one connector: the limits that its charger may keep to, also after lost, late or duplicate messages,
// and the questions to them (R1). Currents in tenths of an ampere, powers in W, times of one monotonic clock in ms.
import { MINIMUM_TENTHS_A, wattsOfTenths } from '../values/units.js';
import { type GrantTiming, type LeaseKind, longestLeaseMsOf, ttlMsOf } from './grant.js';
import {
  ALL_PHASES,
  cappedAt,
  isOnFirst,
  isWithin,
  largerOf,
  mostOnFirst,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  phasesLoaded,
  smallerOf,
} from './own-phases.js';

const NEVER = Number.POSITIVE_INFINITY;

// Repeated decreases within one lease would otherwise accumulate. The two oldest records are merged into their worst
// case.
const LIMITS_KEPT = 16;
const FALLBACKS_KEPT = 4;

/** A limit that the charger may keep to. */
export interface Entitlement {
  /** A fallback holds from its grant on, until the charger acknowledges another one. Then it is settling. */
  readonly source: 'grant' | 'restored' | 'fallback' | 'settling';
  /** Number of the grant; 0 for a limit from before the service start. */
  seq: number;
  currents: OwnPhases;
  /** Number of phases of the limit, also for a limit of 0. */
  phases: PhaseCount;
  /** Part that the charger has for certain. It excludes grants pending persistence and conservative assumptions. */
  certain: OwnPhases;
  /** End of the lease on the slowest clock, without settling time; infinite if no end is known (R41). */
  untilMs: number;
  /** The same if the charger counts the lease from its heartbeats (R4); infinite for a fallback. */
  heartbeatUntilMs: number;
  /** The limit may outlast its lease. Only the acknowledgement of a newer grant ends it. */
  isEndOpen: boolean;
  /** A settling time after the acknowledgement of a newer grant. */
  settledAtMs: number;
}

/** A grant of this service start. */
interface Given {
  /** Undefined after its end. */
  limit: Entitlement | undefined;
  readonly fallback: OwnPhases;
}

/** Ratings and fail-safe of a connector. */
export interface ConnectorDescription {
  readonly maxTenthsA: number;
  /** Fail-safe of the charger, as far as known. */
  readonly failsafeTenthsA: number;
  /** On all of its phases together. */
  readonly milliwattsPerTenth: number;
  /** On one phase, at the lowest voltage that may have applied before the service start; the current one if omitted. */
  readonly leastMilliwattsOnPhase?: number;
  /** The lowest limit above 0; 6 A (AC) if omitted. */
  readonly leastTenthsA?: number;
  readonly lease: LeaseKind;
  /** Lease length; the service default if omitted. */
  readonly ttlMs?: number;
  /**
   * The charger falls back to the `thenA` of its newest grant, also after a restart (R25). Otherwise it may fall back to
   * `failsafeTenthsA` as well (R24).
   */
  readonly keepsThen: boolean;
  /** Indices of the circuit phases for each of its phases; one phase without any if omitted. */
  readonly circuitPhasesOfPhases?: readonly (readonly number[])[];
}

/** Reservation from before the service start. */
export interface Restored {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** Lease length of those grants. */
  readonly ttlMs?: number | undefined;
  /** Phase count of those grants; all phases if omitted. */
  readonly phases?: PhaseCount | undefined;
}

export interface NewGrant {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** Receipt time of the answered heartbeat. */
  readonly receivedAtMs: number;
  /** Lease length on an accurate clock; if omitted, the connector's own. It never exceeds that. */
  readonly ttlMs?: number | undefined;
  readonly budgetW: number;
  /** The grant is the 6 A floor of a lock. It ignores the budget (R17) but never overloads a fuse (R28). */
  readonly isLockFloor?: boolean;
  /** The grant is pending persistence (R6). It leaves only with a `noteLeft` call. */
  readonly isWaiting?: boolean;
}

/** The decision is defective: a grant must not leave. No charger can cause this error. */
export class LedgerError extends Error {}

/** The connector's site, as far as its entitlements depend on it. */
export interface Site {
  /** The budget reserves fail-safes of chargers that keep nothing over a restart (R24). */
  readonly reservesOwnFailsafes: boolean;
  /** Reason that forbids a grant of `mostTenthsA`; undefined if it may leave. */
  refusalOf(connector: Entitlements, mostTenthsA: number, grant: NewGrant): string | undefined;
  /** Bound or load of the connector changed from these values. */
  onChange(connector: Entitlements, beforeW: number, before: OwnPhases): void;
}

/** A circuit phase, and the first phase of the connector that may load it. No later phase there carries more. */
interface PhaseOnCircuit {
  readonly circuitPhase: number;
  readonly phase: number;
}

/** Shared by all connectors without a known fuse, which are most. */
const NO_CIRCUIT_PHASES: readonly PhaseOnCircuit[] = [];

function firstPhasesOf(circuitPhasesOfPhases: readonly (readonly number[])[]): readonly PhaseOnCircuit[] {
  if (circuitPhasesOfPhases.every((circuitPhases) => circuitPhases.length === 0)) return NO_CIRCUIT_PHASES;
  const firstPhase = new Map<number, number>();
  for (const [phase, circuitPhases] of circuitPhasesOfPhases.entries())
    for (const circuitPhase of circuitPhases)
      if (!firstPhase.has(circuitPhase)) firstPhase.set(circuitPhase, phase);
  // All connectors list circuit phases in the same order, so the first full one in that order is reported.
  return [...firstPhase]
    .map(([circuitPhase, phase]) => ({ circuitPhase, phase }))
    .sort((a, b) => a.circuitPhase - b.circuitPhase);
}

function fallbackTo(seq: number, currents: OwnPhases): Entitlement {
  const never = { untilMs: NEVER, heartbeatUntilMs: NEVER, isEndOpen: false, settledAtMs: NEVER };
  return { source: 'fallback', seq, currents, phases: phasesLoaded(currents), certain: NO_CURRENT, ...never };
}

/**
 * `newer` makes `older` redundant: it is on as many phases, not lower, and ends no earlier than `older`, however the
 * charger counts its lease (R4). A later report of the lease does not close an open end (R41).
 */
function isRedundant(
  older: Entitlement | undefined,
  newer: Entitlement,
  untilMs: number,
  heartbeatUntilMs: number,
): boolean {
  if (older === undefined || older.phases > newer.phases) return false;
  if (older.isEndOpen && !newer.isEndOpen) return false;
  if (older.untilMs > untilMs || older.heartbeatUntilMs > heartbeatUntilMs) return false;
  return isWithin(older.currents, newer.currents);
}

/**
 * End of a lease that ends at `heartbeatUntilMs` if the charger counts from its heartbeats (R4). Any other charger ends it
 * at no known time until it acknowledges the grant (R41).
 */
function knownEndMs(lease: LeaseKind, heartbeatUntilMs: number): number {
  return lease === 'heartbeat' ? heartbeatUntilMs : NEVER;
}

function mergedOf(oldest: Entitlement, next: Entitlement): Entitlement {
  const phases = oldest.phases > next.phases ? oldest.phases : next.phases;
  const most = largerOf(oldest.currents, next.currents);
  return {
    ...next,
    currents: next.source === 'fallback' ? most : onFirst(most[0], phases),
    phases,
    certain: NO_CURRENT,
    untilMs: Math.max(oldest.untilMs, next.untilMs),
    heartbeatUntilMs: Math.max(oldest.heartbeatUntilMs, next.heartbeatUntilMs),
    isEndOpen: oldest.isEndOpen || next.isEndOpen,
    settledAtMs: Math.max(oldest.settledAtMs, next.settledAtMs),
  };
}

/** Entitlement by a grant until a newer one replaces it. */
function currentsOf({ limit, fallback }: Given): OwnPhases {
  return limit === undefined ? fallback : largerOf(fallback, limit.currents);
}

class ConnectorEntitlements {
  readonly key: string;
  maxTenthsA: number;
  /** The lowest limit above 0 (R9). */
  readonly leastTenthsA: number;
  /** Number of the connector's phases. */
  phases = 1;
  /** Number of phases that new grants are for. */
  usedPhases: PhaseCount = ALL_PHASES;
  /** On the used phases together. */
  milliwattsPerTenth = 0;
  /** On each of its phases. */
  milliwattsOnPhase = 0;
  lease: LeaseKind;
  ttlMs: number;
  keepsThen: boolean;
  /** The charger has described its fallback. */
  isDescribed = false;
  /** Indices of the circuit phases that the used phases may load. */
  circuitPhases: readonly number[] = [];
  /** Circuit phases of all its phases. */
  allCircuitPhases = NO_CIRCUIT_PHASES;
  /** The maximum is reserved at any grant: the connector does not comply (R8), or keeps no lease. */
  isWorstCase = false;
  /** Fail-safe that the charger reports. */
  reportedFailsafeTenthsA: number;
  /** Reserved for the charger's own fail-safe, because the charger keeps nothing over a restart (R24). */
  ownFailsafeTenthsA = 0;
  /** Highest possible fallback. */
  failsafes = NO_CURRENT;
  /** Highest entitlement by grants and fallbacks, without the worst case. A higher draw is non-compliant (R8). */
  entitled = NO_CURRENT;
  /** Bound now: the maximum over all records (R1), or the worst case. */
  bounds = NO_CURRENT;
  boundW = 0;
  /** Possible load: the bound, or the own fail-safe, which fuses always have capacity for (R29). */
  loads = NO_CURRENT;
  /** Number of the newest grant; 0 before the first. */
  lastSeq = 0;
  ackedSeq = 0;

  readonly #site: Site;
  readonly #settleMs: number;
  readonly #leastMilliwattsOnPhase: number;
  /** Oldest first. As a rule each grant is lower and lasts longer than the one before. */
  #records: Entitlement[];
  /** The newest grant that left. The charger's reports may be older. */
  #sent: Given | undefined;
  /** The newest grant while it is pending persistence, or if it never leaves. It gives no capacity for further grants. */
  #pending: Given | undefined;
  /** No record and not the newest sent grant ends before this. A renewal only moves ends back, and leaves it as it is. */
  #nothingEndsBeforeMs = NEVER;
  /**
   * First end of a limit; minus infinity if one may last beyond the time that others wait for it. Undefined after a
   * change of the records.
   */
  #firstEndMs: number | undefined;
  /** Limit that the charger reported without a lasting grant, on its certain phases; counts until the next grant. */
  #reported = NO_CURRENT;

  constructor(key: string, description: ConnectorDescription, timing: GrantTiming, site: Site) {
    this.key = key;
    this.maxTenthsA = description.maxTenthsA;
    this.leastTenthsA = description.leastTenthsA ?? MINIMUM_TENTHS_A;
    this.lease = description.lease;
    this.ttlMs = description.ttlMs ?? timing.ttlMs;
    this.keepsThen = description.keepsThen;
    this.reportedFailsafeTenthsA = description.failsafeTenthsA;
    this.#site = site;
    this.#settleMs = timing.settleMs;
    this.#leastMilliwattsOnPhase = description.leastMilliwattsOnPhase ?? NEVER;
    this.#records = [fallbackTo(0, onFirst(description.failsafeTenthsA, ALL_PHASES))];
    this.#wire(description.circuitPhasesOfPhases ?? [[]]);
    this.#rate(description.milliwattsPerTenth);
    this.recount();
  }

  /** All records, oldest first. */
  get records(): readonly Readonly<Entitlement>[] {
    return this.#records;
  }

  /** Bound now on any phase. */
  get boundTenthsA(): number {
    return this.bounds[0];
  }

  /** `entitled` on any phase. */
  get entitledTenthsA(): number {
    return this.entitled[0];
  }

  /** Highest possible fallback on any phase. */
  get failsafeTenthsA(): number {
    return this.failsafes[0];
  }

  /** Budget reservation at any limit: the charger falls back to it on its own (R24). A pause frees none of it. */
  get alwaysReservedTenthsA(): number {
    return Math.min(this.ownFailsafeTenthsA, this.maxTenthsA);
  }

  /** The same for fuses, which always have capacity for the charger's own fail-safe, also beyond the budget (R29). */
  get alwaysCarriedTenthsA(): number {
    return this.keepsThen ? 0 : Math.min(this.reportedFailsafeTenthsA, this.maxTenthsA);
  }

  /** Number of phases that grants are for, at most the connector's own. */
  get grantedPhases(): PhaseCount {
    return this.usedPhases < this.phases ? this.usedPhases : (this.phases as PhaseCount);
  }

  /** Power of these currents, W, rounded up. */
  wattsOn(currents: OwnPhases, milliwattsOnPhase = this.milliwattsOnPhase): number {
    let tenthsA = currents[0];
    for (let phase = 1; phase < this.phases; phase++) tenthsA += currents[phase] ?? 0;
    return wattsOfTenths(tenthsA, milliwattsOnPhase);
  }

  /** Bound from `atMs` on without a new grant. Limits that end before that do not count. */
  boundsFrom(atMs: number): OwnPhases {
    if (this.#isBoundAt(atMs)) return this.bounds;
    const lasting = this.#mostOf((record) => this.#endOf(record) > atMs);
    return cappedAt(largerOf(this.failsafes, lasting), this.maxTenthsA);
  }

  /** The same in W. */
  boundWFrom(atMs: number): number {
    return this.#isBoundAt(atMs) ? this.boundW : this.wattsOn(this.boundsFrom(atMs));
  }

  /** No limit ends until then. */
  #isBoundAt(atMs: number): boolean {
    return this.isWorstCase || atMs < this.#nothingEndsBeforeMs;
  }

  /** Load per phase from `atMs` on without a new grant. */
  loadsFrom(atMs: number): OwnPhases {
    return this.#loadsAt(this.boundsFrom(atMs));
  }

  /**
   * Certain now: the part of the bound that is in force in any case. A grant within that part adds nothing (R2). Any
   * other adds to the grants on other phases (R32).
   */
  get certain(): OwnPhases {
    return smallerOf(this.bounds, largerOf(this.#lasting(), this.#certainRecords()));
  }

  /** The same from `atMs` on without a new grant. */
  certainFrom(atMs: number): OwnPhases {
    return smallerOf(this.boundsFrom(atMs), largerOf(this.#lasting(atMs), this.#certainRecords(atMs)));
  }

  /** Highest current on all used phases that a grant may have by the newest sent grant alone (R2). */
  get lastingTenthsA(): number {
    return mostOnFirst(this.#lasting(), this.usedPhases);
  }

  /**
   * Power that is expected to last after all expiring grants have ended, W. Before the first grant of this service
   * start, that includes the limit that the charger reports from an earlier owner. Grants from then counted at a
   * voltage that is now unknown, and at least at the nominal one (R11). The power that they took must not be
   * overestimated.
   */
  get expectedW(): number {
    const lasting = this.#lasting();
    if (this.lastSeq > 0) return this.wattsOn(lasting);
    const milliwattsOnPhase = Math.min(this.#leastMilliwattsOnPhase, this.milliwattsOnPhase);
    const held = cappedAt(this.#certainRecords(), this.maxTenthsA);
    return this.wattsOn(largerOf(lasting, held), milliwattsOnPhase);
  }

  /**
   * No grant of this service lasts: none was decided, its lease is over, or the charger restarted. The charger's current
   * limit is its own, or comes from an earlier owner.
   */
  get isWithoutGrant(): boolean {
    return this.#pending === undefined && this.isWithoutSentGrant;
  }

  /** No sent grant of this service lasts. A withdrawn grant never left, so it does not change the charger's limit. */
  get isWithoutSentGrant(): boolean {
    return this.#sent?.limit === undefined;
  }

  /**
   * The charger's own limit on all used phases while no grant of this service lasts, else 0. A grant within it adds no
   * load (R44).
   */
  get hadTenthsA(): number {
    return this.isWithoutGrant ? mostOnFirst(smallerOf(this.bounds, this.#reported), this.grantedPhases) : 0;
  }

  /** Entitlement by the newest sent grant on the used phases. */
  get grantedTenthsA(): number {
    return this.#sent === undefined ? 0 : mostOnFirst(currentsOf(this.#sent), this.usedPhases);
  }

  /**
   * Fallback by the newest sent grant, or by the row on disk before the first grant. The charger's own reported
   * fail-safe does not count: its next report may differ, while a sent fallback lasts.
   */
  get grantedThenTenthsA(): number {
    if (this.#sent !== undefined) return mostOnFirst(this.#sent.fallback, this.usedPhases);
    return this.lastSeq === 0 && this.keepsThen ? this.failsafeTenthsA : 0;
  }

  /** Latest end of the newest sent grant's lease, without settling time; minus infinity if none lasts. */
  get leaseEndMs(): number {
    return this.#sent?.limit?.untilMs ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Highest limit or fallback on any phase by grant `fromSeq` and later ones. Grant 1 is the first since the service
   * start, so rows from disk do not count: for a non-compliant connector that row is its maximum, which was reserved
   * and never granted (R8).
   */
  grantedSinceTenthsA(fromSeq = 1): number {
    const [mostTenthsA] = largerOf(
      this.failsafes,
      this.#mostOf(({ seq }) => seq >= fromSeq),
    );
    return Math.min(mostTenthsA, this.maxTenthsA);
  }

  /**
   * Power for the connector's minimum together with all limits possibly in force, W (R32). Those limits may be for fewer
   * phases and then do not cover the minimum. If they cover it, only the minimum counts, because it adds nothing.
   */
  get leastBesideW(): number {
    const least = onFirst(this.leastTenthsA, this.grantedPhases);
    return this.wattsOn(isWithin(least, this.bounds) ? least : largerOf(this.bounds, least));
  }

  /**
   * Older limits may still allow more than the newest grant and its fallback (R44). The newest one counts up to
   * `mostTenthsA`.
   */
  mayDrawBeyond(mostTenthsA: number, nowMs: number): boolean {
    const newest = this.#pending ?? this.#sent;
    const kept = newest && largerOf(newest.fallback, cappedAt(currentsOf(newest), mostTenthsA));
    return !isWithin(cappedAt(this.#awaited(nowMs), this.maxTenthsA), kept ?? NO_CURRENT);
  }

  /** Highest draw by limits and fallback, W. A limit without a known end counts for no longer than a lease (R44). */
  awaitedW(nowMs: number): number {
    return this.wattsOn(cappedAt(largerOf(this.failsafes, this.#awaited(nowMs)), this.maxTenthsA));
  }

  /** Highest limit without a known end that has outlasted a lease, W (R41). */
  unendingW(nowMs: number): number {
    if (this.#firstEnd() > Number.NEGATIVE_INFINITY) return 0;
    const unending = this.#mostOf(
      (record) => this.#endOf(record) === NEVER && this.#awaitedUntilMs(record) <= nowMs,
    );
    return this.wattsOn(cappedAt(unending, this.maxTenthsA));
  }

  /** The pending grant is within the sent one, as far as that lasts at `nowMs`. */
  addsNothing(nowMs: number): boolean {
    return this.#pending === undefined || isWithin(currentsOf(this.#pending), this.#lasting(nowMs));
  }

  /** The lease of the pending grant has ended: nothing is reserved for it any more, so it must not leave (R6). */
  isPendingOver(nowMs: number): boolean {
    if (this.#pending === undefined) return false;
    const { limit } = this.#pending;
    return limit === undefined || this.#endOf(limit) <= nowMs;
  }

  /** A limit has no known end (R41). */
  get isEndless(): boolean {
    for (const record of this.#records)
      if (record.source !== 'fallback' && this.#endOf(record) === NEVER) return true;
    return false;
  }

  /**
   * Next time after `nowMs` at which `release`, `awaitedW`, `unendingW` or `mayDrawBeyond` may change without a message;
   * infinite if never.
   */
  nextChangeMs(nowMs: number): number {
    let nextMs = this.#firstEnd();
    if (nextMs > Number.NEGATIVE_INFINITY) return nextMs;
    nextMs = NEVER;
    for (const record of this.#records) {
      const awaitedUntilMs = this.#awaitedUntilMs(record);
      nextMs = Math.min(nextMs, awaitedUntilMs > nowMs ? awaitedUntilMs : this.#endOf(record));
    }
    return nextMs;
  }

  /** Lease length, ms, that from `nowMs` on covers all limits possibly in force and every new grant. */
  coveringTtlMs(nowMs: number): number {
    let longestMs = this.ttlMs;
    for (const { source, heartbeatUntilMs } of this.#records)
      if (source !== 'fallback') longestMs = Math.max(longestMs, ttlMsOf(heartbeatUntilMs - nowMs));
    return longestMs;
  }

  /** Changes voltage, lease, maximum, own fail-safe or circuit phases. `nowMs` is the time of the charger's report. */
  describe(description: Partial<ConnectorDescription>, nowMs = NEVER): void {
    const {
      maxTenthsA,
      circuitPhasesOfPhases,
      milliwattsPerTenth,
      lease,
      ttlMs,
      keepsThen,
      failsafeTenthsA,
    } = description;
    if (maxTenthsA !== undefined) this.maxTenthsA = maxTenthsA;
    if (circuitPhasesOfPhases !== undefined) {
      const { loads } = this;
      this.loads = NO_CURRENT;
      this.#site.onChange(this, this.boundW, loads);
      this.#wire(circuitPhasesOfPhases);
    }
    if (milliwattsPerTenth !== undefined) this.#rate(milliwattsPerTenth);
    const isFirstReport = keepsThen !== undefined && !this.isDescribed;
    if (lease !== undefined) this.#countBy(lease, isFirstReport, nowMs);
    if (ttlMs !== undefined) this.ttlMs = ttlMs;
    if (keepsThen !== undefined) this.keepsThen = keepsThen;
    this.isDescribed ||= keepsThen !== undefined;
    if (failsafeTenthsA !== undefined) {
      this.reportedFailsafeTenthsA = failsafeTenthsA;
      // A charger that keeps `thenA` may have kept more than this ledger has recorded (R25).
      if (this.keepsThen) this.#raiseFallback(failsafeTenthsA);
    }
    this.recount();
  }

  /** The charger did not confirm in time that it keeps `thenA`, so its own fail-safe is reserved (R24). */
  reserveOwnFailsafe(): void {
    this.keepsThen = false;
    this.recount();
  }

  /** Begins or ends the reservation of the maximum at any grant (R8). */
  setWorstCase(isWorstCase: boolean): void {
    this.isWorstCase = isWorstCase;
    this.recount();
  }

  /**
   * The charger restarted and holds no grant. Its grants last only as fallbacks, if it keeps these (R25). Otherwise it
   * is at its own fail-safe until it takes a grant (R24). Limits possibly in force still count.
   */
  restarted(): void {
    if (this.keepsThen) {
      if (this.#sent !== undefined) this.#sent.limit = undefined;
      if (this.#pending !== undefined) this.#pending.limit = undefined;
      return;
    }
    this.#sent = undefined;
    this.#pending = undefined;
    this.#raiseFallback(this.reportedFailsafeTenthsA);
    this.recount();
  }

  /** Future grants are for the first `phases` phases. Earlier ones keep their phases (R31, R37). */
  useOn(phases: PhaseCount): void {
    this.usedPhases = this.#countOf(phases);
    this.milliwattsPerTenth = this.milliwattsOnPhase * Math.min(phases, this.phases);
    this.circuitPhases = this.allCircuitPhases
      .filter(({ phase }) => phase < phases)
      .map(({ circuitPhase }) => circuitPhase);
  }

  /**
   * The draw shows a phase outside the grant, so every limit possibly in force counts on all phases (R34). These limits
   * give no capacity for new grants, because a charger that obeys may not hold that much on all phases.
   */
  widen(): void {
    for (const record of this.#records) {
      record.currents = onFirst(record.currents[0], ALL_PHASES);
      record.phases = ALL_PHASES;
    }
    this.#sent = undefined;
    this.#pending = undefined;
    this.useOn(ALL_PHASES);
    this.recount();
  }

  /** Future grants get numbers above `seq`. */
  continueAfter(seq: number): void {
    this.lastSeq = seq;
    this.ackedSeq = seq;
  }

  /**
   * Restores the reservation on disk at the service start (R6). It may be in force from `nowMs` for settling time and
   * lease. Until the charger describes itself, the earlier owner's record of `keepsThen` applies.
   */
  restore({ limitTenthsA, thenTenthsA, ttlMs, phases: known = ALL_PHASES }: Restored, nowMs: number): void {
    const phases = this.#countOf(known);
    this.#add('restored', 0, { limitTenthsA, receivedAtMs: nowMs, ttlMs }, phases);
    // A reservation below the own fail-safe proves that the charger had reported `keepsThen`.
    const leastTenthsA = phases < this.phases ? 0 : Math.max(limitTenthsA, thenTenthsA);
    if (leastTenthsA < this.reportedFailsafeTenthsA && !this.isDescribed) this.keepsThen = true;
    this.#records = this.#records.filter(({ source }) => source !== 'fallback');
    this.#records.push(fallbackTo(0, onFirst(thenTenthsA, phases)));
    this.recount();
  }

  /**
   * Records the limit that the charger reports from a grant before the service start; 0 for none. The disk may hold
   * more.
   * @param on the certain part of the limit, at most `tenthsA`, if the grant may be for fewer phases than on disk
   */
  noteHeld(tenthsA: number, on: OwnPhases = onFirst(tenthsA, ALL_PHASES)): void {
    for (const record of this.#records)
      if (record.source === 'restored')
        record.certain = smallerOf(record.certain, record.phases > 1 ? on : onFirst(tenthsA, ALL_PHASES));
  }

  /** Records the charger's own limit while no grant of this service lasts, on its certain phases. */
  noteAt(currents: OwnPhases): void {
    this.#reported = currents;
  }

  /**
   * Records a grant before it leaves and returns its `seq`.
   * @throws LedgerError if the sum of all bounds would exceed the budget or a circuit phase. Renewals and decreases are
   * exempt (R2).
   */
  grant(grant: NewGrant): number {
    const { limitTenthsA, thenTenthsA, isWaiting = false } = grant;
    const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
    const isWithinMaximum = mostTenthsA <= this.maxTenthsA;
    // A renewal needs no check and changes no bound.
    if (!isWaiting && isWithinMaximum && this.#renew(grant)) return this.lastSeq;
    const isMore = mostTenthsA > this.lastingTenthsA;
    const refusal = isMore ? this.#site.refusalOf(this, mostTenthsA, grant) : undefined;
    if (refusal !== undefined) throw new LedgerError(`${this.key}: ${refusal}`);
    if (limitTenthsA < 0 || !isWithinMaximum)
      throw new LedgerError(`${this.key}: ${mostTenthsA} is outside 0 to ${this.maxTenthsA} tenths of A`);
    const seq = ++this.lastSeq;
    const limit = this.#add('grant', seq, grant, this.usedPhases);
    const given = { limit, fallback: onFirst(thenTenthsA, this.usedPhases) };
    if (!isWaiting) this.#sent = given;
    this.#pending = isWaiting ? given : undefined;
    this.#fallBackTo(seq, thenTenthsA);
    this.#reported = NO_CURRENT;
    this.recount();
    return seq;
  }

  /** The pending grant `seq` has left. */
  noteLeft(seq: number): void {
    if (this.#pending === undefined || seq !== this.lastSeq) return;
    const { limit } = this.#pending;
    if (limit !== undefined) limit.certain = limit.currents;
    this.#sent = this.#pending;
    this.#pending = undefined;
    this.#findNextEnd();
  }

  /** The charger keeps to grant `seq`, as of `nowMs`. True if that releases a larger entitlement (R1). */
  acknowledge(seq: number, nowMs: number): boolean {
    if (seq <= this.ackedSeq || seq > this.lastSeq) return false;
    this.ackedSeq = seq;
    let isReleased = false;
    let isEndless = false;
    let fallbacks = 0;
    for (const record of this.#records) {
      if (record.source === 'fallback') {
        if (record.seq <= seq) fallbacks++;
        continue;
      }
      if (record.seq < seq) {
        record.settledAtMs = Math.min(record.settledAtMs, nowMs + this.#settleMs);
        isReleased = true;
      }
      isEndless ||= this.#endOf(record) === NEVER;
    }
    // A pending grant may have replaced the sent one in the records.
    const sent = this.#sent?.limit;
    const isSentOver = sent !== undefined && sent.seq < seq;
    if (isSentOver) sent.settledAtMs = Math.min(sent.settledAtMs, nowMs + this.#settleMs);
    if (isEndless) this.#endBy(seq, nowMs + longestLeaseMsOf(this));
    // As a rule all grants have the same fallback.
    if (fallbacks > 1 && this.#leaveFallbacks(seq, nowMs)) isReleased = true;
    if (isEndless || isReleased || isSentOver) this.#findNextEnd();
    return isReleased;
  }

  /** Earlier limits may outlast their leases, also after later reports about leases (R41). */
  openEnd(): void {
    this.#firstEndMs = undefined;
    for (const record of this.#recordsAndSent()) {
      record.untilMs = NEVER;
      record.isEndOpen = true;
    }
  }

  /** Removes all limits that can no longer be in force. True if the bound fell. */
  release(nowMs: number): boolean {
    if (nowMs < this.#nothingEndsBeforeMs) return false;
    const limit = this.#sent?.limit;
    if (this.#sent !== undefined && limit !== undefined && this.#endOf(limit) <= nowMs)
      this.#sent.limit = undefined;
    if (this.#pending !== undefined && this.isPendingOver(nowMs)) this.#pending.limit = undefined;
    this.#findNextEnd();
    if (nowMs < this.#nothingEndsBeforeMs) return false;
    this.#records = this.#records.filter((record) => this.#endOf(record) > nowMs);
    this.#findNextEnd();
    const beforeW = this.boundW;
    this.recount();
    return this.boundW < beforeW;
  }

  /** Recalculates the bounds and the load per phase, after a change of the records or of the site (R1). */
  recount(): void {
    const { boundW: beforeW, loads: before, maxTenthsA } = this;
    this.ownFailsafeTenthsA = this.#ownToReserveTenthsA();
    const fallbacks = this.#mostOf(({ source }) => source === 'fallback');
    this.failsafes = largerOf(onFirst(this.ownFailsafeTenthsA, ALL_PHASES), fallbacks);
    this.entitled = cappedAt(largerOf(this.failsafes, this.#mostOf()), maxTenthsA);
    this.bounds = this.isWorstCase ? onFirst(maxTenthsA, ALL_PHASES) : this.entitled;
    this.boundW = this.wattsOn(this.bounds);
    this.loads = this.#loadsAt(this.bounds);
    this.#site.onChange(this, beforeW, before);
  }

  /** Finds the next end anew, because ends may have moved forward. */
  #findNextEnd(): void {
    this.#firstEndMs = undefined;
    const limit = this.#sent?.limit;
    let nextMs = limit === undefined ? NEVER : this.#endOf(limit);
    for (const record of this.#records) nextMs = Math.min(nextMs, this.#endOf(record));
    this.#nothingEndsBeforeMs = nextMs;
  }

  #firstEnd(): number {
    if (this.#firstEndMs !== undefined) return this.#firstEndMs;
    let firstMs = NEVER;
    for (const record of this.#records) {
      if (record.source === 'fallback') continue;
      const endMs = this.#endOf(record);
      firstMs = Math.min(firstMs, this.#awaitedUntilMs(record) < endMs ? Number.NEGATIVE_INFINITY : endMs);
    }
    this.#firstEndMs = firstMs;
    return firstMs;
  }

  /**
   * Fail-safe to reserve for a charger that keeps nothing over a restart (R24). One that keeps `thenA` has none: a later
   * grant may have replaced the reported value, and the fallbacks count both.
   */
  #ownToReserveTenthsA(): number {
    return this.keepsThen || !this.#site.reservesOwnFailsafes ? 0 : this.reportedFailsafeTenthsA;
  }

  #loadsAt(bounds: OwnPhases): OwnPhases {
    return largerOf(bounds, onFirst(this.alwaysCarriedTenthsA, ALL_PHASES));
  }

  /** Highest current of any such record on each phase. */
  #mostOf(isMeant?: (record: Entitlement) => boolean): OwnPhases {
    let most = NO_CURRENT;
    for (const record of this.#records)
      if (isMeant === undefined || isMeant(record)) most = largerOf(most, record.currents);
    return most;
  }

  /** The same for limits worth waiting for at `nowMs`. */
  #awaited(nowMs: number): OwnPhases {
    return this.#mostOf((record) => record.source !== 'fallback' && this.#awaitedUntilMs(record) > nowMs);
  }

  /** @param atMs if omitted, all records count */
  #certainRecords(atMs = Number.NEGATIVE_INFINITY): OwnPhases {
    let most = NO_CURRENT;
    for (const record of this.#records)
      if (!isWithin(record.certain, most) && this.#endOf(record) > atMs)
        most = largerOf(most, record.certain);
    return most;
  }

  /**
   * Entitlement by the newest sent grant after all older ones have ended. A larger older grant gives no capacity for a
   * new one. If reservations exceed the budget, the new grant would extend the older one by a whole lease (R2).
   * @param nowMs if omitted, the grant lasts as of the last `release`
   */
  #lasting(nowMs = Number.NEGATIVE_INFINITY): OwnPhases {
    if (this.isWorstCase) return onFirst(this.maxTenthsA, ALL_PHASES);
    // Before it describes itself, a charger may keep a `thenA` below its own fail-safe.
    const own = onFirst(this.isDescribed ? this.ownFailsafeTenthsA : 0, ALL_PHASES);
    // Before the first grant only the row on disk is known, and that grant may have ended long ago.
    if (this.#sent === undefined) return cappedAt(own, this.maxTenthsA);
    const { limit, fallback } = this.#sent;
    const isOver = limit !== undefined && this.#endOf(limit) <= nowMs;
    return largerOf(own, isOver ? fallback : currentsOf(this.#sent));
  }

  /** End of the record with settling time (R1); infinite if unknown. A charger without a lease ends none (R41). */
  #endOf({ untilMs, settledAtMs }: Entitlement): number {
    return this.lease === 'none' ? settledAtMs : Math.min(untilMs + this.#settleMs, settledAtMs);
  }

  /** End of the time that a lock waits for the record (R44). */
  #awaitedUntilMs(record: Entitlement): number {
    return Math.min(this.#endOf(record), record.heartbeatUntilMs + this.#settleMs);
  }

  /** Assigns the connector's phases to circuit phases. */
  #wire(circuitPhasesOfPhases: readonly (readonly number[])[]): void {
    this.allCircuitPhases = firstPhasesOf(circuitPhasesOfPhases);
    this.phases = circuitPhasesOfPhases.length;
    this.useOn(this.usedPhases);
  }

  /** Sets the power of a tenth of an ampere on all phases. */
  #rate(milliwattsPerTenth: number): void {
    this.milliwattsOnPhase = milliwattsPerTenth / this.phases;
    this.useOn(this.usedPhases);
  }

  /** A count of at least all the connector's phases becomes `ALL_PHASES`. */
  #countOf(phases: PhaseCount): PhaseCount {
    return phases < this.phases ? phases : ALL_PHASES;
  }

  /** A pending grant may have replaced the sent one in the records, and both have ends. */
  #recordsAndSent(): readonly Entitlement[] {
    const sent = this.#sent?.limit;
    return sent === undefined ? this.#records : [...this.#records, sent];
  }

  /** Place of the newest record before place `end`, without fallbacks; -1 if there is none. */
  #limitBefore(end: number): number {
    let place = end - 1;
    while (place >= 0 && this.#records[place]?.source === 'fallback') place--;
    return place;
  }

  /** Adds a newest limit. Earlier ones that it exceeds and outlasts are redundant. */
  #add(
    source: 'grant' | 'restored',
    seq: number,
    {
      limitTenthsA,
      receivedAtMs,
      ttlMs = this.ttlMs,
      isWaiting = false,
    }: Omit<NewGrant, 'thenTenthsA' | 'budgetW'>,
    phases: PhaseCount,
  ): Entitlement {
    const currents = onFirst(limitTenthsA, phases);
    const heartbeatUntilMs = receivedAtMs + longestLeaseMsOf({ ttlMs });
    const added: Entitlement = {
      source,
      seq,
      currents,
      phases,
      certain: isWaiting ? NO_CURRENT : currents,
      untilMs: knownEndMs(this.lease, heartbeatUntilMs),
      heartbeatUntilMs,
      isEndOpen: false,
      settledAtMs: NEVER,
    };
    let place = this.#limitBefore(this.#records.length);
    while (place >= 0 && isRedundant(this.#records[place], added, added.untilMs, heartbeatUntilMs)) {
      this.#records.splice(place, 1);
      place = this.#limitBefore(place);
    }
    this.#records.push(added);
    this.#firstEndMs = undefined;
    this.#nothingEndsBeforeMs = Math.min(this.#nothingEndsBeforeMs, this.#endOf(added));
    this.#mergeOldest(({ source }) => source !== 'fallback', LIMITS_KEPT);
    return added;
  }

  /**
   * Extends the newest grant under the next number without new objects; most grants are such renewals. False, without
   * any change, if the newest grant differs, is pending persistence, is over, or would make others redundant.
   */
  #renew({ limitTenthsA, thenTenthsA, receivedAtMs, ttlMs = this.ttlMs }: NewGrant): boolean {
    if (this.#sent?.limit === undefined || this.#pending !== undefined) return false;
    const { limit, fallback } = this.#sent;
    const { phases } = limit;
    if (limit.currents[0] !== limitTenthsA || phases !== this.usedPhases) return false;
    if (!isOnFirst(fallback, thenTenthsA, phases)) return false;
    const heartbeatUntilMs = receivedAtMs + longestLeaseMsOf({ ttlMs });
    const untilMs = knownEndMs(this.lease, heartbeatUntilMs);
    const place = this.#limitBefore(this.#records.length);
    if (this.#records[place] !== limit) return false;
    if (limit.untilMs > untilMs || limit.heartbeatUntilMs > heartbeatUntilMs) return false;
    const before = this.#limitBefore(place);
    if (before >= 0 && isRedundant(this.#records[before], limit, untilMs, heartbeatUntilMs)) return false;
    const seq = ++this.lastSeq;
    this.#firstEndMs = undefined;
    limit.seq = seq;
    limit.untilMs = untilMs;
    limit.heartbeatUntilMs = heartbeatUntilMs;
    limit.settledAtMs = NEVER;
    this.#fallBackTo(seq, thenTenthsA);
    return true;
  }

  /** Fallback of the newest grant up to `seq`. */
  #fallbackOf(seq: number): Entitlement | undefined {
    for (let place = this.#records.length - 1; place >= 0; place--) {
      const record = this.#records[place];
      if (record?.source === 'fallback' && record.seq <= seq) return record;
    }
    return undefined;
  }

  /**
   * Adds the fallback of the newest grant. Earlier ones count until a grant is acknowledged, because the charger may
   * restart with them (R25).
   */
  #fallBackTo(seq: number, tenthsA: number): void {
    const newest = this.#fallbackOf(seq);
    if (newest !== undefined && isOnFirst(newest.currents, tenthsA, this.usedPhases)) return;
    this.#records.push(fallbackTo(seq, onFirst(tenthsA, this.usedPhases)));
    this.#mergeOldest(({ source }) => source === 'fallback', FALLBACKS_KEPT);
  }

  /** The charger may be at its own fail-safe, regardless of acknowledgements. */
  #raiseFallback(tenthsA: number): void {
    const oldest = this.#records.find(({ source }) => source === 'fallback');
    if (oldest !== undefined) oldest.currents = largerOf(oldest.currents, onFirst(tenthsA, ALL_PHASES));
  }

  /** Grant `seq` ends the fallbacks before its own. The charger may be at one, and takes the settling time to leave it. */
  #leaveFallbacks(seq: number, nowMs: number): boolean {
    const taken = this.#fallbackOf(seq);
    if (taken === undefined) return false;
    let left = NO_CURRENT;
    for (const { source, seq: fromSeq, currents } of this.#records)
      if (source === 'fallback' && fromSeq < taken.seq) left = largerOf(left, currents);
    this.#records = this.#records.filter((each) => each.source !== 'fallback' || each.seq >= taken.seq);
    if (isWithin(left, taken.currents)) return false;
    const ends = { untilMs: nowMs, heartbeatUntilMs: nowMs, settledAtMs: nowMs + this.#settleMs };
    this.#records.unshift({ ...fallbackTo(0, left), source: 'settling', ...ends });
    this.#mergeOldest(({ source }) => source !== 'fallback', LIMITS_KEPT);
    this.recount();
    return true;
  }

  /** Bounds the memory: beyond `most` such records, the two oldest become one. */
  #mergeOldest(isMeant: (record: Entitlement) => boolean, most: number): void {
    if (this.#records.length <= most) return;
    const alike = this.#records.filter(isMeant);
    const [oldest, next] = alike;
    if (alike.length <= most || oldest === undefined || next === undefined) return;
    this.#records[this.#records.indexOf(next)] = mergedOf(oldest, next);
    this.#records.splice(this.#records.indexOf(oldest), 1);
  }

  /**
   * Sets the lease kind. If a charger assumed to count from its heartbeats counts from receipt, its earlier grants end
   * at no known time (R41). If it keeps leases again, it may have held expired grants until now, and settles.
   */
  #countBy(lease: LeaseKind, isFirstReport: boolean, nowMs: number): void {
    // Before the charger's first report its lease kind was an assumption. Only `none` was the charger's own report
    // before the service start.
    const didCount = isFirstReport && lease === 'heartbeat' && this.lease !== 'none';
    for (const record of this.#recordsAndSent()) {
      if (this.lease !== lease && lease === 'receipt') record.untilMs = NEVER;
      if (didCount && !record.isEndOpen) record.untilMs = record.heartbeatUntilMs;
      if (this.lease === 'none' && lease !== 'none') record.untilMs = Math.max(record.untilMs, nowMs);
    }
    this.lease = lease;
    this.#findNextEnd();
  }

  /**
   * The lease of grant `seq` ends at `endsAtMs` at the latest, because it began at the latest with its acknowledgement.
   * That end applies once the charger keeps leases (R41).
   */
  #endBy(seq: number, endsAtMs: number): void {
    for (const record of this.#recordsAndSent())
      if (record.source === 'grant' && record.seq === seq && !record.isEndOpen)
        record.untilMs = Math.min(record.untilMs, endsAtMs);
  }
}

/** Entitlements of one connector. Its properties are read-only, and each method keeps the sums of the site. */
export type Entitlements = Readonly<ConnectorEntitlements>;

/** Entitlements of a new connector at `site`: its fail-safe, until it is granted or restored more (R7). */
export function createEntitlements(
  key: string,
  description: ConnectorDescription,
  timing: GrantTiming,
  site: Site,
): Entitlements {
  return new ConnectorEntitlements(key, description, timing, site);
}
