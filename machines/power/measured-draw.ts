// Measured draw of connectors and of each circuit phase. For display only, never for decisions.
import { type Connector, linkOf, type Telemetry } from './connector.js';
import type { Fuses } from './fuses.js';

/** Load of one circuit phase. */
export interface CircuitPhaseLoad {
  /** Reported current of the connectors below, A. A silent one counts at most with its possible entitlement. */
  readonly measuredA: number;
  /** The circuit phase limits a connector, as of the last decision. */
  readonly isFull: boolean;
}

/**
 * Loads in the order of `fuses.poles`. A current on an unknown phase counts on every phase that may carry it, as in the
 * ledger.
 */
export function circuitPhaseLoadsOf(
  fuses: Fuses,
  connectors: Iterable<Connector>,
): readonly CircuitPhaseLoad[] {
  const measuredA = fuses.circuitPhases.map(() => 0);
  const full = new Set<number>();
  for (const connector of connectors) {
    if (typeof connector.decided.limitedBy === 'number') full.add(connector.decided.limitedBy);
    for (const [circuitPhase, currentA] of currentsOf(fuses, connector))
      measuredA[circuitPhase] = (measuredA[circuitPhase] ?? 0) + currentA;
  }
  return measuredA.map((sumA, circuitPhase) => ({
    measuredA: Math.max(0, sumA),
    isFull: full.has(circuitPhase),
  }));
}

/** Load of a connector on each of its circuit phases, A. */
function currentsOf(fuses: Fuses, connector: Connector): ReadonlyMap<number, number> {
  const currents = new Map<number, number>();
  const drawnA = ownCurrentsOf(connector);
  for (const [own, circuitPhases] of fuses
    .circuitPhasesOfEachPhase({ ...connector.provisioned.spec, phases: connector.telemetry.phases })
    .entries()) {
    for (const circuitPhase of circuitPhases)
      currents.set(circuitPhase, Math.max(currents.get(circuitPhase) ?? 0, drawnA[own] ?? 0));
  }
  return currents;
}

/**
 * Current of each own phase, A, in their order. It is the reported one; while silent, at most the possible entitlement.
 */
export function ownCurrentsOf(connector: Connector): readonly number[] {
  const { account, provisioned, telemetry } = connector;
  const { phases, slot } = telemetry;
  const { currentA, powerW, receivedAtMs } = slot;
  if (receivedAtMs === undefined) return [];
  const isOnline = linkOf(connector) === 'online';
  // A meter with one phase may report it at any position.
  const reportedA = phases === 1 && currentA !== undefined ? [Math.max(...currentA)] : currentA;
  const shareA = powerW / (provisioned.spec.voltageV * phases);
  const drawnA = reportedA ?? Array.from({ length: phases }, () => shareA);
  return isOnline ? drawnA : drawnA.map((eachA, own) => Math.min(eachA, (account.loads[own] ?? 0) / 10));
}

// Power that a connector contributes to its location: its reading, or an estimate while it is silent.
type Counted = Pick<Connector, 'actor' | 'telemetry' | 'account'>;

/** W. A silent connector counts with its last reading, capped at its possible entitlement. */
export function countedWOf({ actor, telemetry, account }: Counted): number {
  if (linkOf({ actor }) === 'online') return telemetry.slot.powerW;
  return Math.min(lastReadingOf(telemetry) ?? 0, account.boundW);
}

/** The connector is silent, and its last reading is unknown or above 0. */
export function isEstimated({ actor, telemetry }: Counted): boolean {
  return linkOf({ actor }) !== 'online' && lastReadingOf(telemetry) !== 0;
}

/** Estimated power of all silent connectors, W; undefined without an estimate. */
export function estimatedWOf(connectors: Iterable<Counted>): number | undefined {
  let sumW: number | undefined;
  for (const connector of connectors) {
    if (isEstimated(connector)) sumW = (sumW ?? 0) + countedWOf(connector);
  }
  return sumW;
}

function lastReadingOf({ slot, lastWBeforeStart }: Telemetry): number | undefined {
  return slot.receivedAtMs === undefined ? lastWBeforeStart : slot.powerW;
}
