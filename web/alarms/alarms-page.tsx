// Page of the alarms of all locations: open ones first, then past ones.
import './alarms.css';
import { useMemo, useState } from 'preact/hooks';
import { messagesByField } from '../location/profile-draft.js';
import { useStreamClock } from '../location/server-clock.js';
import { type LocationNames, useLocationNames } from '../locations/use-location-names.js';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/notice.js';
import { Table } from '../ui/table.js';
import { alarmColumns } from './alarm-columns.js';
import { type AlarmLine, alarmLines } from './alarm-lines.js';
import { lastDay, SpanChoice } from './span-choice.js';
import { useOpenAlarms, usePastAlarms } from './use-alarms.js';

export function AlarmsPage() {
  useTitle('Alarms');
  const names = useLocationNames();
  return (
    <div class="alarms">
      <h1>Alarms</h1>
      <OpenAlarms names={names} />
      <PastAlarms names={names} />
    </div>
  );
}

function OpenAlarms({ names }: { readonly names: LocationNames }) {
  const { value: alarms, error } = useOpenAlarms();
  const columns = useMemo(() => alarmColumns(names, 'open'), [names]);
  const lines = useMemo(() => alarms && alarmLines(alarms), [alarms]);
  return (
    <section aria-label="Open alarms">
      <h2>Open alarms{alarms === undefined ? '' : `: ${alarms.length}`}</h2>
      {error !== undefined && <ErrorNotice error={error} />}
      {alarms === undefined && error === undefined && <p class="quiet">Loading…</p>}
      {lines !== undefined && (
        <Table
          label="Open alarms"
          columns={columns}
          rows={lines}
          rowKey={keyOf}
          firstOrder={NEWEST_FIRST}
          empty="No open alarms."
        />
      )}
    </section>
  );
}

function PastAlarms({ names }: { readonly names: LocationNames }) {
  const clock = useStreamClock();
  const [span, setSpan] = useState(() => lastDay(clock));
  const { list, isReadingMore, moreError, readMore } = usePastAlarms(span);
  const columns = useMemo(() => alarmColumns(names, 'past'), [names]);
  const ended = useMemo(() => list.value && alarmLines(list.value.alarms), [list.value]);
  const error = messagesByField(list.error, ['from', 'to']).size > 0 ? undefined : list.error;
  const isMore = list.value !== undefined && list.value.nextCursor !== null;
  return (
    <section aria-label="Past alarms" aria-busy={list.isLoading}>
      <h2>Past alarms</h2>
      <SpanChoice clock={clock} error={list.error} onChoose={setSpan} />
      {error !== undefined && <ErrorNotice error={error} />}
      {ended !== undefined && list.error === undefined && (
        <>
          <Table
            label="Past alarms"
            columns={columns}
            rows={ended}
            rowKey={keyOf}
            firstOrder={NEWEST_FIRST}
            empty="No past alarms in this time span."
          />
          <div class="row more">
            <p class="quiet small" role="status">
              {ended.length} shown{isMore ? ', and there are more' : ''}
            </p>
            {isMore && (
              <Button isBusy={isReadingMore} onClick={() => void readMore()}>
                Show more
              </Button>
            )}
          </div>
          {moreError !== undefined && <ErrorNotice error={moreError} />}
        </>
      )}
    </section>
  );
}

const NEWEST_FIRST = { key: 'beganAt', direction: 'descending' } as const;
const keyOf = ({ alarm }: AlarmLine) => alarm.alarmId;
