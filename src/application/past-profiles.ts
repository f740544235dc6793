// Past of a target from rows: its stack at an instant, and every submission, page by page.

import { EMPTY_STACK, type ProfileStack, putProfile } from '../../machines/limits/profile-stack.js';
import type { TenantUuid } from '../../machines/values/ids.js';
import { type EpochMs, statusAt } from '../../machines/values/time.js';
import type { ProfileHistoryRecord, ProfileTarget } from '../ports/records.js';
import { toInstant } from '../wire/instants.js';
import type { Submission } from '../wire/operator-history.js';
import type { ProfileView } from '../wire/rest.js';
import type { Core } from './core.js';
import { viewOfProfile } from './profiles.js';
import { type AskedHistory, nextCursorOf, rowsOfPage } from './query-spans.js';

export function submissionOf(profile: ProfileHistoryRecord): Submission {
  return {
    priority: profile.priority,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    submittedAt: toInstant(profile.submittedAtMs),
    supersededAt: profile.supersededAtMs === null ? null : toInstant(profile.supersededAtMs),
  };
}

/** A page of submissions for a target that has no limit but its profiles, in the form of its history. */
export async function pageOfSubmissions(
  core: Core,
  tenantUuid: TenantUuid,
  target: ProfileTarget,
  asked: AskedHistory,
): Promise<{ from: string; to: string; submissions: Submission[]; nextCursor: string | null }> {
  const { window, page } = asked;
  const profiles = await core.archive.profileHistory(tenantUuid, target, window, page);
  return {
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    submissions: rowsOfPage(asked, profiles).map(submissionOf),
    nextCursor: nextCursorOf(asked, profiles),
  };
}

/**
 * Profiles known at the instant: submitted by then, neither replaced nor cancelled. For a future instant, the profiles
 * known now.
 */
export async function stackAt(
  core: Core,
  tenantUuid: TenantUuid,
  target: ProfileTarget,
  atMs: EpochMs,
): Promise<ProfileStack> {
  const profiles = await core.archive.profilesAt(tenantUuid, target, atMs);
  // In order of submission: if a clock went back, the later submission holds the slot.
  return profiles.reduce(
    (held, { priority, limitKw, startsAtMs, endsAtMs }) =>
      putProfile(held, { priority, limitKw, startsAtMs, endsAtMs }),
    EMPTY_STACK,
  );
}

/** Each profile with its status at the instant. */
export function viewsAt(stack: ProfileStack, atMs: EpochMs): ProfileView[] {
  return stack.map((profile) => viewOfProfile(profile, statusAt(profile, atMs)));
}
