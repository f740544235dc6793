// Reads open alarms, and past ones page by page; the stream keeps both up to date.
import { useState } from 'preact/hooks';
import type { AlarmList, AlarmView } from '../../src/features/alarms/contract.js';
import { type ApiError, asApiError } from '../api/api-error.js';
import { type ApiClient, path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { useSession } from '../session/session.js';

const PAGE_ROWS = 100;

/** A span of the past with instants in the form of the contract; without `to` it ends now. */
export interface AskedSpan {
  readonly from: string;
  readonly to: string | undefined;
}

export interface PastAlarms {
  /** All pages so far, combined. */
  readonly list: Resource<AlarmList>;
  readonly isReadingMore: boolean;
  readonly moreError: ApiError | undefined;
  readMore(): Promise<void>;
}

export function useOpenAlarms(): Resource<readonly AlarmView[]> {
  const resource = useResource(readOpenAlarms, []);
  useEvents('alarm', (events) => resource.update((alarms) => events.reduce(withOpenAlarm, alarms)));
  return resource;
}

/** Alarms that were open in `span` and have ended. If the span ends now, later ends of alarms are added. */
export function usePastAlarms({ from, to }: AskedSpan): PastAlarms {
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
