// One connector: is it priority-locked by a profile, how hard is it throttled, and can it be reached.
import { type ActorRefFrom, enqueueActions, sendParent, setup } from 'xstate';
import type { Link, Throttle } from './meter-ledger.js';
import { profileMachine } from './profile.machine.js';
import {
  crossingsAt,
  holdProfile,
  holdStack,
  type ProfileHolder,
  releaseProfile,
  retireProfile,
  settleCrossings,
  tellCrossings,
} from './profile-holder.js';
import { activeProfileAt, type LimitProfile, type ProfileStack } from './profile-stack.js';
import type { EpochMs } from './time.js';

export type ConnectorEvent =
  | { readonly type: 'profile.submitted'; readonly profile: LimitProfile; readonly now: EpochMs }
  | { readonly type: 'profile.cancelled'; readonly priority: number; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs }
  | { readonly type: 'throttle.changed'; readonly throttle: Throttle }
  | { readonly type: 'link.changed'; readonly link: Link };

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
}

export interface ConnectorInput {
  readonly key: string;
  readonly stack: ProfileStack;
  readonly now: EpochMs;
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
    holdSubmitted: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profile.submitted') return;
      retireProfile(context, event.profile.priority, 'profile.replaced', enqueue);
      enqueue.assign(({ spawn }) =>
        holdProfile(context, event.profile, event.now, (profile) => spawn('profile', { input: profile })),
      );
    }),
    releaseCancelled: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profile.cancelled') return;
      retireProfile(context, event.priority, 'profile.cancelled', enqueue);
      enqueue.assign(releaseProfile(context, event.priority));
    }),
    crossBoundaries: enqueueActions(({ context, event, enqueue }) => {
      if (!('now' in event)) return;
      const crossings = crossingsAt(context, event.now);
      tellCrossings(context, crossings, event.now, enqueue);
      enqueue.assign(({ spawn }) =>
        settleCrossings(context, crossings, event, (profile) => spawn('profile', { input: profile })),
      );
    }),
    // The lock region tells of the lock's beginning and end; that its limit is another while it lasts is told here.
    followLock: enqueueActions(({ context, event, enqueue }) => {
      if (!('now' in event)) return;
      const lockLimitKw = activeProfileAt(context.stack, event.now)?.limitKw;
      if (lockLimitKw === context.lockLimitKw) return;
      enqueue.assign({ lockLimitKw });
      if (lockLimitKw !== undefined && context.lockLimitKw !== undefined) enqueue('reportLocked');
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
    isOnline: ({ event }) => event.type === 'link.changed' && event.link === 'online',
    isStale: ({ event }) => event.type === 'link.changed' && event.link === 'stale',
    isOffline: ({ event }) => event.type === 'link.changed' && event.link === 'offline',
  },
}).createMachine({
  id: 'connector',
  type: 'parallel',
  context: ({ input, spawn }) => ({
    ...holdStack(input.stack, input.now, (profile) => spawn('profile', { input: profile })),
    key: input.key,
    lockLimitKw: activeProfileAt(input.stack, input.now)?.limitKw,
  }),
  on: {
    'profile.submitted': { actions: ['crossBoundaries', 'holdSubmitted', 'followLock'] },
    'profile.cancelled': { actions: ['crossBoundaries', 'releaseCancelled', 'followLock'] },
    'boundary.reached': { actions: ['crossBoundaries', 'followLock'] },
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
          { guard: 'isFree', target: '.free' },
          { guard: 'isLimited', target: '.limited' },
          { guard: 'isAtMinimum', target: '.minimum' },
          { guard: 'isPaused', target: '.paused' },
        ],
      },
      states: { free: {}, limited: {}, minimum: {}, paused: {} },
    },
    link: {
      initial: 'offline',
      on: {
        'link.changed': [
          { guard: 'isOnline', target: '.online' },
          { guard: 'isStale', target: '.stale' },
          { guard: 'isOffline', target: '.offline' },
        ],
      },
      states: { online: {}, stale: {}, offline: {} },
    },
  },
});
