// Computes the required limits naively from everything that was ever accepted; it shares no code with the service.
import type { EpochMs } from '../../machines/values/time.js';

export interface Submission {
  readonly priority: number;
  readonly limitKw: number;
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly submittedAtMs: EpochMs;
}

/** Applies from `fromMs` until the next segment. */
interface Segment {
  readonly fromMs: EpochMs;
  readonly limitKw: number;
  readonly limitW: number;
}

interface KnownLocation {
  readonly gridLimitKw: number | null;
  permanentKw: number;
  /** Newest submission of each priority, by priority. */
  readonly submissions: Map<number, Submission>;
  /** Resulting limits, in order; `at` is the index of the last look-up. */
  segments: readonly Segment[];
  at: number;
}

interface KnownCluster {
  limitKw: number | null;
  isActive: boolean;
  locationIds: readonly string[];
}

export interface NewProfile {
  readonly startTime: string;
  readonly endTime: string;
  readonly limitKw: number;
  readonly priority?: number;
}

/** Limits are in W, rounded down; instants are those of the wall clock. */
export class LimitOracle {
  readonly #locations = new Map<string, KnownLocation>();
  #locationIds: readonly string[] = [];
  /** Profiles of connectors, by `controllerUuid/connectorId` and priority. */
  readonly #locks = new Map<string, Map<number, Submission>>();
  /** Last cancellation of a profile of the connector: a lower profile may lock the connector only from then on. */
  readonly #cancelledAtMs = new Map<string, EpochMs>();
  readonly clusters = new Map<string, KnownCluster>();

  addLocation(locationId: string, permanentKw: number, gridLimitKw: number | null): void {
    const known = { gridLimitKw, permanentKw, submissions: new Map(), segments: [], at: 0 };
    this.#locations.set(locationId, known);
    this.#locationIds = [...this.#locations.keys()];
    divide(known);
  }

  /** Of each priority the newest profile counts. */
  submit(locationId: string, profile: NewProfile, atMs: EpochMs): void {
    const known = this.#known(locationId);
    const submission = submissionOf(profile, atMs);
    known.submissions.set(submission.priority, submission);
    divide(known);
  }

  lock(key: string, profile: NewProfile, atMs: EpochMs): void {
    const held = this.#locks.get(key) ?? new Map<number, Submission>();
    this.#locks.set(key, held);
    const submission = submissionOf(profile, atMs);
    held.set(submission.priority, submission);
  }

  /** Removes the profile of that priority: of a location, or of a connector by its key. */
  cancel(target: string, priority: number, atMs: EpochMs): void {
    const known = this.#locations.get(target);
    if (known === undefined) {
      this.#locks.get(target)?.delete(priority);
      this.#cancelledAtMs.set(target, atMs);
      return;
    }
    known.submissions.delete(priority);
    divide(known);
  }

  setPermanent(locationId: string, limitKw: number, _atMs: EpochMs): void {
    const known = this.#known(locationId);
    known.permanentKw = limitKw;
    divide(known);
  }

  get locationIds(): readonly string[] {
    return this.#locationIds;
  }

  permanentKw(locationId: string): number {
    return this.#known(locationId).permanentKw;
  }

  /** Profiles that were neither replaced nor cancelled: of a location, or of a connector by its key. */
  profilesOf(target: string): Iterable<Submission> {
    return (this.#locations.get(target)?.submissions ?? this.#locks.get(target))?.values() ?? [];
  }

  /** By its own profiles, kW. */
  effectiveLimitKw(locationId: string, atMs: EpochMs): number {
    return segmentAt(this.#known(locationId), atMs)?.limitKw ?? 0;
  }

  /** Limit of the location within its connection, without clusters. */
  limitW(locationId: string, atMs: EpochMs): number {
    return segmentAt(this.#known(locationId), atMs)?.limitW ?? 0;
  }

  /** Lowest `limitW` from one instant to another, both included. */
  lowestW(locationId: string, fromMs: EpochMs, toMs: EpochMs): number {
    const known = this.#known(locationId);
    let lowestW = segmentAt(known, fromMs)?.limitW ?? 0;
    for (let i = known.at + 1; i < known.segments.length; i++) {
      const segment = known.segments[i];
      if (segment === undefined || segment.fromMs > toMs) break;
      lowestW = Math.min(lowestW, segment.limitW);
    }
    return lowestW;
  }

  /** Instants after `fromMs` until `toMs` at which `limitW` changes. */
  *changesWithin(locationId: string, fromMs: EpochMs, toMs: EpochMs): Generator<EpochMs> {
    const known = this.#known(locationId);
    segmentAt(known, fromMs);
    for (let i = known.at + 1; i < known.segments.length; i++) {
      const startsAtMs = known.segments[i]?.fromMs ?? Number.POSITIVE_INFINITY;
      if (startsAtMs > toMs) return;
      yield startsAtMs;
    }
  }

  /** The physical connection alone; Infinity if none is known. */
  connectionW(locationId: string): number {
    return wattsOf(this.#known(locationId).gridLimitKw ?? Number.POSITIVE_INFINITY);
  }

  /** Caps, W, that bind the location together with others, by cluster. */
  *capsOf(locationId: string): Generator<readonly [clusterId: string, capW: number]> {
    for (const [clusterId, { limitKw, isActive, locationIds }] of this.clusters) {
      if (limitKw !== null && isActive && locationIds.includes(locationId)) yield [clusterId, 1000 * limitKw];
    }
  }

  /** Smallest share of a cluster's cap, kW (contract section 2.8); Infinity if no cap binds the location. */
  shareKw(locationId: string, atMs: EpochMs): number {
    let smallestKw = Number.POSITIVE_INFINITY;
    for (const [clusterId, capW] of this.capsOf(locationId)) {
      const members = this.clusters.get(clusterId)?.locationIds ?? [];
      const sumKw = members.reduce((sum, member) => sum + this.effectiveLimitKw(member, atMs), 0);
      const scale = Math.min(1, capW / 1000 / sumKw);
      smallestKw = Math.min(smallestKw, this.effectiveLimitKw(locationId, atMs) * scale);
    }
    return smallestKw;
  }

  /** Limit of the lock; undefined for a connector without a lock. */
  lockKw(key: string, atMs: EpochMs): number | undefined {
    const held = this.#locks.get(key);
    return held === undefined ? undefined : activeAmong(held, atMs)?.limitKw;
  }

  /** Instant since which the present lock has locked the connector; undefined without a lock. */
  lockedSinceMs(key: string, atMs: EpochMs): EpochMs | undefined {
    const active = activeAmong(this.#locks.get(key) ?? new Map(), atMs);
    const cancelledAtMs = this.#cancelledAtMs.get(key) ?? Number.NEGATIVE_INFINITY;
    return active && Math.max(active.startsAtMs, active.submittedAtMs, cancelledAtMs);
  }

  #known(locationId: string): KnownLocation {
    const known = this.#locations.get(locationId);
    if (known === undefined) throw new Error(`the oracle knows no location ${locationId}`);
    return known;
  }
}

export function submissionOf(
  { startTime, endTime, limitKw, priority = 0 }: NewProfile,
  atMs: EpochMs,
): Submission {
  const startsAtMs = Date.parse(startTime);
  return { priority, limitKw, startsAtMs, endsAtMs: Date.parse(endTime), submittedAtMs: atMs };
}

/** The active profile of the highest priority decides. A window includes its start and excludes its end. */
function activeAmong(submissions: ReadonlyMap<number, Submission>, atMs: EpochMs): Submission | undefined {
  for (let priority = 10; priority >= 0; priority--) {
    const newest = submissions.get(priority);
    if (newest !== undefined && newest.startsAtMs <= atMs && atMs < newest.endsAtMs) return newest;
  }
  return undefined;
}

function wattsOf(limitKw: number): number {
  return Math.floor(limitKw * 1000 + 1e-6);
}

/** Computes anew the limits between all instants at which a profile begins or ends. */
function divide(known: KnownLocation): void {
  const { submissions, permanentKw, gridLimitKw } = known;
  const instants = new Set([Number.NEGATIVE_INFINITY]);
  for (const { startsAtMs, endsAtMs } of submissions.values()) instants.add(startsAtMs).add(endsAtMs);
  known.segments = [...instants]
    .sort((a, b) => a - b)
    .map((fromMs) => {
      const limitKw = activeAmong(submissions, fromMs)?.limitKw ?? permanentKw;
      return { fromMs, limitKw, limitW: wattsOf(Math.min(limitKw, gridLimitKw ?? Number.POSITIVE_INFINITY)) };
    });
  known.at = 0;
}

/** Time moves on, so the result is usually the segment of the last look-up, or the next one. */
function segmentAt(known: KnownLocation, atMs: EpochMs): Segment | undefined {
  const { segments } = known;
  let { at } = known;
  while (at > 0 && (segments[at]?.fromMs ?? 0) > atMs) at--;
  while ((segments[at + 1]?.fromMs ?? Number.POSITIVE_INFINITY) <= atMs) at++;
  known.at = at;
  return segments[at];
}
