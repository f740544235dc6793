// Badges for the status of a cluster, and for the compliance of its members with the cap.
import type { Cluster } from '../../src/features/clusters/contract.js';
import { Badge } from '../ui/badge.js';

export function StatusBadge({ status }: Pick<Cluster, 'status'>) {
  return <Badge tone={status === 'ACTIVE' ? 'good' : 'neutral'}>{status}</Badge>;
}

export function CapBadge({ limitKw, isWithin }: Pick<Cluster, 'limitKw'> & { readonly isWithin: boolean }) {
  if (limitKw === null) return <span class="quiet">No cap</span>;
  return isWithin ? <Badge tone="good">Within</Badge> : <Badge tone="bad">Above its cap</Badge>;
}
