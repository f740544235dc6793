// Profiles that were replaced or cancelled, folded away below those that hold: read when somebody opens them.
import { useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { ConnectorHistory, OrganizationHistory, Submission } from '../../src/wire/operator-history.js';
import type { ProfileView } from '../../src/wire/rest.js';
import { type ApiClient, path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { ErrorNotice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import type { ServerClock } from './server-clock.js';

const DAY_MS = 86_400_000;
/** The API answers with so much history at once; this is how far ahead one request reaches that begins a day ago. */
const AHEAD_MS = 365 * DAY_MS;
/** More is not shown here: a program may write a profile every minute. The API has all of them. */
const SHOWN_AT_MOST = 50;

interface FormerProfile extends Submission {
  readonly supersededAt: string;
  /** Its place in the history: two may be alike in all else. */
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
  /** Of the history, below `/v1`. */
  readonly address: string;
  /** The profiles that hold now: when they change, there may be more former ones. */
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
        Those whose window reaches into the last 24 hours or lies ahead, the newest first
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

/** The newest first. */
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
