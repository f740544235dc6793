// Effect of a change before it is sent: the timeline of a target without and with the change.
import {
  compositeTimeline,
  dropProfile,
  EMPTY_STACK,
  type LimitProfile,
  type ProfileStack,
  putProfile,
  type TimelineSegment,
} from '../../machines/limits/profile-stack.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { LocationTimeline } from '../../src/features/locations/contract.js';
import type { ProfileView } from '../../src/features/profiles/contract.js';

const DAY_MS = 86_400_000;

/**
 * A target's profiles, and its limit without an active profile. This limit is undefined for a connector without a lock.
 */
export interface LimitState {
  readonly stack: ProfileStack;
  readonly fallbackKw: number | undefined;
}

export type LimitChange =
  | { readonly kind: 'profile'; readonly profile: LimitProfile }
  | { readonly kind: 'cancellation'; readonly priority: number }
  | { readonly kind: 'permanentLimit'; readonly limitKw: number };

/** A span in which the limit would differ; undefined means no limit. */
export interface ChangedSpan extends TimeWindow {
  readonly beforeKw: number | undefined;
  readonly afterKw: number | undefined;
}

/** `limitKw` is undefined if no limit applies. */
export type PreviewSegment = Pick<TimelineSegment, 'startsAtMs' | 'endsAtMs' | 'limitKw'>;

export interface Preview {
  readonly window: TimeWindow;
  readonly before: readonly PreviewSegment[];
  readonly after: readonly PreviewSegment[];
  /** A span that ends at the end of the window has no known end. */
  readonly changed: readonly ChangedSpan[];
}

export function stackOf(profiles: readonly ProfileView[]): ProfileStack {
  return profiles.reduce((stack, profile) => putProfile(stack, profileOf(profile)), EMPTY_STACK);
}

export function profileOf({
  priority,
  limitKw,
  startTime,
  endTime,
}: Omit<ProfileView, 'status'>): LimitProfile {
  return { priority, limitKw, startsAtMs: Date.parse(startTime), endsAtMs: Date.parse(endTime) };
}

/** From `nowMs` until a day after the end of the last profile. */
export function previewWindow(state: LimitState, change: LimitChange, nowMs: EpochMs): TimeWindow {
  const ends = [...state.stack, ...applied(state, change).stack].map(({ endsAtMs }) => endsAtMs);
  return { startsAtMs: nowMs, endsAtMs: Math.max(nowMs, ...ends) + DAY_MS };
}

/** For a target whose own profiles alone decide, such as the locks of a connector. */
export function previewOf(state: LimitState, change: LimitChange, nowMs: EpochMs): Preview {
  const window = previewWindow(state, change, nowMs);
  const changedState = applied(state, change);
  const before = compositeTimeline(state.stack, state.fallbackKw, window);
  const after = compositeTimeline(changedState.stack, changedState.fallbackKw, window);
  return { window, before, after, changed: changedSpans(before, after) };
}

/** For a location: the limit in force, from its timelines without and with the change. */
export function previewOfTimelines(before: LocationTimeline, after: LocationTimeline): Preview {
  const [first, second] = [before, after].map(({ segments }) => segments.map(segmentOf));
  const endsAtMs = Math.min(Date.parse(before.to), Date.parse(after.to));
  return {
    window: { startsAtMs: Date.parse(after.from), endsAtMs },
    before: first ?? [],
    after: second ?? [],
    changed: changedSpans(first ?? [], second ?? []),
  };
}

function segmentOf({ startTime, endTime, limitKw }: LocationTimeline['segments'][number]): PreviewSegment {
  return { startsAtMs: Date.parse(startTime), endsAtMs: Date.parse(endTime), limitKw };
}

function applied(state: LimitState, change: LimitChange): LimitState {
  if (change.kind === 'permanentLimit') return { ...state, fallbackKw: change.limitKw };
  if (change.kind === 'cancellation') return { ...state, stack: dropProfile(state.stack, change.priority) };
  return { ...state, stack: putProfile(state.stack, change.profile) };
}

/** Both lists must cover the same window without gaps. */
function changedSpans(
  before: readonly PreviewSegment[],
  after: readonly PreviewSegment[],
): readonly ChangedSpan[] {
  const spans: ChangedSpan[] = [];
  let i = 0;
  let j = 0;
  for (let old = before[i], renewed = after[j]; old !== undefined && renewed !== undefined; ) {
    const startsAtMs = Math.max(old.startsAtMs, renewed.startsAtMs);
    const endsAtMs = Math.min(old.endsAtMs, renewed.endsAtMs);
    if (old.limitKw !== renewed.limitKw) {
      extend(spans, { startsAtMs, endsAtMs, beforeKw: old.limitKw, afterKw: renewed.limitKw });
    }
    if (old.endsAtMs === endsAtMs) i++;
    if (renewed.endsAtMs === endsAtMs) j++;
    old = before[i];
    renewed = after[j];
  }
  return spans;
}

function extend(spans: ChangedSpan[], span: ChangedSpan): void {
  const last = spans.at(-1);
  const joins =
    last?.endsAtMs === span.startsAtMs && last.beforeKw === span.beforeKw && last.afterKw === span.afterKw;
  if (last !== undefined && joins) spans[spans.length - 1] = { ...last, endsAtMs: span.endsAtMs };
  else spans.push(span);
}
