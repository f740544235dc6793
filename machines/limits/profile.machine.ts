// Lifecycle of a limit profile, SCHEDULED → ACTIVE → EXPIRED (contract section 3.1), and the holder of profiles.
import { type ActorLogic, type ActorRefFrom, assign, type SnapshotFrom, setup } from 'xstate';
import { type EpochMs, type ProfileStatus, statusAt, type TimeWindow } from '../values/time.js';
import { beginningWith } from './first-snapshot.js';
import {
  crossingsBetween,
  dropProfile,
  type LimitProfile,
  nextBoundaryAfter,
  type ProfileStack,
  putProfile,
} from './profile-stack.js';

export interface BoundaryReached {
  readonly type: 'boundary.reached';
  readonly now: EpochMs;
}

interface ProfileInput {
  readonly window: TimeWindow;
  readonly now: EpochMs;
}

export type ProfileLogic = ActorLogic<SnapshotFrom<typeof profileMachine>, BoundaryReached, ProfileInput>;
export type ProfileActor = ActorRefFrom<typeof profileMachine>;

/**
 * Time enters as data: every `boundary.reached` carries `now`. The state follows from the window at that instant,
 * however late the event is. EXPIRED is an ordinary state and not a final one: in `final`, XState walks all events
 * scheduled in the system. A replaced or cancelled profile has no state of its own: its actor is stopped.
 */
export const profileMachine = setup({
  types: {
    context: {} as ProfileInput,
    events: {} as BoundaryReached,
    input: {} as ProfileInput,
  },
  actions: {
    rememberNow: assign({ now: ({ event }) => event.now }),
  },
  guards: {
    hasBegun: ({ context: { window, now } }) => now >= window.startsAtMs,
    hasEnded: ({ context: { window, now } }) => now >= window.endsAtMs,
  },
}).createMachine({
  id: 'profile',
  context: ({ input }) => input,
  initial: 'scheduled',
  on: { 'boundary.reached': { actions: 'rememberNow' } },
  states: {
    // A window that has ended as well goes on at once, through active.
    scheduled: { always: { guard: 'hasBegun', target: 'active' } },
    active: { always: { guard: 'hasEnded', target: 'expired' } },
    expired: {},
  },
});

/** Logic of profiles' actors. A profile inside its window is active from the first. */
export const profileLogic: ProfileLogic = beginningWith(profileMachine, (input: ProfileInput) =>
  statusAt(input.window, input.now) === 'ACTIVE'
    ? profileMachine.resolveState({ value: 'active', context: input })
    : undefined,
);

const STATUSES: Readonly<Record<'scheduled' | 'active' | 'expired', ProfileStatus>> = {
  scheduled: 'SCHEDULED',
  active: 'ACTIVE',
  expired: 'EXPIRED',
};

/** Status as of the newest instant that the actor received. */
export function statusOfActor(actor: ProfileActor): ProfileStatus {
  return STATUSES[actor.getSnapshot().value];
}

// Profiles of a location, connector or organization: a stack, and actors for the profiles in play.

/**
 * The part of a machine's context that holds profiles. Actors are keyed by priority. A profile has an actor from its
 * submission to its end. A profile restored from rows gets its actor at the start of its window: a hundred thousand
 * idle actors take a quarter of a gigabyte, and hold no more information than the stack.
 */
export interface ProfileHolder {
  readonly stack: ProfileStack;
  readonly profiles: ReadonlyMap<number, ProfileActor>;
  /** The actors have received the time up to and including this instant. */
  readonly toldAtMs: EpochMs;
}

type SpawnProfile = (
  logic: ProfileLogic,
  options: { readonly input: { readonly window: LimitProfile; readonly now: EpochMs } },
) => ProfileActor;

/** Arguments of `enqueueActions`, as far as profiles need them. */
interface HolderArgs {
  readonly context: ProfileHolder;
  readonly enqueue: {
    assign(assigner: (args: { readonly spawn: SpawnProfile }) => Partial<ProfileHolder>): void;
    stopChild(actor: ProfileActor): void;
  };
}

interface ProfileSubmitted {
  readonly type: 'profile.submitted';
  readonly profile: LimitProfile;
  readonly now: EpochMs;
}

interface ProfileCancelled {
  readonly type: 'profile.cancelled';
  readonly priority: number;
  readonly now: EpochMs;
}

/** Events of every holder of profiles. A begin or end due by `now` precedes any other event at `now`. */
export type HolderEvent = ProfileSubmitted | ProfileCancelled | BoundaryReached;

// Shared by all holders without actors: most connectors never have one.
const NO_ACTORS: ReadonlyMap<number, ProfileActor> = new Map();

/** Holder of a stack from rows at `now`, with an actor for each active profile. */
export function holdStack(stack: ProfileStack, now: EpochMs, spawn: SpawnProfile): ProfileHolder {
  const active = stack.filter((profile) => statusAt(profile, now) === 'ACTIVE');
  if (active.length === 0) return holdIdle(stack, now);
  const profiles = new Map(
    active.map((profile) => [profile.priority, spawn(profileLogic, { input: { window: profile, now } })]),
  );
  return { stack, profiles, toldAtMs: now };
}

/** True if `holdStack` would start an actor. */
export function isAnyActive(stack: ProfileStack, now: EpochMs): boolean {
  return stack.some((profile) => statusAt(profile, now) === 'ACTIVE');
}

/** The same for a stack without an active profile at `now`. */
export function holdIdle(stack: ProfileStack, now: EpochMs): ProfileHolder {
  return { stack, profiles: NO_ACTORS, toldAtMs: now };
}

/** Puts a submitted profile into its slot, and replaces the profile there. */
export function holdSubmitted({ context, enqueue }: HolderArgs, { profile, now }: ProfileSubmitted): void {
  const replaced = context.profiles.get(profile.priority);
  if (replaced !== undefined) enqueue.stopChild(replaced);
  // A wall clock that steps back unnoticed does not set the holder back: the newest time sent to the actors counts.
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

/** Frees the slot of a cancelled profile. */
export function releaseCancelled({ context, enqueue }: HolderArgs, { priority }: ProfileCancelled): void {
  const cancelled = context.profiles.get(priority);
  if (cancelled !== undefined) enqueue.stopChild(cancelled);
  const profiles = new Map(context.profiles);
  profiles.delete(priority);
  enqueue.assign(() => ({ stack: dropProfile(context.stack, priority), profiles }));
}

/** True if a profile has begun or ended since the actors last received the time. */
export function isAnyDue({ stack, toldAtMs }: ProfileHolder, now: EpochMs): boolean {
  const boundary = nextBoundaryAfter(stack, toldAtMs);
  return boundary !== undefined && boundary <= now;
}

/**
 * Sends `now` to the profiles' actors at once, and not after the holder's event: the consequences belong to the same
 * event. Profiles at the start of their window get an actor; actors of ended profiles stop.
 * @returns profiles with a changed state, ends before starts, so that an end makes room for a start
 */
export function notifyProfiles(
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
 * Status of a profile in the stack: the state of its actor. A profile without an actor waits for its window, or has
 * ended.
 */
export function statusOf({ profiles, toldAtMs }: ProfileHolder, profile: LimitProfile): ProfileStatus {
  const actor = profiles.get(profile.priority);
  if (actor !== undefined) return statusOfActor(actor);
  return profile.startsAtMs > toldAtMs ? 'SCHEDULED' : 'EXPIRED';
}

/** The deciding profile: of all active ones, the profile of highest priority. */
export function activeProfileOf({ stack, profiles }: ProfileHolder): LimitProfile | undefined {
  if (profiles.size === 0) return undefined;
  for (let i = stack.length - 1; i >= 0; i--) {
    const profile = stack[i];
    const actor = profile && profiles.get(profile.priority);
    if (actor !== undefined && statusOfActor(actor) === 'ACTIVE') return profile;
  }
  return undefined;
}
