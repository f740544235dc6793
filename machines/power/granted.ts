// Records the grants that are sent to a connector, and its reservation on disk. Only this module writes `Granted`.

import type { Grant, LeaseKind } from '../ledger/grant.js';
import type { StoredReservation } from '../ledger/ledger.js';
import type { Connector, Writing } from './connector.js';

type Written = Writing<'granted'>;

/** A charger that has not taken its newest limit after this long receives it again. Others are lowered for it. */
export const REPEAT_AFTER_MS = 2_000;

/** After a failed write of a reservation, renewals leave without a write for this many heartbeats. */
const STORES_AGAIN_AFTER_HEARTBEATS = 3;

/** A decided grant with its connector. */
export interface DecidedGrant {
  readonly connector: Connector;
  readonly grant: Grant;
  /** The grant exceeds the reservation on disk, so it leaves only after a new reservation is on disk. */
  readonly mustStore: boolean;
  /** Limit sent before; undefined without one. */
  readonly beforeTenthsA: number | undefined;
  /** `sentAtMs` and `leasedUntilMs` of that limit, which count again if this grant never leaves. */
  readonly sentBeforeAtMs: number;
  readonly leasedBeforeUntilMs: number;
}

/**
 * Records a sent grant. A decrease counts as untaken until the charger acknowledges that grant or a newer one.
 * @param isLeaseCut its lease is shorter than usual, because a lower limit begins soon
 */
export function recordSent(
  connector: Written,
  { seq, limitTenthsA, ttlMs }: Grant,
  isLeaseCut: boolean,
  nowMs: number,
): void {
  const { account, telemetry, granted } = connector;
  const { untaken, sentTenthsA: beforeTenthsA } = granted;
  if (limitTenthsA < (beforeTenthsA ?? Number.POSITIVE_INFINITY)) {
    const isCertain = limitTenthsA >= account.entitledTenthsA;
    const sinceMs = isUntaken(connector) ? (untaken?.sinceMs ?? nowMs) : nowMs;
    granted.untaken = isCertain ? undefined : { seq, sinceMs };
  }
  if (beforeTenthsA === undefined) granted.sentFromSeq = seq;
  granted.sentTenthsA = limitTenthsA;
  granted.sentPhases = account.usedPhases;
  granted.sentAtMs = nowMs;
  granted.leasedUntilMs = telemetry.receivedAtMs + ttlMs;
  granted.isLeaseCut = isLeaseCut;
}

export function recordRaise({ granted }: Written, nowMs: number): void {
  granted.raisedAtMs = nowMs;
}

/** The charger acknowledged a newer grant than before, so it is reachable. It may not have taken the newest yet. */
export function recordTaken({ granted, account }: Written, nowMs: number): void {
  const { untaken } = granted;
  if (untaken === undefined) return;
  const isTaken = account.ackedSeq >= untaken.seq;
  granted.untaken = isTaken ? undefined : { seq: untaken.seq, sinceMs: nowMs };
}

/** The connector may still draw more than the limit sent. */
export function isUntaken({ granted: { untaken, sentTenthsA }, account }: Connector): boolean {
  if (untaken === undefined || sentTenthsA === undefined || account.ackedSeq >= untaken.seq) return false;
  return account.entitledTenthsA > sentTenthsA;
}

/** The charger restarted, fell silent or disconnected. Its last limit is not the basis of the next grant. */
export function forgetSent({ granted }: Written): void {
  granted.sentTenthsA = undefined;
  granted.untaken = undefined;
}

/** The next grant is based on no limit, although its charger may still take the last one. */
export function restartSent({ granted }: Written): void {
  granted.sentTenthsA = undefined;
}

/**
 * The grant never leaves, because it was not stored in time. The limit before it stays valid and is renewed, by a
 * heartbeat that came before this grant too.
 */
export function withdraw(decided: DecidedGrant, nowMs: number): void {
  const { connector, grant } = decided;
  const { account, provisioned, granted }: Written = connector;
  granted.storesAgainAtMs = nowMs + STORES_AGAIN_AFTER_HEARTBEATS * provisioned.timing.heartbeatMs;
  if (account.lastSeq !== grant.seq || granted.sentTenthsA === undefined) return;
  granted.sentTenthsA = decided.beforeTenthsA;
  granted.sentAtMs = decided.sentBeforeAtMs;
  granted.leasedUntilMs = decided.leasedBeforeUntilMs;
}

export function setStoring({ granted }: Written, isStoring: boolean): void {
  granted.isStoring = isStoring;
}

export function setStored({ granted }: Written, stored: StoredReservation): void {
  granted.stored = stored;
}

export function setStoredLease({ granted }: Written, lease: LeaseKind | undefined): void {
  granted.storedLease = lease;
}
