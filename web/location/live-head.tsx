// Current state of a location: its power, its limits and their causes, and its open alarms.

import { kwText } from '../../machines/values/figures.js';
import type { OperatorLimitView } from '../../src/wire/grid-operator.js';
import type { LocationLive } from '../../src/wire/operator-locations.js';
import { type AlarmLine, alarmLines, reasonOf } from '../alarms/alarm-lines.js';
import { useClusterName } from '../clusters/use-cluster-name.js';
import { hrefOf } from '../route.js';
import { Badge } from '../ui/badge.js';
import { EstimateNote } from '../ui/drawn.js';
import { MeterBar } from '../ui/meter-bar.js';
import { Notice } from '../ui/notice.js';
import { Time } from '../ui/time.js';
import { Figure, FigureRow } from './figure-row.js';
import { ALARM_WORDS, causeSentence } from './words.js';

// The grid operator's limit, at the top of the page: no setting of the user can lift it.

/** Hidden while the operator is connected and does not limit the location. */
function OperatorBanner({ operatorLimit }: { readonly operatorLimit: OperatorLimitView | null }) {
  if (operatorLimit === null || operatorLimit.state === 'UNLIMITED_CONTROLLED') return null;
  return (
    <Notice kind="warning">
      <strong>{HEADINGS[operatorLimit.state] ?? operatorLimit.state}</strong> <Words {...operatorLimit} />
    </Notice>
  );
}

const HEADINGS: Readonly<Record<string, string>> = {
  INIT: 'Nothing received from the grid operator yet.',
  LIMITED: 'Limited by the grid operator.',
  FAILSAFE: 'Grid operator’s heartbeats missing.',
  UNLIMITED_AUTONOMOUS: 'Grid operator’s heartbeats missing: it sets no limit.',
};

function Words({ state, limitKw, source, since, endsAt }: OperatorLimitView) {
  switch (state) {
    case 'LIMITED':
      return (
        <>
          {source} has limited the location to {kwText(limitKw ?? 0)} since <Time at={since} isShort />{' '}
          {endsAt === null ? 'until it ends that limit.' : <>until {<Time at={endsAt} isShort />}.</>} No
          profile, lock or permanent limit lifts it.
        </>
      );
    case 'UNLIMITED_AUTONOMOUS':
      return (
        <>
          Since <Time at={since} isShort /> the operator has sent nothing that limits the location. All other
          limits apply.
        </>
      );
    default:
      return (
        <>
          The fail-safe limit of {kwText(limitKw ?? 0)} has held since <Time at={since} isShort />, and holds
          until the operator sends a limit.
        </>
      );
  }
}

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
        <Figure
          name="Chargers may get"
          explanation="The budget: the lowest limit in force before the longest lease ends. All limits sent to the chargers add up to no more."
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

/** Further alarms are collapsed: a disconnected site has one for each connector. */
const ALARMS_SHOWN = 4;

function OpenAlarms({ alarms }: Pick<LocationLive, 'alarms'>) {
  if (alarms.length === 0) return <p class="quiet small">No open alarms.</p>;
  const lines = alarmLines(alarms);
  const folded = lines.slice(ALARMS_SHOWN);
  return (
    <section aria-label="Open alarms">
      <h2>Open alarms: {alarms.length}</h2>
      <AlarmList lines={lines.slice(0, ALARMS_SHOWN)} />
      {folded.length > 0 && (
        <details>
          <summary>And {folded.length} more</summary>
          <AlarmList lines={folded} />
        </details>
      )}
    </section>
  );
}

function AlarmList({ lines }: { readonly lines: readonly AlarmLine[] }) {
  return (
    <ul class="open-alarms">
      {lines.map((line) => (
        <li key={line.alarm.alarmId}>
          <Badge tone={line.chargers === undefined ? 'bad' : 'warning'}>{ALARM_WORDS[line.alarm.kind]}</Badge>{' '}
          {line.chargers === undefined && <AlarmPlace alarm={line.alarm} />} {reasonOf(line)}{' '}
          <span class="quiet">
            since <Time at={line.alarm.beganAt} isShort />
          </span>
        </li>
      ))}
    </ul>
  );
}

function AlarmPlace({ alarm: { controllerUuid, connectorId } }: Pick<AlarmLine, 'alarm'>) {
  if (controllerUuid === null) return null;
  return <strong>{connectorId === null ? controllerUuid : `${controllerUuid} / ${connectorId}`}</strong>;
}
