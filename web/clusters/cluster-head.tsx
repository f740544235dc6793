// Current state of a cluster: the total power of its members, and the scaling of their limits by the cap.

import { kwText } from '../../machines/values/figures.js';
import type { ClusterDetail } from '../../src/wire/rest.js';
import { Figure, FigureRow } from '../location/figure-row.js';
import { EstimateNote } from '../ui/drawn.js';
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
        <Figure name="Effective limits" note="of all members together">
          {kwText(sumLocationLimits)}
        </Figure>
        <Figure name="Scale" note="of each effective limit">
          {percentText(scaleOf(cluster))}
        </Figure>
      </FigureRow>
      <p class="cause">{sentenceOf(cluster)}</p>
      <EstimateNote estimatedKw={liveStatus.estimatedTotalKw} />
    </section>
  );
}

function sentenceOf(cluster: ClusterDetail): string {
  const { status, limitKw, liveStatus } = cluster;
  if (limitKw === null) return 'The cluster has no cap: it limits no member.';
  if (status === 'INACTIVE') return 'The cluster is INACTIVE: it limits no member.';
  if (scaleOf(cluster) === 1) return 'The effective limits together are within the cap: it limits no member.';
  return `Effective limits of ${kwText(liveStatus.sumLocationLimits)} share a cap of ${kwText(limitKw)}: the share of each member is ${percentText(scaleOf(cluster))} of its effective limit.`;
}

function percentText(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
