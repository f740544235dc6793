// Profiles at an instant, with their statuses and the deciding one.
import { activeProfileAt } from '../../machines/limits/profile-stack.js';
import { type EpochMs, type ProfileStatus, statusAt } from '../../machines/values/time.js';
import type { ProfileView } from '../../src/features/profiles/contract.js';
import { profileOf, stackOf } from './preview.js';

export interface StackedProfile extends ProfileView {
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly status: ProfileStatus;
  readonly isDeciding: boolean;
}

/**
 * Highest priority first. Statuses are computed for `atMs`, so that a window begins and ends on the page to the second.
 */
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
