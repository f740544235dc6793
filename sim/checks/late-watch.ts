// What a location may draw above a limit that fell: by those that have not taken theirs, once the others have made room.
import type { LimitOracle } from '../world/limit-oracle.js';
import type { ConnectorBook, SiteBook } from './connector-book.js';
import { FOLLOWED_MS } from './import-watch.js';
import { isOlder } from './promised-limits.js';

/** Those that have not said by then that they took their limit count for what they may draw; others stop for them. */
const TAKEN_MS = 5_000;
const TOLERANCE_A = 0.05;

interface Standing {
  /** Since when it has not taken what it was told, and nothing newer than before either. */
  lateSinceMs: number | undefined;
  /** It was late, or silent, until then. */
  lateUntilMs: number;
  silentSinceMs: number | undefined;
  heldSeq: number;
  /** It was owed its floor until then. */
  owedUntilMs: number;
}

/** Times of the monotonic clock, ms. To be asked every second. */
export class LateWatch {
  readonly #sites: ReadonlyMap<string, SiteBook>;
  readonly #oracle: LimitOracle;
  readonly #drawnW: (book: ConnectorBook) => number;
  readonly #monotonicMs: () => number;
  readonly #wallMs: () => number;
  readonly #standings = new Map<ConnectorBook, Standing>();

  constructor(options: {
    readonly sites: ReadonlyMap<string, SiteBook>;
    readonly oracle: LimitOracle;
    /** What the connector truly draws. */
    readonly drawnW: (book: ConnectorBook) => number;
    readonly monotonicMs: () => number;
    readonly wallMs: () => number;
  }) {
    this.#sites = options.sites;
    this.#oracle = options.oracle;
    this.#drawnW = options.drawnW;
    this.#monotonicMs = options.monotonicMs;
    this.#wallMs = options.wallMs;
  }

  /**
   * The most that the location's chargers may draw together now where `limitW` has held for 15 s: that, or what those draw that
   * nobody can lower, beside all others at the least there is for them. One that only just has not taken its limit draws beside it
   * what it drew before.
   */
  allowedW(locationId: string, limitW: number): number {
    const nowMs = this.#monotonicMs();
    // What is drawn that nobody can lower, and the least there is for the others; what late ones draw beyond what they were told.
    let leastW = 0;
    let excessW = 0;
    for (const book of this.#sites.get(locationId)?.connectors ?? []) {
      const standing = this.#follow(book, nowMs);
      const drawnW = this.#drawnW(book);
      const { wattsPerA, leastA } = book.facts;
      const isLate = standing.lateSinceMs !== undefined || nowMs < standing.lateUntilMs + FOLLOWED_MS;
      if (isLost(book, standing, nowMs)) leastW += drawnW;
      else if (isLate) {
        leastW += drawnW;
        excessW += Math.max(0, drawnW - (book.told?.limitA ?? 0) * wattsPerA);
      } else if (nowMs < standing.owedUntilMs) leastW += leastA * wattsPerA;
    }
    return Math.max(limitW + excessW, leastW);
  }

  #follow(book: ConnectorBook, nowMs: number): Standing {
    const standing = this.#standings.get(book) ?? newStanding();
    this.#standings.set(book, standing);
    const { told, holds, facts } = book;
    const isUntaken =
      told !== undefined && isOlder(holds, told) && book.promisedA(nowMs) > told.limitA + TOLERANCE_A;
    const isAsBefore = holds.seq === standing.heldSeq;
    standing.heldSeq = holds.seq;
    if (standing.lateSinceMs !== undefined || standing.silentSinceMs !== undefined)
      standing.lateUntilMs = nowMs;
    standing.lateSinceMs = isUntaken ? (isAsBefore && standing.lateSinceMs) || nowMs : undefined;
    standing.silentSinceMs = book.isSilent(nowMs) ? (standing.silentSinceMs ?? nowMs) : undefined;
    const isLocked = this.#oracle.lockKw(facts.key, this.#wallMs()) !== undefined;
    if (isLocked && !facts.operatorMayPause) standing.owedUntilMs = nowMs + FOLLOWED_MS;
    return standing;
  }
}

/** Nobody can lower it, and the others have known that for long enough to have made room for it. */
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
