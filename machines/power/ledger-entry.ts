// What a ledger of grants keeps of one connector, and what of it lasts.
import { MINIMUM_TENTHS_A, wattsOfTenths } from '../values/units.js';
import type { Writable } from '../values/writable.js';
import { type GrantTiming, type LeaseKind, longestLeaseMsOf } from './grant.js';
import { carriedAnywayTenthsA, firstPhasesOf, type Holding, type HoldingSpec } from './holding.js';
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
import { Fallbacks, type Promised, Promises } from './promises.js';

/** A grant as it was given; no promise once that has ended. */
interface Told {
  seq: number;
  promise: Promised | undefined;
  readonly fallsBackTo: OwnPhases;
}

/** A holding as the ledger itself writes it. */
export interface Entry extends Writable<Holding> {
  readonly promises: Promises;
  /** The newest grant that left. What its charger says of itself may be older. */
  told: Told | undefined;
  /** The newest grant, where it has not left yet, or never will: nothing is granted because of it. */
  waiting: Told | undefined;
  /** What its charger holds by a grant from before the start; counts until the first grant. */
  heldTenthsA: number;
  /** What its charger said that it is at while no grant lasted, on the phases on which it surely is; counts until the next grant. */
  at: OwnPhases;
  /** What a tenth of an ampere on one phase was counted with at the least before the start. */
  readonly leastMilliwattsOnPhase: number;
  fallbacks: Fallbacks;
}

export function createEntry(key: string, spec: HoldingSpec, { ttlMs, settleMs }: GrantTiming): Entry {
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
    poles: [],
    allPoles: [],
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
    saidFailsafeTenthsA: spec.failsafeTenthsA,
    promises: new Promises(settleMs, spec.lease !== 'none'),
    told: undefined,
    waiting: undefined,
    heldTenthsA: 0,
    at: NO_CURRENT,
    leastMilliwattsOnPhase: spec.leastMilliwattsOnPhase ?? Number.POSITIVE_INFINITY,
    isDescribed: false,
    fallbacks: new Fallbacks(onFirst(spec.failsafeTenthsA, ALL_PHASES)),
  };
  wire(entry, spec.polesOfPhases ?? [[]]);
  rate(entry, spec.milliwattsPerTenth);
  return entry;
}

/** Its phases load these poles from here on. */
export function wire(entry: Entry, polesOfPhases: readonly (readonly number[])[]): void {
  entry.allPoles = firstPhasesOf(polesOfPhases);
  entry.phases = polesOfPhases.length;
  use(entry, entry.usedPhases);
}

/** A tenth of an ampere on all of its phases carries so much from here on. */
export function rate(entry: Entry, milliwattsPerTenth: number): void {
  entry.milliwattsOnPhase = milliwattsPerTenth / entry.phases;
  use(entry, entry.usedPhases);
}

/** As many as it has are all. */
function countOf({ phases: own }: Entry, phases: PhaseCount): PhaseCount {
  return phases < own ? phases : ALL_PHASES;
}

/** Grants are for so many of its phases from here on. */
export function use(entry: Entry, phases: PhaseCount): void {
  entry.usedPhases = countOf(entry, phases);
  entry.milliwattsPerTenth = entry.milliwattsOnPhase * Math.min(phases, entry.phases);
  entry.poles = entry.allPoles.filter(({ phase }) => phase < phases).map(({ pole }) => pole);
}

/** What currents on its phases come to, W: never thought smaller than it is. */
export function wattsOn(
  { phases, milliwattsOnPhase }: Pick<Entry, 'phases' | 'milliwattsOnPhase'>,
  currents: OwnPhases,
): number {
  let tenthsA = currents[0];
  for (let phase = 1; phase < phases; phase++) tenthsA += currents[phase] ?? 0;
  return wattsOfTenths(tenthsA, milliwattsOnPhase);
}

/**
 * What it stays entitled to, by the newest grant that left, when all that is on its way out has ended. What was larger before
 * is no room for a grant: where more is reserved than the budget allows, it would last a whole lease longer instead of ending.
 */
export function lastingOn(entry: Entry): OwnPhases {
  const all = (tenthsA: number) => onFirst(tenthsA, ALL_PHASES);
  if (entry.isWorstCase) return all(entry.maxTenthsA);
  // Before it spoke for itself it may be one that keeps what it was told, which may be less than its own fail-safe.
  const ownTenthsA = entry.isDescribed ? entry.ownFailsafeTenthsA : 0;
  // Before the first grant only what was on disk is known, and that may have ended long ago.
  if (entry.told === undefined) return all(Math.min(ownTenthsA, entry.maxTenthsA));
  return largerOf(all(ownTenthsA), lastingBy(entry.told));
}

/** What a grant entitles to until a newer one does. */
export function lastingBy({ promise, fallsBackTo }: Told): OwnPhases {
  return promise === undefined
    ? fallsBackTo
    : largerOf(fallsBackTo, onFirst(promise.limitTenthsA, promise.phases));
}

/** As much of that as a grant for the phases it uses may say. */
export function lastingTenthsA(entry: Entry): number {
  return mostOnFirst(lastingOn(entry), entry.usedPhases);
}

/**
 * Gives the newest grant for longer, as `seq`, without anything made anew: as a rule every grant is such a one. False, and
 * nothing changed, where it said otherwise, or has not left, or is over.
 * @param fromMs as in `NewPromise`
 */
export function renew(
  entry: Entry,
  { seq, limitTenthsA, phases, fromMs, ttlMs = entry.ttlMs }: NewPromise,
  thenTenthsA: number,
): boolean {
  const { told, waiting, lease, promises } = entry;
  if (told?.promise === undefined || waiting !== undefined) return false;
  const { promise, fallsBackTo } = told;
  if (promise.limitTenthsA !== limitTenthsA || promise.phases !== phases) return false;
  if (!isOnFirst(fallsBackTo, thenTenthsA, phases)) return false;
  const anchoredEndsAtMs = fromMs + longestLeaseMsOf({ ttlMs });
  const endsAtMs = lease === 'heartbeat' ? anchoredEndsAtMs : Number.POSITIVE_INFINITY;
  if (!promises.renew(promise, seq, endsAtMs, anchoredEndsAtMs)) return false;
  told.seq = seq;
  entry.fallbacks.add(seq, thenTenthsA, phases);
  return true;
}

/**
 * What lasts, and before the first grant what its charger says it holds by one of an owner before. That it may be granted anew
 * where there is room says nothing of where there is none: the owner before may have been lowering it.
 */
function expectedOn(entry: Entry): OwnPhases {
  const lasting = lastingOn(entry);
  if (entry.lastSeq > 0) return lasting;
  const heldTenthsA = Math.min(entry.heldTenthsA, entry.maxTenthsA);
  return largerOf(lasting, smallerOf(onFirst(heldTenthsA, ALL_PHASES), entry.promises.sure));
}

/**
 * The same as power, W. What was granted before the start was counted at the voltage that was measured then, which is not known
 * any more, and at the nominal one at least: more than it took then must not be thought of as taken.
 */
export function expectedW(entry: Entry): number {
  const { lastSeq, milliwattsOnPhase, leastMilliwattsOnPhase } = entry;
  const isOfBefore = lastSeq === 0 && leastMilliwattsOnPhase < milliwattsOnPhase;
  return wattsOn(
    isOfBefore ? { ...entry, milliwattsOnPhase: leastMilliwattsOnPhase } : entry,
    expectedOn(entry),
  );
}

/** What was promised before the start. */
export interface Restored {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** How long its leases lasted. */
  readonly ttlMs?: number | undefined;
  /** On how many of its phases; on all where it is left out. */
  readonly phases?: PhaseCount | undefined;
}

/** What it may be entitled to from `atMs` on if it is granted nothing meanwhile, W. */
export function boundWFrom(entry: Entry, atMs: number): number {
  return entry.isWorstCase ? entry.boundW : wattsOn(entry, boundsFrom(entry, atMs));
}

/** What it may load its poles with from then on. */
export function loadsFrom(entry: Entry, atMs: number): OwnPhases {
  const bounds = entry.isWorstCase ? entry.bounds : boundsFrom(entry, atMs);
  return largerOf(bounds, leastLoadOf(entry));
}

function boundsFrom(entry: Entry, atMs: number): OwnPhases {
  return cappedAt(largerOf(entry.failsafes, entry.promises.mostFrom(atMs)), entry.maxTenthsA);
}

interface NewPromise {
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly phases: PhaseCount;
  /** From when a charger that counts from its heartbeats counts at the latest. */
  readonly fromMs: number;
  readonly ttlMs?: number | undefined;
  /** It has not left yet, and may never. */
  readonly isWaiting?: boolean | undefined;
}

export function promiseTo(
  entry: Entry,
  { seq, limitTenthsA, phases, fromMs, ttlMs = entry.ttlMs, isWaiting = false }: NewPromise,
): Promised {
  const anchoredEndsAtMs = fromMs + longestLeaseMsOf({ ttlMs });
  const promise = {
    seq,
    limitTenthsA,
    phases,
    sure: isWaiting ? NO_CURRENT : onFirst(limitTenthsA, phases),
    endsAtMs: entry.lease === 'heartbeat' ? anchoredEndsAtMs : Number.POSITIVE_INFINITY,
    anchoredEndsAtMs,
    isEndOpen: false,
    releasedAtMs: Number.POSITIVE_INFINITY,
  };
  entry.promises.add(promise);
  return promise;
}

/** See `GrantLedger.restore`. */
export function restore(
  entry: Entry,
  { limitTenthsA, thenTenthsA, ttlMs, phases: knownPhases = ALL_PHASES }: Restored,
  nowMs: number,
): void {
  const phases = countOf(entry, knownPhases);
  promiseTo(entry, { seq: 0, limitTenthsA, phases, fromMs: nowMs, ttlMs });
  // It may hold that still, until it says otherwise: nothing is granted before it is heard of.
  entry.heldTenthsA = limitTenthsA;
  // Less than its own fail-safe was reserved only if its charger had said that it keeps to what it is told.
  const leastTenthsA = phases < entry.phases ? 0 : Math.max(limitTenthsA, thenTenthsA);
  if (leastTenthsA < entry.saidFailsafeTenthsA && !entry.isDescribed) entry.keepsThen = true;
  entry.fallbacks = new Fallbacks(onFirst(thenTenthsA, phases));
}

/** Its charger started anew: no grant lasts but as what it falls back to, where it keeps that. What may be in force still counts on. */
export function forgo(entry: Entry): void {
  const { told, waiting, keepsThen } = entry;
  const kept = (given: Told | undefined) =>
    given !== undefined && keepsThen ? { ...given, promise: undefined } : undefined;
  Object.assign(entry, { told: kept(told), waiting: kept(waiting) });
}

/** What was promised to a charger thought to count from its heartbeats ends at no known time if it counts from receipt. */
export function countBy(entry: Entry, lease: LeaseKind, isFirstWord: boolean, nowMs: number): void {
  if (entry.lease !== lease && lease === 'receipt') entry.promises.unanchor();
  // Until its charger spoke it was only taken to count otherwise; that it kept no lease is what it said itself before the start.
  if (isFirstWord && lease === 'heartbeat' && entry.lease !== 'none') entry.promises.anchor();
  entry.promises.letLeasesEnd(lease !== 'none', nowMs);
  entry.lease = lease;
}

/** The lease of `seq` ends at the latest then. */
export function endBy({ promises, told }: Entry, seq: number, endsAtMs: number): void {
  promises.endBy(seq, endsAtMs);
  // A grant that waits may have outbid it, so that it is not among them any more.
  if (told?.seq === seq && told.promise?.isEndOpen === false)
    told.promise.endsAtMs = Math.min(told.promise.endsAtMs, endsAtMs);
}

/**
 * What was promised before counts on all phases: current flows on one that it is not for. Nothing is granted because of it: a
 * charger that keeps to its word all the same may not have that much on all of them.
 */
export function widen(entry: Entry): void {
  entry.promises.widen();
  entry.fallbacks.widen();
  Object.assign(entry, { told: undefined, waiting: undefined });
  use(entry, ALL_PHASES);
}

/**
 * Works out anew what it may be entitled to, and may load its poles with.
 * @param reservesOwn whether the budget reserves fail-safes of chargers that keep nothing over a restart
 */
export function recount(entry: Entry, reservesOwn: boolean): void {
  const { keepsThen, maxTenthsA } = entry;
  // What a charger says of itself is never held against a grant that may have told it otherwise since.
  entry.ownFailsafeTenthsA = keepsThen || !reservesOwn ? 0 : entry.saidFailsafeTenthsA;
  entry.failsafes = largerOf(onFirst(entry.ownFailsafeTenthsA, ALL_PHASES), entry.fallbacks.most);
  entry.entitled = cappedAt(largerOf(entry.failsafes, entry.promises.most), maxTenthsA);
  entry.bounds = entry.isWorstCase ? onFirst(maxTenthsA, ALL_PHASES) : entry.entitled;
  [entry.failsafeTenthsA] = entry.failsafes;
  [entry.entitledTenthsA] = entry.entitled;
  [entry.boundTenthsA] = entry.bounds;
  entry.boundW = wattsOn(entry, entry.bounds);
  entry.loads = largerOf(entry.bounds, leastLoadOf(entry));
}

/** What it falls back to by itself, for which fuses always have room. */
export function leastLoadOf(entry: Entry): OwnPhases {
  return onFirst(carriedAnywayTenthsA(entry), ALL_PHASES);
}
