// Hands each virtual connector its visits as the cars that come next, on the charger's own time.
import type { EpochMs } from '../../machines/values/time.js';
import { type NextCar, NO_CAR, onVisit } from '../charger/car.js';
import type { Visit } from './visit.js';

/**
 * For each connector the source of its cars, to be made once and used once.
 * @param visits in the order of time.
 * @param zeroAtMs when the chargers' clock says 0.
 */
export function createArrivals(
  visits: readonly Visit[],
  zeroAtMs: EpochMs,
): (connectorKey: string) => NextCar {
  const byConnector = new Map<string, Visit[]>();
  for (const visit of visits) {
    const own = byConnector.get(visit.connectorKey);
    if (own === undefined) byConnector.set(visit.connectorKey, [visit]);
    else own.push(visit);
  }
  return (connectorKey) => {
    const own = byConnector.get(connectorKey) ?? [];
    let next = 0;
    return (fromMs) => {
      for (let visit = own[next]; visit !== undefined; visit = own[next]) {
        next++;
        const { car, sessionId } = visit;
        // A car that arrives at the instant another leaves waits until the cable is free.
        const arrivesAtMs = Math.max(fromMs, visit.arrivesAtMs - zeroAtMs);
        const leavesAtMs = visit.leavesAtMs - zeroAtMs;
        if (arrivesAtMs < leavesAtMs) return onVisit(car, { arrivesAtMs, leavesAtMs, sessionId });
      }
      return NO_CAR;
    };
  };
}
