// A location as it is now: its power, its limits and what sets them, and its open alarms.
import type { LocationLive } from '../../src/wire/operator-locations.js';
import { useClusterName } from '../clusters/use-cluster-name.js';
import { hrefOf } from '../route.js';
import { Badge } from '../ui/badge.js';
import { EstimateNote } from '../ui/drawn.js';
import { kwText } from '../ui/figures.js';
import { MeterBar } from '../ui/meter-bar.js';
import { Time } from '../ui/time.js';
import { Figure, FigureRow } from './figure-row.js';
import { OperatorBanner } from './operator-banner.js';
import { ALARM_WORDS, causeSentence } from './words.js';

export function LiveHead({ live }: { readonly live: LocationLive }) {
  const { gridLimitCause: cause, actualKw, gridLimitKw } = live;
  const clusterName = useClusterName(cause.kind === 'clusterShare' ? cause.clusterId : undefined);
  return (
    <section class="panel stack" aria-label="Now">
      <OperatorBanner operatorLimit={live.operatorLimit} />
      <FigureRow>
        <Figure
          name="Draws"
          note={
            <MeterBar
              value={actualKw}
              limit={gridLimitKw}
              redAbove={Math.max(gridLimitKw, live.reservedKw)}
            />
          }
        >
          <strong class="draw">{kwText(actualKw)}</strong>
        </Figure>
        <Figure name="Limit in force" note="with cluster share, grid operator and connection">
          {kwText(gridLimitKw)}
        </Figure>
        <Figure name="Effective limit" note="from its own profiles">
          {kwText(live.effectiveLimitKw)}
        </Figure>
        <Figure name="Permanent limit" note="when no profile is active">
          {kwText(live.permanentLimitKw)}
        </Figure>
        <Figure name="Budget" note="may be granted now">
          {kwText(live.budgetKw)}
        </Figure>
        <Figure name="Reserved" note="what chargers may still draw">
          {kwText(live.reservedKw)}
        </Figure>
      </FigureRow>
      <p class="cause">
        {causeSentence(cause, clusterName)}{' '}
        {cause.kind === 'clusterShare' && <a href={hrefOf('clusters', cause.clusterId)}>See the cluster</a>}
      </p>
      <EstimateNote estimatedKw={live.estimatedKw} />
      <OpenAlarms alarms={live.alarms} />
    </section>
  );
}

/** Further alarms are folded: a site that is cut off has one for each connector. */
const ALARMS_SHOWN = 4;

function OpenAlarms({ alarms }: Pick<LocationLive, 'alarms'>) {
  if (alarms.length === 0) return <p class="quiet small">No open alarms.</p>;
  const folded = alarms.slice(ALARMS_SHOWN);
  return (
    <section aria-label="Open alarms">
      <h2>Open alarms: {alarms.length}</h2>
      <AlarmList alarms={alarms.slice(0, ALARMS_SHOWN)} />
      {folded.length > 0 && (
        <details>
          <summary>And {folded.length} more</summary>
          <AlarmList alarms={folded} />
        </details>
      )}
    </section>
  );
}

function AlarmList({ alarms }: Pick<LocationLive, 'alarms'>) {
  return (
    <ul class="open-alarms">
      {alarms.map(({ alarmId, kind, controllerUuid, connectorId, reason, beganAt }) => (
        <li key={alarmId}>
          <Badge tone="bad">{ALARM_WORDS[kind]}</Badge>{' '}
          {controllerUuid !== null && (
            <strong>
              {controllerUuid}
              {connectorId !== null && ` / ${connectorId}`}
            </strong>
          )}{' '}
          {reason}{' '}
          <span class="quiet">
            since <Time at={beganAt} isShort />
          </span>
        </li>
      ))}
    </ul>
  );
}
