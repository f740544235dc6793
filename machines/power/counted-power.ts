// Power that a connector contributes to its location: its reading, or an estimate while it is silent.
import { type ConnectorControl, linkOf } from './connector-control.js';

type Counted = Pick<ConnectorControl, 'actor' | 'slot' | 'account' | 'lastWBeforeStart'>;

/** W. A silent connector counts with its last reading, capped at its possible entitlement. */
export function countedWOf({ actor, slot, account, lastWBeforeStart }: Counted): number {
  if (linkOf({ actor }) === 'online') return slot.powerW;
  return Math.min(lastReadingOf(slot, lastWBeforeStart) ?? 0, account.boundW);
}

/** The connector is silent, and its last reading is unknown or above 0. */
export function isEstimated({ actor, slot, lastWBeforeStart }: Counted): boolean {
  return linkOf({ actor }) !== 'online' && lastReadingOf(slot, lastWBeforeStart) !== 0;
}

/** Estimated power of all silent connectors, W; undefined without an estimate. */
export function estimatedWOf(connectors: Iterable<Counted>): number | undefined {
  let sumW: number | undefined;
  for (const connector of connectors) {
    if (isEstimated(connector)) sumW = (sumW ?? 0) + countedWOf(connector);
  }
  return sumW;
}

function lastReadingOf({ receivedAtMs, powerW }: Counted['slot'], lastWBeforeStart: number | undefined) {
  return receivedAtMs === undefined ? lastWBeforeStart : powerW;
}
