// Priority stack of one target: at most one profile per priority; the highest active one decides.
import type { EpochMs, ProfileStatus, TimeWindow } from '../values/time.js';
import { nextBoundaryOf, statusAt } from '../values/time.js';

/** Highest priority; 0 is the lowest (contract section 8). */
export const HIGHEST_PRIORITY = 10;

/** `limitKw` applies inside the window, at this priority. */
export interface LimitProfile extends TimeWindow {
  readonly priority: number;
  readonly limitKw: number;
}

/** The profiles of one target, at most one per priority, in ascending order of priority. Immutable. */
export type ProfileStack = readonly LimitProfile[];

export const EMPTY_STACK: ProfileStack = [];

/** Replaces the profile in the same slot, if there is one. */
export function putProfile(stack: ProfileStack, profile: LimitProfile): ProfileStack {
  const found = stack.findIndex((held) => held.priority >= profile.priority);
  const at = found === -1 ? stack.length : found;
  return stack.toSpliced(at, stack[at]?.priority === profile.priority ? 1 : 0, profile);
}

export function dropProfile(stack: ProfileStack, priority: number): ProfileStack {
  return stack.filter((held) => held.priority !== priority);
}

/** Profile of any status; undefined if the slot is free. */
export function profileAtPriority(stack: ProfileStack, priority: number): LimitProfile | undefined {
  return stack.find((held) => held.priority === priority);
}

/** Profile of highest priority with an active window at `now`. */
export function activeProfileAt(stack: ProfileStack, now: EpochMs): LimitProfile | undefined {
  for (let i = stack.length - 1; i >= 0; i--) {
    const profile = stack[i];
    if (profile !== undefined && statusAt(profile, now) === 'ACTIVE') return profile;
  }
  return undefined;
}

/** Limit at `now`, kW: that of the active profile, or `fallbackKw`. */
export function effectiveLimitKwAt<F extends number | undefined>(
  stack: ProfileStack,
  fallbackKw: F,
  now: EpochMs,
): number | F {
  return activeProfileAt(stack, now)?.limitKw ?? fallbackKw;
}

/** First instant strictly after `now` at which a profile of the stack begins or ends. */
export function nextBoundaryAfter(stack: ProfileStack, now: EpochMs): EpochMs | undefined {
  let next: EpochMs | undefined;
  for (const profile of stack) {
    const boundary = nextBoundaryOf(profile, now);
    if (boundary !== undefined && (next === undefined || boundary < next)) next = boundary;
  }
  return next;
}

/** One stretch of a composite timeline; `limitKw` is undefined without profile and fallback. */
export interface TimelineSegment extends TimeWindow {
  readonly limitKw: number | undefined;
  readonly priority: number | undefined;
}

/**
 * Deciding profiles inside `window`: segments in order and without gaps; neighbours differ in their profile or limit.
 * This resembles the composite schedule of OCPP 2.0.1, with windows and priorities instead of charging profiles.
 */
export function compositeTimeline(
  stack: ProfileStack,
  fallbackKw: number | undefined,
  window: TimeWindow,
): readonly TimelineSegment[] {
  const segments: TimelineSegment[] = [];
  let at = window.startsAtMs;
  while (at < window.endsAtMs) {
    const { active, until } = decidingFrom(stack, at, window.endsAtMs);
    const limitKw = active?.limitKw ?? fallbackKw;
    const previous = segments.at(-1);
    if (previous !== undefined && previous.priority === active?.priority && previous.limitKw === limitKw) {
      segments[segments.length - 1] = { ...previous, endsAtMs: until };
    } else {
      segments.push({ startsAtMs: at, endsAtMs: until, limitKw, priority: active?.priority });
    }
    at = until;
  }
  return segments;
}

/**
 * Deciding profile at `at`, and its shortest duration. One pass suffices: no profile below the deciding one can end it.
 */
function decidingFrom(
  stack: ProfileStack,
  at: EpochMs,
  endsAtMs: EpochMs,
): { readonly active: LimitProfile | undefined; readonly until: EpochMs } {
  let until = endsAtMs;
  for (let i = stack.length - 1; i >= 0; i--) {
    const profile = stack[i];
    if (profile === undefined || profile.endsAtMs <= at) continue;
    if (profile.startsAtMs <= at) return { active: profile, until: Math.min(until, profile.endsAtMs) };
    until = Math.min(until, profile.startsAtMs);
  }
  return { active: undefined, until };
}

/** A profile and its new status. */
export interface ProfileCrossing {
  readonly profile: LimitProfile;
  readonly status: ProfileStatus;
}

/** Profiles that changed status in the half-open span `(since, now]`, ends before starts. */
export function crossingsBetween(
  stack: ProfileStack,
  since: EpochMs,
  now: EpochMs,
): readonly ProfileCrossing[] {
  const ended: ProfileCrossing[] = [];
  const begun: ProfileCrossing[] = [];
  for (const profile of stack) {
    const status = statusAt(profile, now);
    if (status !== statusAt(profile, since)) (status === 'EXPIRED' ? ended : begun).push({ profile, status });
  }
  return ended.concat(begun);
}
