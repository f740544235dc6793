// The columns of the tables of alarms: what is wrong and why, where, and since when or for how long.
import type { AlarmView } from '../../src/wire/operator-history.js';
import { Sentence } from '../location/sentence.js';
import { ALARM_WORDS } from '../location/words.js';
import type { LocationNames } from '../locations/use-location-names.js';
import { hrefOf } from '../route.js';
import { Badge } from '../ui/badge.js';
import type { Column } from '../ui/table.js';
import { Time } from '../ui/time.js';

export function alarmColumns(names: LocationNames, kind: 'open' | 'past'): readonly Column<AlarmView>[] {
  return [
    {
      key: 'kind',
      header: 'Alarm',
      isRowHeader: true,
      class: 'what',
      cell: (alarm) => (
        <>
          <Badge tone={alarm.endedAt === null ? 'bad' : 'neutral'}>{ALARM_WORDS[alarm.kind]}</Badge>
          <span class="reason small" title={alarm.reason}>
            <Sentence text={alarm.reason} />
          </span>
        </>
      ),
      sortValue: (alarm) => ALARM_WORDS[alarm.kind],
    },
    {
      key: 'where',
      header: 'Where',
      class: 'where',
      cell: (alarm) => <Where alarm={alarm} name={names(alarm.locationId)} />,
      sortValue: ({ locationId }) => names(locationId),
    },
    {
      key: 'beganAt',
      header: kind === 'open' ? 'Since' : 'Lasted',
      class: 'when',
      cell: ({ beganAt, endedAt }) => (
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
      sortValue: ({ beganAt }) => Date.parse(beganAt),
    },
  ];
}

function Where({ alarm, name }: { readonly alarm: AlarmView; readonly name: string }) {
  const { locationId, controllerUuid, connectorId } = alarm;
  return (
    <>
      <a href={hrefOf('locations', locationId)} title={name}>
        {name}
      </a>
      {controllerUuid !== null && (
        <span class="connector small quiet" title={controllerUuid}>
          {controllerUuid}
          {connectorId !== null && ` / ${connectorId}`}
        </span>
      )}
    </>
  );
}
