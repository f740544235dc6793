// How a cluster stands, in a word: whether it binds, and whether its members keep to its cap.
import type { Cluster } from '../../src/wire/rest.js';
import { Badge } from '../ui/badge.js';

export function StatusBadge({ status }: Pick<Cluster, 'status'>) {
  return <Badge tone={status === 'ACTIVE' ? 'good' : 'neutral'}>{status}</Badge>;
}

export function CapBadge({ limitKw, isWithin }: Pick<Cluster, 'limitKw'> & { readonly isWithin: boolean }) {
  if (limitKw === null) return <span class="quiet">No cap</span>;
  return isWithin ? <Badge tone="good">Within</Badge> : <Badge tone="bad">Above its cap</Badge>;
}
