// The supervisor of one location: its own profiles, its connectors, and the limit that is in force (sections 1 and 3.1).
import { type ActorRefFrom, enqueueActions, setup } from 'xstate';
import {
  type ConnectorActor,
  type ConnectorEvent,
  type ConnectorReport,
  connectorMachine,
} from './connector.machine.js';
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
import {
  activeProfileAt,
  type LimitProfile,
  nextBoundaryAfter,
  type ProfileCrossing,
  type ProfileStack,
  profileAtPriority,
} from './profile-stack.js';
import type { EpochMs } from './time.js';

export type LocationEvent =
  | { readonly type: 'profile.submitted'; readonly profile: LimitProfile; readonly now: EpochMs }
  | { readonly type: 'profile.cancelled'; readonly priority: number; readonly now: EpochMs }
  | { readonly type: 'permanentLimit.set'; readonly limitKw: number; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs }
  | { readonly type: 'clusterShare.set'; readonly clusterId: string; readonly shareKw: number | undefined }
  | { readonly type: 'connector.told'; readonly key: string; readonly event: ConnectorEvent }
  | ConnectorReport;

export type LocationEffect =
  | ({ readonly type: 'profile.crossed' } & ProfileCrossing)
  | { readonly type: 'profile.cancelled'; readonly profile: LimitProfile }
  | { readonly type: 'effectiveLimit.changed'; readonly effectiveLimitKw: number }
  | { readonly type: 'gridLimit.changed'; readonly gridLimitKw: number }
  | ConnectorReport;

export interface LocationContext extends ProfileHolder {
  readonly permanentLimitKw: number;
  /** Physical connection; undefined where none is known. */
  readonly connectionLimitKw: number | undefined;
  readonly clusterSharesKw: ReadonlyMap<string, number>;
  /** Priority of the profile that decides; undefined while the permanent limit does. As of the last event. */
  readonly activePriority: number | undefined;
  /** The deciding profile's limit, else the permanent limit, as of the last event. */
  readonly effectiveLimitKw: number;
  /** The smallest of effective limit, cluster shares and physical connection. */
  readonly gridLimitKw: number;
  readonly connectors: ReadonlyMap<string, ConnectorActor>;
}

export interface LocationInput {
  readonly permanentLimitKw: number;
  readonly connectionLimitKw: number | undefined;
  readonly stack: ProfileStack;
  readonly connectors: readonly { readonly key: string; readonly stack: ProfileStack }[];
  readonly now: EpochMs;
}

export type LocationActor = ActorRefFrom<typeof locationMachine>;

function gridLimitKwOf(
  context: Pick<LocationContext, 'effectiveLimitKw' | 'connectionLimitKw' | 'clusterSharesKw'>,
): number {
  let limitKw = Math.min(context.effectiveLimitKw, context.connectionLimitKw ?? Number.POSITIVE_INFINITY);
  for (const shareKw of context.clusterSharesKw.values()) limitKw = Math.min(limitKw, shareKw);
  return limitKw;
}

/** The first boundary after `now` of the location's profiles or of any of its connectors'. */
export function nextLocationBoundary(context: LocationContext, now: EpochMs): EpochMs | undefined {
  let next = nextBoundaryAfter(context.stack, now);
  for (const connector of context.connectors.values()) {
    const { stack } = connector.getSnapshot().context;
    const boundary = nextBoundaryAfter(stack, now);
    if (boundary !== undefined && (next === undefined || boundary < next)) next = boundary;
  }
  return next;
}

export const locationMachine = setup({
  types: {
    context: {} as LocationContext,
    events: {} as LocationEvent,
    emitted: {} as LocationEffect,
    input: {} as LocationInput,
  },
  actors: { profile: profileMachine, connector: connectorMachine },
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
      const profile = profileAtPriority(context.stack, event.priority);
      if (profile !== undefined) enqueue.emit({ type: 'profile.cancelled', profile });
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
      for (const crossing of crossings) enqueue.emit({ type: 'profile.crossed', ...crossing });
    }),
    passBoundaryOn: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'boundary.reached') return;
      for (const connector of context.connectors.values()) {
        const isCrossed = crossingsAt(connector.getSnapshot().context, event.now).length > 0;
        if (isCrossed) enqueue.sendTo(connector, event);
      }
    }),
    setPermanentLimit: enqueueActions(({ event, enqueue }) => {
      if (event.type === 'permanentLimit.set') enqueue.assign({ permanentLimitKw: event.limitKw });
    }),
    setClusterShare: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'clusterShare.set') return;
      const clusterSharesKw = new Map(context.clusterSharesKw);
      if (event.shareKw === undefined) clusterSharesKw.delete(event.clusterId);
      else clusterSharesKw.set(event.clusterId, event.shareKw);
      enqueue.assign({ clusterSharesKw });
    }),
    // The limits follow from the stack and `now` alone, so that one instant changes them once, whatever crossed at it.
    recomputeEffectiveLimit: enqueueActions(({ context, event, enqueue }) => {
      if (!('now' in event)) return;
      const active = activeProfileAt(context.stack, event.now);
      const effectiveLimitKw = active?.limitKw ?? context.permanentLimitKw;
      enqueue.assign({ activePriority: active?.priority, effectiveLimitKw });
      if (effectiveLimitKw === context.effectiveLimitKw) return;
      enqueue.emit({ type: 'effectiveLimit.changed', effectiveLimitKw });
    }),
    recomputeGridLimit: enqueueActions(({ context, enqueue }) => {
      const gridLimitKw = gridLimitKwOf(context);
      if (gridLimitKw === context.gridLimitKw) return;
      enqueue.assign({ gridLimitKw });
      enqueue.emit({ type: 'gridLimit.changed', gridLimitKw });
    }),
    tellConnector: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'connector.told') return;
      const connector = context.connectors.get(event.key);
      if (connector !== undefined) enqueue.sendTo(connector, event.event);
    }),
    passOn: enqueueActions(({ event, enqueue }) => {
      if (event.type === 'connector.locked' || event.type === 'connector.unlocked') enqueue.emit(event);
    }),
  },
  guards: {
    isScheduled: ({ context }) => context.activePriority !== undefined,
    isPermanent: ({ context }) => context.activePriority === undefined,
  },
}).createMachine({
  id: 'location',
  context: ({ input, spawn }) => {
    const active = activeProfileAt(input.stack, input.now);
    const effectiveLimitKw = active?.limitKw ?? input.permanentLimitKw;
    const limits = {
      effectiveLimitKw,
      connectionLimitKw: input.connectionLimitKw,
      clusterSharesKw: new Map(),
    };
    return {
      ...holdStack(input.stack, input.now, (profile) => spawn('profile', { input: profile })),
      ...limits,
      activePriority: active?.priority,
      permanentLimitKw: input.permanentLimitKw,
      gridLimitKw: gridLimitKwOf(limits),
      connectors: new Map(
        input.connectors.map(({ key, stack }) => [
          key,
          spawn('connector', { input: { key, stack, now: input.now } }),
        ]),
      ),
    };
  },
  on: {
    'profile.submitted': {
      actions: ['crossBoundaries', 'holdSubmitted', 'recomputeEffectiveLimit', 'recomputeGridLimit'],
    },
    'profile.cancelled': {
      actions: ['crossBoundaries', 'releaseCancelled', 'recomputeEffectiveLimit', 'recomputeGridLimit'],
    },
    'permanentLimit.set': {
      actions: ['crossBoundaries', 'setPermanentLimit', 'recomputeEffectiveLimit', 'recomputeGridLimit'],
    },
    'boundary.reached': {
      actions: ['crossBoundaries', 'passBoundaryOn', 'recomputeEffectiveLimit', 'recomputeGridLimit'],
    },
    'clusterShare.set': { actions: ['setClusterShare', 'recomputeGridLimit'] },
    'connector.told': { actions: 'tellConnector' },
    'connector.locked': { actions: 'passOn' },
    'connector.unlocked': { actions: 'passOn' },
  },
  // Which of the two limits decides: the fallback, or a profile of the stack.
  initial: 'permanent',
  states: {
    permanent: { always: { guard: 'isScheduled', target: 'scheduled' } },
    scheduled: { always: { guard: 'isPermanent', target: 'permanent' } },
  },
});
