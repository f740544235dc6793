// What location, connector and organization share: a stack of profiles, and actors for those in play.

import { type EpochMs, type ProfileStatus, statusAt } from '../values/time.js';
import { type ProfileActor, type ProfileLogic, profileLogic, statusOfActor } from './profile.machine.js';
import {
  crossingsBetween,
  dropProfile,
  type LimitProfile,
  nextBoundaryAfter,
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
type SpawnProfile = (
  logic: ProfileLogic,
  options: { readonly input: { readonly window: LimitProfile; readonly now: EpochMs } },
) => ProfileActor;

/** What `enqueueActions` hands a machine that holds profiles, as far as its profiles need it. */
interface HolderArgs {
  readonly context: ProfileHolder;
  readonly enqueue: {
    assign(assigner: (args: { readonly spawn: SpawnProfile }) => Partial<ProfileHolder>): void;
    stopChild(actor: ProfileActor): void;
  };
}

export interface ProfileSubmitted {
  readonly type: 'profile.submitted';
  readonly profile: LimitProfile;
  readonly now: EpochMs;
}

export interface ProfileCancelled {
  readonly type: 'profile.cancelled';
  readonly priority: number;
  readonly now: EpochMs;
}

export interface BoundaryReached {
  readonly type: 'boundary.reached';
  readonly now: EpochMs;
}

/** What every holder of profiles is told. What has begun or ended by `now` is told before anything else that happens at `now`. */
export type HolderEvent = ProfileSubmitted | ProfileCancelled | BoundaryReached;

// Shared by all who have no actor: most connectors have none, ever.
const NO_ACTORS: ReadonlyMap<number, ProfileActor> = new Map();

/** The holder of a stack taken from rows at `now`, with an actor for every profile whose window has begun. */
export function holdStack(stack: ProfileStack, now: EpochMs, spawn: SpawnProfile): ProfileHolder {
  const active = stack.filter((profile) => statusAt(profile, now) === 'ACTIVE');
  if (active.length === 0) return holdIdle(stack, now);
  const profiles = new Map(
    active.map((profile) => [profile.priority, spawn(profileLogic, { input: { window: profile, now } })]),
  );
  return { stack, profiles, toldAtMs: now };
}

/** Whether `holdStack` would start any actor. */
export function isAnyActive(stack: ProfileStack, now: EpochMs): boolean {
  return stack.some((profile) => statusAt(profile, now) === 'ACTIVE');
}

/** The same of a stack in which nothing is active at `now`. */
export function holdIdle(stack: ProfileStack, now: EpochMs): ProfileHolder {
  return { stack, profiles: NO_ACTORS, toldAtMs: now };
}

/** Puts a profile that was submitted in its slot, in the place of what held it. */
export function holdSubmitted({ context, enqueue }: HolderArgs, { profile, now }: ProfileSubmitted): void {
  const replaced = context.profiles.get(profile.priority);
  if (replaced !== undefined) enqueue.stopChild(replaced);
  // A wall clock that steps back unnoticed does not take the holder back: what all others were told counts.
  const toldAtMs = Math.max(now, context.toldAtMs);
  const isOver = statusAt(profile, toldAtMs) === 'EXPIRED';
  enqueue.assign(({ spawn }) => {
    const profiles = new Map(context.profiles);
    profiles.delete(profile.priority);
    if (!isOver)
      profiles.set(profile.priority, spawn(profileLogic, { input: { window: profile, now: toldAtMs } }));
    return { stack: putProfile(context.stack, profile), profiles, toldAtMs };
  });
}

/** Frees the slot of a profile that was cancelled. */
export function releaseCancelled({ context, enqueue }: HolderArgs, { priority }: ProfileCancelled): void {
  const cancelled = context.profiles.get(priority);
  if (cancelled !== undefined) enqueue.stopChild(cancelled);
  const profiles = new Map(context.profiles);
  profiles.delete(priority);
  enqueue.assign(() => ({ stack: dropProfile(context.stack, priority), profiles }));
}

/** Whether a profile of the holder has begun or ended since it was told the time last. */
export function isAnyDue({ stack, toldAtMs }: ProfileHolder, now: EpochMs): boolean {
  const boundary = nextBoundaryAfter(stack, toldAtMs);
  return boundary !== undefined && boundary <= now;
}

/**
 * Tells the profiles' actors that it is `now`. They are told at once, and not when the holder is done: what follows from
 * their states is the same event's. Those whose window begins get an actor; the actors of those that have ended go.
 * @returns the profiles that are in another state now, what ends before what starts, so that an end makes room for a start.
 */
export function tellProfiles(
  { context, enqueue }: HolderArgs,
  { now }: BoundaryReached,
): readonly LimitProfile[] {
  if (now <= context.toldAtMs) return [];
  const crossed: LimitProfile[] = [];
  const waiting: LimitProfile[] = [];
  const profiles = new Map(context.profiles);
  for (const { profile, status } of crossingsBetween(context.stack, context.toldAtMs, now)) {
    const actor = profiles.get(profile.priority);
    if (actor === undefined) {
      crossed.push(profile);
      if (status === 'ACTIVE') waiting.push(profile);
      continue;
    }
    const before = statusOfActor(actor);
    actor.send({ type: 'boundary.reached', now });
    const after = statusOfActor(actor);
    if (after !== before) crossed.push(profile);
    if (after !== 'EXPIRED') continue;
    enqueue.stopChild(actor);
    profiles.delete(profile.priority);
  }
  enqueue.assign(({ spawn }) => {
    for (const profile of waiting)
      profiles.set(profile.priority, spawn(profileLogic, { input: { window: profile, now } }));
    return { profiles: profiles.size === 0 ? NO_ACTORS : profiles, toldAtMs: now };
  });
  return crossed;
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
