// A cluster: ACTIVE, it shares its cap among the member locations; INACTIVE, it does not limit them (contract section
// 3.2).
import { type ActorRefFrom, assign, enqueueActions, setup } from 'xstate';
import { type ClusterMember, grantShares, scaleOf } from './cluster-shares.js';
import type { GrantedShare } from './limit-in-force.js';

export type ClusterEvent =
  | {
      readonly type: 'cluster.configured';
      readonly limitKw: number | null;
      readonly members: readonly ClusterMember[];
    }
  | { readonly type: 'cluster.activated' }
  | { readonly type: 'cluster.deactivated' }
  | { readonly type: 'members.changed'; readonly members: readonly ClusterMember[] }
  /**
   * The entitlement of a member's chargers fell or exceeds its share, or their need changed. The others get the rest.
   */
  | { readonly type: 'reserved.changed' };

/** `share` is undefined if the cluster does not limit the location (any more). */
export interface ClusterShare {
  readonly locationId: string;
  readonly share: GrantedShare | undefined;
}

export interface ClusterEffect {
  readonly type: 'shares.changed';
  readonly shares: readonly ClusterShare[];
}

export interface ClusterContext {
  readonly limitKw: number | null;
  readonly members: ReadonlyMap<string, ClusterMember>;
  /** Factor on each member's own limit, as of the last event; 1 while the cluster limits no member. */
  readonly scale: number;
  /** Share of each member by location, on its way to the due while others still make room. */
  readonly shares: ReadonlyMap<string, GrantedShare>;
}

export type ClusterActor = ActorRefFrom<typeof clusterMachine>;

const NO_SHARES: ReadonlyMap<string, GrantedShare> = new Map();

/** Differences between two sets of shares, which the members have to receive. */
function changedShares(
  before: ReadonlyMap<string, GrantedShare>,
  after: ReadonlyMap<string, GrantedShare>,
): ClusterShare[] {
  const changed: ClusterShare[] = [];
  for (const [locationId, share] of after) {
    const held = before.get(locationId);
    const isSame =
      held?.shareW === share.shareW && held.roomW === share.roomW && held.raisesToW === share.raisesToW;
    if (!isSame) changed.push({ locationId, share });
  }
  for (const locationId of before.keys()) {
    if (!after.has(locationId)) changed.push({ locationId, share: undefined });
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
        ? { limitKw: event.limitKw, members: new Map(event.members.map((m) => [m.locationId, m])) }
        : context,
    ),
    learnMembers: assign(({ context, event }) => {
      if (event.type !== 'members.changed') return context;
      const members = new Map(context.members);
      // A late message does not add a location that is no member (any more).
      for (const member of event.members) {
        if (members.has(member.locationId)) members.set(member.locationId, member);
      }
      return { members };
    }),
    share: enqueueActions(({ context, enqueue }) => {
      const { limitKw } = context;
      const members = [...context.members.values()];
      const scale = scaleOf(limitKw, members);
      const shares = limitKw === null ? NO_SHARES : grantShares(context.shares, limitKw, scale, members);
      enqueue.assign({ scale, shares });
      const changed = changedShares(context.shares, shares);
      if (changed.length > 0) enqueue.emit({ type: 'shares.changed', shares: changed });
    }),
    release: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ scale: 1, shares: NO_SHARES });
      const shares = changedShares(context.shares, NO_SHARES);
      if (shares.length > 0) enqueue.emit({ type: 'shares.changed', shares });
    }),
  },
}).createMachine({
  id: 'cluster',
  context: { limitKw: null, members: new Map(), scale: 1, shares: NO_SHARES },
  initial: 'inactive',
  states: {
    active: {
      on: {
        'cluster.configured': { actions: ['configure', 'share'] },
        'members.changed': { actions: ['learnMembers', 'share'] },
        'reserved.changed': { actions: 'share' },
        'cluster.deactivated': { target: 'inactive', actions: 'release' },
      },
    },
    // `cluster.configured` precedes each `cluster.activated`, and brings limits that members got in the meantime.
    inactive: {
      on: {
        'cluster.configured': { actions: 'configure' },
        'cluster.activated': { target: 'active', actions: 'share' },
      },
    },
  },
});
