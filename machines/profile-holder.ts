// What location, connector and organization share: a stack of profiles and one actor for each that has not ended.
import type { ProfileActor } from './profile.machine.js';
import { EMPTY_STACK, type LimitProfile, type ProfileStack, putProfile } from './profile-stack.js';
import { type EpochMs, type ProfileStatus, statusAt } from './time.js';

/** The part of a machine's context that holds profiles. Actors are keyed by priority; an EXPIRED profile needs none. */
export interface ProfileHolder {
  readonly stack: ProfileStack;
  readonly profiles: ReadonlyMap<number, ProfileActor>;
}

/** How a machine's `spawn` makes a profile's actor. */
export type SpawnProfile = (input: { readonly window: LimitProfile; readonly now: EpochMs }) => ProfileActor;

/** The two things done to profile actors, as `enqueueActions` offers them. */
interface Enqueue {
  sendTo(
    actor: ProfileActor,
    event: { type: 'boundary.reached'; now: EpochMs } | { type: 'profile.replaced' },
  ): void;
  stopChild(actor: ProfileActor): void;
}

/** A profile whose status changed, for those who want to hear of it. */
export interface ProfileCrossing {
  readonly profile: LimitProfile;
  readonly status: ProfileStatus;
}

const STATUS_OF_STATE: Readonly<Record<string, ProfileStatus>> = {
  scheduled: 'SCHEDULED',
  active: 'ACTIVE',
  expired: 'EXPIRED',
};

/** The holder of `stack` at `now`, with an actor for every profile that has not ended. */
export function holdStack(stack: ProfileStack, now: EpochMs, spawn: SpawnProfile): ProfileHolder {
  const live = stack.filter((profile) => statusAt(profile, now) !== 'EXPIRED');
  return {
    stack,
    profiles: new Map(live.map((profile) => [profile.priority, spawn({ window: profile, now })])),
  };
}

export const NO_PROFILES: ProfileHolder = { stack: EMPTY_STACK, profiles: new Map() };

/** The holder with `profile` in its slot; the one it replaces is told so. */
export function holdProfile(
  holder: ProfileHolder,
  profile: LimitProfile,
  now: EpochMs,
  spawn: SpawnProfile,
): ProfileHolder {
  const profiles = new Map(holder.profiles);
  profiles.delete(profile.priority);
  if (statusAt(profile, now) !== 'EXPIRED') profiles.set(profile.priority, spawn({ window: profile, now }));
  return { stack: putProfile(holder.stack, profile), profiles };
}

/** Tells the actor that holds the slot of `priority`, if any, that it was replaced, and stops it. */
export function retireProfile(holder: ProfileHolder, priority: number, enqueue: Enqueue): void {
  const actor = holder.profiles.get(priority);
  if (actor === undefined) return;
  enqueue.sendTo(actor, { type: 'profile.replaced' });
  enqueue.stopChild(actor);
}

/** Profiles whose actor is behind the time: ends first, so that what ends at an instant is gone before what begins. */
export function crossingsAt(holder: ProfileHolder, now: EpochMs): readonly ProfileCrossing[] {
  const crossings: ProfileCrossing[] = [];
  for (const profile of holder.stack) {
    const actor = holder.profiles.get(profile.priority);
    if (actor === undefined) continue;
    const status = statusAt(profile, now);
    if (STATUS_OF_STATE[actor.getSnapshot().value as string] === status) continue;
    if (status === 'EXPIRED') crossings.unshift({ profile, status });
    else crossings.push({ profile, status });
  }
  return crossings;
}

/** Tells the crossed profiles' actors the time; those that ended are let go. Returns the holder without them. */
export function crossBoundaries(
  holder: ProfileHolder,
  crossings: readonly ProfileCrossing[],
  now: EpochMs,
  enqueue: Enqueue,
): ProfileHolder {
  const profiles = new Map(holder.profiles);
  for (const { profile, status } of crossings) {
    const actor = profiles.get(profile.priority);
    if (actor === undefined) continue;
    enqueue.sendTo(actor, { type: 'boundary.reached', now });
    if (status !== 'EXPIRED') continue;
    enqueue.stopChild(actor);
    profiles.delete(profile.priority);
  }
  return { stack: holder.stack, profiles };
}
