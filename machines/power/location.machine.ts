// One location: its own profiles, its connectors, and the limit that is in force (sections 1 and 3.1).
import { type ActorRefFrom, enqueueActions, setup } from 'xstate';
import { type LimitInForce, type LimitParts, limitInForce } from '../limits/limit-in-force.js';
import { profileMachine } from '../limits/profile.machine.js';
import {
  activeProfileOf,
  crossingsOf,
  endedActors,
  holdProfile,
  holdStack,
  type ProfileHolder,
  type ProfilesTold,
  profilesDueAt,
  releaseProfile,
  slotOf,
  statusOf,
  wakeProfiles,
  without,
} from '../limits/profile-holder.js';
import {
  type LimitProfile,
  nextBoundaryAfter,
  type ProfileCrossing,
  type ProfileStack,
  profileAtPriority,
} from '../limits/profile-stack.js';
import type { EpochMs } from '../values/time.js';
import {
  type ConnectorActor,
  type ConnectorEvent,
  type ConnectorInput,
  type ConnectorReport,
  connectorMachine,
} from './connector.machine.js';

export type LocationEvent =
  | { readonly type: 'profile.submitted'; readonly profile: LimitProfile; readonly now: EpochMs }
  | { readonly type: 'profile.cancelled'; readonly priority: number; readonly now: EpochMs }
  | { readonly type: 'permanentLimit.set'; readonly limitKw: number; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs }
  | ProfilesTold
  | { readonly type: 'clusterShare.set'; readonly clusterId: string; readonly shareKw: number | undefined }
  | { readonly type: 'connector.told'; readonly key: string; readonly event: ConnectorEvent }
  | ConnectorReport;

export type LocationEffect =
  | ({ readonly type: 'profile.crossed' } & ProfileCrossing)
  | ({ readonly type: 'profile.cancelled' } & ProfileCrossing)
  | { readonly type: 'effectiveLimit.changed'; readonly effectiveLimitKw: number }
  | { readonly type: 'limitInForce.changed'; readonly limitKw: number }
  | ConnectorReport;

export interface LocationContext extends ProfileHolder {
  readonly permanentLimitKw: number;
  /** Physical connection; undefined where none is known. */
  readonly connectionLimitKw: number | undefined;
  /** What each cluster that binds the location lets it use, by cluster id. */
  readonly clusterSharesKw: ReadonlyMap<string, number>;
  /** The profile that decides; undefined while the permanent limit does. As of the last event. */
  readonly activeProfile: LimitProfile | undefined;
  /** As of the last event. */
  readonly limit: LimitInForce;
  readonly connectors: ReadonlyMap<string, ConnectorActor>;
}

export interface LocationInput {
  readonly permanentLimitKw: number;
  readonly connectionLimitKw: number | undefined;
  readonly stack: ProfileStack;
  readonly connectors: readonly Omit<ConnectorInput, 'now'>[];
  readonly now: EpochMs;
}

export type LocationActor = ActorRefFrom<typeof locationMachine>;

/** What may limit the location, as of the last event. */
export function partsOf(
  context: Omit<LocationContext, 'limit' | 'connectors' | keyof ProfileHolder>,
): LimitParts {
  const { activeProfile, permanentLimitKw, clusterSharesKw, connectionLimitKw } = context;
  return { profile: activeProfile, permanentLimitKw, clusterSharesKw, connectionLimitKw };
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
      const profile = profileAtPriority(context.stack, event.priority);
      if (profile !== undefined)
        enqueue.emit({ type: 'profile.cancelled', profile, status: statusOf(context, profile) });
      const cancelled = context.profiles.get(event.priority);
      if (cancelled !== undefined) enqueue.stopChild(cancelled);
      enqueue.assign(releaseProfile(context, event.priority));
    }),
    emitCrossings: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profiles.told') return;
      for (const crossing of crossingsOf(context, event.told))
        enqueue.emit({ type: 'profile.crossed', ...crossing });
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
    passBoundaryOn: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'boundary.reached') return;
      for (const connector of context.connectors.values()) {
        const isDue = profilesDueAt(connector.getSnapshot().context, event.now).length > 0;
        if (isDue) enqueue.sendTo(connector, event);
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
    followProfiles: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ activeProfile: activeProfileOf(context) });
    }),
    recomputeLimit: enqueueActions(({ context, event, enqueue }) => {
      const limit = limitInForce(partsOf(context));
      enqueue.assign({ limit });
      if (event.type === 'profiles.told' && event.isFirst) return;
      const { effectiveLimitKw, limitKw } = limit;
      if (effectiveLimitKw !== context.limit.effectiveLimitKw)
        enqueue.emit({ type: 'effectiveLimit.changed', effectiveLimitKw });
      if (limitKw !== context.limit.limitKw) enqueue.emit({ type: 'limitInForce.changed', limitKw });
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
}).createMachine({
  id: 'location',
  context: ({ input, spawn }) => {
    const limits = {
      activeProfile: undefined,
      permanentLimitKw: input.permanentLimitKw,
      connectionLimitKw: input.connectionLimitKw,
      clusterSharesKw: new Map(),
    };
    return {
      ...holdStack(input.stack, input.now, (profile) => spawn('profile', { input: profile })),
      ...limits,
      limit: limitInForce(partsOf(limits)),
      connectors: new Map(
        input.connectors.map((connector) => [
          connector.key,
          spawn('connector', { input: { ...connector, now: input.now } }),
        ]),
      ),
    };
  },
  entry: 'askProfiles',
  on: {
    'profile.submitted': { actions: ['tellProfiles', 'holdSubmitted'] },
    'profile.cancelled': {
      actions: ['tellProfiles', 'releaseCancelled', 'followProfiles', 'recomputeLimit'],
    },
    'permanentLimit.set': { actions: ['tellProfiles', 'setPermanentLimit', 'recomputeLimit'] },
    'boundary.reached': { actions: ['tellProfiles', 'passBoundaryOn'] },
    'profiles.told': { actions: ['emitCrossings', 'dropEnded', 'followProfiles', 'recomputeLimit'] },
    'clusterShare.set': { actions: ['setClusterShare', 'recomputeLimit'] },
    'connector.told': { actions: 'tellConnector' },
    'connector.locked': { actions: 'passOn' },
    'connector.unlocked': { actions: 'passOn' },
  },
});
