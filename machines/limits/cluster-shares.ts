// Shares of a cluster's cap: the due of each member, and the part usable already while others still make room.
import { wattsOfLimit } from '../values/units.js';

/** `min(1, clusterLimitKw / sumLocationLimitsKw)` (contract section 2.8); 1 without a cap. */
export function clusterScale(clusterLimitKw: number | null, sumLocationLimitsKw: number): number {
  if (clusterLimitKw === null || sumLocationLimitsKw <= 0) return 1;
  return Math.min(1, clusterLimitKw / sumLocationLimitsKw);
}

/** Entitlement of a member's chargers. It is the member's supervisor itself, and never a copy. */
export interface ReservedPower {
  /** Present entitlement, W. */
  readonly reservedW: number;
  /** Power below which no grant can lower the chargers, as of the last decision, W. */
  readonly neededW: number;
  /** Entitlement as long as no lower grant is sent and followed, W. */
  lastingW(): number;
  /** As of the last decision: an older, higher grant of some charger may still apply, and ends by itself. */
  readonly isReleasing: boolean;
}

export interface ClusterMember {
  readonly locationId: string;
  /** The location's own effective limit, kW. */
  readonly setLimitKw: number;
  readonly reserved: ReservedPower;
}

/** Power that a cluster grants a member, whole W. */
export interface GrantedShare {
  readonly shareW: number;
  /**
   * Bound for the entitlement of the member's chargers, so that all members stay within the cap. It exceeds the share
   * if the chargers need more, as far as the others have made room. Infinite if that is not enough and no member is
   * still lowering its power.
   */
  readonly roomW: number;
  /**
   * Bound up to which the member may raise limits now. It is below the share while others are entitled to more than
   * theirs.
   */
  readonly raisesToW: number;
}

export function scaleOf(limitKw: number | null, members: Iterable<ClusterMember>): number {
  let sumKw = 0;
  for (const { setLimitKw } of members) sumKw += setLimitKw;
  return clusterScale(limitKw, sumKw);
}

/**
 * Next shares by location, after `held`. A share falls to the due of its member at once. It rises only as far as all
 * shares and entitlements fit under the cap together. A first share begins with the lasting entitlement of the member's
 * chargers. The full due could be more than the others leave.
 */
export function grantShares(
  held: ReadonlyMap<string, GrantedShare>,
  limitKw: number,
  scale: number,
  members: readonly ClusterMember[],
): ReadonlyMap<string, GrantedShare> {
  const capW = wattsOfLimit(limitKw);
  const { duesW, isShort } = duesOf(capW, scale, members);
  const sharesW = members.map(({ locationId, reserved }, i) =>
    Math.min(duesW[i] ?? 0, held.get(locationId)?.shareW ?? reserved.lastingW()),
  );
  const takenBy = (i: number) => Math.max(sharesW[i] ?? 0, members[i]?.reserved.reservedW ?? 0);
  let takenW = 0;
  for (const i of members.keys()) takenW += takenBy(i);
  for (const [i, dueW] of duesW.entries()) {
    const shareW = sharesW[i] ?? 0;
    const besideW = takenW - takenBy(i);
    const raisedW = Math.min(dueW, capW - besideW);
    if (raisedW <= shareW) continue;
    sharesW[i] = raisedW;
    takenW = besideW + takenBy(i);
  }
  const mustLower = ({ locationId, reserved: { reservedW, neededW } }: ClusterMember, shareW: number) =>
    shareW < (held.get(locationId)?.shareW ?? Number.POSITIVE_INFINITY) &&
    reservedW > Math.max(shareW, neededW);
  const awaited = members.filter((each, i) => each.reserved.isReleasing || mustLower(each, sharesW[i] ?? 0));
  return new Map(
    members.map((member, i) => {
      const { locationId, reserved } = member;
      const { neededW } = reserved;
      const shareW = sharesW[i] ?? 0;
      const leftW = Math.max(0, capW - (takenW - takenBy(i)));
      const isAnyAwaited = awaited.some((each) => each !== member);
      const roomBeyondW = isShort && !isAnyAwaited ? Number.POSITIVE_INFINITY : Math.max(shareW, leftW);
      const roomW = neededW > shareW ? roomBeyondW : shareW;
      return [locationId, { shareW, roomW, raisesToW: Math.min(shareW, leftW) }];
    }),
  );
}

/**
 * Due of each member, whole W: its own limit, scaled. A member may need more, because its locks keep their minimum
 * under any limit, or because its chargers cannot be lowered. Then the others are due less, in proportion to the power
 * that they can do without. `isShort`: even that is not enough.
 */
function duesOf(
  capW: number,
  scale: number,
  members: readonly ClusterMember[],
): { readonly duesW: readonly number[]; readonly isShort: boolean } {
  let leftW = capW;
  let spareW = 0;
  const scaled = members.map(({ setLimitKw, reserved: { neededW } }) => {
    const dueW = wattsOfLimit(setLimitKw * scale);
    leftW -= neededW;
    spareW += Math.max(0, dueW - neededW);
    return { dueW, neededW };
  });
  const isAllLeft = leftW >= spareW;
  const share = Math.max(0, leftW) / spareW;
  const duesW = scaled.map(({ dueW, neededW }) =>
    isAllLeft || dueW <= neededW ? dueW : neededW + Math.floor((dueW - neededW) * share),
  );
  return { duesW, isShort: leftW < 0 };
}
