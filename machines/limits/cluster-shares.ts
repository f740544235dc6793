// A cluster's cap among its members: what each is due, and what it may use already while others still make room.
import { wattsOfLimit } from '../values/units.js';

/** `min(1, clusterLimitKw / sumLocationLimitsKw)` (contract section 2.8); 1 where there is no cap. */
export function clusterScale(clusterLimitKw: number | null, sumLocationLimitsKw: number): number {
  if (clusterLimitKw === null || sumLocationLimitsKw <= 0) return 1;
  return Math.min(1, clusterLimitKw / sumLocationLimitsKw);
}

/** What the chargers of a member may be entitled to: its ledger, which is never copied. */
export interface ReservedPower {
  /** Now, W. */
  readonly totalW: number;
  /** As long as nothing lower is granted and followed, W. */
  lastingW(): number;
}

/** A member location of a cluster. */
export interface ClusterMember {
  readonly locationId: string;
  /** Its own effective limit, kW. */
  readonly setLimitKw: number;
  readonly reserved: ReservedPower;
}

/** The scale that the cap gives its members now. */
export function scaleOf(limitKw: number | null, members: Iterable<ClusterMember>): number {
  let sumKw = 0;
  for (const { setLimitKw } of members) sumKw += setLimitKw;
  return clusterScale(limitKw, sumKw);
}

/**
 * The shares, in whole W by location, that follow on `held`: a share falls to what its member is due at once, and rises
 * only as far as all shares, and what the members' chargers may still be entitled to, fit under the cap together. A first
 * share begins with what the member's chargers stay entitled to anyway: all it is due could be more than the others leave.
 */
export function grantShares(
  held: ReadonlyMap<string, number>,
  limitKw: number,
  scale: number,
  members: Iterable<ClusterMember>,
): ReadonlyMap<string, number> {
  const sharesW = new Map<string, number>();
  const rising: { readonly member: ClusterMember; readonly dueW: number }[] = [];
  let takenW = 0;
  for (const member of members) {
    const { locationId, setLimitKw, reserved } = member;
    const dueW = wattsOfLimit(setLimitKw * scale);
    const shareW = Math.min(dueW, held.get(locationId) ?? reserved.lastingW());
    sharesW.set(locationId, shareW);
    takenW += Math.max(shareW, reserved.totalW);
    if (shareW < dueW) rising.push({ member, dueW });
  }
  const capW = wattsOfLimit(limitKw);
  for (const { member, dueW } of rising) {
    const { locationId, reserved } = member;
    const shareW = sharesW.get(locationId) ?? 0;
    const takenByItW = Math.max(shareW, reserved.totalW);
    const raisedW = Math.min(dueW, capW - (takenW - takenByItW));
    if (raisedW <= shareW) continue;
    sharesW.set(locationId, raisedW);
    takenW += Math.max(raisedW, reserved.totalW) - takenByItW;
  }
  return sharesW;
}
