// A cluster: ACTIVE, it shares its cap among the member locations; INACTIVE, it leaves them alone (section 3.2).
import { type ActorRefFrom, assign, enqueueActions, setup } from 'xstate';
import { clusterScale } from './cluster-share.js';

/** What one member is set to, in kW: its own effective limit. */
export interface MemberLimit {
  readonly locationId: string;
  readonly setLimitKw: number;
}

export type ClusterEvent =
  | {
      readonly type: 'cluster.configured';
      readonly limitKw: number | null;
      readonly members: readonly MemberLimit[];
    }
  | { readonly type: 'cluster.activated' }
  | { readonly type: 'cluster.deactivated' }
  | { readonly type: 'members.changed'; readonly members: readonly MemberLimit[] };

/** `shareKw` is undefined where the cluster does not bind the location (any more). */
export interface ClusterShare {
  readonly locationId: string;
  readonly shareKw: number | undefined;
}

export interface ClusterEffect {
  readonly type: 'shares.changed';
  readonly shares: readonly ClusterShare[];
}

export interface ClusterContext {
  readonly limitKw: number | null;
  readonly members: ReadonlyMap<string, number>;
  /** The shares in force, by location. */
  readonly sharesKw: ReadonlyMap<string, number>;
}

export type ClusterActor = ActorRefFrom<typeof clusterMachine>;

/** The shares of `members` under `limitKw`; none where there is no cap. */
function sharesOf(limitKw: number | null, members: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  if (limitKw === null) return new Map();
  let sumKw = 0;
  for (const setLimitKw of members.values()) sumKw += setLimitKw;
  const scale = clusterScale(limitKw, sumKw);
  return new Map([...members].map(([locationId, setLimitKw]) => [locationId, setLimitKw * scale]));
}

/** What differs between two sets of shares. */
function changedShares(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): ClusterShare[] {
  const changed: ClusterShare[] = [];
  for (const [locationId, shareKw] of after) {
    if (before.get(locationId) !== shareKw) changed.push({ locationId, shareKw });
  }
  for (const locationId of before.keys()) {
    if (!after.has(locationId)) changed.push({ locationId, shareKw: undefined });
  }
  return changed;
}

export const clusterMachine = setup({
  types: {
    context: {} as ClusterContext,
    events: {} as ClusterEvent,
    emitted: {} as ClusterEffect,
  },
  actions: {
    configure: assign(({ context, event }) =>
      event.type === 'cluster.configured'
        ? { limitKw: event.limitKw, members: new Map(event.members.map((m) => [m.locationId, m.setLimitKw])) }
        : context,
    ),
    learnMembers: assign(({ context, event }) => {
      if (event.type !== 'members.changed') return context;
      const members = new Map(context.members);
      // What is no member (any more) is not let in by a late message.
      for (const { locationId, setLimitKw } of event.members) {
        if (members.has(locationId)) members.set(locationId, setLimitKw);
      }
      return { members };
    }),
    share: enqueueActions(({ context, enqueue }) => {
      const sharesKw = sharesOf(context.limitKw, context.members);
      const shares = changedShares(context.sharesKw, sharesKw);
      if (shares.length === 0) return;
      enqueue.assign({ sharesKw });
      enqueue.emit({ type: 'shares.changed', shares });
    }),
    release: enqueueActions(({ context, enqueue }) => {
      const shares = changedShares(context.sharesKw, new Map());
      if (shares.length === 0) return;
      enqueue.assign({ sharesKw: new Map() });
      enqueue.emit({ type: 'shares.changed', shares });
    }),
  },
}).createMachine({
  id: 'cluster',
  context: { limitKw: null, members: new Map(), sharesKw: new Map() },
  initial: 'inactive',
  states: {
    active: {
      on: {
        'cluster.configured': { actions: ['configure', 'share'] },
        'members.changed': { actions: ['learnMembers', 'share'] },
        'cluster.deactivated': { target: 'inactive', actions: 'release' },
      },
    },
    inactive: {
      on: {
        'cluster.configured': { actions: 'configure' },
        'members.changed': { actions: 'learnMembers' },
        'cluster.activated': { target: 'active', actions: 'share' },
      },
    },
  },
});
