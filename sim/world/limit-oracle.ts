// What the limits must be, worked out anew and naively from everything that was ever accepted: shares no code with the service.
import type { EpochMs } from '../../machines/time.js';

interface Submission {
  readonly priority: number;
  readonly limitKw: number;
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly submittedAtMs: EpochMs;
}

interface KnownLocation {
  readonly gridLimitKw: number | null;
  /** Every permanent limit with the instant it was set, in order. */
  readonly permanent: { readonly atMs: EpochMs; readonly limitKw: number }[];
  readonly submissions: Submission[];
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

/** Limits in W, rounded down; instants of the wall clock. */
export class LimitOracle {
  readonly #locations = new Map<string, KnownLocation>();
  /** Profiles of connectors, by `controllerUuid/connectorId`. */
  readonly #locks = new Map<string, Submission[]>();
  readonly clusters = new Map<string, KnownCluster>();

  addLocation(locationId: string, permanentLimitKw: number, gridLimitKw: number | null): void {
    const permanent = [{ atMs: Number.NEGATIVE_INFINITY, limitKw: permanentLimitKw }];
    this.#locations.set(locationId, { gridLimitKw, permanent, submissions: [] });
  }

  submit(locationId: string, profile: NewProfile, atMs: EpochMs): void {
    this.#known(locationId).submissions.push(submissionOf(profile, atMs));
  }

  lock(key: string, profile: NewProfile, atMs: EpochMs): void {
    const held = this.#locks.get(key) ?? [];
    this.#locks.set(key, held);
    held.push(submissionOf(profile, atMs));
  }

  setPermanent(locationId: string, limitKw: number, atMs: EpochMs): void {
    this.#known(locationId).permanent.push({ atMs, limitKw });
  }

  get locationIds(): readonly string[] {
    return [...this.#locations.keys()];
  }

  /** By its own profiles, kW. */
  effectiveLimitKw(locationId: string, atMs: EpochMs): number {
    const { submissions, permanent } = this.#known(locationId);
    return activeAmong(submissions, atMs)?.limitKw ?? permanent.at(-1)?.limitKw ?? 0;
  }

  /** What it may draw, clusters left aside. */
  limitW(locationId: string, atMs: EpochMs): number {
    const { gridLimitKw } = this.#known(locationId);
    const limitKw = Math.min(
      this.effectiveLimitKw(locationId, atMs),
      gridLimitKw ?? Number.POSITIVE_INFINITY,
    );
    return Math.floor(limitKw * 1000 + 1e-6);
  }

  /** The physical connection alone; Infinity where none is known. */
  connectionW(locationId: string): number {
    return Math.floor((this.#known(locationId).gridLimitKw ?? Number.POSITIVE_INFINITY) * 1000 + 1e-6);
  }

  /** The lock's limit; undefined where the connector is not locked. */
  lockKw(key: string, atMs: EpochMs): number | undefined {
    return activeAmong(this.#locks.get(key) ?? [], atMs)?.limitKw;
  }

  /** The instant since when the connector has been locked, by any profile; undefined where it is not. */
  lockedSinceMs(key: string, atMs: EpochMs): EpochMs | undefined {
    const active = activeAmong(this.#locks.get(key) ?? [], atMs);
    return active === undefined ? undefined : Math.max(active.startsAtMs, active.submittedAtMs);
  }

  #known(locationId: string): KnownLocation {
    const known = this.#locations.get(locationId);
    if (known === undefined) throw new Error(`the oracle knows no location ${locationId}`);
    return known;
  }
}

function submissionOf({ startTime, endTime, limitKw, priority = 0 }: NewProfile, atMs: EpochMs): Submission {
  const startsAtMs = Date.parse(startTime);
  return { priority, limitKw, startsAtMs, endsAtMs: Date.parse(endTime), submittedAtMs: atMs };
}

/** Of each priority the last that was submitted counts; of those that are active, the highest decides. */
function activeAmong(submissions: readonly Submission[], atMs: EpochMs): Submission | undefined {
  for (let priority = 10; priority >= 0; priority--) {
    const newest = submissions.filter((each) => each.priority === priority).at(-1);
    if (newest !== undefined && newest.startsAtMs <= atMs && atMs < newest.endsAtMs) return newest;
  }
  return undefined;
}
