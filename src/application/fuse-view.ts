// Fuses of a location for operators: each circuit phase with its load, and the one that limits a connector.

import { circuitPhaseLoadsOf } from '../../machines/power/circuit-phase-loads.js';
import type { ConnectorControl } from '../../machines/power/connector-control.js';
import { type CircuitPhase, GRID_PHASES } from '../../machines/power/fuses.js';
import { isReallocating, isSwitched } from '../../machines/power/reallocated-phases.js';
import { wattsOfTenths } from '../../machines/values/units.js';
import { type LocationEntity, supervisorOf } from '../actors/directory.js';
import type { FuseLive } from '../wire/operator-locations.js';

/** The connection, if known, then the feeders in the order of the file. */
export function viewOfFuses(location: LocationEntity): FuseLive[] {
  const { fuses, ledger, controls } = supervisorOf(location);
  if (fuses.circuitPhases.length === 0) return [];
  const parentOf = new Map(location.record.feeders.map(({ name, parent }) => [name, parent]));
  const loads = circuitPhaseLoadsOf(fuses, controls.values());
  const views: FuseLive[] = [];
  for (const [place, circuitPhase] of fuses.circuitPhases.entries()) {
    const { feeder = null } = circuitPhase;
    const last = views.at(-1);
    const view =
      last?.feeder === feeder ? last : { feeder, parent: parentOf.get(feeder ?? '') ?? null, phases: [] };
    if (view !== last) views.push(view);
    const { measuredA = 0, isFull = false } = loads[place] ?? {};
    view.phases.push({
      phase: circuitPhase.phase,
      ratedA: circuitPhase.capacityTenthsA / 10,
      reservedA: (ledger.loadsTenthsA[place] ?? 0) / 10,
      measuredA: Math.round(10 * measuredA) / 10,
      isFull,
    });
  }
  return views;
}

/** Circuit phase that keeps a connector from more; undefined without one. */
export function fullCircuitPhaseOf({
  fuses,
  limitedBy,
}: Readonly<ConnectorControl>): CircuitPhase | undefined {
  return typeof limitedBy === 'number' ? fuses.circuitPhases[limitedBy] : undefined;
}

/** Only these phases may carry the connector's limit, while its other phases are reallocated. */
export interface ReallocatedPhases {
  /** Such as `L1`, or `L2 and L3`. */
  readonly names: string;
  /**
   * Lowest power that its car could get on all phases that it uses, kW. Set if the charger is switched to fewer phases.
   */
  readonly insteadOfKw: number | undefined;
}

/** Undefined while no phase is reallocated. */
export function reallocatedPhasesOf(control: ConnectorControl): ReallocatedPhases | undefined {
  if (!isReallocating(control)) return undefined;
  const { spec, account, session } = control;
  const { usedPhases, leastTenthsA, milliwattsOnPhase } = account;
  const leastW = wattsOfTenths(leastTenthsA, milliwattsOnPhase * session.learnt);
  return {
    names: namesOf(spec.rotation, usedPhases),
    insteadOfKw: isSwitched(control) ? leastW / 1000 : undefined,
  };
}

function namesOf(rotation: string | null | undefined, phases: number): string {
  if (rotation == null) return phases === 1 ? 'one phase' : 'two phases';
  const names = [...rotation].slice(0, phases).map((letter) => GRID_PHASES['RST'.indexOf(letter)]);
  return names.sort().join(' and ');
}
