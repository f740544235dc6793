// State of a location at the shown instant, of a running service or a recorded run: power, limits, cause, open alarms.
import type { ComponentChildren } from 'preact';
import { kwText } from '../../machines/values/figures.js';
import { type AlarmLine, alarmLines, reasonOf } from '../alarms/alarm-lines.js';
import { Badge } from '../ui/badge.js';
import { MeterBar } from '../ui/meter-bar.js';
import { Notice } from '../ui/notice.js';
import { Time } from '../ui/time.js';
import { Figure, FigureRow } from './figure-row.js';
import type { LocationState, OperatorStanding } from './location-state.js';
import { Sentence } from './sentence.js';
import { ALARM_WORDS, causeSentence } from './words.js';

interface Props {
  readonly state: LocationState;
  /** Above this power the bar is red: chargers may still follow an older, higher limit. */
  readonly redAboveKw: number;
  /** Name of the cluster if its share is the cause. */
  readonly clusterName: string;
  /** Link after the sentence of the cause. */
  readonly causeLink?: ComponentChildren;
  /** Further figures. */
  readonly children: ComponentChildren;
  /** Sentences after the cause. */
  readonly notes?: ComponentChildren;
}

export function StateHead({ state, redAboveKw, clusterName, causeLink, children, notes }: Props) {
  const { actualKw, gridLimitKw, effectiveLimitKw, gridLimitCause, operatorLimit, alarms } = state;
  return (
    <>
      <OperatorBanner operatorLimit={operatorLimit} />
      <FigureRow>
        <Figure
          name="Draws"
          note={
            <MeterBar value={actualKw} limit={gridLimitKw} redAbove={Math.max(gridLimitKw, redAboveKw)} />
          }
        >
          <strong class="draw">{kwText(actualKw)}</strong>
        </Figure>
        <Figure name="Limit in force" note="with cluster share, grid operator and connection">
          {kwText(gridLimitKw)}
        </Figure>
        <Figure name="Effective limit" note="from its own profiles">
          {kwText(effectiveLimitKw)}
        </Figure>
        {children}
      </FigureRow>
      <p class="cause">
        {causeSentence(gridLimitCause, clusterName)} {causeLink}
      </p>
      {notes}
      <OpenAlarms alarms={alarms} />
    </>
  );
}

// The grid operator's limit, at the top of the page: no setting of the user can lift it.

/** Hidden while the operator is connected and does not limit the location. */
function OperatorBanner({ operatorLimit }: { readonly operatorLimit: OperatorStanding | null }) {
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

function Words({ state, limitKw, source, since, endsAt }: OperatorStanding) {
  switch (state) {
    case 'LIMITED':
      return (
        <>
          {source} has limited the location to {kwText(limitKw ?? 0)} since <Time at={since} isShort />
          {endsAt === undefined ? (
            '.'
          ) : endsAt === null ? (
            ' until it ends that limit.'
          ) : (
            <> until {<Time at={endsAt} isShort />}.</>
          )}{' '}
          No profile, lock or permanent limit lifts it.
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

/** Further alarms are collapsed: a disconnected site has one for each connector. */
const ALARMS_SHOWN = 4;

function OpenAlarms({ alarms }: Pick<LocationState, 'alarms'>) {
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
          {line.chargers === undefined && <AlarmPlace alarm={line.alarm} />}{' '}
          <Sentence text={reasonOf(line)} />{' '}
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
