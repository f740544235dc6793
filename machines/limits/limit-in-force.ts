// Limit in force at a location: the lowest limit of all its sources, now and later.
import type { EpochMs, TimeWindow } from '../values/time.js';
import { wattsOfLimit } from '../values/units.js';
import type { LimitProfile } from './profile-stack.js';

/** Causes of the sources that a location has at most once. Their kind is the name of the source. */
export const SINGLE_CAUSES = ['operatorLimit', 'peakShaving', 'building', 'physicalConnection'] as const;

/** Rule that sets a limit. */
export type LimitCause =
  | { readonly kind: 'permanentLimit' }
  | { readonly kind: 'profile'; readonly profile: LimitProfile }
  | { readonly kind: 'clusterShare'; readonly clusterId: string }
  | { readonly kind: (typeof SINGLE_CAUSES)[number] };

export interface SourceLimit {
  readonly limitKw: number;
  readonly cause: LimitCause;
}

/**
 * A source of limits for one location. Each kind has one file, which defines its limits over time and its explanation.
 * A location has one source of a kind, and one cluster share for each of its clusters.
 */
export interface LimitSource {
  /** Its name in traces; unique in a location. */
  readonly name: string;
  /** The limit follows from the time alone, so the location keeps `current` at the `limitAt` of its last boundary. */
  readonly isTimed?: boolean;
  /** As of the location's last event; undefined if the source sets no limit. */
  readonly current: SourceLimit | undefined;
  /** As far as known at the last event; undefined if the source sets no limit then. */
  limitAt(atMs: EpochMs): SourceLimit | undefined;
  /** First instant after `atMs` at which `limitAt` changes; infinite if no change is known. */
  nextChangeAfter(atMs: EpochMs): EpochMs;
  /** The lowest limit from `now` on, as far as known; undefined if the source sets none. */
  lowestFrom(now: EpochMs): SourceLimit | undefined;
  /**
   * The limit in an operator's words, such as `the limit of the grid operator`.
   * @param textOf form of an instant in answers
   */
  explain(cause: LimitCause, textOf: (atMs: EpochMs) => string): string;
  /** A person or the grid operator sets the limit. Such a limit falls in steps, and chargers get time to follow. */
  readonly isOrdered?: boolean;
  /** The limit may pause locked connectors whose provisioning permits it (power-safety.md, R17). */
  readonly mayPauseLocks?: boolean;
  /** The limit is a part of a cap that several locations share. */
  readonly share?: GrantedShare;
}

/** Power that a cluster grants a member, whole W. */
export interface GrantedShare {
  readonly shareW: number;
  /**
   * Bound for the entitlement of the member's chargers, so that all members stay within the cap. It exceeds the share
   * if the chargers need more, as far as the others have made room. Infinite if that is not enough and no member is
   * still lowering its power.
   */
  readonly roomW: number;
  /**
   * Bound up to which the member may raise limits now. It is below the share while others are entitled to more than
   * theirs.
   */
  readonly raisesToW: number;
}

/**
 * Sources of a location: its own limits, the shares of its clusters, then the others in the order of `SINGLE_CAUSES`. Of
 * equal limits the first is in force.
 */
export type LimitSources = readonly [own: LimitSource, ...others: LimitSource[]];

/** Replaces the source of that name. A new one follows the shares of clusters. */
export function putSource(sources: LimitSources, source: LimitSource): LimitSources {
  const [own, ...others] = sources;
  if (source.name === own.name) return [source, ...others];
  const at = others.findIndex(({ name }) => name === source.name);
  if (at !== -1) return [own, ...others.with(at, source)];
  return [own, ...others.toSpliced(others.findLastIndex(({ share }) => share !== undefined) + 1, 0, source)];
}

/** The sources at `now`: a timed source has its limit of that instant. */
export function sourcesAt([own, ...others]: LimitSources, now: EpochMs): LimitSources {
  return [own, ...others.map((other) => (other.isTimed ? { ...other, current: other.limitAt(now) } : other))];
}

export function dropSource([own, ...others]: LimitSources, name: string): LimitSources {
  return [own, ...others.filter((other) => other.name !== name)];
}

export interface LimitInForce extends SourceLimit {
  readonly source: LimitSource;
  /** From the location's own profiles and permanent limit alone, kW. */
  readonly effectiveLimitKw: number;
}

/** The limit in force as of the location's last event. */
export function limitInForce(sources: LimitSources): LimitInForce {
  return lowestOf(sources, ({ current }) => current);
}

/** The limit in force at `atMs`, as far as known at the last event. */
export function limitInForceAt(sources: LimitSources, atMs: EpochMs): LimitInForce {
  return lowestOf(sources, (source) => source.limitAt(atMs));
}

/** The lowest known limit, now or later. */
export function lowestLimitFrom(sources: LimitSources, now: EpochMs): LimitInForce {
  return lowestOf(sources, (source) => source.lowestFrom(now));
}

/** First instant after `atMs` at which a limit is known to change; infinite without one. */
export function nextLimitChangeAfter(sources: LimitSources, atMs: EpochMs): EpochMs {
  let next = Number.POSITIVE_INFINITY;
  for (const source of sources) next = Math.min(next, source.nextChangeAfter(atMs));
  return next;
}

/** Grants count in whole watts, so a source that lowers the limit by less has no effect. */
function lowestOf(
  sources: LimitSources,
  limitOf: (source: LimitSource) => SourceLimit | undefined,
): LimitInForce {
  let [source] = sources;
  let { limitKw, cause } = limitOf(source) ?? UNLIMITED;
  let limitW = wattsOfLimit(limitKw);
  const effectiveLimitKw = limitKw;
  for (const other of sources) {
    const limit = limitOf(other);
    if (limit === undefined || wattsOfLimit(limit.limitKw) >= limitW) continue;
    source = other;
    ({ limitKw, cause } = limit);
    limitW = wattsOfLimit(limitKw);
  }
  return { limitKw, cause, source, effectiveLimitKw };
}

const UNLIMITED: SourceLimit = { limitKw: Number.POSITIVE_INFINITY, cause: { kind: 'permanentLimit' } };

/** A limit as far as known now. */
export interface LimitOutlook {
  readonly limitKw: number;
  /** Infinity without a named end. */
  readonly endsAtMs: EpochMs;
  /** Limit from that end on; left out without one. */
  readonly thenKw?: number;
}

/** Limits of a source by its outlook. */
export function outlookLimits(
  outlook: LimitOutlook | undefined,
  cause: LimitCause,
): Pick<LimitSource, 'current' | 'limitAt' | 'nextChangeAfter'> {
  const limitOf = (limitKw: number | undefined) => (limitKw === undefined ? undefined : { limitKw, cause });
  const current = limitOf(outlook?.limitKw);
  if (outlook === undefined) return { current, limitAt: () => undefined, nextChangeAfter: () => NEVER };
  const { endsAtMs } = outlook;
  const then = limitOf(outlook.thenKw);
  return {
    current,
    limitAt: (atMs) => (atMs < endsAtMs ? current : then),
    nextChangeAfter: (atMs) => (atMs < endsAtMs ? endsAtMs : NEVER),
  };
}

const NEVER = Number.POSITIVE_INFINITY;

export interface LimitSegment extends TimeWindow, LimitInForce {}

/**
 * Limit in force throughout `spans`, by present information. A share on its way to the location counts as arrived.
 * @param spans in order and without overlap.
 * @param most the result ends early at this number of segments.
 * @returns segments in order, without gaps inside a span; neighbours of one span differ
 */
export function limitsInForce(
  sources: LimitSources,
  spans: readonly TimeWindow[],
  most = Number.POSITIVE_INFINITY,
): readonly LimitSegment[] {
  const segments: LimitSegment[] = [];
  for (const span of spans) {
    const firstOfSpan = segments.length;
    let { startsAtMs } = span;
    while (startsAtMs < span.endsAtMs) {
      const endsAtMs = Math.min(span.endsAtMs, nextLimitChangeAfter(sources, startsAtMs));
      const limit = limitInForceAt(sources, startsAtMs);
      appendSegment(segments, firstOfSpan, { ...limit, startsAtMs, endsAtMs });
      if (segments.length > most) return segments.slice(0, most);
      startsAtMs = endsAtMs;
    }
  }
  return segments;
}

/** Extends the last segment if only the time differs. */
function appendSegment(segments: LimitSegment[], firstOfSpan: number, segment: LimitSegment): void {
  const last = segments.at(-1);
  const isSame =
    last !== undefined &&
    segments.length > firstOfSpan &&
    last.limitKw === segment.limitKw &&
    last.effectiveLimitKw === segment.effectiveLimitKw &&
    isSameCause(last.cause, segment.cause);
  if (isSame) segments[segments.length - 1] = { ...last, endsAtMs: segment.endsAtMs };
  else segments.push(segment);
}

function isSameCause(a: LimitCause, b: LimitCause): boolean {
  if (a.kind === 'profile') return b.kind === 'profile' && a.profile === b.profile;
  if (a.kind === 'clusterShare') return b.kind === 'clusterShare' && a.clusterId === b.clusterId;
  return a.kind === b.kind;
}
