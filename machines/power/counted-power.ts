// What a connector counts with in the power of its location: what it measures or, while it is silent, an estimate.
import { type ConnectorControl, linkOf } from './connector-control.js';

type Counted = Pick<ConnectorControl, 'actor' | 'slot' | 'holding' | 'heardBeforeW'>;

/** W. A silent connector counts with its last reading, but with no more than it may still be entitled to. */
export function countedWOf({ actor, slot, holding, heardBeforeW }: Counted): number {
  if (linkOf({ actor }) === 'online') return slot.powerW;
  return Math.min(lastReadingOf(slot, heardBeforeW) ?? 0, holding.boundW);
}

/** Whether its power is unknown: it is silent, and drew something when it was heard of last, or that is not known. */
export function isEstimated({ actor, slot, heardBeforeW }: Counted): boolean {
  return linkOf({ actor }) !== 'online' && lastReadingOf(slot, heardBeforeW) !== 0;
}

/** What all silent connectors count with together, W; undefined where nothing is estimated. */
export function estimatedWOf(connectors: Iterable<Counted>): number | undefined {
  let sumW: number | undefined;
  for (const connector of connectors) {
    if (isEstimated(connector)) sumW = (sumW ?? 0) + countedWOf(connector);
  }
  return sumW;
}

function lastReadingOf({ receivedAtMs, powerW }: Counted['slot'], heardBeforeW: number | undefined) {
  return receivedAtMs === undefined ? heardBeforeW : powerW;
}
