// Current state of a location: its power, its limits and their causes, and its open alarms.
import { kwText } from '../../machines/values/figures.js';
import type { LocationLive } from '../../src/features/live-contract.js';
import { useClusterName } from '../clusters/use-cluster-name.js';
import { hrefOf } from '../route.js';
import { EstimateNote } from '../ui/drawn.js';
import { Figure } from './figure-row.js';
import { StateHead } from './state-head.js';

export function LiveHead({ live }: { readonly live: LocationLive }) {
  const { gridLimitCause: cause } = live;
  const clusterName = useClusterName(cause.kind === 'clusterShare' ? cause.clusterId : undefined);
  return (
    <section class="panel stack" aria-label="Now">
      <StateHead
        state={live}
        redAboveKw={live.reservedKw}
        clusterName={clusterName}
        causeLink={
          cause.kind === 'clusterShare' && <a href={hrefOf('clusters', cause.clusterId)}>See the cluster</a>
        }
        notes={<EstimateNote estimatedKw={live.estimatedKw} />}
      >
        <Figure name="Permanent limit" note="when no profile is active">
          {kwText(live.permanentLimitKw)}
        </Figure>
        <Figure
          name="Chargers may get"
          explanation="The budget: the limit in force, or a lower one that begins within 15 s. All limits sent to the chargers add up to no more."
          note="all together, now"
        >
          {kwText(live.budgetKw)}
        </Figure>
        <Figure
          name="Reserved for chargers"
          explanation="The sum of the chargers’ entitlements, by the limits sent to them and by their fail-safes. After a limit falls it stays high until the earlier limits have ended: about a minute."
          note="their entitlements now"
        >
          {kwText(live.reservedKw)}
        </Figure>
      </StateHead>
    </section>
  );
}
