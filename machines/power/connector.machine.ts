// State machine of one connector with three regions: lock by profile, throttle and link.
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
  notifyProfiles,
  type ProfileHolder,
  releaseCancelled,
} from '../limits/profile.machine.js';
import { EMPTY_STACK, type ProfileStack } from '../limits/profile-stack.js';
import type { EpochMs } from '../values/time.js';

export type ConnectorEvent =
  | HolderEvent
  /** A decision lets the car charge, or pauses it. `nowMs` is monotonic. */
  | { readonly type: 'charging.allowed'; readonly nowMs: number }
  | { readonly type: 'charging.paused'; readonly nowMs: number }
  | { readonly type: 'car.left' }
  /** A meter value came after a gap, or none came for three heartbeats. */
  | { readonly type: 'meter.received' }
  | { readonly type: 'meter.missed' }
  /** The charger signed on or off. A broken connection counts as signing off. */
  | { readonly type: 'charger.connected' }
  | { readonly type: 'charger.disconnected' };

/**
 * `online`: values arrive. `stale`: no value for three heartbeats. `offline`: the charger signed off or never reported.
 */
export const LINKS = ['online', 'stale', 'offline'] as const;
export type Link = (typeof LINKS)[number];

/** Times that determine the charging rotation, on the monotonic clock. */
export interface Turn {
  /** The car may charge since this time; undefined if it may not, or no car is plugged in. */
  readonly onSinceMs: number | undefined;
  /** The car, which could charge before, is paused since this time; undefined otherwise. */
  readonly pausedSinceMs: number | undefined;
}

export const NO_TURN: Turn = { onSinceMs: undefined, pausedSinceMs: undefined };

/**
 * Reports from a connector to its location, so that the location reports for the whole site. `connector.locked` is
 * repeated after each change of the lock's limit.
 */
export type ConnectorReport =
  | { readonly type: 'connector.locked'; readonly key: string; readonly limitKw: number }
  | { readonly type: 'connector.unlocked'; readonly key: string };

export interface ConnectorContext extends ProfileHolder {
  readonly key: string;
  /** `limitKw` of the highest active profile; undefined for an unlocked connector. */
  readonly lockLimitKw: number | undefined;
  /** Of the last turn or pause; it does not count in the state `idle`. */
  readonly turn: Turn;
}

export interface ConnectorInput {
  readonly key: string;
  readonly stack: ProfileStack;
  readonly now: EpochMs;
  /** Turn before the actor was rebuilt; undefined for a new actor. */
  readonly turn?: Turn;
}

type ConnectorLogic = ActorLogic<SnapshotFrom<typeof connectorMachine>, ConnectorEvent, ConnectorInput>;
export type ConnectorActor = ActorRefFrom<typeof connectorMachine>;

function contextOf({ key, turn = NO_TURN }: ConnectorInput, holder: ProfileHolder): ConnectorContext {
  const { stack, profiles, toldAtMs } = holder;
  return { stack, profiles, toldAtMs, key, lockLimitKw: activeProfileOf(holder)?.limitKw, turn };
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

/** The three regions are independent: lock × throttle × link. The throttle decides the rotation (R15). */
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
    notifyProfiles: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'boundary.reached') notifyProfiles(holder, event);
    }),
    // The lock region reports start and end of a lock. This action reports a changed limit during the lock.
    followLock: enqueueActions(({ context, enqueue }) => {
      const lockLimitKw = activeProfileOf(context)?.limitKw;
      if (lockLimitKw === context.lockLimitKw) return;
      enqueue.assign({ lockLimitKw });
      if (lockLimitKw !== undefined && context.lockLimitKw !== undefined) enqueue('reportLocked');
    }),
    beginTurn: assign(({ context, event }) =>
      event.type === 'charging.allowed'
        ? { turn: { onSinceMs: event.nowMs, pausedSinceMs: undefined } }
        : context,
    ),
    beginPause: assign(({ context, event }) =>
      event.type === 'charging.paused'
        ? { turn: { onSinceMs: undefined, pausedSinceMs: event.nowMs } }
        : context,
    ),
    reportLocked,
    reportUnlocked,
  },
  guards: {
    isLocked: ({ context }) => context.lockLimitKw !== undefined,
    isUnlocked: ({ context }) => context.lockLimitKw === undefined,
  },
}).createMachine({
  id: 'connector',
  type: 'parallel',
  // A locked connector takes no part in the rotation, so its turn begins anew.
  context: ({ input, spawn }) =>
    contextOf({ ...input, turn: NO_TURN }, holdStack(input.stack, input.now, spawn)),
  on: {
    'profile.submitted': { actions: ['holdSubmitted', 'followLock'] },
    'profile.cancelled': { actions: ['releaseCancelled', 'followLock'] },
    'boundary.reached': { actions: ['notifyProfiles', 'followLock'] },
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
      initial: 'idle',
      on: { 'car.left': '.idle' },
      states: {
        // No car, or one that never had a turn.
        idle: { on: { 'charging.allowed': { target: 'charging', actions: 'beginTurn' } } },
        charging: { on: { 'charging.paused': { target: 'paused', actions: 'beginPause' } } },
        paused: { on: { 'charging.allowed': { target: 'charging', actions: 'beginTurn' } } },
      },
    },
    link: {
      initial: 'offline',
      states: {
        // Only a meter value makes a connector online: a connected charger may not send values.
        offline: { on: { 'meter.received': 'online', 'charger.connected': 'stale' } },
        stale: { on: { 'meter.received': 'online', 'charger.disconnected': 'offline' } },
        online: { on: { 'meter.missed': 'stale', 'charger.disconnected': 'offline' } },
      },
    },
  },
});

const NEW: ConnectorInput = { key: '', stack: EMPTY_STACK, now: 0 };
const firstStateOf = (throttle: 'idle' | 'charging' | 'paused') =>
  connectorMachine.resolveState({ value: { throttle }, context: contextOf(NEW, holdIdle(EMPTY_STACK, 0)) });
/** First states of unlocked connectors, without their context. Omitted regions start in their initial states. */
const FIRST_STATES = {
  idle: firstStateOf('idle'),
  charging: firstStateOf('charging'),
  paused: firstStateOf('paused'),
};

/**
 * Logic of the connector actors. A connector without an active profile starts in the machine's initial state and
 * reports nothing.
 */
export const connectorLogic: ConnectorLogic = beginningWith(connectorMachine, (input: ConnectorInput) => {
  if (isAnyActive(input.stack, input.now)) return undefined;
  // `Object.assign` gives the object the shape of XState's own contexts. Another shape would slow down readers of many
  // contexts and take more memory.
  const context = Object.assign({}, contextOf(input, holdIdle(input.stack, input.now)));
  const { onSinceMs, pausedSinceMs } = context.turn;
  const throttle = onSinceMs !== undefined ? 'charging' : pausedSinceMs !== undefined ? 'paused' : 'idle';
  return { ...FIRST_STATES[throttle], context };
});
