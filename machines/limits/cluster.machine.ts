// A cluster: ACTIVE, it shares its cap among the member locations; INACTIVE, it leaves them alone (section 3.2).
import { type ActorRefFrom, assign, enqueueActions, setup } from 'xstate';
import { type ClusterMember, type GrantedShare, grantShares, scaleOf } from './cluster-shares.js';

export type ClusterEvent =
  | {
      readonly type: 'cluster.configured';
      readonly limitKw: number | null;
      readonly members: readonly ClusterMember[];
    }
  | { readonly type: 'cluster.activated' }
  | { readonly type: 'cluster.deactivated' }
  | { readonly type: 'members.changed'; readonly members: readonly ClusterMember[] }
  /** Chargers of a member may be entitled to less than before, or to more than its share, or need other than that: the others have the rest. */
  | { readonly type: 'reserved.changed' };

/** `share` is undefined where the cluster does not bind the location (any more). */
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
  /** What members get of what each is set to, as of the last event; 1 while the cluster limits no member. */
  readonly scale: number;
  /** What each member may use, by location: on its way to what it is due while others still make room. */
  readonly shares: ReadonlyMap<string, GrantedShare>;
}

export type ClusterActor = ActorRefFrom<typeof clusterMachine>;

const NO_SHARES: ReadonlyMap<string, GrantedShare> = new Map();

/** What members have to be told: how two sets of shares differ. */
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
      // What is no member (any more) is not let in by a late message.
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
    // What its members are set to meanwhile comes with `cluster.configured`, which goes before each `cluster.activated`.
    inactive: {
      on: {
        'cluster.configured': { actions: 'configure' },
        'cluster.activated': { target: 'active', actions: 'share' },
      },
    },
  },
});
