// Judges every limit that leaves the service: that it fits beside what all others may be entitled to (P2), that it is one
// that may be commanded (P3), that it can be told from every other (P7).
import { MINIMUM_CURRENT_A } from '../../machines/units.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { LimitOracle } from '../world/limit-oracle.js';
import type { PowerWatch } from '../world/power-watch.js';
import type { ConnectorBook, LeaseTimes, SiteBook } from './connector-book.js';
import { isOlder } from './connector-book.js';
import type { Reached } from './reached.js';
import type { Report } from './report.js';

export interface GrantWatch {
  /** The limit leaves now, for `book`'s connector. */
  left(book: ConnectorBook, limit: LimitMessage): void;
}

interface Instants {
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
}

/** Sums of floating-point watts, against a limit in whole ones. */
const TOLERANCE_W = 1;
const TOLERANCE_A = 0.05;

export function createGrantWatch(options: {
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  readonly sites: ReadonlyMap<string, SiteBook>;
  readonly times: LeaseTimes;
  readonly clock: Instants;
  readonly reached: Reached;
  readonly report: Report;
}): GrantWatch {
  const { oracle, watch, sites, times, clock, reached, report } = options;
  const horizonMs = times.leaseMs + times.settleMs;

  function violate(invariant: string, book: ConnectorBook, detail: string): void {
    report({ invariant, target: book.facts.key, detail });
  }

  /** Numbers rise, and it is told which start of the charger and which heartbeat of it is answered. */
  function judgeNumbers(book: ConnectorBook, limit: LimitMessage): number {
    const { told } = book;
    if (told !== undefined && !isOlder(told, limit))
      violate('P7', book, `limit ${limit.epoch}/${limit.seq} left after ${told.epoch}/${told.seq}`);
    const heardAtMs = book.heard.atMs(limit.boot, limit.ref);
    if (heardAtMs === undefined)
      violate('P7', book, `limit ${limit.seq} answers heartbeat ${limit.ref} of ${limit.boot}, never heard`);
    return heardAtMs ?? clock.monotonicMs();
  }

  function judgeCurrents(book: ConnectorBook, { limitA, thenA }: LimitMessage): void {
    for (const currentA of [limitA, thenA]) {
      if (currentA !== 0 && currentA < MINIMUM_CURRENT_A)
        violate('P3', book, `${currentA} A is between 0 and 6 A`);
    }
  }

  /** Everything the others may be entitled to, and this one by the limit that leaves. */
  function sumWithW(site: SiteBook, book: ConnectorBook, mostA: number, nowMs: number): number {
    let sumW = 0;
    for (const each of site.connectors)
      sumW += each === book ? mostA * each.facts.wattsPerA : each.boundW(nowMs);
    return sumW;
  }

  function judgeSums(book: ConnectorBook, limit: LimitMessage): void {
    const nowMs = clock.monotonicMs();
    const mostA = Math.max(limit.limitA, limit.thenA);
    // A limit that raises nothing may always be sent: the sum falls or stays as it is.
    if (mostA <= book.lastingA(limit.epoch, nowMs) + TOLERANCE_A) return;
    if (limit.reason === 'nonCompliant' || limit.reason === 'readOnly') return;
    const { locationId } = book.site;
    const wallMs = clock.wallMs();
    // The minimum of a lock is granted under any limit (who gets how much, 4).
    if (mostA <= MINIMUM_CURRENT_A && oracle.lockKw(book.facts.key, wallMs) !== undefined) return;
    const sumW = sumWithW(book.site, book, mostA, nowMs);
    const lowestW = oracle.lowestW(locationId, wallMs, wallMs + horizonMs);
    if (sumW > lowestW + TOLERANCE_W) {
      const detail = `${mostA} A left: ${sumW.toFixed(0)} W may be drawn together, ${lowestW} W is the lowest limit ahead`;
      violate('P2', book, detail);
    }
    for (const [clusterId, capW] of oracle.capsOf(locationId)) {
      if (watch.isGraced(clusterId, wallMs)) continue;
      judgeCluster(book, sumW, clusterId, capW);
    }
  }

  function judgeCluster(book: ConnectorBook, ownW: number, clusterId: string, capW: number): void {
    const nowMs = clock.monotonicMs();
    let sumW = ownW;
    for (const locationId of oracle.clusters.get(clusterId)?.locationIds ?? []) {
      const site = sites.get(locationId);
      if (site === undefined || site === book.site) continue;
      for (const each of site.connectors) sumW += each.boundW(nowMs);
    }
    if (sumW <= capW + TOLERANCE_W) return;
    violate(
      'P2',
      book,
      `${sumW.toFixed(0)} W may be drawn together in cluster ${clusterId}, its cap is ${capW} W`,
    );
  }

  function noteBranches(book: ConnectorBook, limit: LimitMessage): void {
    const { told } = book;
    const isNews = told?.reason !== limit.reason;
    if (limit.reason === 'nonCompliant' && isNews) reached.note('quarantine');
    if (limit.reason === 'lastResort' && isNews) reached.note('lastResort');
    if (limit.reason === 'waiting' && isNews) reached.note('waiting');
    if (
      (limit.reason === 'paused' || limit.reason === 'minimumPause') &&
      told !== undefined &&
      told.limitA > 0
    )
      reached.note('rotationPause');
    if (book.hasPromiseBefore(limit.epoch, clock.monotonicMs())) reached.note('restartRestored');
    if (told !== undefined && limit.limitA < told.limitA) {
      const wallMs = clock.wallMs();
      const { locationId } = book.site;
      const isAhead =
        oracle.lowestW(locationId, wallMs, wallMs + horizonMs) < oracle.limitW(locationId, wallMs);
      if (isAhead) reached.note('lookAheadLowered');
    }
  }

  return {
    left(book, limit) {
      const heardAtMs = judgeNumbers(book, limit);
      judgeCurrents(book, limit);
      judgeSums(book, limit);
      noteBranches(book, limit);
      book.give(limit, heardAtMs, clock.monotonicMs());
    },
  };
}
