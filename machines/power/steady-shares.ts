// Fair shares as they are sent: in steps worth a message, so that what is too little for each is used by some.

/** Raises are this large at least (rule 9); closer to its fair share than this, a connector may stay where it is. */
export const STEP_TENTHS_A = 10;

/** One connector that shares. Currents in tenths of an ampere per phase. */
export interface SteadyClaim {
  /** What it was sent last; 0 where nothing. */
  readonly sentTenthsA: number;
  readonly fairTenthsA: number;
  /** The most it can use; at least `fairTenthsA`. */
  readonly mostTenthsA: number;
  /** Of the hardware: a raise to it is always worth a message. */
  readonly maxTenthsA: number;
  readonly milliwattsPerTenth: number;
  /** Places of the poles it loads; none where they are left out. */
  readonly poles?: readonly number[];
}

/**
 * What each is due, at less than a step from its fair share, and together at most `availableW`, and on each pole at most
 * `availableTenthsA`, more than all fair shares.
 * 1. A connector that would be raised by less than a step stays where it is, and leaves that to the others.
 * 2. One that would be lowered by less than a step stays, too, as far as that allows; the nearest to its share first.
 * 3. What is then left is given away in raises of a step at least, the least served first.
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
    for (const pole of claim.poles ?? []) leftTenthsA[pole] = (leftTenthsA[pole] ?? 0) - moreTenthsA;
    sharesTenthsA[i] = toTenthsA;
  }

  /** How much more it may have, tenths of an ampere. */
  function roomFor({ milliwattsPerTenth, poles = [] }: SteadyClaim): number {
    let roomTenthsA = Math.floor(leftMw / milliwattsPerTenth);
    for (const pole of poles) roomTenthsA = Math.min(roomTenthsA, leftTenthsA[pole] ?? 0);
    return roomTenthsA;
  }

  const places = [...claims.entries()];
  for (const [i, claim] of places) if (isBelow(claim)) move(i, claim, claim.sentTenthsA);
  const above = places.filter(([, claim]) => isAbove(claim));
  above.sort(([, a], [, b]) => a.sentTenthsA - a.fairTenthsA - (b.sentTenthsA - b.fairTenthsA));
  for (const [i, claim] of above) {
    if (claim.sentTenthsA - claim.fairTenthsA <= roomFor(claim)) move(i, claim, claim.sentTenthsA);
  }
  const rising = places.filter(([, { sentTenthsA, fairTenthsA }]) => sentTenthsA <= fairTenthsA);
  rising.sort(([, a], [, b]) => a.sentTenthsA - b.sentTenthsA);
  for (const [i, claim] of rising) {
    const fitting = (sharesTenthsA[i] ?? 0) + roomFor(claim);
    const tenthsA = Math.min(fitting, claim.fairTenthsA + STEP_TENTHS_A - 1, claim.mostTenthsA);
    if (tenthsA >= claim.sentTenthsA + STEP_TENTHS_A) move(i, claim, tenthsA);
  }
  return sharesTenthsA;
}

function isBelow({ sentTenthsA, fairTenthsA, maxTenthsA }: SteadyClaim): boolean {
  const isWorthIt = fairTenthsA === maxTenthsA || fairTenthsA >= sentTenthsA + STEP_TENTHS_A;
  return sentTenthsA < fairTenthsA && !isWorthIt;
}

/** Above its fair share by less than a step, and still of use. */
function isAbove({ sentTenthsA, fairTenthsA, mostTenthsA }: SteadyClaim): boolean {
  return fairTenthsA < sentTenthsA && sentTenthsA < fairTenthsA + STEP_TENTHS_A && sentTenthsA <= mostTenthsA;
}
