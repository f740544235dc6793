// What location, connector and organization share: a stack of profiles, and actors for those in play.
import type { ProfileActor } from './profile.machine.js';
import {
  crossingsBetween,
  dropProfile,
  type LimitProfile,
  type ProfileCrossing,
  type ProfileStack,
  putProfile,
} from './profile-stack.js';
import { type EpochMs, statusAt } from './time.js';

/**
 * The part of a machine's context that holds profiles. Actors are keyed by priority. A profile has one from its
 * submission until it has ended; one that is taken from rows gets it when its window begins, because a hundred thousand
 * waiting actors cost a quarter of a gigabyte and know nothing that the stack does not.
 */
export interface ProfileHolder {
  readonly stack: ProfileStack;
  readonly profiles: ReadonlyMap<number, ProfileActor>;
  /** Boundaries up to and including this instant have been dealt with. */
  readonly settledAtMs: EpochMs;
}

/** How a machine's `spawn` makes a profile's actor. */
export type SpawnProfile = (input: { readonly window: LimitProfile; readonly now: EpochMs }) => ProfileActor;

/** The two things done to profile actors, as `enqueueActions` offers them. */
interface Enqueue {
  sendTo(
    actor: ProfileActor,
    event:
      | { type: 'boundary.reached'; now: EpochMs }
      | { type: 'profile.replaced' }
      | { type: 'profile.cancelled' },
  ): void;
  stopChild(actor: ProfileActor): void;
}

// Shared by all who have no actor: most connectors have none, ever.
const NO_ACTORS: ReadonlyMap<number, ProfileActor> = new Map();

/** The holder of a stack taken from rows at `now`, with an actor for every profile that is active. */
export function holdStack(stack: ProfileStack, now: EpochMs, spawn: SpawnProfile): ProfileHolder {
  const active = stack.filter((profile) => statusAt(profile, now) === 'ACTIVE');
  const profiles =
    active.length === 0
      ? NO_ACTORS
      : new Map(active.map((profile) => [profile.priority, spawn({ window: profile, now })]));
  return { stack, profiles, settledAtMs: now };
}

/** What has to change for `profile`, just submitted, to be in its slot. */
export function holdProfile(
  holder: ProfileHolder,
  profile: LimitProfile,
  now: EpochMs,
  spawn: SpawnProfile,
): Pick<ProfileHolder, 'stack' | 'profiles'> {
  const profiles = new Map(holder.profiles);
  profiles.delete(profile.priority);
  if (statusAt(profile, now) !== 'EXPIRED') profiles.set(profile.priority, spawn({ window: profile, now }));
  return { stack: putProfile(holder.stack, profile), profiles };
}

/** What has to change for the slot of `priority` to be free: its profile was cancelled. */
export function releaseProfile(
  holder: ProfileHolder,
  priority: number,
): Pick<ProfileHolder, 'stack' | 'profiles'> {
  const profiles = new Map(holder.profiles);
  profiles.delete(priority);
  return { stack: dropProfile(holder.stack, priority), profiles: profiles.size === 0 ? NO_ACTORS : profiles };
}

/** Tells the actor that holds the slot of `priority`, if any, how it ended, and stops it. */
export function retireProfile(
  holder: ProfileHolder,
  priority: number,
  how: 'profile.replaced' | 'profile.cancelled',
  enqueue: Enqueue,
): void {
  const actor = holder.profiles.get(priority);
  if (actor === undefined) return;
  enqueue.sendTo(actor, { type: how });
  enqueue.stopChild(actor);
}

/** What began or ended since boundaries were last dealt with: ends first, so that an end makes room for a start. */
export function crossingsAt(holder: ProfileHolder, now: EpochMs): readonly ProfileCrossing[] {
  return now > holder.settledAtMs ? crossingsBetween(holder.stack, holder.settledAtMs, now) : [];
}

/** Tells the actors of the crossed profiles the time; those whose profile has ended are stopped. */
export function tellCrossings(
  holder: ProfileHolder,
  crossings: readonly ProfileCrossing[],
  now: EpochMs,
  enqueue: Enqueue,
): void {
  for (const { profile, status } of crossings) {
    const actor = holder.profiles.get(profile.priority);
    if (actor === undefined) continue;
    enqueue.sendTo(actor, { type: 'boundary.reached', now });
    if (status === 'EXPIRED') enqueue.stopChild(actor);
  }
}

/**
 * What has to change once the crossings are told: ended profiles let go, begun ones from rows given their actor, unless
 * `event` is about to fill their slot anew, or to free it.
 */
export function settleCrossings(
  holder: ProfileHolder,
  crossings: readonly ProfileCrossing[],
  event: { readonly now: EpochMs; readonly profile?: LimitProfile; readonly priority?: number },
  spawn: SpawnProfile,
): Pick<ProfileHolder, 'profiles' | 'settledAtMs'> {
  const { now } = event;
  const slot = event.profile?.priority ?? event.priority;
  const profiles = new Map(holder.profiles);
  for (const { profile, status } of crossings) {
    const { priority } = profile;
    if (status === 'EXPIRED') profiles.delete(priority);
    else if (!profiles.has(priority) && priority !== slot)
      profiles.set(priority, spawn({ window: profile, now }));
  }
  return { profiles: profiles.size === 0 ? NO_ACTORS : profiles, settledAtMs: now };
}
