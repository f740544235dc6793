// What each phase of each fuse carries as chargers report it, and which of them keep somebody from more: to show, never to decide by.
import { type ConnectorControl, linkOf } from './connector-control.js';
import type { Fuses } from './fuses.js';

/** Of one pole. */
export interface PoleLoad {
  /** What the connectors behind it report, A; of silent ones at most what they may still be entitled to. */
  readonly measuredA: number;
  /** It keeps a connector from more, as of the last decision. */
  readonly isFull: boolean;
}

/**
 * Of each pole, in the order of `fuses.poles`. The current of a phase of which nobody knows where it is counts on every
 * phase that it may be, as it does in the ledger.
 */
export function poleLoadsOf(fuses: Fuses, controls: Iterable<ConnectorControl>): readonly PoleLoad[] {
  const measuredA = fuses.poles.map(() => 0);
  const full = new Set<number>();
  for (const control of controls) {
    if (typeof control.limitedBy === 'number') full.add(control.limitedBy);
    for (const [pole, currentA] of currentsOf(fuses, control))
      measuredA[pole] = (measuredA[pole] ?? 0) + currentA;
  }
  return measuredA.map((sumA, pole) => ({ measuredA: Math.max(0, sumA), isFull: full.has(pole) }));
}

/** What a connector loads each of its poles with, A. */
function currentsOf(fuses: Fuses, control: ConnectorControl): ReadonlyMap<number, number> {
  const currents = new Map<number, number>();
  const drawnA = ownCurrentsOf(control);
  for (const [own, poles] of fuses.polesOfEachPhase({ ...control.spec, phases: control.phases }).entries()) {
    for (const pole of poles) currents.set(pole, Math.max(currents.get(pole) ?? 0, drawnA[own] ?? 0));
  }
  return currents;
}

/** A of each of its own phases, in their order: as it reports or, while it is silent, at most what it may be entitled to. */
export function ownCurrentsOf({ actor, slot, holding, spec, phases }: ConnectorControl): readonly number[] {
  const { currentA, powerW, receivedAtMs } = slot;
  if (receivedAtMs === undefined) return [];
  const isOnline = linkOf({ actor }) === 'online';
  // A meter with one phase may tell of it in any place.
  const reportedA = phases === 1 && currentA !== undefined ? [Math.max(...currentA)] : currentA;
  const shareA = powerW / (spec.voltageV * phases);
  const drawnA = reportedA ?? Array.from({ length: phases }, () => shareA);
  return isOnline ? drawnA : drawnA.map((eachA, own) => Math.min(eachA, (holding.loads[own] ?? 0) / 10));
}
