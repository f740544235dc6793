// Scales of a cluster over time, from the windows of all its members as far as known now.
import { clusterScale } from '../../machines/limits/cluster-shares.js';
import type { ClusterOutlook, OwnLimits, ScaleStep } from '../../machines/limits/limit-in-force.js';
import { compositeTimeline } from '../../machines/limits/profile-stack.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import { type ClusterEntity, type LocationEntity, ownLimitsOf } from '../actors/directory.js';

// Sums are kept in whole milliwatts, so that additions and subtractions in any order end at the same number.
const MW_PER_KW = 1_000_000;

/** Assumed limits of `location`; all other locations keep their own. */
export interface Assumption extends OwnLimits {
  readonly location: LocationEntity;
}

/** Scales inside `window` in order, the first at its start; one step of 1 if the cluster lowers no member. */
export function clusterScales(
  { record, actor, members }: ClusterEntity,
  window: TimeWindow,
  assumption?: Assumption,
): ClusterOutlook {
  const { clusterId } = record;
  const { value, context } = actor.getSnapshot();
  const { limitKw: capKw } = context;
  if (value === 'inactive' || capKw === null)
    return { clusterId, steps: [{ atMs: window.startsAtMs, scale: 1 }] };
  const changes = new Map<EpochMs, number>();
  for (const member of members) {
    const { stack, permanentLimitKw } = assumption?.location === member ? assumption : ownLimitsOf(member);
    let beforeMw = 0;
    for (const { startsAtMs, limitKw } of compositeTimeline(stack, permanentLimitKw, window)) {
      const limitMw = Math.round((limitKw ?? 0) * MW_PER_KW);
      changes.set(startsAtMs, (changes.get(startsAtMs) ?? 0) + limitMw - beforeMw);
      beforeMw = limitMw;
    }
  }
  const steps: ScaleStep[] = [];
  let sumMw = 0;
  for (const [atMs, changeMw] of [...changes].sort(([a], [b]) => a - b)) {
    sumMw += changeMw;
    const scale = clusterScale(capKw, sumMw / MW_PER_KW);
    if (scale !== steps.at(-1)?.scale) steps.push({ atMs, scale });
  }
  return { clusterId, steps };
}
