// Computes the permitted draw above a fallen limit. Chargers that have not taken theirs may cause it, once the others
// have made room.
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook } from './connector-book.js';
import { isOlder } from './connector-book.js';
import { FOLLOWED_MS } from './import-watch.js';

/** A charger without an acknowledgement by then counts with its entitlement, and other cars stop for it. */
const TAKEN_MS = 5_000;
const TOLERANCE_A = 0.05;

interface Standing {
  /** Instant since which it has taken neither its newest limit nor any newer one than before. */
  lateSinceMs: number | undefined;
  /** It was late, or silent, until then. */
  lateUntilMs: number;
  silentSinceMs: number | undefined;
  heldSeq: number;
  /** Its minimum was due to it until then. */
  owedUntilMs: number;
}

type LateWatchWorld = Pick<CheckedWorld, 'sites' | 'oracle' | 'monotonicMs' | 'nowMs'> & {
  /** Physical draw of the connector. */ readonly connectorW: (book: ConnectorBook) => number;
};

/** Times are ms of the monotonic clock. Must be asked every second. */
export class LateWatch {
  readonly #world: LateWatchWorld;
  readonly #standings = new Map<ConnectorBook, Standing>();

  constructor(world: LateWatchWorld) {
    this.#world = world;
  }

  /**
   * Highest permitted draw of the location's chargers together, once `limitW` has held for 15 s. It is that limit,
   * or the draw of chargers that cannot be lowered, beside all others at their minimum. A charger that has only
   * just become late adds its former draw above its limit.
   */
  allowedW(locationId: string, limitW: number): number {
    const nowMs = this.#world.monotonicMs();
    // `leastW` is the draw that cannot be lowered, and the minimum of the others. `excessW` is the draw of late
    // chargers above their limits.
    let leastW = 0;
    let excessW = 0;
    for (const book of this.#world.sites.get(locationId)?.connectors ?? []) {
      const standing = this.#follow(book, nowMs);
      const drawnW = this.#world.connectorW(book);
      const { wattsPerA, leastA } = book.facts;
      const isLate = standing.lateSinceMs !== undefined || nowMs < standing.lateUntilMs + FOLLOWED_MS;
      if (isLost(book, standing, nowMs)) leastW += drawnW;
      else if (isLate) {
        leastW += drawnW;
        excessW += Math.max(0, drawnW - (book.sent?.limitA ?? 0) * wattsPerA);
      } else {
        const owedA = nowMs < standing.owedUntilMs ? leastA : 0;
        // No limit is below a fallback that the charger takes by itself (R18).
        leastW += Math.max(owedA, book.ownFailsafeA) * wattsPerA;
      }
    }
    return Math.max(limitW + excessW, leastW);
  }

  #follow(book: ConnectorBook, nowMs: number): Standing {
    const standing = this.#standings.get(book) ?? newStanding();
    this.#standings.set(book, standing);
    const { sent, holds, facts } = book;
    const isUntaken =
      sent !== undefined && isOlder(holds, sent) && book.grantedA(nowMs) > sent.limitA + TOLERANCE_A;
    const isAsBefore = holds.seq === standing.heldSeq;
    standing.heldSeq = holds.seq;
    if (standing.lateSinceMs !== undefined || standing.silentSinceMs !== undefined)
      standing.lateUntilMs = nowMs;
    standing.lateSinceMs = isUntaken ? (isAsBefore && standing.lateSinceMs) || nowMs : undefined;
    standing.silentSinceMs = book.isSilent(nowMs) ? (standing.silentSinceMs ?? nowMs) : undefined;
    const isLocked = this.#world.oracle.lockKw(facts.key, this.#world.nowMs()) !== undefined;
    if (isLocked && !facts.operatorMayPause) standing.owedUntilMs = nowMs + FOLLOWED_MS;
    return standing;
  }
}

/** The connector cannot be lowered, and the others have had time to make room for it. */
function isLost(book: ConnectorBook, { lateSinceMs, silentSinceMs }: Standing, nowMs: number): boolean {
  if (book.isUnreliable) return true;
  if (silentSinceMs !== undefined && nowMs - silentSinceMs >= FOLLOWED_MS) return true;
  return lateSinceMs !== undefined && nowMs - lateSinceMs >= TAKEN_MS + FOLLOWED_MS;
}

function newStanding(): Standing {
  const never = Number.NEGATIVE_INFINITY;
  return {
    lateSinceMs: undefined,
    lateUntilMs: never,
    silentSinceMs: undefined,
    heldSeq: -1,
    owedUntilMs: never,
  };
}
