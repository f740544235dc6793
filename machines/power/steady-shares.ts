// Rounds fair shares to steps worth a message. Some connectors then use the remainders that are too small for all.

/** Smallest raise (rule 9). A connector this close to its fair share may keep its limit. */
export const STEP_TENTHS_A = 10;

/** One connector that shares. Currents in tenths of an ampere per phase. */
export interface SteadyClaim {
  /** Last limit sent; 0 without one. */
  readonly sentTenthsA: number;
  readonly fairTenthsA: number;
  /** The greatest usable current; at least `fairTenthsA`. */
  readonly mostTenthsA: number;
  /** Hardware maximum: a raise to it is always worth a message. */
  readonly maxTenthsA: number;
  readonly milliwattsPerTenth: number;
  /** Indices of the circuit phases that the connector loads; none if omitted. */
  readonly circuitPhases?: readonly number[];
}

/**
 * Limits less than a step from the fair shares. Together they exceed the fair shares by at most `availableW`, and on
 * each circuit phase by at most `availableTenthsA`.
 * 1. A connector that would rise by less than a step keeps its limit and leaves the difference to others.
 * 2. A connector that would fall by less than a step keeps its limit too, as far as that allows; the closest to its
 *    share first.
 * 3. The remainder goes to raises of at least a step, the lowest limits first.
 */
export function steadyShares(
  claims: readonly SteadyClaim[],
  availableW: number,
  availableTenthsA: readonly number[] = [],
): readonly number[] {
  let leftMw = availableW * 1000;
  const leftTenthsA = [...availableTenthsA];
  const sharesTenthsA = claims.map(({ fairTenthsA }) => fairTenthsA);

  function move(i: number, claim: SteadyClaim, toTenthsA: number): void {
    const moreTenthsA = toTenthsA - (sharesTenthsA[i] ?? 0);
    leftMw -= moreTenthsA * claim.milliwattsPerTenth;
    for (const circuitPhase of claim.circuitPhases ?? [])
      leftTenthsA[circuitPhase] = (leftTenthsA[circuitPhase] ?? 0) - moreTenthsA;
    sharesTenthsA[i] = toTenthsA;
  }

  /** Remaining capacity for the connector, tenths of an ampere. */
  function roomFor({ milliwattsPerTenth, circuitPhases = [] }: SteadyClaim): number {
    let roomTenthsA = Math.floor(leftMw / milliwattsPerTenth);
    for (const circuitPhase of circuitPhases)
      roomTenthsA = Math.min(roomTenthsA, leftTenthsA[circuitPhase] ?? 0);
    return roomTenthsA;
  }

  const above: Place[] = [];
  const rising: Place[] = [];
  for (const [i, claim] of claims.entries()) {
    if (isBelow(claim)) move(i, claim, claim.sentTenthsA);
    if (isAbove(claim)) above.push({ i, claim });
    if (mayRise(claim)) rising.push({ i, claim });
  }
  const excessTenthsA = ({ claim }: Place) => claim.sentTenthsA - claim.fairTenthsA;
  above.sort((a, b) => excessTenthsA(a) - excessTenthsA(b));
  for (const place of above) {
    const { i, claim } = place;
    if (excessTenthsA(place) <= roomFor(claim)) move(i, claim, claim.sentTenthsA);
  }
  rising.sort((a, b) => a.claim.sentTenthsA - b.claim.sentTenthsA);
  for (const { i, claim } of rising) {
    const fitting = (sharesTenthsA[i] ?? 0) + roomFor(claim);
    const tenthsA = Math.min(fitting, claim.fairTenthsA + STEP_TENTHS_A - 1, claim.mostTenthsA);
    if (tenthsA >= claim.sentTenthsA + STEP_TENTHS_A) move(i, claim, tenthsA);
  }
  return sharesTenthsA;
}

interface Place {
  readonly i: number;
  readonly claim: SteadyClaim;
}

/** Step 3 may give it at least a step. */
function mayRise({ sentTenthsA, fairTenthsA, mostTenthsA }: SteadyClaim): boolean {
  const raisableTenthsA = Math.min(fairTenthsA + STEP_TENTHS_A - 1, mostTenthsA);
  return sentTenthsA <= fairTenthsA && raisableTenthsA >= sentTenthsA + STEP_TENTHS_A;
}

function isBelow({ sentTenthsA, fairTenthsA, maxTenthsA }: SteadyClaim): boolean {
  const isWorthIt = fairTenthsA === maxTenthsA || fairTenthsA >= sentTenthsA + STEP_TENTHS_A;
  return sentTenthsA < fairTenthsA && !isWorthIt;
}

/** Above its fair share by less than a step, and still usable. */
function isAbove({ sentTenthsA, fairTenthsA, mostTenthsA }: SteadyClaim): boolean {
  return fairTenthsA < sentTenthsA && sentTenthsA < fairTenthsA + STEP_TENTHS_A && sentTenthsA <= mostTenthsA;
}
