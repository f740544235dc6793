// Writable ledger account of one connector, and the calculation of its bounds.
import { MINIMUM_TENTHS_A, wattsOfTenths } from '../values/units.js';
import type { Writable } from '../values/writable.js';
import { type GrantTiming, type LeaseKind, longestLeaseMsOf } from './grant.js';
import {
  type AccountSpec,
  alwaysCarriedTenthsA,
  firstPhasesOf,
  type LedgerAccount,
} from './ledger-account.js';
import { Fallbacks, type OutstandingGrant, OutstandingGrants } from './outstanding-grants.js';
import {
  ALL_PHASES,
  cappedAt,
  isOnFirst,
  largerOf,
  mostOnFirst,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  smallerOf,
} from './own-phases.js';

/** A sent grant; `outstandingGrant` is undefined after its end. */
interface SentGrant {
  seq: number;
  outstandingGrant: OutstandingGrant | undefined;
  readonly fallsBackTo: OwnPhases;
}

/** Ledger account with the fields that only the ledger uses. */
export interface Entry extends Writable<LedgerAccount> {
  readonly outstanding: OutstandingGrants;
  /** The newest grant that left. The charger's reports may be older. */
  sent: SentGrant | undefined;
  /**
   * The newest grant while it is pending persistence, or if it never leaves. It gives no capacity for further grants.
   */
  pendingPersistence: SentGrant | undefined;
  /** Limit that the charger holds by a grant before the service start; counts until the first grant. */
  heldTenthsA: number;
  /** Limit that the charger reported without a lasting grant, on its certain phases; counts until the next grant. */
  at: OwnPhases;
  /** Lowest power that a tenth of an ampere on one phase may have counted with before the service start. */
  readonly leastMilliwattsOnPhase: number;
  fallbacks: Fallbacks;
}

export function createEntry(key: string, spec: AccountSpec, { ttlMs, settleMs }: GrantTiming): Entry {
  const entry: Entry = {
    key,
    maxTenthsA: spec.maxTenthsA,
    phases: 1,
    usedPhases: ALL_PHASES,
    milliwattsPerTenth: 0,
    milliwattsOnPhase: 0,
    leastTenthsA: spec.leastTenthsA ?? MINIMUM_TENTHS_A,
    lease: spec.lease,
    ttlMs: spec.ttlMs ?? ttlMs,
    keepsThen: spec.keepsThen,
    circuitPhases: [],
    allCircuitPhases: [],
    isWorstCase: false,
    bounds: NO_CURRENT,
    entitled: NO_CURRENT,
    loads: NO_CURRENT,
    failsafes: NO_CURRENT,
    boundTenthsA: 0,
    entitledTenthsA: 0,
    boundW: 0,
    failsafeTenthsA: 0,
    lastSeq: 0,
    ackedSeq: 0,
    ownFailsafeTenthsA: 0,
    reportedFailsafeTenthsA: spec.failsafeTenthsA,
    outstanding: new OutstandingGrants(settleMs, spec.lease !== 'none'),
    sent: undefined,
    pendingPersistence: undefined,
    heldTenthsA: 0,
    at: NO_CURRENT,
    leastMilliwattsOnPhase: spec.leastMilliwattsOnPhase ?? Number.POSITIVE_INFINITY,
    isDescribed: false,
    fallbacks: new Fallbacks(onFirst(spec.failsafeTenthsA, ALL_PHASES)),
  };
  wire(entry, spec.circuitPhasesOfPhases ?? [[]]);
  rate(entry, spec.milliwattsPerTenth);
  return entry;
}

/** Assigns the connector's phases to circuit phases. */
export function wire(entry: Entry, circuitPhasesOfPhases: readonly (readonly number[])[]): void {
  entry.allCircuitPhases = firstPhasesOf(circuitPhasesOfPhases);
  entry.phases = circuitPhasesOfPhases.length;
  use(entry, entry.usedPhases);
}

/** Sets the power of a tenth of an ampere on all phases. */
export function rate(entry: Entry, milliwattsPerTenth: number): void {
  entry.milliwattsOnPhase = milliwattsPerTenth / entry.phases;
  use(entry, entry.usedPhases);
}

/** A count of at least all the connector's phases becomes `ALL_PHASES`. */
function countOf({ phases: own }: Entry, phases: PhaseCount): PhaseCount {
  return phases < own ? phases : ALL_PHASES;
}

/** New grants are for this many phases. */
export function use(entry: Entry, phases: PhaseCount): void {
  entry.usedPhases = countOf(entry, phases);
  entry.milliwattsPerTenth = entry.milliwattsOnPhase * Math.min(phases, entry.phases);
  entry.circuitPhases = entry.allCircuitPhases
    .filter(({ phase }) => phase < phases)
    .map(({ circuitPhase }) => circuitPhase);
}

/** Power of these currents, W, rounded up. */
export function wattsOn(
  { phases, milliwattsOnPhase }: Pick<Entry, 'phases' | 'milliwattsOnPhase'>,
  currents: OwnPhases,
): number {
  let tenthsA = currents[0];
  for (let phase = 1; phase < phases; phase++) tenthsA += currents[phase] ?? 0;
  return wattsOfTenths(tenthsA, milliwattsOnPhase);
}

/**
 * Entitlement by the newest sent grant after all older grants have ended. A larger older grant gives no capacity for a
 * new one. If reservations exceed the budget, the new grant would extend the older one by a whole lease.
 */
export function lastingOn(entry: Entry): OwnPhases {
  const all = (tenthsA: number) => onFirst(tenthsA, ALL_PHASES);
  if (entry.isWorstCase) return all(entry.maxTenthsA);
  // Before it describes itself, a charger may keep a `thenA` below its own fail-safe.
  const ownTenthsA = entry.isDescribed ? entry.ownFailsafeTenthsA : 0;
  // Before the first grant only the row on disk is known, and that grant may have ended long ago.
  if (entry.sent === undefined) return all(Math.min(ownTenthsA, entry.maxTenthsA));
  return largerOf(all(ownTenthsA), lastingBy(entry.sent));
}

/** Entitlement by a grant until a newer one replaces it. */
export function lastingBy({ outstandingGrant, fallsBackTo }: SentGrant): OwnPhases {
  return outstandingGrant === undefined
    ? fallsBackTo
    : largerOf(fallsBackTo, onFirst(outstandingGrant.limitTenthsA, outstandingGrant.phases));
}

/** The highest grant on the used phases that this entitlement covers. */
export function lastingTenthsA(entry: Entry): number {
  return mostOnFirst(lastingOn(entry), entry.usedPhases);
}

/**
 * Extends the newest grant under the number `seq` without new objects; most grants are such renewals. False, without
 * any change, if the newest grant differs, is pending persistence or is over.
 * @param fromMs as in `NewGrant`
 */
export function renew(
  entry: Entry,
  { seq, limitTenthsA, phases, fromMs, ttlMs = entry.ttlMs }: NewGrant,
  thenTenthsA: number,
): boolean {
  const { sent, pendingPersistence, lease, outstanding } = entry;
  if (sent?.outstandingGrant === undefined || pendingPersistence !== undefined) return false;
  const { outstandingGrant, fallsBackTo } = sent;
  if (outstandingGrant.limitTenthsA !== limitTenthsA || outstandingGrant.phases !== phases) return false;
  if (!isOnFirst(fallsBackTo, thenTenthsA, phases)) return false;
  const anchoredEndsAtMs = fromMs + longestLeaseMsOf({ ttlMs });
  const endsAtMs = lease === 'heartbeat' ? anchoredEndsAtMs : Number.POSITIVE_INFINITY;
  if (!outstanding.renew(outstandingGrant, seq, endsAtMs, anchoredEndsAtMs)) return false;
  sent.seq = seq;
  entry.fallbacks.add(seq, thenTenthsA, phases);
  return true;
}

/**
 * Lasting entitlement; before the first grant also the limit that the charger reports from an earlier owner.
 * `lastingOn` omits that limit. The earlier owner may have been lowering it, so it gives no capacity beyond the budget.
 */
function expectedOn(entry: Entry): OwnPhases {
  const lasting = lastingOn(entry);
  if (entry.lastSeq > 0) return lasting;
  const heldTenthsA = Math.min(entry.heldTenthsA, entry.maxTenthsA);
  return largerOf(lasting, smallerOf(onFirst(heldTenthsA, ALL_PHASES), entry.outstanding.sure));
}

/**
 * The same as power, W. Grants before the service start counted at a voltage that is now unknown, and at least at the
 * nominal one. The power that they took must not be overestimated.
 */
export function expectedW(entry: Entry): number {
  const { lastSeq, milliwattsOnPhase, leastMilliwattsOnPhase } = entry;
  const isOfBefore = lastSeq === 0 && leastMilliwattsOnPhase < milliwattsOnPhase;
  return wattsOn(
    isOfBefore ? { ...entry, milliwattsOnPhase: leastMilliwattsOnPhase } : entry,
    expectedOn(entry),
  );
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

/** Bound from `atMs` on without a new grant, W. */
export function boundWFrom(entry: Entry, atMs: number): number {
  return entry.isWorstCase ? entry.boundW : wattsOn(entry, boundsFrom(entry, atMs));
}

/** Load per phase from `atMs` on. */
export function loadsFrom(entry: Entry, atMs: number): OwnPhases {
  const bounds = entry.isWorstCase ? entry.bounds : boundsFrom(entry, atMs);
  return largerOf(bounds, leastLoadOf(entry));
}

function boundsFrom(entry: Entry, atMs: number): OwnPhases {
  return cappedAt(largerOf(entry.failsafes, entry.outstanding.mostFrom(atMs)), entry.maxTenthsA);
}

interface NewGrant {
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly phases: PhaseCount;
  /** Latest time at which a charger that counts from its heartbeats starts the lease. */
  readonly fromMs: number;
  readonly ttlMs?: number | undefined;
  /** The grant has not left yet and may never leave. */
  readonly isWaiting?: boolean | undefined;
}

export function addOutstandingGrant(
  entry: Entry,
  { seq, limitTenthsA, phases, fromMs, ttlMs = entry.ttlMs, isWaiting = false }: NewGrant,
): OutstandingGrant {
  const anchoredEndsAtMs = fromMs + longestLeaseMsOf({ ttlMs });
  const outstandingGrant = {
    seq,
    limitTenthsA,
    phases,
    sure: isWaiting ? NO_CURRENT : onFirst(limitTenthsA, phases),
    endsAtMs: entry.lease === 'heartbeat' ? anchoredEndsAtMs : Number.POSITIVE_INFINITY,
    anchoredEndsAtMs,
    isEndOpen: false,
    releasedAtMs: Number.POSITIVE_INFINITY,
  };
  entry.outstanding.add(outstandingGrant);
  return outstandingGrant;
}

/** See `GrantLedger.restore`. */
export function restore(
  entry: Entry,
  { limitTenthsA, thenTenthsA, ttlMs, phases: knownPhases = ALL_PHASES }: Restored,
  nowMs: number,
): void {
  const phases = countOf(entry, knownPhases);
  addOutstandingGrant(entry, { seq: 0, limitTenthsA, phases, fromMs: nowMs, ttlMs });
  // The charger may still hold that limit. No grant leaves before its first report.
  entry.heldTenthsA = limitTenthsA;
  // A reservation below the own fail-safe proves that the charger had reported `keepsThen`.
  const leastTenthsA = phases < entry.phases ? 0 : Math.max(limitTenthsA, thenTenthsA);
  if (leastTenthsA < entry.reportedFailsafeTenthsA && !entry.isDescribed) entry.keepsThen = true;
  entry.fallbacks = new Fallbacks(onFirst(thenTenthsA, phases));
}

/**
 * The charger restarted: its grants last only as fallbacks, if it keeps these. Grants possibly in force still count.
 */
export function forgo(entry: Entry): void {
  const { sent, pendingPersistence, keepsThen } = entry;
  const kept = (given: SentGrant | undefined) =>
    given !== undefined && keepsThen ? { ...given, outstandingGrant: undefined } : undefined;
  Object.assign(entry, { sent: kept(sent), pendingPersistence: kept(pendingPersistence) });
}

/**
 * Sets the lease kind. If a charger assumed to count from its heartbeats counts from receipt, its earlier grants end at
 * no known time.
 */
export function countBy(entry: Entry, lease: LeaseKind, isFirstWord: boolean, nowMs: number): void {
  if (entry.lease !== lease && lease === 'receipt') entry.outstanding.unanchor();
  // Before the charger's first report its lease kind was an assumption. Only `none` was the charger's own report before
  // the service start.
  if (isFirstWord && lease === 'heartbeat' && entry.lease !== 'none') entry.outstanding.anchor();
  entry.outstanding.letLeasesEnd(lease !== 'none', nowMs);
  entry.lease = lease;
}

/** The lease of grant `seq` ends at `endsAtMs` at the latest. */
export function endBy({ outstanding, sent }: Entry, seq: number, endsAtMs: number): void {
  outstanding.endBy(seq, endsAtMs);
  // A pending grant may have replaced this one in `outstanding`.
  if (sent?.seq === seq && sent.outstandingGrant?.isEndOpen === false)
    sent.outstandingGrant.endsAtMs = Math.min(sent.outstandingGrant.endsAtMs, endsAtMs);
}

/**
 * The draw shows a phase outside the grant, so earlier grants count on all phases. They give no capacity for new
 * grants, because a charger that obeys may not hold that much on all phases.
 */
export function widen(entry: Entry): void {
  entry.outstanding.widen();
  entry.fallbacks.widen();
  Object.assign(entry, { sent: undefined, pendingPersistence: undefined });
  use(entry, ALL_PHASES);
}

/**
 * Recalculates the bounds and the load per phase.
 * @param reservesOwn the budget reserves fail-safes of chargers that keep nothing over a restart
 */
export function recount(entry: Entry, reservesOwn: boolean): void {
  const { keepsThen, maxTenthsA } = entry;
  // A charger that keeps `thenA` has no own fail-safe to reserve. A later grant may have replaced the reported value,
  // and `fallbacks` counts both.
  entry.ownFailsafeTenthsA = keepsThen || !reservesOwn ? 0 : entry.reportedFailsafeTenthsA;
  entry.failsafes = largerOf(onFirst(entry.ownFailsafeTenthsA, ALL_PHASES), entry.fallbacks.most);
  entry.entitled = cappedAt(largerOf(entry.failsafes, entry.outstanding.most), maxTenthsA);
  entry.bounds = entry.isWorstCase ? onFirst(maxTenthsA, ALL_PHASES) : entry.entitled;
  [entry.failsafeTenthsA] = entry.failsafes;
  [entry.entitledTenthsA] = entry.entitled;
  [entry.boundTenthsA] = entry.bounds;
  entry.boundW = wattsOn(entry, entry.bounds);
  entry.loads = largerOf(entry.bounds, leastLoadOf(entry));
}

/** The charger's own fail-safe, which fuses always have capacity for. */
export function leastLoadOf(entry: Entry): OwnPhases {
  return onFirst(alwaysCarriedTenthsA(entry), ALL_PHASES);
}
