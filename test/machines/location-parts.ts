// Parts of a location's machine besides profiles and limits, for tests of profiles and limits alone.
import type { ProfileStack } from '../../machines/limits/profile-stack.js';
import type { Budget } from '../../machines/power/budget.js';
import type { Connector } from '../../machines/power/connector.js';
import type { LocationConnector } from '../../machines/power/location.machine.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { createConnectorActor } from './connector-actor.js';

const TIMING = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
/** A connector of 32 A on three phases. */
export const SPEC = { phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6, isActive: true } as const;

export function newSupervisor(): LocationSupervisor {
  return new LocationSupervisor({ timing: TIMING, ownerTerm: 1 });
}

/** A reachable connector without a fail-safe, whose charger keeps leases and `thenA`. */
export function placeInReach(supervisor: LocationSupervisor, key: string): Connector {
  const actor = createConnectorActor(key);
  actor.send({ type: 'meter.received' });
  const connector = supervisor.place({ key, spec: { ...SPEC, failsafeA: 0 } }, actor, 0);
  supervisor.describe(connector, { failsafeA: 0, lease: 'heartbeat', keepsThen: true, boot: 'a' }, 0);
  return connector;
}

export function connectorWith(key: string, stack: ProfileStack): LocationConnector {
  return { key, stack, spec: SPEC };
}

/** A budget of `budgetW` from now on, without an operator's limit and without a cluster. */
export function budgetOf(budgetW: number): Budget {
  return {
    budgetW,
    limitW: budgetW,
    bindsFromMs: 0,
    isOrdered: true,
    isLimitOrdered: true,
    pausingW: Number.POSITIVE_INFINITY,
    clusterShareW: Number.POSITIVE_INFINITY,
    clusterRoomW: Number.POSITIVE_INFINITY,
    raisesToW: budgetW,
    lowestW: budgetW,
    lowestOwnW: budgetW,
    untilMs: Number.POSITIVE_INFINITY,
    fall: undefined,
    isClusterBound: false,
    isLockedAt: () => true,
    isLockNear: () => false,
    lockAheadKw: () => undefined,
    lockNoticeAtMs: Number.POSITIVE_INFINITY,
  };
}
