// Checks priority locks (P4). A reachable locked connector is never below 6 A, unless a grid operator may pause it.
// It is below its lock's limit as a last resort only.

import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CircuitPhaseName } from '../world/site-fuses.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook } from './connector-book.js';
import { isOlder, type Numbered } from './connector-book.js';

/** Others have made room for a lock by then: a horizon, and the time between raises. */
const MADE_ROOM_MS = 100_000;
/** A charger that keeps its lease again has received and taken a limit by then. */
const TAKEN_WITHIN_HEARTBEATS = 2;
/**
 * A charger that has not taken a lower limit by then counts with its entitlement; others stop for it on a full
 * fuse.
 */
const LATE_AFTER_MS = 4_800;
/** This many limits in a row (about one in ten seconds) are no transition any more. */
const STEADY_LIMITS = 10;
/** A raise is at least an ampere. */
const TOLERANCE_A = 1.05;
/** A tenth of an ampere as whole watts is a little less. */
const TOLERANCE_LEAST_A = 0.01;

interface Standing {
  /** Limits in a row that were below the lock's, although the car drew all of them. */
  belowLock: number;
  /** Limits in a row by last resort, although unlocked connectors ran and none of its fuses was full. */
  lastResort: number;
  /** Limits in a row above 0 without a lock. */
  running: number;
  /** Last instant at which its maximum was reserved, regardless of its limits. */
  unreliableAtMs: number;
  /** First limit that was lower than the one it had, and that it may not have taken yet. */
  lowered: (Numbered & { readonly leftAtMs: number }) | undefined;
  /** Last instant at which it was late with that limit, or out of reach. */
  lateAtMs: number;
  /** Last instant at which its fuses had no capacity for its 6 A. */
  noRoomAtMs: number;
}

type LockWatchWorld = Pick<CheckedWorld, 'oracle' | 'nowMs' | 'monotonicMs' | 'operatorW' | 'report'> & {
  /** Physical current of the connector, A per phase. */ readonly drawnA: (
    book: ConnectorBook,
  ) => number /** Monotonic instant, ms, since which the service runs and can write. */;
  readonly soundSinceMs: () => number;
};

export class LockWatch {
  readonly #world: LockWatchWorld;
  readonly #standings = new Map<ConnectorBook, Standing>();

  constructor(world: LockWatchWorld) {
    this.#world = world;
  }

  /** The limit leaves now, and `book` does not contain it yet. */
  left(book: ConnectorBook, limit: LimitMessage): void {
    const lockKw = this.#world.oracle.lockKw(book.facts.key, this.#world.nowMs());
    const standing = this.#standingOf(book);
    if (lockKw !== undefined) this.#judgeLocked(book, limit, lockKw);
    else {
      standing.belowLock = 0;
      standing.lastResort = 0;
    }
    if (lockKw === undefined && limit.limitA > 0) standing.running++;
    else standing.running = 0;
    const isLower = book.sent !== undefined && limit.limitA < book.sent.limitA;
    if (isLower && !isUntaken(book, standing))
      standing.lowered = { epoch: limit.epoch, seq: limit.seq, leftAtMs: this.#world.monotonicMs() };
  }

  #standingOf(book: ConnectorBook): Standing {
    const known = this.#standings.get(book);
    if (known !== undefined) return known;
    const never = Number.NEGATIVE_INFINITY;
    const standing = {
      belowLock: 0,
      lastResort: 0,
      running: 0,
      unreliableAtMs: never,
      lowered: undefined,
      lateAtMs: never,
      noRoomAtMs: never,
    };
    this.#standings.set(book, standing);
    return standing;
  }

  #violate({ facts }: ConnectorBook, detail: string): void {
    this.#world.report({ invariant: 'P4', target: facts.key, detail });
  }

  #isSteady(book: ConnectorBook): boolean {
    const lockedSinceMs =
      this.#world.oracle.lockedSinceMs(book.facts.key, this.#world.nowMs()) ?? Number.POSITIVE_INFINITY;
    const nowMs = this.#world.monotonicMs();
    return (
      this.#world.nowMs() - lockedSinceMs > MADE_ROOM_MS &&
      nowMs - book.onlineSinceMs > MADE_ROOM_MS &&
      nowMs - this.#world.soundSinceMs() > MADE_ROOM_MS
    );
  }

  #judgeLocked(book: ConnectorBook, { limitA, reason, phases }: LimitMessage, lockKw: number): void {
    const standing = this.#standingOf(book);
    const { wattsPerA, maxA, leastA } = book.facts;
    // Others had the phases that its car left unused; the next car waits until they have followed.
    const isTakenBack =
      phases === undefined && this.#world.monotonicMs() - book.reallocatedAtMs <= MADE_ROOM_MS;
    const isTooLow = limitA < leastA - TOLERANCE_LEAST_A && this.#isOwedLeast(book);
    if (isTooLow && this.#isSteady(book) && !isTakenBack && !this.#isPausedForOperator(book))
      this.#violate(book, `${limitA} A for a reachable locked connector (${reason})`);
    const owedA = Math.min(maxA, Math.max(leastA, (1000 * lockKw) / wattsPerA));
    const isBelow =
      reason === 'lock' && limitA < owedA - TOLERANCE_A && this.#world.drawnA(book) > limitA - TOLERANCE_A;
    standing.belowLock = isBelow ? standing.belowLock + 1 : 0;
    if (standing.belowLock >= STEADY_LIMITS && this.#isSteady(book)) {
      standing.belowLock = 0;
      this.#violate(
        book,
        `${limitA} A of the ${owedA.toFixed(1)} A that its lock allows, with no last resort`,
      );
    }
    // After a further lock, another fuse may be the short one: until that connector has been raised, no fuse is full.
    const isLastResort = reason === 'lastResort' && limitA < owedA - TOLERANCE_A;
    const isUnneeded = isLastResort && this.#lowerableBeside(book, 1).length > 0;
    standing.lastResort = isUnneeded ? standing.lastResort + 1 : 0;
    if (standing.lastResort >= STEADY_LIMITS && this.#isSteady(book)) this.#judgeLastResort(book);
  }

  /**
   * Its fuses have capacity for its 6 A. If they had none before, it counts as locked only since then. It waits until
   * the others have followed their lower limits.
   */
  #isOwedLeast(book: ConnectorBook): boolean {
    const standing = this.#standingOf(book);
    const nowMs = this.#world.monotonicMs();
    if (!this.#doFloorsFitFuses(book)) {
      standing.noRoomAtMs = nowMs;
      return false;
    }
    if (nowMs - standing.noRoomAtMs > MADE_ROOM_MS) return true;
    return !book.site.connectors.some((each) => each !== book && isReleasing(each, nowMs));
  }

  /**
   * A fuse that does not carry the minimum of all its connectors is not overloaded for a lock. If the locked
   * connector has no lease, others without one count with their limits: its maximum is reserved anyway.
   */
  #doFloorsFitFuses(book: ConnectorBook): boolean {
    const { facts, site } = book;
    return facts.circuitPhases.every((circuitPhase) => {
      const onIt = site.connectors.filter((each) => each.facts.circuitPhases.includes(circuitPhase));
      const neededA = onIt.reduce(
        (sum, each) =>
          sum +
          Math.max(
            floorAOf(each),
            each === book || book.isUnreliable ? 0 : this.#reservedA(each, circuitPhase),
          ),
        0,
      );
      return neededA <= (site.capacitiesA.get(circuitPhase) ?? 0);
    });
  }

  /**
   * Capacity that a fuse needs for the connector regardless of its limits. It is the maximum while that is
   * reserved, and then until the connector has taken a limit and settled. A connector out of reach cannot do that.
   * After that it is the entitlement. The entitlement also counts for a connector that is late with a lower limit,
   * or out of reach. No fuse is overloaded for a lock, and such a connector cannot be lowered.
   */
  #reservedA(book: ConnectorBook, circuitPhase: CircuitPhaseName): number {
    const standing = this.#standingOf(book);
    const nowMs = this.#world.monotonicMs();
    if (book.isUnreliable || book.metered.mayBeDistrusted) standing.unreliableAtMs = nowMs;
    const { settleMs, heartbeatMs } = book.times;
    const reliableForMs = nowMs - Math.max(standing.unreliableAtMs, book.receivedLeaseKind.noneAtMs);
    if (reliableForMs <= TAKEN_WITHIN_HEARTBEATS * heartbeatMs + settleMs) {
      if (book.isSilent(nowMs)) standing.unreliableAtMs = nowMs;
      return book.facts.maxA;
    }
    const { lowered } = standing;
    const isLate = isUntaken(book, standing) && nowMs - (lowered?.leftAtMs ?? nowMs) >= LATE_AFTER_MS;
    if (isLate || book.isSilent(nowMs)) standing.lateAtMs = nowMs;
    const isOver = Math.min(reliableForMs, nowMs - standing.lateAtMs) > MADE_ROOM_MS;
    return isOver ? 0 : book.boundOn(circuitPhase, nowMs);
  }

  /**
   * The operator may pause it. The minimums of all locks do not fit the operator's limit beside the other
   * entitlements.
   */
  #isPausedForOperator(book: ConnectorBook): boolean {
    const { facts, site } = book;
    if (!facts.operatorMayPause) return false;
    const neededW = site.connectors.reduce((sumW, each) => {
      const isLocked = this.#world.oracle.lockKw(each.facts.key, this.#world.nowMs()) !== undefined;
      const isAtFloor = isLocked && (each === book || this.#followsLimits(each));
      return (
        sumW + (isAtFloor ? each.facts.leastA * each.facts.wattsPerA : each.boundW(this.#world.monotonicMs()))
      );
    }, 0);
    return neededW > this.#world.operatorW(site.locationId);
  }

  /** It is in reach, and has taken its newest limit. */
  #followsLimits(book: ConnectorBook): boolean {
    return (
      !book.isSilent(this.#world.monotonicMs()) && book.sent !== undefined && !isOlder(book.holds, book.sent)
    );
  }

  /** Requires that every reachable unlocked connector is at 0, or at its unconditional reserve (R16). */
  #judgeLastResort(book: ConnectorBook): void {
    for (const sibling of this.#lowerableBeside(book, STEADY_LIMITS))
      this.#violate(
        book,
        `last resort while ${sibling.facts.key}, not locked, has ${sibling.sent?.limitA} A`,
      );
  }

  /**
   * Unlocked connectors that ran for this many limits and would free the missing capacity; none if a fuse is full
   * without them.
   */
  #lowerableBeside(book: ConnectorBook, limits: number): readonly ConnectorBook[] {
    const running = this.#unlockedRunningBeside(book, limits);
    return this.#isFuseFull(book, running) ? [] : running;
  }

  /** A circuit phase that it loads carries no more, and no unlocked connector is on that phase. */
  #isFuseFull(book: ConnectorBook, running: readonly ConnectorBook[]): boolean {
    const { facts, site } = book;
    return facts.circuitPhases.some((circuitPhase) => {
      if (running.some((each) => each.facts.circuitPhases.includes(circuitPhase))) return false;
      const onIt = site.connectors.filter((each) => each.facts.circuitPhases.includes(circuitPhase));
      const reservedA = onIt.reduce(
        (sum, each) =>
          sum + Math.max(reservedAOf(each), each === book ? 0 : this.#reservedA(each, circuitPhase)),
        0,
      );
      return reservedA >= (site.capacitiesA.get(circuitPhase) ?? 0) - TOLERANCE_A;
    });
  }

  #unlockedRunningBeside(book: ConnectorBook, limits: number): readonly ConnectorBook[] {
    return book.site.connectors.filter((sibling) => {
      if (this.#world.oracle.lockKw(sibling.facts.key, this.#world.nowMs()) !== undefined) return false;
      if (sibling.sent === undefined || sibling.isReadOnly || sibling.metered.isDistrusted) return false;
      if (
        sibling.isSilent(this.#world.monotonicMs()) ||
        this.#world.monotonicMs() - sibling.onlineSinceMs < MADE_ROOM_MS
      )
        return false;
      if (sibling.sent.reason === 'nonCompliant' || sibling.sent.reason === 'readOnly') return false;
      if (this.#standingOf(sibling).running < limits) return false;
      // The charger falls back to that by itself, so a lower limit would free nothing (R18).
      return sibling.sent.limitA > sibling.ownFailsafeA + TOLERANCE_LEAST_A;
    });
  }
}

/** Its limit, or its maximum if the service reports that the maximum is reserved. */
function reservedAOf({ sent, isUnreliable, facts: { failsafeA, maxA } }: ConnectorBook): number {
  const isSetAside = sent?.reason === 'nonCompliant' || sent?.reason === 'readOnly';
  return isUnreliable || isSetAside ? maxA : Math.max(sent?.limitA ?? 0, failsafeA);
}

function isUntaken({ holds }: ConnectorBook, { lowered }: Standing): boolean {
  return lowered !== undefined && isOlder(holds, lowered);
}

/** By an earlier limit it may still draw more than by its newest one. */
function isReleasing(book: ConnectorBook, nowMs: number): boolean {
  const sentA = Math.max(book.sent?.limitA ?? 0, book.ownFailsafeA);
  return book.wattsOf((own) => book.grantedA(nowMs, own)) > book.wattsOf(() => sentA);
}

function floorAOf({ facts: { leastA, failsafeA } }: ConnectorBook): number {
  return Math.max(leastA, failsafeA);
}
