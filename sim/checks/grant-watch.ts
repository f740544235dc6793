// Judges every limit that leaves the service. The limit fits beside the entitlements of all others (P2) and is a
// permitted value (P3). Its numbers are unique (P7), and its lease is short where a grid operator may order less
// (P18).

import type { EpochMs } from '../../machines/values/time.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook, SiteBook } from './connector-book.js';
import { isOlder } from './connector-book.js';
import { FOLLOWED_MS } from './import-watch.js';

/** Highest entitlement by a limit, on this number of phases. */
interface Granted {
  readonly mostA: number;
  readonly phases: number;
}

/** Sums of floating-point watts are compared with a limit in whole watts. */
const TOLERANCE_W = 1;
const TOLERANCE_A = 0.05;
/** The lowest power of a DC connector is rounded up to whole tenths. */
const DC_ROUNDING_A = 0.1;
/**
 * Longest lease, in heartbeats, while less may be ordered at any moment: if its end stops no car, and comes soon
 * enough.
 */
const SHORT_LEASE_HEARTBEATS = 1.5;
const SHORT_LEASE_MARGIN_S = 3;

type GrantWatchWorld = Pick<
  CheckedWorld,
  'oracle' | 'watch' | 'sites' | 'nowMs' | 'monotonicMs' | 'areOrdersExpected' | 'reached' | 'report'
>;

export class GrantWatch {
  readonly #world: GrantWatchWorld;

  constructor(world: GrantWatchWorld) {
    this.#world = world;
  }

  /** The limit leaves now, for `book`'s connector. */
  left(book: ConnectorBook, limit: LimitMessage): void {
    const receivedAtMs = this.#judgeNumbers(book, limit);
    this.#judgeCurrents(book, limit);
    this.#judgeReallocated(book, limit);
    this.#judgeLease(book, limit);
    // The charger refuses a limit whose lease is over.
    if (!book.isOver(limit, receivedAtMs, this.#world.monotonicMs())) this.#judgeSums(book, limit);
    this.#noteBranches(book, limit);
    book.give(limit, receivedAtMs, this.#world.monotonicMs());
  }

  #violate(invariant: string, book: ConnectorBook, detail: string): void {
    this.#world.report({ invariant, target: book.facts.key, detail });
  }

  /**
   * Numbers rise, and the limit answers a received heartbeat of one start of the charger. Returns the instant of
   * that heartbeat.
   */
  #judgeNumbers(book: ConnectorBook, limit: LimitMessage): number {
    const { sent } = book;
    if (sent !== undefined && !isOlder(sent, limit))
      this.#violate('P7', book, `limit ${limit.epoch}/${limit.seq} left after ${sent.epoch}/${sent.seq}`);
    const receivedAtMs = book.received.atMs(limit.boot, limit.ref);
    if (receivedAtMs === undefined)
      this.#violate(
        'P7',
        book,
        `limit ${limit.seq} answers heartbeat ${limit.ref} of ${limit.boot}, which never arrived`,
      );
    return receivedAtMs ?? this.#world.monotonicMs();
  }

  #judgeCurrents(book: ConnectorBook, { limitA, thenA }: LimitMessage): void {
    for (const currentA of [limitA, thenA]) {
      const { leastA } = book.facts;
      if (currentA !== 0 && currentA < leastA - 1e-6)
        this.#violate('P3', book, `${currentA} A is between 0 and ${leastA} A`);
    }
  }

  /** A limit for fewer phases needs a session that used no more of them, or a charger that switches phases. */
  #judgeReallocated(book: ConnectorBook, { boot, session, phases, limitA, thenA }: LimitMessage): void {
    if ((session === undefined) !== (phases === undefined))
      this.#violate('P7', book, 'its limit has a session without phases, or phases without a session');
    if (session === undefined || phases === undefined) return;
    this.#world.reached.note('phasesLent');
    const { id, seenPhases = 0 } = book.sessions.in(boot) ?? {};
    // A service that has just started answers a late message, and the charger refuses that answer.
    if (session !== id && book.sessions.isLate(boot, session)) return;
    if (session !== id)
      this.#violate(
        'P7',
        book,
        `${limitA} A, then ${thenA} A for session ${session}, and session ${id} is there`,
      );
    else if (book.switchesPhases) this.#world.reached.note('phasesSwitched');
    else if (seenPhases === 0 || seenPhases > phases)
      this.#violate('P7', book, `it is for ${phases} phases, and its car was seen to use ${seenPhases}`);
  }

  /**
   * A charger that is cut off falls back by itself before the others must follow an unannounced order
   * (power-safety.md).
   */
  #judgeLease(book: ConnectorBook, { thenA, ttlS }: LimitMessage): void {
    const { leastA, efficiency } = book.facts;
    const heartbeatS = book.times.heartbeatMs / 1000;
    const shortS = Math.max(SHORT_LEASE_HEARTBEATS * heartbeatS, heartbeatS + SHORT_LEASE_MARGIN_S);
    if (ttlS <= shortS || 1000 * shortS > FOLLOWED_MS) return;
    if (thenA < (efficiency === undefined ? leastA : leastA + DC_ROUNDING_A) - 1e-6) return;
    if (!this.#world.areOrdersExpected(book.site.locationId)) return;
    this.#violate(
      'P18',
      book,
      `its lease lasts ${ttlS} s while the grid operator may order less, at most ${shortS} s then`,
    );
  }

  /** Entitlements of all others, and of this connector with the limit that leaves. */
  #sumWithW({ connectors }: SiteBook, book: ConnectorBook, granted: Granted, nowMs: number): number {
    let sumW = 0;
    for (const each of connectors) if (each !== book) sumW += each.boundW(nowMs);
    const grantedA = (own: number) => (own < granted.phases ? granted.mostA : 0);
    const owns = [...book.facts.circuitPhasesOfPhases.keys()];
    const isCovered = owns.every((own) => grantedA(own) <= book.boundA(nowMs, own) + TOLERANCE_A);
    // If the limit adds anything, the entitlement on other phases goes on beside it (R31).
    const besideA = (own: number) => (isCovered ? book.ownFailsafeA : book.boundA(nowMs, own));
    return sumW + book.wattsOf((own) => Math.max(grantedA(own), besideA(own)));
  }

  #judgeSums(book: ConnectorBook, limit: LimitMessage): void {
    const nowMs = this.#world.monotonicMs();
    const mostA = Math.max(limit.limitA, limit.thenA);
    const granted = { mostA, phases: limit.phases ?? 3 };
    const last = Math.min(granted.phases, book.facts.circuitPhasesOfPhases.length);
    if (limit.reason !== 'nonCompliant' && limit.reason !== 'readOnly')
      this.#judgeAhead(book, limit, granted);
    // A limit that raises no entitlement may always leave: the sum falls or stays as it is.
    if (mostA <= book.lastingA(limit.epoch, nowMs, last) + TOLERANCE_A) return;
    if (limit.reason === 'nonCompliant' || limit.reason === 'readOnly') return;
    this.#judgeCircuitPhases(book, granted, nowMs);
    const { locationId } = book.site;
    const wallMs = this.#world.nowMs();
    if (mostA <= this.#lockFloorA(book, wallMs)) return;
    const sumW = this.#sumWithW(book.site, book, granted, nowMs);
    const lowestW = this.#world.oracle.lowestW(locationId, wallMs, wallMs + book.site.noticeMs);
    if (sumW > lowestW + TOLERANCE_W) {
      const detail = `${mostA} A left: ${sumW.toFixed(0)} W may be drawn together, ${lowestW} W is the lowest limit ahead`;
      this.#violate('P2', book, detail);
    }
    this.#judgeAhead(book, limit, granted);
    for (const [clusterId, capW] of this.#world.oracle.capsOf(locationId)) {
      if (this.#world.watch.isGraced(clusterId, wallMs)) continue;
      this.#judgeCluster(book, sumW, clusterId, capW);
    }
  }

  /** The minimum of a lock is granted under any limit (R16); 0 for a connector without a lock. */
  #lockFloorA({ facts: { key, leastA, efficiency } }: ConnectorBook, atMs: EpochMs): number {
    if (this.#world.oracle.lockKw(key, atMs) === undefined) return 0;
    return efficiency === undefined ? leastA : leastA + DC_ROUNDING_A;
  }

  /** A limit that outlasts the start of a lower limit of the location raises no entitlement above that (R3). */
  #judgeAhead(book: ConnectorBook, limit: LimitMessage, { phases }: Granted): void {
    const [nowMs, wallMs] = [this.#world.monotonicMs(), this.#world.nowMs()];
    const { locationId, noticeMs, horizonMs } = book.site;
    const { oracle } = this.#world;
    for (const startsAtMs of oracle.changesWithin(locationId, wallMs + noticeMs, wallMs + horizonMs)) {
      const atMs = nowMs + startsAtMs - wallMs;
      const mostA = Math.max(limit.thenA, book.doesOutlast(limit, atMs) ? limit.limitA : 0);
      const keptA = Math.max(book.renewedA(atMs, nowMs), this.#lockFloorA(book, startsAtMs));
      if (mostA <= keptA + TOLERANCE_A) continue;
      const sumW = this.#sumWithW(book.site, book, { mostA, phases }, atMs);
      const limitW = oracle.limitW(locationId, startsAtMs);
      // Only a lower limit is one to prepare for; an excess over a present one follows R10.
      if (limitW >= oracle.lowestW(locationId, wallMs, startsAtMs - 1)) continue;
      if (sumW <= limitW + TOLERANCE_W) continue;
      const s = ((startsAtMs - wallMs) / 1000).toFixed(1);
      const detail = `${mostA} A left: ${sumW.toFixed(0)} W may be drawn together in ${s} s, when ${limitW} W begin`;
      this.#violate('P2', book, detail);
    }
  }

  /**
   * No fuse is overloaded, not even for the minimum of a lock. A minimum that the connector already has raises
   * nothing.
   */
  #judgeCircuitPhases(book: ConnectorBook, { mostA, phases }: Granted, nowMs: number): void {
    for (const circuitPhase of new Set(book.facts.circuitPhasesOfPhases.slice(0, phases).flat())) {
      if (mostA <= book.boundOn(circuitPhase, nowMs) + TOLERANCE_A) continue;
      let sumA = mostA;
      for (const each of book.site.connectors) if (each !== book) sumA += each.boundOn(circuitPhase, nowMs);
      const capacityA = book.site.capacitiesA.get(circuitPhase) ?? 0;
      if (sumA <= capacityA + TOLERANCE_A) continue;
      const detail = `${mostA} A left: ${sumA.toFixed(1)} A may flow through phase ${circuitPhase}, whose fuse carries ${capacityA} A`;
      this.#violate('P2', book, detail);
    }
  }

  #judgeCluster(book: ConnectorBook, ownW: number, clusterId: string, capW: number): void {
    const nowMs = this.#world.monotonicMs();
    let sumW = ownW;
    for (const locationId of this.#world.oracle.clusters.get(clusterId)?.locationIds ?? []) {
      const site = this.#world.sites.get(locationId);
      if (site === undefined || site === book.site) continue;
      for (const each of site.connectors) sumW += each.boundW(nowMs);
    }
    if (sumW <= capW + TOLERANCE_W) return;
    this.#violate(
      'P2',
      book,
      `${sumW.toFixed(0)} W may be drawn together in cluster ${clusterId}, its cap is ${capW} W`,
    );
  }

  #noteBranches(book: ConnectorBook, limit: LimitMessage): void {
    const { sent } = book;
    const isNews = sent?.reason !== limit.reason;
    if (limit.reason === 'nonCompliant' && isNews) this.#world.reached.note('quarantine');
    if (limit.reason === 'lastResort' && isNews) this.#world.reached.note('lastResort');
    if (limit.reason === 'waiting' && isNews) this.#world.reached.note('waiting');
    if (
      (limit.reason === 'paused' || limit.reason === 'minimumPause') &&
      sent !== undefined &&
      sent.limitA > 0
    )
      this.#world.reached.note('rotationPause');
    if (book.hasGrantBefore(limit.epoch, this.#world.monotonicMs()))
      this.#world.reached.note('restartRestored');
    if (sent !== undefined && limit.limitA < sent.limitA) {
      const wallMs = this.#world.nowMs();
      const { locationId } = book.site;
      const isAhead =
        this.#world.oracle.lowestW(locationId, wallMs, wallMs + book.site.horizonMs) <
        this.#world.oracle.limitW(locationId, wallMs);
      if (isAhead) this.#world.reached.note('lookAheadLowered');
    }
  }
}
