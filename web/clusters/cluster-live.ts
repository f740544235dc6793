// Power and effective limits of the members of a cluster by the rule of the contract (section 2.8), updated by events.
import { clusterScale } from '../../machines/limits/cluster-shares.js';
import type { ClusterDetail } from '../../src/features/clusters/contract.js';
import { sumOfEstimates } from '../ui/drawn.js';

type Member = ClusterDetail['liveStatus']['locations'][number];

/** Fields of a member that an event changes. */
export type MemberChange = Partial<Pick<Member, 'setLimitKw' | 'actualKw' | 'estimatedKw'>>;

/** Factor that the cluster applies to each member's set limit; 1 if it limits no member. */
export function scaleOf({ status, limitKw, liveStatus }: ClusterDetail): number {
  return status === 'ACTIVE' ? clusterScale(limitKw, liveStatus.sumLocationLimits) : 1;
}

/** `detail` with the changes of its members, by their ids; the same object if no change concerns them. */
export function changed(detail: ClusterDetail, changes: ReadonlyMap<string, MemberChange>): ClusterDetail {
  const { locations } = detail.liveStatus;
  if (!locations.some(({ locationId }) => changes.has(locationId))) return detail;
  const members = locations.map((member) => {
    const change = changes.get(member.locationId);
    return change === undefined ? member : { ...member, ...change };
  });
  const actualTotalKw = members.reduce((sum, { actualKw }) => sum + actualKw, 0);
  const estimatedTotalKw = sumOfEstimates(members.map(({ estimatedKw }) => estimatedKw)) ?? undefined;
  const sumLocationLimits = members.reduce((sum, { setLimitKw }) => sum + setLimitKw, 0);
  const liveStatus = { ...detail.liveStatus, actualTotalKw, estimatedTotalKw, sumLocationLimits };
  const scale = scaleOf({ ...detail, liveStatus });
  return {
    ...detail,
    liveStatus: {
      ...liveStatus,
      withinLimit: isWithin(actualTotalKw, detail.limitKw),
      locations: members.map((member) => scaled(member, scale)),
    },
  };
}

export function isWithin(actualTotalKw: number, limitKw: number | null): boolean {
  return limitKw === null || actualTotalKw <= limitKw;
}

/** An unchanged member stays the same object, and its row is not drawn again. */
function scaled(member: Member, scale: number): Member {
  const effectiveLimitKw = member.setLimitKw * scale;
  return member.effectiveLimitKw === effectiveLimitKw ? member : { ...member, effectiveLimitKw };
}
