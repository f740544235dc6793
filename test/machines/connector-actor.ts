// A connector's real machine without a location above it, for rigs that test the readers of its state.
import { createActor } from 'xstate';
import type { Budget } from '../../machines/power/budget.js';
import { type ConnectorActor, connectorMachine } from '../../machines/power/connector.machine.js';
import type { Decision, LocationSupervisor } from '../../machines/power/location-supervisor.js';

const alone = connectorMachine.provide({ actions: { reportLocked: () => {}, reportUnlocked: () => {} } });

export function createConnectorActor(key: string): ConnectorActor {
  return createActor(alone, { input: { key, stack: [], now: 0 } }).start();
}

/** Decides, and passes begins and ends of turns to the connectors' machines, as the location's machine does. */
export function decideWith(supervisor: LocationSupervisor, budget: Budget, nowMs: number): Decision {
  const decision = supervisor.decide(budget, nowMs);
  for (const { connector, event } of decision.turns) connector.actor.send(event);
  return decision;
}

/** Locks the connector at `limitKw` from now on, or ends its lock if `limitKw` is undefined. */
export function lockAt(actor: ConnectorActor, limitKw: number | undefined): void {
  const lock = { priority: 0, startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER };
  if (actor.getSnapshot().context.lockLimitKw === limitKw) return;
  if (limitKw === undefined) actor.send({ type: 'profile.cancelled', priority: 0, now: 0 });
  else actor.send({ type: 'profile.submitted', profile: { ...lock, limitKw }, now: 0 });
}
