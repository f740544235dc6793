// The fuses of a location as an operator sees them: each phase with what it carries, and the one that keeps a connector from more.
import type { ConnectorControl } from '../../machines/power/connector-control.js';
import { GRID_PHASES, type Pole } from '../../machines/power/fuses.js';
import { isLending } from '../../machines/power/lent-phases.js';
import { poleLoadsOf } from '../../machines/power/pole-loads.js';
import { type LocationEntity, supervisorOf } from '../actors/entities.js';
import type { FuseLive } from '../wire/operator-locations.js';

/** The connection, where it is known, then the feeders in the order of the file. */
export function viewOfFuses(location: LocationEntity): FuseLive[] {
  const { fuses, ledger, controls } = supervisorOf(location);
  if (fuses.poles.length === 0) return [];
  const parentOf = new Map(location.record.feeders.map(({ name, parent }) => [name, parent]));
  const loads = poleLoadsOf(fuses, controls.values());
  const views: FuseLive[] = [];
  for (const [place, pole] of fuses.poles.entries()) {
    const { feeder = null } = pole;
    const last = views.at(-1);
    const view =
      last?.feeder === feeder ? last : { feeder, parent: parentOf.get(feeder ?? '') ?? null, phases: [] };
    if (view !== last) views.push(view);
    const { measuredA = 0, isFull = false } = loads[place] ?? {};
    view.phases.push({
      phase: pole.phase,
      ratedA: pole.capacityTenthsA / 10,
      reservedA: (ledger.loadsTenthsA[place] ?? 0) / 10,
      measuredA: Math.round(10 * measuredA) / 10,
      isFull,
    });
  }
  return views;
}

/** The pole that keeps a connector from more; undefined where none does. */
export function fullPoleOf({ fuses, limitedBy }: Readonly<ConnectorControl>): Pole | undefined {
  return typeof limitedBy === 'number' ? fuses.poles[limitedBy] : undefined;
}

/** Such as `L1`, or `L2 and L3`: where its car is reserved while the rest is lent; undefined while nothing is. */
export function lentPhasesOf(control: ConnectorControl): string | undefined {
  if (!isLending(control)) return undefined;
  const { rotation } = control.spec;
  const { usedPhases } = control.holding;
  if (rotation == null) return usedPhases === 1 ? 'one phase' : 'two phases';
  const phases = [...rotation].slice(0, usedPhases).map((letter) => GRID_PHASES['RST'.indexOf(letter)]);
  return phases.sort().join(' and ');
}
