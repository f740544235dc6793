// Replaced or cancelled profiles, collapsed below the current ones, and read after the user expands them.
import { useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type {
  ConnectorHistory,
  OrganizationHistory,
  ProfileView,
  Submission,
} from '../../src/features/profiles/contract.js';
import { type ApiClient, path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { ErrorNotice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import type { ServerClock } from './server-clock.js';

const DAY_MS = 86_400_000;
/** The API limits the span of a request; a request that begins a day ago may reach this far ahead. */
const AHEAD_MS = 365 * DAY_MS;
/** A program may write a profile every minute, so more are not shown here. The API has all of them. */
const SHOWN_AT_MOST = 50;

interface FormerProfile extends Submission {
  readonly supersededAt: string;
  /** Index in the history, as a key: two profiles may be equal in all other fields. */
  readonly place: number;
}

type History = ConnectorHistory | OrganizationHistory;

const COLUMNS: readonly Column<FormerProfile>[] = [
  { key: 'priority', header: 'Priority', isRowHeader: true, cell: ({ priority }) => priority },
  { key: 'limitKw', header: 'Limit', align: 'end', class: 'limit', cell: ({ limitKw }) => kwText(limitKw) },
  {
    key: 'held',
    header: 'In the stack',
    cell: ({ submittedAt, supersededAt }) => (
      <>
        <Time at={submittedAt} isShort /> – <Time at={supersededAt} isShort />
      </>
    ),
  },
  {
    key: 'window',
    header: 'Window',
    cell: ({ startTime, endTime }) => (
      <>
        <Time at={startTime} isShort /> – <Time at={endTime} isShort />
      </>
    ),
  },
];

interface Props {
  /** Address of the history, below `/v1`. */
  readonly address: string;
  /** The current profiles; after a change of them there may be more former ones. */
  readonly held: readonly ProfileView[];
  readonly clock: ServerClock;
}

export function FormerProfiles(props: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Replaced or cancelled</summary>
      {isOpen && <FormerTable {...props} />}
    </details>
  );
}

function FormerTable({ address, held, clock }: Props) {
  const { value, error } = useResource(
    (client, signal) => readFormer(client, signal, address, clock.nowMs()),
    [
      address,
      held.map(({ priority, limitKw, startTime, endTime }) => [priority, limitKw, startTime, endTime]).join(),
    ],
  );
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (value === undefined) return <p class="quiet">Loading…</p>;
  return (
    <div class="profile-table">
      <p class="quiet small">
        Profiles whose window reaches into the last 24 hours or lies ahead, the newest first
        {value.length > SHOWN_AT_MOST && `: ${SHOWN_AT_MOST} of ${value.length}`}.
      </p>
      <Table
        label="Replaced or cancelled"
        columns={COLUMNS}
        rows={value.slice(0, SHOWN_AT_MOST)}
        rowKey={keyOf}
        empty="None was replaced or cancelled."
      />
    </div>
  );
}

/** Newest first. */
async function readFormer(
  client: ApiClient,
  signal: AbortSignal,
  address: string,
  nowMs: number,
): Promise<readonly FormerProfile[]> {
  const [from, to] = [nowMs - DAY_MS, nowMs + AHEAD_MS].map((atMs) => new Date(atMs).toISOString());
  const span = path`from=${from ?? ''}&to=${to ?? ''}`;
  const submissions: Submission[] = [];
  let more = '';
  for (;;) {
    const page = await client.get<History>(`${address}?${span}${more}`, signal);
    submissions.push(...page.submissions);
    if (page.nextCursor === null) break;
    more = path`&cursor=${page.nextCursor}`;
  }
  return submissions
    .flatMap((each, place) =>
      each.supersededAt === null ? [] : [{ ...each, supersededAt: each.supersededAt, place }],
    )
    .reverse();
}

const keyOf = ({ place }: FormerProfile) => String(place);
