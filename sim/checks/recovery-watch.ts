// Checks the recovery after the last fault: every reachable connector holds a lease, and a site draws as much as it
// can (P12).

import { countedV, leastOfferA } from '../charger/direct-current.js';
import type { OutletState } from '../charger/virtual-charger.js';
import type { CheckedWorld } from './checked-world.js';

/** A car that draws this share of its limit wants more; the service has the same rule. */
const WANTING = 0.9;
/** A satisfied car keeps capacity for one step, and a raise is at least one step. */
const STEP_A = 1;

type RecoveryWatchWorld = Pick<CheckedWorld, 'oracle' | 'runs' | 'nowMs' | 'sites' | 'tenants'>;

export class RecoveryWatch {
  readonly #world: RecoveryWatchWorld;
  /** Locations that serve cars in an order. */
  readonly #ordered: ReadonlySet<string>;

  constructor(world: RecoveryWatchWorld) {
    this.#world = world;
    const locations = world.tenants.flatMap((tenant) => tenant.locations);
    this.#ordered = new Set(
      locations.flatMap(({ locationId, policy = 'equal' }) => (policy === 'equal' ? [] : [locationId])),
    );
  }

  /** Share of the best possible draw that the location draws now, 0 to 1. */
  shareOfBest(locationId: string): number {
    const { runs, oracle, nowMs } = this.#world;
    let drawnW = 0;
    let wantedW = 0;
    let reservedW = 0;
    let lockedW = 0;
    let leastFloorW = Number.POSITIVE_INFINITY;
    let pausedFloorW = 0;
    for (const { charger } of runs) {
      if (charger.address.locationId !== locationId) continue;
      for (const outlet of charger.outlets) {
        const key = `${charger.address.controllerUuid}/${outlet.spec.connectorId}`;
        const lockKw = oracle.lockKw(key, nowMs());
        const { wants, keeps, draws } = needOf(outlet, 1000 * (lockKw ?? Number.POSITIVE_INFINITY));
        if (lockKw !== undefined) lockedW += wants;
        else if (wants > 0) leastFloorW = Math.min(leastFloorW, floorWOf(outlet));
        if (wants > 0 && draws === 0) pausedFloorW = Math.max(pausedFloorW, floorWOf(outlet));
        drawnW += draws;
        wantedW += wants;
        reservedW += keeps;
      }
    }
    const roomW = this.#limitW(locationId) - reservedW;
    // The rest beside locks is unusable if it is less than a minimum of 6 A.
    const usableW = roomW - lockedW < leastFloorW ? Math.min(roomW, lockedW) : roomW;
    // In an order, a car that has its need waits until its whole minimum is left.
    const leftOverW = this.#ordered.has(locationId) ? pausedFloorW : 0;
    const bestW = Math.min(wantedW, usableW - leftOverW);
    return bestW <= 0 ? 1 : drawnW / bestW;
  }

  /** Connectors of the location that are in reach, take limits and hold no lease. */
  leaseless(locationId: string): readonly string[] {
    return this.#world.runs.flatMap(({ charger, isConnected }) =>
      charger.address.locationId !== locationId || !isConnected || !charger.takesLimits
        ? []
        : charger.limits().flatMap(({ seq }, i) => {
            const target = `${charger.address.controllerUuid}/${charger.connectors[i]?.connectorId}`;
            return seq > 0 ? [] : [target];
          }),
    );
  }

  /** Lowest limit until a lease that is granted now ends. */
  #limitW(locationId: string): number {
    const { oracle, sites, nowMs } = this.#world;
    const fromMs = nowMs();
    const toMs = fromMs + (sites.get(locationId)?.horizonMs ?? 0);
    const sharesKw = [fromMs, toMs].map((atMs) => oracle.shareKw(locationId, atMs));
    return Math.min(oracle.lowestW(locationId, fromMs, toMs), ...sharesKw.map((shareKw) => 1000 * shareKw));
  }
}

function floorWOf({ spec }: OutletState): number {
  return leastOfferA(spec) * spec.phases * countedV(spec);
}

/** In W: the power that the car would take, the capacity to keep free beside its draw, and its draw. */
function needOf(outlet: OutletState, lockW: number): { wants: number; keeps: number; draws: number } {
  const { spec, status, holder } = outlet;
  const wattsPerA = spec.phases * countedV(spec);
  const draws = outlet.physicalPowerW();
  const drawnA = draws / wattsPerA;
  const { limitA } = holder.applied;
  const hasCar = status === 'Charging' || status === 'SuspendedEV' || status === 'SuspendedEVSE';
  if (!hasCar) return { wants: 0, keeps: spec.failsafeA * wattsPerA, draws };
  const isHungry = status === 'SuspendedEVSE' || (status === 'Charging' && drawnA >= WANTING * limitA);
  if (isHungry) {
    const keptA = limitA === 0 ? spec.failsafeA : Math.min(STEP_A, spec.maxCurrentA - limitA);
    const wants = Math.max(draws, Math.min(spec.maxCurrentA * wattsPerA, lockW));
    return { wants, keeps: keptA * wattsPerA, draws };
  }
  const keptA = Math.max(spec.failsafeA, drawnA / WANTING + 2 * STEP_A, leastOfferA(spec)) - drawnA;
  return { wants: draws, keeps: keptA * wattsPerA, draws };
}
