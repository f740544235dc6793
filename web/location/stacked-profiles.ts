// Profiles as they stand at an instant: each with its status then, and the one that decides.
import { activeProfileAt } from '../../machines/limits/profile-stack.js';
import { type EpochMs, type ProfileStatus, statusAt } from '../../machines/values/time.js';
import type { ProfileView } from '../../src/wire/rest.js';
import { profileOf, stackOf } from './preview.js';

export interface StackedProfile extends ProfileView {
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly status: ProfileStatus;
  readonly isDeciding: boolean;
}

/** The highest priority first. Statuses are those of `atMs`: a window begins and ends on the page to the second, too. */
export function stackedAt(profiles: readonly ProfileView[], atMs: EpochMs): readonly StackedProfile[] {
  const deciding = activeProfileAt(stackOf(profiles), atMs)?.priority;
  return profiles
    .map((profile) => {
      const { startsAtMs, endsAtMs } = profileOf(profile);
      const status = statusAt({ startsAtMs, endsAtMs }, atMs);
      return { ...profile, startsAtMs, endsAtMs, status, isDeciding: profile.priority === deciding };
    })
    .sort((a, b) => b.priority - a.priority);
}
