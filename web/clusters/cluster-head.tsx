// A cluster as it is now: what its members draw together, and what its cap makes of their limits.
import type { ClusterDetail } from '../../src/wire/rest.js';
import { Figure, FigureRow } from '../location/figure-row.js';
import { kwText } from '../ui/figures.js';
import { MeterBar } from '../ui/meter-bar.js';
import { CapBadge } from './cluster-badges.js';
import { scaleOf } from './cluster-live.js';

export function ClusterHead({ cluster }: { readonly cluster: ClusterDetail }) {
  const { limitKw, liveStatus } = cluster;
  const { actualTotalKw, sumLocationLimits, withinLimit } = liveStatus;
  return (
    <section class="panel stack" aria-label="Now">
      <FigureRow>
        <Figure
          name="Draws"
          note={limitKw === null ? 'all members' : <MeterBar value={actualTotalKw} limit={limitKw} />}
        >
          <strong class="draw">{kwText(actualTotalKw)}</strong>
        </Figure>
        <Figure name="Cap" note={<CapBadge limitKw={limitKw} isWithin={withinLimit} />}>
          {limitKw === null ? '–' : kwText(limitKw)}
        </Figure>
        <Figure name="Set limits" note="of all members together">
          {kwText(sumLocationLimits)}
        </Figure>
        <Figure name="Scale" note="of each set limit">
          {percentText(scaleOf(cluster))}
        </Figure>
      </FigureRow>
      <p class="cause">{sentenceOf(cluster)}</p>
    </section>
  );
}

function sentenceOf(cluster: ClusterDetail): string {
  const { status, limitKw, liveStatus } = cluster;
  if (limitKw === null) return 'The cluster has no cap: each member has the limit it is set to.';
  if (status === 'INACTIVE') return 'The cluster is INACTIVE: each member has the limit it is set to.';
  if (scaleOf(cluster) === 1)
    return 'The cap leaves room for all set limits: each member has the limit it is set to.';
  return `Set limits of ${kwText(liveStatus.sumLocationLimits)} share a cap of ${kwText(limitKw)}: each member has ${percentText(scaleOf(cluster))} of the limit it is set to.`;
}

function percentText(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
