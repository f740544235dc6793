// One connector: is it priority-locked by a profile, how hard is it throttled, and can it be reached.
import { type ActorRefFrom, assign, enqueueActions, sendParent, setup } from 'xstate';
import { profileMachine } from '../limits/profile.machine.js';
import {
  activeProfileOf,
  endedActors,
  holdProfile,
  holdStack,
  type ProfileHolder,
  type ProfilesTold,
  profilesDueAt,
  releaseProfile,
  slotOf,
  wakeProfiles,
  without,
} from '../limits/profile-holder.js';
import type { LimitProfile, ProfileStack } from '../limits/profile-stack.js';
import type { EpochMs } from '../values/time.js';

export type ConnectorEvent =
  | { readonly type: 'profile.submitted'; readonly profile: LimitProfile; readonly now: EpochMs }
  | { readonly type: 'profile.cancelled'; readonly priority: number; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs }
  | ProfilesTold
  /** A decision gives it another share of what its car wants, or its car came or went. `nowMs` is monotonic, as turns and pauses are counted. */
  | {
      readonly type: 'throttle.changed';
      readonly throttle: Throttle;
      readonly hasCar: boolean;
      readonly nowMs: number;
    }
  /** A meter value came, after none had for a while; or none has for three heartbeats. */
  | { readonly type: 'meter.heard' }
  | { readonly type: 'meter.missed' }
  /** Its charger said that it is there, or that it goes; a broken connection counts as the latter. */
  | { readonly type: 'charger.connected' }
  | { readonly type: 'charger.disconnected' };

/** `online`: values arrive. `stale`: none for three heartbeats. `offline`: said so, or never heard of. */
export const LINKS = ['online', 'stale', 'offline'] as const;
export type Link = (typeof LINKS)[number];

/**
 * What a decision gives it beside what its car wants: `free` all of it, or there is no car; `limited` less; `minimum` 6 A, though
 * it wants more; `paused` nothing.
 */
export const THROTTLES = ['free', 'limited', 'minimum', 'paused'] as const;
export type Throttle = (typeof THROTTLES)[number];

/** Whose turn it is hangs on these, on the monotonic clock. */
export interface Turn {
  /** Since when its car may charge; undefined while it may not, or there is none. */
  readonly onSinceMs: number | undefined;
  /** Since when its car is paused that could charge before; undefined where none was paused. */
  readonly pausedSinceMs: number | undefined;
}

export const NO_TURN: Turn = { onSinceMs: undefined, pausedSinceMs: undefined };

/**
 * What a connector tells its location, so that the location speaks for the whole site. It is told to be locked again
 * when the lock's limit changes.
 */
export type ConnectorReport =
  | { readonly type: 'connector.locked'; readonly key: string; readonly limitKw: number }
  | { readonly type: 'connector.unlocked'; readonly key: string };

export interface ConnectorContext extends ProfileHolder {
  readonly key: string;
  /** `limitKw` of the highest active profile: the lock's limit; undefined where the connector is not locked. */
  readonly lockLimitKw: number | undefined;
  readonly turn: Turn;
}

export interface ConnectorInput {
  readonly key: string;
  readonly stack: ProfileStack;
  readonly now: EpochMs;
  /** As it was before the actor was built anew; none where it never was. */
  readonly turn?: Turn;
}

export type ConnectorActor = ActorRefFrom<typeof connectorMachine>;

const reportLocked = sendParent<ConnectorContext, ConnectorEvent, undefined, ConnectorReport, ConnectorEvent>(
  ({ context }) => ({ type: 'connector.locked', key: context.key, limitKw: context.lockLimitKw ?? 0 }),
);
const reportUnlocked = sendParent<
  ConnectorContext,
  ConnectorEvent,
  undefined,
  ConnectorReport,
  ConnectorEvent
>(({ context }) => ({ type: 'connector.unlocked', key: context.key }));

/** Three regions that do not know of each other: lock × throttle × link. */
export const connectorMachine = setup({
  types: {
    context: {} as ConnectorContext,
    events: {} as ConnectorEvent,
    input: {} as ConnectorInput,
  },
  actors: { profile: profileMachine },
  actions: {
    tellProfiles: enqueueActions(({ context, event, enqueue, self }) => {
      if (!('now' in event)) return;
      const { now } = event;
      const told = profilesDueAt(context, now, slotOf(event));
      enqueue.assign(({ spawn }) =>
        wakeProfiles(context, told, now, (profile) => spawn('profile', { input: profile })),
      );
      for (const { profile } of told) {
        const actor = context.profiles.get(profile.priority);
        if (actor !== undefined) enqueue.sendTo(actor, { type: 'boundary.reached', now });
      }
      if (told.length > 0) enqueue.sendTo(self, { type: 'profiles.told', told, isFirst: false });
    }),
    holdSubmitted: enqueueActions(({ context, event, enqueue, self }) => {
      if (event.type !== 'profile.submitted') return;
      const replaced = context.profiles.get(event.profile.priority);
      if (replaced !== undefined) enqueue.stopChild(replaced);
      enqueue.assign(({ spawn }) =>
        holdProfile(context, event.profile, event.now, (profile) => spawn('profile', { input: profile })),
      );
      enqueue.sendTo(self, { type: 'profiles.told', told: [], isFirst: false });
    }),
    releaseCancelled: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profile.cancelled') return;
      const cancelled = context.profiles.get(event.priority);
      if (cancelled !== undefined) enqueue.stopChild(cancelled);
      enqueue.assign(releaseProfile(context, event.priority));
    }),
    dropEnded: enqueueActions(({ context, enqueue }) => {
      const ended = endedActors(context);
      if (ended.length === 0) return;
      for (const [, actor] of ended) enqueue.stopChild(actor);
      const priorities = ended.map(([priority]) => priority);
      enqueue.assign({ profiles: without(context.profiles, priorities) });
    }),
    // Profiles of rows whose window has begun get their actor at the start: what they decide follows once those run.
    askProfiles: enqueueActions(({ context, enqueue, self }) => {
      if (context.profiles.size > 0) enqueue.sendTo(self, { type: 'profiles.told', told: [], isFirst: true });
    }),
    // The lock region tells of the lock's beginning and end; that its limit is another while it lasts is told here.
    followLock: enqueueActions(({ context, enqueue }) => {
      const lockLimitKw = activeProfileOf(context)?.limitKw;
      if (lockLimitKw === context.lockLimitKw) return;
      enqueue.assign({ lockLimitKw });
      if (lockLimitKw !== undefined && context.lockLimitKw !== undefined) enqueue('reportLocked');
    }),
    followTurn: assign(({ context, event }) => {
      if (event.type !== 'throttle.changed') return context;
      if (!event.hasCar) return { turn: NO_TURN };
      const { onSinceMs } = context.turn;
      const mayCharge = event.throttle !== 'paused';
      if (mayCharge && onSinceMs === undefined)
        return { turn: { onSinceMs: event.nowMs, pausedSinceMs: undefined } };
      if (!mayCharge && onSinceMs !== undefined)
        return { turn: { onSinceMs: undefined, pausedSinceMs: event.nowMs } };
      return context;
    }),
    reportLocked,
    reportUnlocked,
  },
  guards: {
    isLocked: ({ context }) => context.lockLimitKw !== undefined,
    isUnlocked: ({ context }) => context.lockLimitKw === undefined,
    isFree: ({ event }) => event.type === 'throttle.changed' && event.throttle === 'free',
    isLimited: ({ event }) => event.type === 'throttle.changed' && event.throttle === 'limited',
    isAtMinimum: ({ event }) => event.type === 'throttle.changed' && event.throttle === 'minimum',
    isPaused: ({ event }) => event.type === 'throttle.changed' && event.throttle === 'paused',
  },
}).createMachine({
  id: 'connector',
  type: 'parallel',
  context: ({ input, spawn }) => ({
    ...holdStack(input.stack, input.now, (profile) => spawn('profile', { input: profile })),
    key: input.key,
    lockLimitKw: undefined,
    turn: input.turn ?? NO_TURN,
  }),
  entry: 'askProfiles',
  on: {
    'profile.submitted': { actions: ['tellProfiles', 'holdSubmitted'] },
    'profile.cancelled': { actions: ['tellProfiles', 'releaseCancelled', 'followLock'] },
    'boundary.reached': { actions: 'tellProfiles' },
    'profiles.told': { actions: ['dropEnded', 'followLock'] },
  },
  states: {
    lock: {
      initial: 'unlocked',
      states: {
        unlocked: { always: { guard: 'isLocked', target: 'locked', actions: 'reportLocked' } },
        locked: { always: { guard: 'isUnlocked', target: 'unlocked', actions: 'reportUnlocked' } },
      },
    },
    throttle: {
      initial: 'free',
      on: {
        'throttle.changed': [
          { guard: 'isFree', target: '.free', actions: 'followTurn' },
          { guard: 'isLimited', target: '.limited', actions: 'followTurn' },
          { guard: 'isAtMinimum', target: '.minimum', actions: 'followTurn' },
          { guard: 'isPaused', target: '.paused', actions: 'followTurn' },
        ],
      },
      states: { free: {}, limited: {}, minimum: {}, paused: {} },
    },
    link: {
      initial: 'offline',
      states: {
        // Only a meter value makes it online: a charger that is merely there cannot be relied upon to be heard.
        offline: { on: { 'meter.heard': 'online', 'charger.connected': 'stale' } },
        stale: { on: { 'meter.heard': 'online', 'charger.disconnected': 'offline' } },
        online: { on: { 'meter.missed': 'stale', 'charger.disconnected': 'offline' } },
      },
    },
  },
});
