// Gives each virtual connector its visits one after another, in the time of the charger.
import type { EpochMs } from '../../machines/values/time.js';
import { type NextCar, NO_CAR, onVisit } from '../charger/car.js';
import type { Visit } from './visit.js';

/**
 * Returns a source of cars for each connector; each source may be created and used only once.
 * @param visits in order of time.
 * @param zeroAtMs the instant at which the clock of the chargers is 0.
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
        // If the previous car leaves at the same instant or later, the next car waits for the connector.
        const arrivesAtMs = Math.max(fromMs, visit.arrivesAtMs - zeroAtMs);
        const leavesAtMs = visit.leavesAtMs - zeroAtMs;
        if (arrivesAtMs < leavesAtMs) return onVisit(car, { arrivesAtMs, leavesAtMs, sessionId });
      }
      return NO_CAR;
    };
  };
}
