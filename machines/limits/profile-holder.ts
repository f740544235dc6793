// What location, connector and organization share: a stack of profiles, and actors for those in play.

import { type EpochMs, type ProfileStatus, statusAt } from '../values/time.js';
import { type ProfileActor, statusOfActor } from './profile.machine.js';
import {
  crossingsBetween,
  dropProfile,
  type LimitProfile,
  type ProfileCrossing,
  type ProfileStack,
  putProfile,
} from './profile-stack.js';

/**
 * The part of a machine's context that holds profiles. Actors are keyed by priority. A profile has one from its
 * submission until it has ended; one that is taken from rows gets it when its window begins, because a hundred thousand
 * waiting actors cost a quarter of a gigabyte and know nothing that the stack does not.
 */
export interface ProfileHolder {
  readonly stack: ProfileStack;
  readonly profiles: ReadonlyMap<number, ProfileActor>;
  /** The actors were told the time up to and including this instant. */
  readonly toldAtMs: EpochMs;
}

/** How a machine's `spawn` makes a profile's actor. */
export type SpawnProfile = (input: { readonly window: LimitProfile; readonly now: EpochMs }) => ProfileActor;

/** A profile whose actor was told something, and the status it had before. */
export interface ToldProfile {
  readonly profile: LimitProfile;
  readonly before: ProfileStatus;
}

/**
 * What a holder tells itself once its profiles' actors have taken in what they were told: their states are final then,
 * and what depends on them follows. `isFirst` where the holder was just built from rows: nothing has changed by that.
 */
export interface ProfilesTold {
  readonly type: 'profiles.told';
  readonly told: readonly ToldProfile[];
  readonly isFirst: boolean;
}

// Shared by all who have no actor: most connectors have none, ever.
const NO_ACTORS: ReadonlyMap<number, ProfileActor> = new Map();

/** The holder of a stack taken from rows at `now`, with an actor for every profile whose window has begun. */
export function holdStack(stack: ProfileStack, now: EpochMs, spawn: SpawnProfile): ProfileHolder {
  const active = stack.filter((profile) => statusAt(profile, now) === 'ACTIVE');
  const profiles =
    active.length === 0
      ? NO_ACTORS
      : new Map(active.map((profile) => [profile.priority, spawn({ window: profile, now })]));
  return { stack, profiles, toldAtMs: now };
}

/** What has to change for `profile`, just submitted, to be in its slot. The actor that it replaces is still to be stopped. */
export function holdProfile(
  holder: ProfileHolder,
  profile: LimitProfile,
  now: EpochMs,
  spawn: SpawnProfile,
): Pick<ProfileHolder, 'stack' | 'profiles'> {
  const profiles = new Map(holder.profiles);
  // A wall clock that steps back unnoticed does not take the holder back: what all others were told counts.
  const atMs = Math.max(now, holder.toldAtMs);
  profiles.set(profile.priority, spawn({ window: profile, now: atMs }));
  return { stack: putProfile(holder.stack, profile), profiles };
}

/** What has to change for the slot of `priority` to be free: its profile was cancelled. Its actor is still to be stopped. */
export function releaseProfile(
  holder: ProfileHolder,
  priority: number,
): Pick<ProfileHolder, 'stack' | 'profiles'> {
  return { stack: dropProfile(holder.stack, priority), profiles: without(holder.profiles, [priority]) };
}

/** The priority whose profile an event submits or cancels; undefined where it does neither. */
export function slotOf(
  event:
    | { readonly type: 'profile.submitted'; readonly profile: LimitProfile }
    | { readonly type: 'profile.cancelled'; readonly priority: number }
    | { readonly type: 'boundary.reached' | 'permanentLimit.set' | 'decision.due' },
): number | undefined {
  if (event.type === 'profile.submitted') return event.profile.priority;
  return event.type === 'profile.cancelled' ? event.priority : undefined;
}

/**
 * The profiles with a boundary since the actors were told the time last, with the status they have; what ends goes before
 * what starts, so that an end makes room for a start.
 * @param leavingSlot the priority of a profile that is about to be replaced or cancelled: it is told nothing any more.
 */
export function profilesDueAt(
  holder: ProfileHolder,
  now: EpochMs,
  leavingSlot?: number,
): readonly ToldProfile[] {
  if (now <= holder.toldAtMs) return [];
  return crossingsBetween(holder.stack, holder.toldAtMs, now)
    .filter(({ profile }) => profile.priority !== leavingSlot)
    .map(({ profile }) => ({ profile, before: statusOf(holder, profile) }));
}

/** What has to change for `due` to be told: those that waited without an actor get one, which sees for itself that time came. */
export function wakeProfiles(
  holder: ProfileHolder,
  due: readonly ToldProfile[],
  now: EpochMs,
  spawn: SpawnProfile,
): Pick<ProfileHolder, 'profiles' | 'toldAtMs'> {
  const toldAtMs = Math.max(now, holder.toldAtMs);
  const waiting = due.filter(({ profile }) => !holder.profiles.has(profile.priority));
  if (waiting.length === 0) return { profiles: holder.profiles, toldAtMs };
  const profiles = new Map(holder.profiles);
  for (const { profile } of waiting) profiles.set(profile.priority, spawn({ window: profile, now }));
  return { profiles, toldAtMs };
}

/** What has begun or ended: the profiles whose actors are in another state than before. */
export function crossingsOf(holder: ProfileHolder, told: readonly ToldProfile[]): readonly ProfileCrossing[] {
  return told.flatMap(({ profile, before }) => {
    const status = statusOf(holder, profile);
    return status === before ? [] : [{ profile, status }];
  });
}

/** The actors of profiles that have ended: nothing is to come of them. */
export function endedActors({ profiles }: ProfileHolder): readonly (readonly [number, ProfileActor])[] {
  return [...profiles].filter(([, actor]) => statusOfActor(actor) === 'EXPIRED');
}

/** The profiles without those of the given priorities. */
export function without(
  profiles: ReadonlyMap<number, ProfileActor>,
  priorities: Iterable<number>,
): ReadonlyMap<number, ProfileActor> {
  const left = new Map(profiles);
  for (const priority of priorities) left.delete(priority);
  return left.size === 0 ? NO_ACTORS : left;
}

/**
 * The status of a profile of the stack: the state of its actor. One that has none is waiting for its window, or was let
 * go of after it ended.
 */
export function statusOf({ profiles, toldAtMs }: ProfileHolder, profile: LimitProfile): ProfileStatus {
  const actor = profiles.get(profile.priority);
  if (actor !== undefined) return statusOfActor(actor);
  return profile.startsAtMs > toldAtMs ? 'SCHEDULED' : 'EXPIRED';
}

/** The profile of highest priority whose actor is active: the one that decides. */
export function activeProfileOf({ stack, profiles }: ProfileHolder): LimitProfile | undefined {
  if (profiles.size === 0) return undefined;
  for (let i = stack.length - 1; i >= 0; i--) {
    const profile = stack[i];
    const actor = profile && profiles.get(profile.priority);
    if (actor !== undefined && statusOfActor(actor) === 'ACTIVE') return profile;
  }
  return undefined;
}
