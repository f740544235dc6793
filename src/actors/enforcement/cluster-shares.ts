// A cluster's cap as a ledger one level up: a member's share rises only after the others have made room for it.
import type { ClusterShare } from '../../../machines/cluster.machine.js';
import type { LocationId } from '../../../machines/ids.js';
import { wattsOfLimit } from '../../../machines/units.js';
import type { ClusterEntity, LocationEntity } from '../entities.js';
import type { ClusterShareHeld } from './location-enforcement.js';

/** Takes what the cluster's scale gives its members now, and gives the locations whose share is another. */
export function takeShares(
  cluster: ClusterEntity,
  shares: readonly ClusterShare[],
): readonly LocationEntity[] {
  const { clusterId } = cluster.record;
  const touched = new Set<LocationEntity>();
  for (const { locationId, shareKw } of shares) {
    const location = cluster.tenant.locations.get(locationId as LocationId);
    if (location === undefined) continue;
    touched.add(location);
    const held = location.enforcement.shares.get(clusterId);
    if (shareKw === undefined) location.enforcement.shares.delete(clusterId);
    else if (held !== undefined) held.targetW = wattsOfLimit(shareKw);
    else location.enforcement.shares.set(clusterId, newShare(location, wattsOfLimit(shareKw)));
  }
  for (const location of shareAnew(cluster)) touched.add(location);
  return [...touched];
}

/**
 * It begins with what its chargers go on being entitled to anyway, and rises from there like any other. What was on disk
 * at a start does not count: it may be more than they hold, and renewing it could be more than the others leave.
 */
function newShare({ enforcement }: LocationEntity, targetW: number): ClusterShareHeld {
  return { targetW, shareW: Math.min(targetW, enforcement.supervisor.ledger.lastingW()) };
}

/**
 * Lowers shares to their targets, then raises those below theirs as far as all members' shares, and what their chargers
 * may still be entitled to, fit under the cap together. Gives the locations whose share changed.
 */
export function shareAnew(cluster: ClusterEntity): readonly LocationEntity[] {
  const { clusterId, limitKw } = cluster.record;
  const changed: LocationEntity[] = [];
  const rising: LocationEntity[] = [];
  let takenW = 0;
  for (const location of cluster.members) {
    const share = location.enforcement.shares.get(clusterId);
    if (share === undefined) continue;
    if (share.targetW < share.shareW) {
      share.shareW = share.targetW;
      changed.push(location);
    }
    if (share.targetW > share.shareW) rising.push(location);
    takenW += takenBy(location, share.shareW);
  }
  const capW = limitKw === null ? Number.MAX_SAFE_INTEGER : wattsOfLimit(limitKw);
  for (const location of rising) {
    const share = location.enforcement.shares.get(clusterId);
    if (share === undefined) continue;
    const ownW = takenBy(location, share.shareW);
    const raisedW = Math.min(share.targetW, capW - (takenW - ownW));
    if (raisedW <= share.shareW) continue;
    share.shareW = raisedW;
    takenW += takenBy(location, raisedW) - ownW;
    changed.push(location);
  }
  return changed;
}

function takenBy({ enforcement }: LocationEntity, shareW: number): number {
  return Math.max(shareW, enforcement.supervisor.reservedW);
}
