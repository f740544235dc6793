// Who gets how much of a location's power: locked connectors first, the rest max-min fairly, nobody between 0 and 6 A.

/** What one connector asks for. Powers in whole W. */
export interface Claim {
  /** What it takes of the budget even at 0: its fail-safe. A claim is never given less. */
  readonly heldW: number;
  /** The least it can use: its 6 A floor, or `heldW` where that is more. */
  readonly floorW: number;
  /** The most it can use; at least `floorW`. */
  readonly mostW: number;
  /** It makes no use of what it is given: unlocked, it gets what all others leave once they have what they can use. */
  readonly isResting?: boolean;
}

export interface Allocation {
  /** Of each locked claim, in the order given. */
  readonly lockedW: readonly number[];
  /** Of each unlocked claim, in the order given; 0, or `heldW`, where it is paused. */
  readonly unlockedW: readonly number[];
  /**
   * Whether unlocked claims had to share: the level below which everybody has what it asked for; undefined where all have.
   * Those that rest share at a level of their own, which is told where the others have all they asked for.
   */
  readonly levelW: number | undefined;
  /** Locked claims got less than they asked for. */
  readonly isLastResort: boolean;
  /** Not even the floors of the locked claims and what the others hold fit: they have them all the same. */
  readonly isUnattainable: boolean;
}

/**
 * Divides `availableW` (power-safety: "who gets how much"). `heldW` of every claim is part of what is available.
 * 1. Locked claims: their floors, then up to what they ask for.
 * 2. Unlocked claims share the rest max-min fairly between floor and most; where not all floors fit, those first in the
 *    order given get theirs, and the others are paused. Claims that rest share likewise what is left after that.
 * 3. Locked claims get less than they ask for only when every unlocked one is paused; then max-min fairly, never below
 *    their floors.
 * Max-min fair: nobody's share can grow without making smaller one that is no larger (Bertsekas and Gallager, Data
 * Networks, section 6.5.2); with floors and caps it is everybody at one level, held between its own two. O(n log n).
 */
export function allocate(
  availableW: number,
  locked: readonly Claim[],
  unlocked: readonly Claim[],
): Allocation {
  const heldByUnlockedW = sumOf(unlocked, ({ heldW }) => heldW);
  const forLockedW = availableW - heldByUnlockedW;
  const lockedMostW = sumOf(locked, ({ mostW }) => mostW);
  if (lockedMostW > forLockedW) {
    const lockedFloorW = sumOf(locked, ({ floorW }) => floorW);
    return {
      lockedW: fairShares(locked, forLockedW).sharesW,
      unlockedW: unlocked.map(({ heldW }) => heldW),
      levelW: undefined,
      isLastResort: locked.length > 0,
      isUnattainable: lockedFloorW > forLockedW,
    };
  }
  return {
    lockedW: locked.map(({ mostW }) => mostW),
    ...shareAmongUnlocked(unlocked, availableW - lockedMostW, heldByUnlockedW),
    isLastResort: false,
    isUnattainable: false,
  };
}

const NO_CLAIM: Claim = { heldW: 0, floorW: 0, mostW: 0 };

function shareAmongUnlocked(
  claims: readonly Claim[],
  availableW: number,
  heldW: number,
): Pick<Allocation, 'unlockedW' | 'levelW'> {
  const unlockedW = claims.map((claim) => claim.heldW);
  const places = [...claims.keys()];
  const awake = places.filter((i) => claims[i]?.isResting !== true);
  const { leftW, levelW } = shareAmong(claims, awake, availableW - heldW, unlockedW);
  const resting = places.filter((i) => claims[i]?.isResting === true);
  const last = shareAmong(claims, resting, leftW, unlockedW);
  return { unlockedW, levelW: levelW ?? last.levelW };
}

/**
 * Floors in the order of `places` as far as they fit, then fair shares among those that have one, into `sharesW`.
 * @param roomW beyond what is held for everybody.
 */
function shareAmong(
  claims: readonly Claim[],
  places: readonly number[],
  roomW: number,
  sharesW: number[],
): { readonly leftW: number; readonly levelW: number | undefined } {
  let leftW = roomW;
  const running: number[] = [];
  for (const i of places) {
    const { floorW, heldW } = claims[i] ?? NO_CLAIM;
    // One that asks for more than is left leaves it to those behind it: its turn comes first again once more is left.
    if (floorW - heldW > leftW) continue;
    leftW -= floorW - heldW;
    running.push(i);
  }
  const chosen = running.flatMap((i) => claims[i] ?? []);
  const totalW = leftW + sumOf(chosen, ({ floorW }) => floorW);
  const fair = fairShares(chosen, totalW);
  for (const [nth, i] of running.entries()) sharesW[i] = fair.sharesW[nth] ?? 0;
  return { leftW: totalW - fair.sharesW.reduce((sum, shareW) => sum + shareW, 0), levelW: fair.levelW };
}

/** Everybody at the highest level, held between floor and most, at which the sum fits `availableW`; the floors at least. */
function fairShares(
  claims: readonly Claim[],
  availableW: number,
): { readonly sharesW: number[]; readonly levelW: number | undefined } {
  if (sumOf(claims, ({ mostW }) => mostW) <= availableW) {
    return { sharesW: claims.map(({ mostW }) => mostW), levelW: undefined };
  }
  const levelW = levelOf(claims, availableW);
  return { sharesW: claims.map(({ floorW, mostW }) => Math.min(Math.max(levelW, floorW), mostW)), levelW };
}

/** Rises from 0 over the points where a claim begins or ends to grow, until the sum at the next one would not fit. */
function levelOf(claims: readonly Claim[], availableW: number): number {
  const points: { readonly atW: number; readonly growing: 1 | -1 }[] = [];
  let sumW = 0;
  for (const { floorW, mostW } of claims) {
    sumW += floorW;
    points.push({ atW: floorW, growing: 1 }, { atW: mostW, growing: -1 });
  }
  points.sort((a, b) => a.atW - b.atW);
  let levelW = 0;
  let growing = 0;
  for (const point of points) {
    const roomW = availableW - sumW;
    if (growing > 0 && growing * (point.atW - levelW) > roomW) {
      // Whole watts: what is left over is less than a watt each.
      return levelW + Math.max(0, Math.floor(roomW / growing));
    }
    sumW += growing * (point.atW - levelW);
    levelW = point.atW;
    growing += point.growing;
  }
  return levelW;
}

function sumOf(claims: readonly Claim[], part: (claim: Claim) => number): number {
  let sum = 0;
  for (const claim of claims) sum += part(claim);
  return sum;
}
