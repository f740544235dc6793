// Alarms as the page holds them: those that last, and past ones page by page, both kept up to date by the stream.
import { useState } from 'preact/hooks';
import type { AlarmList, AlarmView } from '../../src/wire/operator-history.js';
import { type ApiError, asApiError } from '../api/api-error.js';
import { type ApiClient, path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { useSession } from '../session/session.js';

const PAGE_ROWS = 100;

/** A span of the past, as the contract writes instants; without `to` it ends now. */
export interface AskedSpan {
  readonly from: string;
  readonly to: string | undefined;
}

export interface PastAlarms {
  /** The pages read so far as one. */
  readonly list: Resource<AlarmList>;
  readonly isReadingMore: boolean;
  readonly moreError: ApiError | undefined;
  /** Reads the next page. */
  readMore(): Promise<void>;
}

/** Open alarms. */
export function useOpenAlarms(): Resource<readonly AlarmView[]> {
  const resource = useResource(readOpenAlarms, []);
  useEvents('alarm', (events) => resource.update((alarms) => events.reduce(withOpenAlarm, alarms)));
  return resource;
}

/** Alarms that were open in `span` and have ended. Where it ends now, those that end from now on are added. */
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
        // Another span may have been asked for meanwhile.
        list.update((held) => (held.nextCursor === before.nextCursor ? appended(held, next) : held));
        setMore({ isReading: false });
      } catch (thrown) {
        setMore({ isReading: false, error: asApiError(thrown) });
      }
    },
  };
}

async function readOpenAlarms(client: ApiClient, signal: AbortSignal): Promise<readonly AlarmView[]> {
  // The last millisecond of the service's own clock: alarms that are open now were open in it, and hardly any others.
  const { to } = await client.get<AlarmList>('/alarms?limit=1', signal);
  const from = new Date(Date.parse(to) - 1).toISOString();
  const read = (address: string) => client.get<AlarmList>(address, signal);
  let list = await read(path`/alarms?from=${from}&to=${to}`);
  while (list.nextCursor !== null) list = appended(list, await read(nextPageOf(list)));
  return list.alarms.filter(({ endedAt }) => endedAt === null);
}

/** Reads on until some that have ended were found: those that last may fill many pages. */
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

/** Of an alarm that both tell of, what the first says. */
function joined(first: readonly AlarmView[], second: readonly AlarmView[]): AlarmView[] {
  const told = new Set(first.map(({ alarmId }) => alarmId));
  return [...first, ...second.filter(({ alarmId }) => !told.has(alarmId))];
}

function withOpenAlarm(alarms: readonly AlarmView[], event: AlarmView): readonly AlarmView[] {
  const others = alarms.filter(({ alarmId }) => alarmId !== event.alarmId);
  return event.endedAt === null ? [event, ...others] : others;
}
