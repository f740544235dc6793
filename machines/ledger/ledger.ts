// Ledger of one site: sums of its connectors' entitlements in W and on each circuit phase, and the room that they leave
// for one connector (R2, R26). Currents in tenths of an ampere.
import {
  type ConnectorDescription,
  createEntitlements,
  type Entitlements,
  type Site,
} from './entitlements.js';
import type { GrantTiming, LeaseKind } from './grant.js';
import {
  ALL_PHASES,
  isWithin,
  largerOf,
  mostOnFirst,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  phasesLoaded,
} from './own-phases.js';

/**
 * Power that a grant of `tenthsA` on the used phases needs, W (R32). If certain grants cover it, it needs only itself,
 * beside the own fail-safe on the other phases. Otherwise it adds to everything possibly in force, which may be on
 * other phases.
 */
function wattsBeside(connector: Entitlements, tenthsA: number): number {
  const { usedPhases, ownFailsafeTenthsA: own, bounds, grantedPhases, certain } = connector;
  const granted = onFirst(tenthsA, grantedPhases);
  if (!isWithin(granted, certain)) return connector.wattsOn(largerOf(granted, bounds));
  return connector.wattsOn([tenthsA, usedPhases > 1 ? tenthsA : own, usedPhases > 2 ? tenthsA : own]);
}

/**
 * Highest grant within `roomW` on the used phases: the inverse of `wattsBeside`.
 * @param counted bound and its certain part at the time that `roomW` is for
 */
function tenthsWithin(
  connector: Entitlements,
  roomW: number,
  { bounds, certain }: Pick<Entitlements, 'bounds' | 'certain'>,
): number {
  const { phases, milliwattsOnPhase, ownFailsafeTenthsA, grantedPhases: used } = connector;
  const roomTenthsA = Math.floor((Math.max(0, roomW) * 1000) / milliwattsOnPhase);
  const freeTenthsA = Math.floor((roomTenthsA - (phases - used) * ownFailsafeTenthsA) / used);
  let mostTenthsA = Math.max(0, Math.min(freeTenthsA, mostOnFirst(certain, used)));
  // A grant above the bound of the last used phase raises that phase alone first. A higher one raises the phase before
  // it as well.
  for (let raised = 1; raised <= used; raised++) {
    let keptTenthsA = 0;
    for (let phase = 0; phase < phases; phase++)
      if (phase < used - raised || phase >= used) keptTenthsA += bounds[phase] ?? 0;
    const ceiling = raised === used ? Number.POSITIVE_INFINITY : (bounds[used - raised - 1] ?? 0);
    const tenthsA = Math.min(Math.floor((roomTenthsA - keptTenthsA) / raised), ceiling);
    if (tenthsA >= (bounds[used - raised] ?? 0)) mostTenthsA = Math.max(mostTenthsA, tenthsA);
  }
  return mostTenthsA;
}

/** Ledger of one location's connectors. */
export class Ledger {
  readonly #connectors = new Set<Entitlements>();
  readonly #timing: GrantTiming;
  readonly #site: Site & { reservesOwnFailsafes: boolean };
  #totalW = 0;
  #loadsTenthsA: number[] = [];
  #capacitiesTenthsA: readonly number[] = [];

  constructor(timing: GrantTiming) {
    this.#timing = timing;
    this.#site = {
      reservesOwnFailsafes: true,
      refusalOf: (connector, mostTenthsA, { budgetW, isLockFloor = false }) =>
        isLockFloor
          ? this.#refusalOfLockFloor(connector, mostTenthsA)
          : this.#refusalOfGrant(connector, mostTenthsA, budgetW),
      onChange: (connector, beforeW, before) => {
        this.#totalW += connector.boundW - beforeW;
        this.#move(connector, before, connector.loads);
      },
    };
  }

  /** Reserve of the site: the sum of all bounds, W. */
  get totalW(): number {
    return this.#totalW;
  }

  /** Possible load of each circuit phase. */
  get loadsTenthsA(): readonly number[] {
    return this.#loadsTenthsA;
  }

  /** Total after all expiring grants and the reservations from disk have ended, W. */
  lastingW(): number {
    let sumW = 0;
    for (const { expectedW } of this.#connectors) sumW += expectedW;
    return sumW;
  }

  /** Changes the capacities of the same circuit phases. Existing loads stay. */
  limitCircuitPhases(capacitiesTenthsA: readonly number[]): void {
    this.#capacitiesTenthsA = capacitiesTenthsA;
  }

  /** Replaces all circuit phases. No connector loads the new ones until `describe` assigns it to them. */
  rewire(capacitiesTenthsA: readonly number[]): void {
    for (const connector of this.#connectors)
      connector.describe({ circuitPhasesOfPhases: Array.from({ length: connector.phases }, () => []) });
    this.limitCircuitPhases(capacitiesTenthsA);
    this.#loadsTenthsA = capacitiesTenthsA.map(() => 0);
  }

  /** Adds a connector with its fail-safe as bound (R7). */
  add(key: string, description: ConnectorDescription): Entitlements {
    const connector = createEntitlements(key, description, this.#timing, this.#site);
    this.#connectors.add(connector);
    return connector;
  }

  /** Removes the connector with its bound and loads. */
  remove(connector: Entitlements): void {
    if (!this.#connectors.delete(connector)) return;
    this.#totalW -= connector.boundW;
    this.#move(connector, connector.loads, NO_CURRENT);
  }

  /**
   * Sets the budget's treatment of chargers that keep nothing over a restart. If true, their own fail-safes are
   * reserved (R24). If false, only the granted fallback counts, and after a restart the reported limit until a grant is
   * taken. Fuses have capacity for these fail-safes in both cases (R29).
   */
  reserveOwnFailsafes(isReserved: boolean): void {
    if (isReserved === this.#site.reservesOwnFailsafes) return;
    this.#site.reservesOwnFailsafes = isReserved;
    for (const connector of this.#connectors) connector.recount();
  }

  /** Releases all limits that can no longer be in force. True if a bound fell. */
  release(nowMs: number): boolean {
    let fell = false;
    for (const connector of this.#connectors) if (connector.release(nowMs)) fell = true;
    return fell;
  }

  /**
   * The highest possible grant now: the newest lasting grant, or the room if that is more (R2).
   * @param uncounted as in `fittingTenthsA`
   */
  grantableTenthsA(connector: Entitlements, budgetW: number, uncounted?: CircuitLoads): number {
    const { lastingTenthsA, maxTenthsA } = connector;
    return Math.min(Math.max(lastingTenthsA, this.fittingTenthsA(connector, budgetW, uncounted)), maxTenthsA);
  }

  /**
   * Room that the others leave in the budget and on each circuit phase, regardless of the newest grant.
   * @param uncounted part of the others' loads that does not count (R42); negative for more than they have (R52)
   */
  fittingTenthsA(connector: Entitlements, budgetW: number, uncounted?: CircuitLoads): number {
    const roomW = budgetW - (this.#totalW - connector.boundW);
    return Math.min(tenthsWithin(connector, roomW, connector), this.carriableTenthsA(connector, uncounted));
  }

  /** The same within `roomW` from `atMs` on. Limits that end before that neither cover the grant nor count (R3, R32). */
  fittingFromTenthsA(connector: Entitlements, roomW: number, atMs: number): number {
    const counted = { bounds: connector.boundsFrom(atMs), certain: connector.certainFrom(atMs) };
    return Math.min(tenthsWithin(connector, roomW, counted), this.carriableTenthsA(connector));
  }

  /**
   * Room that the others leave on all circuit phases of the used phases (R26); infinite without fuses.
   * @param uncounted as in `fittingTenthsA`
   */
  carriableTenthsA({ allCircuitPhases, loads, usedPhases }: Entitlements, uncounted?: CircuitLoads): number {
    let leastTenthsA = Number.POSITIVE_INFINITY;
    for (const { circuitPhase, phase } of allCircuitPhases) {
      if (phase >= usedPhases) continue;
      const countedTenthsA =
        (this.#loadsTenthsA[circuitPhase] ?? 0) - (uncounted?.tenthsAOf(circuitPhase) ?? 0);
      const othersTenthsA = countedTenthsA - (loads[phase] ?? 0);
      leastTenthsA = Math.min(leastTenthsA, (this.#capacitiesTenthsA[circuitPhase] ?? 0) - othersTenthsA);
    }
    return Math.max(0, leastTenthsA);
  }

  #refusalOfGrant(connector: Entitlements, mostTenthsA: number, budgetW: number): string | undefined {
    const leftW = budgetW - this.#totalW + connector.boundW;
    const neededW = wattsBeside(connector, mostTenthsA);
    if (neededW > leftW) return `${neededW} W are more than the ${leftW} W that are left`;
    return this.#refusalByFuses(connector, mostTenthsA);
  }

  /**
   * The 6 A of a lock ignore the budget (R17), but fuses must carry them (R28). A floor that the connector already has
   * adds no load (R44), nor does one within a reserved maximum (R8).
   */
  #refusalOfLockFloor(connector: Entitlements, mostTenthsA: number): string | undefined {
    const countedTenthsA = connector.isWorstCase ? connector.maxTenthsA : connector.hadTenthsA;
    return mostTenthsA <= countedTenthsA ? undefined : this.#refusalByFuses(connector, mostTenthsA);
  }

  #refusalByFuses(connector: Entitlements, mostTenthsA: number): string | undefined {
    const carriableTenthsA = this.carriableTenthsA(connector);
    if (mostTenthsA <= carriableTenthsA) return undefined;
    return `${mostTenthsA} is more than the ${carriableTenthsA} its fuses carry`;
  }

  /** Replaces a connector's currents `from` by `to` on its circuit phases. */
  #move({ allCircuitPhases }: Entitlements, from: OwnPhases, to: OwnPhases): void {
    for (const { circuitPhase, phase } of allCircuitPhases)
      this.#loadsTenthsA[circuitPhase] =
        (this.#loadsTenthsA[circuitPhase] ?? 0) + (to[phase] ?? 0) - (from[phase] ?? 0);
  }
}

/** Tenths of an ampere by circuit phase. */
export interface CircuitLoads {
  tenthsAOf(circuitPhase: number): number;
}

/**
 * Excess of reservations over grants for connectors that may not obey (R42): W, and tenths of an ampere by circuit
 * phase.
 */
export class BeyondGrants implements CircuitLoads {
  readonly #connectors = new Set<Entitlements>();
  #powerW = 0;
  readonly #tenthsAOfCircuitPhase = new Map<number, number>();

  /** Most locations have no such connector and share one empty object. */
  static of(connectors: readonly Entitlements[]): BeyondGrants {
    if (connectors.length === 0) return NOBODY;
    const beyond = new BeyondGrants();
    for (const connector of connectors) beyond.count(connector);
    return beyond;
  }

  get powerW(): number {
    return this.#powerW;
  }

  tenthsAOf(circuitPhase: number): number {
    return this.#tenthsAOfCircuitPhase.get(circuitPhase) ?? 0;
  }

  count(connector: Entitlements): void {
    this.#connectors.add(connector);
    this.#add(connector, 1);
  }

  /** Call this before a new grant to the connector. False if it was not counted. */
  leaveOut(connector: Entitlements): boolean {
    if (!this.#connectors.delete(connector)) return false;
    this.#add(connector, -1);
    return true;
  }

  #add(connector: Entitlements, sign: 1 | -1): void {
    const { boundW, entitled, loads, allCircuitPhases, alwaysCarriedTenthsA } = connector;
    this.#powerW += sign * (boundW - connector.wattsOn(entitled));
    const granted = largerOf(entitled, onFirst(alwaysCarriedTenthsA, ALL_PHASES));
    for (const { circuitPhase, phase } of allCircuitPhases) {
      const beyondTenthsA = (loads[phase] ?? 0) - (granted[phase] ?? 0);
      this.#tenthsAOfCircuitPhase.set(circuitPhase, this.tenthsAOf(circuitPhase) + sign * beyondTenthsA);
    }
  }
}

/** Only counted connectors are left out and counted again, so this shared object stays empty. */
const NOBODY = new BeyondGrants();

/** Reservation of a connector on disk. It is never below the grants that left, because the next start relies on it (R6). */
export interface StoredReservation {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** Longest lease. */
  readonly ttlMs: number;
  /** Number of the connector's phases. */
  readonly phases: PhaseCount;
}

export const NOTHING_STORED: StoredReservation = {
  limitTenthsA: 0,
  thenTenthsA: 0,
  ttlMs: 0,
  phases: ALL_PHASES,
};

/**
 * Reservation that must be on disk at `nowMs`. Different currents per phase count at their maximum on all loaded phases
 * (R35).
 */
export function reservationOf(connector: Entitlements, nowMs: number): StoredReservation {
  const phases = phasesLoaded(largerOf(connector.bounds, connector.failsafes));
  return {
    limitTenthsA: connector.boundTenthsA,
    thenTenthsA: connector.failsafeTenthsA,
    ttlMs: connector.coveringTtlMs(nowMs),
    phases: phases < connector.phases ? phases : ALL_PHASES,
  };
}

/**
 * Lease kind that the next start must assume. A charger that keeps leases again may still hold a limit without an end
 * from before. Until it has taken a newer one, a start must await its report and not an end (R41).
 */
export function leaseToStore({ lease, isEndless }: Entitlements): LeaseKind {
  return lease === 'heartbeat' && isEndless ? 'none' : lease;
}

/** The part that is certainly on disk if any of these reservations may be there. */
export function leastOf(all: readonly StoredReservation[]): StoredReservation {
  return {
    limitTenthsA: Math.min(...all.map(({ limitTenthsA }) => limitTenthsA)),
    thenTenthsA: Math.min(...all.map(({ thenTenthsA }) => thenTenthsA)),
    ttlMs: Math.min(...all.map(({ ttlMs }) => ttlMs)),
    phases: Math.min(...all.map(({ phases }) => phases)) as PhaseCount,
  };
}

/** Power of a reservation on disk, W. */
export function storedWOf(
  { milliwattsOnPhase, phases }: Entitlements,
  stored: Pick<StoredReservation, 'limitTenthsA' | 'phases'>,
): number {
  return (stored.limitTenthsA * Math.min(stored.phases, phases) * milliwattsOnPhase) / 1000;
}
