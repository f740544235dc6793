// Page of the alarms of all locations: open ones first, then past ones.
import './alarms.css';
import { useMemo, useState } from 'preact/hooks';
import type { AlarmList, AlarmView } from '../../src/features/alarms/contract.js';
import { type ApiError, asApiError } from '../api/api-error.js';
import { type ApiClient, path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { InstantField } from '../location/instant-field.js';
import { fromLocalInput, toLocalInput } from '../location/local-input.js';
import { messagesByField } from '../location/profile-draft.js';
import { Sentence } from '../location/sentence.js';
import { type ServerClock, useStreamClock } from '../location/server-clock.js';
import { ALARM_WORDS } from '../location/words.js';
import { type LocationNames, useLocationNames } from '../locations/use-location-names.js';
import { hrefOf } from '../route.js';
import { useSession } from '../session/session.js';
import { useTitle } from '../shell/title.js';
import { Badge, type Tone } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Choice } from '../ui/field.js';
import { ErrorNotice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { inLocalTime, Time } from '../ui/time.js';
import { AlarmDialog } from './alarm-dialog.js';
import { type AlarmLine, alarmLines, reasonOf } from './alarm-lines.js';

// Reads open alarms, and past ones page by page; the stream keeps both up to date.

const PAGE_ROWS = 100;

/** A span of the past with instants in the form of the contract; without `to` it ends now. */
interface AskedSpan {
  readonly from: string;
  readonly to: string | undefined;
}

interface PastAlarms {
  /** All pages so far, combined. */
  readonly list: Resource<AlarmList>;
  readonly isReadingMore: boolean;
  readonly moreError: ApiError | undefined;
  readMore(): Promise<void>;
}

function useOpenAlarms(): Resource<readonly AlarmView[]> {
  const resource = useResource(readOpenAlarms, []);
  useEvents('alarm', (events) => resource.update((alarms) => events.reduce(withOpenAlarm, alarms)));
  return resource;
}

/** Alarms that were open in `span` and have ended. If the span ends now, later ends of alarms are added. */
function usePastAlarms({ from, to }: AskedSpan): PastAlarms {
  const { client } = useSession();
  const [more, setMore] = useState<{ isReading: boolean; error?: ApiError }>({ isReading: false });
  const list = useResource(
    (reader, signal) =>
      readEnded(
        (address) => reader.get(address, signal),
        path`/alarms?limit=${PAGE_ROWS}&from=${from}` + (to === undefined ? '' : path`&to=${to}`),
      ),
    [from, to],
  );
  useEvents('alarm', (events) => {
    const ended = events.filter(({ endedAt }) => endedAt !== null);
    if (to === undefined) list.update((held) => ({ ...held, alarms: joined(ended, held.alarms) }));
  });
  return {
    list,
    isReadingMore: more.isReading,
    moreError: more.error,
    async readMore() {
      const before = list.value;
      if (before === undefined || before.nextCursor === null) return;
      setMore({ isReading: true });
      try {
        const next = await readEnded((address) => client.get(address), nextPageOf(before));
        // The user may have chosen another span meanwhile.
        list.update((held) => (held.nextCursor === before.nextCursor ? appended(held, next) : held));
        setMore({ isReading: false });
      } catch (thrown) {
        setMore({ isReading: false, error: asApiError(thrown) });
      }
    },
  };
}

async function readOpenAlarms(client: ApiClient, signal: AbortSignal): Promise<readonly AlarmView[]> {
  // A span of 1 ms before now, by the clock of the service. It contains the alarms that are open now, and hardly any
  // others.
  const { to } = await client.get<AlarmList>('/alarms?limit=1', signal);
  const from = new Date(Date.parse(to) - 1).toISOString();
  const read = (address: string) => client.get<AlarmList>(address, signal);
  let list = await read(path`/alarms?from=${from}&to=${to}`);
  while (list.nextCursor !== null) list = appended(list, await read(nextPageOf(list)));
  return list.alarms.filter(({ endedAt }) => endedAt === null);
}

/** Reads pages until enough ended alarms are found, because open alarms may fill many pages. */
async function readEnded(
  read: (address: string) => Promise<AlarmList>,
  firstAddress: string,
): Promise<AlarmList> {
  let list = endedOf(await read(firstAddress));
  while (list.nextCursor !== null && list.alarms.length < PAGE_ROWS) {
    list = appended(list, endedOf(await read(nextPageOf(list))));
  }
  return list;
}

function endedOf(list: AlarmList): AlarmList {
  return { ...list, alarms: list.alarms.filter(({ endedAt }) => endedAt !== null) };
}

function nextPageOf({ from, to, nextCursor }: AlarmList): string {
  return path`/alarms?limit=${PAGE_ROWS}&from=${from}&to=${to}&cursor=${nextCursor ?? ''}`;
}

function appended(list: AlarmList, next: AlarmList): AlarmList {
  return { ...list, alarms: joined(list.alarms, next.alarms), nextCursor: next.nextCursor };
}

/** If both lists have an alarm, the entry of `first` wins. */
function joined(first: readonly AlarmView[], second: readonly AlarmView[]): AlarmView[] {
  const told = new Set(first.map(({ alarmId }) => alarmId));
  return [...first, ...second.filter(({ alarmId }) => !told.has(alarmId))];
}

function withOpenAlarm(alarms: readonly AlarmView[], event: AlarmView): readonly AlarmView[] {
  const others = alarms.filter(({ alarmId }) => alarmId !== event.alarmId);
  return event.endedAt === null ? [event, ...others] : others;
}

// Choice of a span of the past: the last hours or days, or from one instant to another.
const HOUR_MS = 3_600_000;

const LENGTHS: readonly (readonly [hours: string, text: string])[] = [
  ['1', 'The last hour'],
  ['24', 'The last 24 hours'],
  ['168', 'The last 7 days'],
  ['720', 'The last 30 days'],
];
const OTHER = 'other';

/** The initial span: the last 24 hours. */
function lastDay(clock: ServerClock): AskedSpan {
  return lastHours(24, clock);
}

function SpanChoice({
  clock,
  error,
  onChoose,
}: {
  readonly clock: ServerClock;
  /** The service's reason for refusing the chosen span. */
  readonly error: ApiError | undefined;
  readonly onChoose: (span: AskedSpan) => void;
}) {
  const [chosen, setChosen] = useState('24');
  const [text, setText] = useState({ from: '', to: '' });
  const messages = messagesByField(error, ['from', 'to']);
  function choose(value: string): void {
    setChosen(value);
    if (value !== OTHER) onChoose(lastHours(Number(value), clock));
    else setText({ from: toLocalInput(clock.nowMs() - 24 * HOUR_MS), to: toLocalInput(clock.nowMs()) });
  }
  return (
    <form
      class="row span-choice"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onChoose({ from: instantOf(text.from) ?? '', to: instantOf(text.to) });
      }}
    >
      <Choice label="Span" value={chosen} options={[...LENGTHS, [OTHER, 'From … to …']]} onChoose={choose} />
      {chosen === OTHER && (
        <>
          <InstantField
            label="From"
            value={text.from}
            error={messages.get('from')}
            onInput={(from) => setText((before) => ({ ...before, from }))}
          />
          <InstantField
            label="To (empty: now)"
            value={text.to}
            error={messages.get('to')}
            onInput={(to) => setText((before) => ({ ...before, to }))}
          />
          <Button kind="primary" type="submit">
            Show
          </Button>
        </>
      )}
    </form>
  );
}

function lastHours(hours: number, clock: ServerClock): AskedSpan {
  return { from: new Date(clock.nowMs() - hours * HOUR_MS).toISOString(), to: undefined };
}

function instantOf(text: string): string | undefined {
  const atMs = fromLocalInput(text);
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
}

// Columns of the tables of alarms: problem and reason, place, start or duration.
/** @param onRespond opens the dialog of an open alarm; undefined for past ones */
function alarmColumns(
  names: LocationNames,
  onRespond: ((line: AlarmLine) => void) | undefined,
): readonly Column<AlarmLine>[] {
  return [
    {
      key: 'kind',
      header: 'Alarm',
      isRowHeader: true,
      class: 'what',
      cell: (line) => (
        <>
          <Badge tone={toneOf(line)}>{ALARM_WORDS[line.alarm.kind]}</Badge>
          <span class="reason small" title={inLocalTime(reasonOf(line))}>
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
      header: onRespond === undefined ? 'Lasted' : 'Since',
      class: 'when',
      cell: (line) => <When line={line} name={names(line.alarm.locationId)} onRespond={onRespond} />,
      sortValue: ({ alarm }) => Date.parse(alarm.beganAt),
    },
  ];
}

function toneOf({ alarm, chargers }: AlarmLine): Tone {
  if (alarm.endedAt !== null) return 'neutral';
  return chargers === undefined ? 'bad' : 'warning';
}

function When({
  line,
  name,
  onRespond,
}: {
  readonly line: AlarmLine;
  readonly name: string;
  readonly onRespond: ((line: AlarmLine) => void) | undefined;
}) {
  const { beganAt, endedAt, kind, mutedUntil } = line.alarm;
  const isAcknowledged = line.alarms.every(({ acknowledgement }) => acknowledgement !== null);
  return (
    <>
      <Time at={beganAt} isShort />
      {endedAt !== null && (
        <>
          {' – '}
          <Time at={endedAt} isShort />
        </>
      )}
      {isAcknowledged && <span class="care small quiet">Acknowledged</span>}
      {endedAt === null && mutedUntil !== null && (
        <span class="care small quiet">
          Muted until <Time at={mutedUntil} isShort />
        </span>
      )}
      {onRespond !== undefined && (
        <Button
          kind="plain"
          label={`Respond to ${ALARM_WORDS[kind]} at ${name}`}
          onClick={() => onRespond(line)}
        >
          Respond…
        </Button>
      )}
    </>
  );
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
  const [respondingTo, setRespondingTo] = useState<string>();
  const columns = useMemo(() => alarmColumns(names, (line) => setRespondingTo(keyOf(line))), [names]);
  const lines = useMemo(() => alarms && alarmLines(alarms), [alarms]);
  const responding = lines?.find((line) => keyOf(line) === respondingTo);
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
      {responding !== undefined && (
        <AlarmDialog
          line={responding}
          name={names(responding.alarm.locationId)}
          onClose={() => setRespondingTo(undefined)}
        />
      )}
    </section>
  );
}

function PastAlarms({ names }: { readonly names: LocationNames }) {
  const clock = useStreamClock();
  const [span, setSpan] = useState(() => lastDay(clock));
  const { list, isReadingMore, moreError, readMore } = usePastAlarms(span);
  const columns = useMemo(() => alarmColumns(names, undefined), [names]);
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
