// Shares of a cluster's cap: the due of each member, and the part usable already while others still make room.
import type { EpochMs } from '../values/time.js';
import { wattsOfLimit } from '../values/units.js';
import { type GrantedShare, type LimitCause, type LimitSource, outlookLimits } from './limit-in-force.js';

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

const GATHERS_ABOVE = 50;
const GATHERS_MS = 250;

/**
 * Time for which a cluster gathers changes of its members' entitlements and needs before it shares again, ms. With many
 * members each change would otherwise cost a division among all. Until then the shares stay, so no member rises (R45).
 */
export function gathersForMs(members: number): number {
  return members <= GATHERS_ABOVE ? 0 : GATHERS_MS;
}

export function scaleOf(limitKw: number | null, members: Iterable<ClusterMember>): number {
  let sumKw = 0;
  for (const { setLimitKw } of members) sumKw += setLimitKw;
  return clusterScale(limitKw, sumKw);
}

/**
 * Next shares by location, after `held`. A share falls to the due of its member at once. It rises only as far as all
 * shares and entitlements fit under the cap together (R45). A first share begins with the lasting entitlement of the member's
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

const explanationOf = (cause: LimitCause) =>
  `the share of the location in cluster ${cause.kind === 'clusterShare' ? cause.clusterId : ''}`;

export const clusterShareName = (clusterId: string) => `clusterShare:${clusterId}`;

/** The granted share of a location. No later share is known to the location itself. */
export function clusterShare(clusterId: string, share: GrantedShare): LimitSource {
  const cause: LimitCause = { kind: 'clusterShare', clusterId };
  const outlook = { limitKw: share.shareW / 1000, endsAtMs: Number.POSITIVE_INFINITY };
  const limits = outlookLimits(outlook, cause);
  return {
    name: clusterShareName(clusterId),
    ...limits,
    lowestFrom: () => limits.current,
    explain: explanationOf,
    share,
  };
}

/** From `atMs` on, a cluster's members get their effective limit times `scale`. */
export interface ScaleStep {
  readonly atMs: EpochMs;
  readonly scale: number;
}

/** Known scales of a cluster in order of time; 1 before the first. */
export interface ClusterOutlook {
  readonly clusterId: string;
  readonly steps: readonly ScaleStep[];
}

/**
 * Shares of a location over time, by the known windows of all members.
 * @param own the location's own limits, which the scales apply to
 */
export function clusterShareAhead({ clusterId, steps }: ClusterOutlook, own: LimitSource): LimitSource {
  const cause: LimitCause = { kind: 'clusterShare', clusterId };
  const stepAfter = (atMs: EpochMs) => {
    let [from, to] = [0, steps.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((steps[middle]?.atMs ?? atMs) <= atMs) from = middle + 1;
      else to = middle;
    }
    return from;
  };
  const limitAt = (atMs: EpochMs) => {
    const scale = steps[stepAfter(atMs) - 1]?.scale ?? 1;
    const effectiveKw = own.limitAt(atMs)?.limitKw ?? Number.POSITIVE_INFINITY;
    return { limitKw: wattsOfLimit(effectiveKw * scale) / 1000, cause };
  };
  return {
    name: clusterShareName(clusterId),
    current: undefined,
    limitAt,
    nextChangeAfter: (atMs) => steps[stepAfter(atMs)]?.atMs ?? Number.POSITIVE_INFINITY,
    lowestFrom: limitAt,
    explain: explanationOf,
  };
}
