// The profiles of a target as a table: priority, limit, status and window of each.
import type { ProfileStatus } from '../../machines/time.js';
import { Badge, type Tone } from '../ui/badge.js';
import { kwText } from '../ui/figures.js';
import type { Column } from '../ui/table.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import type { StackedProfile } from './stacked-profiles.js';

const TONE_OF: Readonly<Record<ProfileStatus, Tone>> = {
  ACTIVE: 'good',
  SCHEDULED: 'info',
  EXPIRED: 'neutral',
};

const COLUMNS: readonly Column<StackedProfile>[] = [
  {
    key: 'priority',
    header: 'Priority',
    isRowHeader: true,
    cell: ({ priority }) => priority,
  },
  { key: 'limitKw', header: 'Limit', align: 'end', class: 'limit', cell: ({ limitKw }) => kwText(limitKw) },
  {
    key: 'status',
    header: 'Status',
    cell: ({ status, isDeciding }) => (
      <>
        <Badge tone={TONE_OF[status]}>{status}</Badge> {isDeciding && <Badge tone="info">decides</Badge>}
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

export function ProfileTable({
  label,
  profiles,
  empty,
}: {
  readonly label: string;
  readonly profiles: readonly StackedProfile[];
  readonly empty: string;
}) {
  return (
    <div class="profile-table">
      <Table label={label} columns={COLUMNS} rows={profiles} rowKey={keyOf} empty={empty} />
    </div>
  );
}

const keyOf = ({ priority }: StackedProfile) => String(priority);
