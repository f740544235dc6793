// One connector: is it priority-locked by a profile, how hard is it throttled, and can it be reached.
import {
  type ActorLogic,
  type ActorRefFrom,
  assign,
  enqueueActions,
  type SnapshotFrom,
  sendParent,
  setup,
} from 'xstate';
import { beginningWith } from '../limits/first-snapshot.js';
import {
  activeProfileOf,
  type HolderEvent,
  holdIdle,
  holdStack,
  holdSubmitted,
  isAnyActive,
  type ProfileHolder,
  releaseCancelled,
  tellProfiles,
} from '../limits/profile-holder.js';
import type { ProfileStack } from '../limits/profile-stack.js';
import type { EpochMs } from '../values/time.js';

export type ConnectorEvent =
  | HolderEvent
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

const NO_TURN: Turn = { onSinceMs: undefined, pausedSinceMs: undefined };

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

type ConnectorLogic = ActorLogic<SnapshotFrom<typeof connectorMachine>, ConnectorEvent, ConnectorInput>;
export type ConnectorActor = ActorRefFrom<typeof connectorMachine>;

function contextOf({ key, turn = NO_TURN }: ConnectorInput, holder: ProfileHolder): ConnectorContext {
  return { ...holder, key, lockLimitKw: activeProfileOf(holder)?.limitKw, turn };
}

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
  actions: {
    holdSubmitted: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'profile.submitted') holdSubmitted(holder, event);
    }),
    releaseCancelled: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'profile.cancelled') releaseCancelled(holder, event);
    }),
    tellProfiles: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'boundary.reached') tellProfiles(holder, event);
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
  context: ({ input, spawn }) => contextOf(input, holdStack(input.stack, input.now, spawn)),
  on: {
    'profile.submitted': { actions: ['holdSubmitted', 'followLock'] },
    'profile.cancelled': { actions: ['releaseCancelled', 'followLock'] },
    'boundary.reached': { actions: ['tellProfiles', 'followLock'] },
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

/** What connectors' actors run on. One that nothing locks is where its machine begins, and has nothing to report. */
export const connectorLogic: ConnectorLogic = beginningWith(connectorMachine, (input: ConnectorInput) => {
  if (isAnyActive(input.stack, input.now)) return undefined;
  // Made as XState makes a context: as an object of another shape it would slow down whoever reads many, and take more memory.
  const context = Object.assign({}, contextOf(input, holdIdle(input.stack, input.now)));
  // All regions are left out: each begins where its definition says.
  return connectorMachine.resolveState({ value: {}, context });
});
