// A cluster's cap among its members: what each is due, and what it may use already while others still make room.
import { wattsOfLimit } from '../values/units.js';

/** `min(1, clusterLimitKw / sumLocationLimitsKw)` (contract section 2.8); 1 where there is no cap. */
export function clusterScale(clusterLimitKw: number | null, sumLocationLimitsKw: number): number {
  if (clusterLimitKw === null || sumLocationLimitsKw <= 0) return 1;
  return Math.min(1, clusterLimitKw / sumLocationLimitsKw);
}

/** What the chargers of a member take: its supervisor, which is never copied. */
export interface ReservedPower {
  /** What they may be entitled to now, W. */
  readonly reservedW: number;
  /** What they cannot be lowered below by any grant, as of the last decision, W. */
  readonly neededW: number;
  /** What they may be entitled to as long as nothing lower is granted and followed, W. */
  lastingW(): number;
  /** As of the last decision: some may draw more still than they are left with, and that ends by itself. */
  readonly isLettingGo: boolean;
}

/** A member location of a cluster. */
export interface ClusterMember {
  readonly locationId: string;
  /** Its own effective limit, kW. */
  readonly setLimitKw: number;
  readonly reserved: ReservedPower;
}

/** What a cluster lets a member use, whole W. */
export interface GrantedShare {
  readonly shareW: number;
  /**
   * What its chargers may be entitled to, so that all members stay within the cap: more than the share where they need more than
   * that, as far as the others have made room. Infinite where that is not enough, and nobody is left to wait for.
   */
  readonly roomW: number;
  /** Up to where it may raise limits now: less than the share for as long as others are entitled to more than theirs. */
  readonly raisesToW: number;
}

/** The scale that the cap gives its members now. */
export function scaleOf(limitKw: number | null, members: Iterable<ClusterMember>): number {
  let sumKw = 0;
  for (const { setLimitKw } of members) sumKw += setLimitKw;
  return clusterScale(limitKw, sumKw);
}

/**
 * The shares, by location, that follow on `held`: a share falls to what its member is due at once, and rises only as far as
 * all shares, and what the members' chargers may still be entitled to, fit under the cap together. A first share begins with
 * what the member's chargers stay entitled to anyway: all it is due could be more than the others leave.
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
  const awaited = members.filter((each, i) => each.reserved.isLettingGo || mustLower(each, sharesW[i] ?? 0));
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
 * What each member is due, whole W: what it is set to, scaled. Where one needs more than that, because its locks have their
 * minimum whatever the limit is, or chargers cannot be told, the others are due less, in proportion to what they can go without.
 * `isShort` where that is not enough.
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
