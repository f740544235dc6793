// Columns of the tables of alarms: problem and reason, place, start or duration.
import { Sentence } from '../location/sentence.js';
import { ALARM_WORDS } from '../location/words.js';
import type { LocationNames } from '../locations/use-location-names.js';
import { hrefOf } from '../route.js';
import { Badge, type Tone } from '../ui/badge.js';
import type { Column } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { type AlarmLine, reasonOf } from './alarm-lines.js';

export function alarmColumns(names: LocationNames, kind: 'open' | 'past'): readonly Column<AlarmLine>[] {
  return [
    {
      key: 'kind',
      header: 'Alarm',
      isRowHeader: true,
      class: 'what',
      cell: (line) => (
        <>
          <Badge tone={toneOf(line)}>{ALARM_WORDS[line.alarm.kind]}</Badge>
          <span class="reason small" title={reasonOf(line)}>
            <Sentence text={reasonOf(line)} />
          </span>
        </>
      ),
      sortValue: ({ alarm }) => ALARM_WORDS[alarm.kind],
    },
    {
      key: 'where',
      header: 'Where',
      class: 'where',
      cell: (line) => <Where line={line} name={names(line.alarm.locationId)} />,
      sortValue: ({ alarm }) => names(alarm.locationId),
    },
    {
      key: 'beganAt',
      header: kind === 'open' ? 'Since' : 'Lasted',
      class: 'when',
      cell: ({ alarm: { beganAt, endedAt } }) => (
        <>
          <Time at={beganAt} isShort />
          {endedAt !== null && (
            <>
              {' – '}
              <Time at={endedAt} isShort />
            </>
          )}
        </>
      ),
      sortValue: ({ alarm }) => Date.parse(alarm.beganAt),
    },
  ];
}

function toneOf({ alarm, chargers }: AlarmLine): Tone {
  if (alarm.endedAt !== null) return 'neutral';
  return chargers === undefined ? 'bad' : 'warning';
}

function Where({ line, name }: { readonly line: AlarmLine; readonly name: string }) {
  const { locationId, controllerUuid, connectorId } = line.alarm;
  return (
    <>
      <a href={hrefOf('locations', locationId)} title={name}>
        {name}
      </a>
      {line.chargers === undefined && controllerUuid !== null && (
        <span class="connector small quiet" title={controllerUuid}>
          {controllerUuid}
          {connectorId !== null && ` / ${connectorId}`}
        </span>
      )}
    </>
  );
}
