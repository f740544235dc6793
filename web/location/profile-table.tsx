// Table of the profiles of a target: priority, limit, status and window of each, and a button to cancel it.
import { useMemo } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { ProfileStatus } from '../../machines/values/time.js';
import { Badge, type Tone } from '../ui/badge.js';
import { Button } from '../ui/button.js';
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

function cancelColumn(onCancel: (profile: StackedProfile) => void): Column<StackedProfile> {
  return {
    key: 'cancel',
    header: 'Cancel',
    cell: (profile) => {
      const { status, priority, limitKw } = profile;
      if (status === 'EXPIRED') return null;
      const text = status === 'ACTIVE' ? 'End now…' : 'Cancel…';
      return (
        <Button
          label={`${text} the profile of priority ${priority}, ${kwText(limitKw)}`}
          onClick={() => onCancel(profile)}
        >
          {text}
        </Button>
      );
    },
  };
}

/** `onCancel` is called for a profile that has not ended. Without it, no profile can be cancelled. */
export function ProfileTable({
  label,
  profiles,
  empty,
  onCancel,
}: {
  readonly label: string;
  readonly profiles: readonly StackedProfile[];
  readonly empty: string;
  /** Pass the same function at each rendering. */
  readonly onCancel?: (profile: StackedProfile) => void;
}) {
  const columns = useMemo(
    () => (onCancel === undefined ? COLUMNS : [...COLUMNS, cancelColumn(onCancel)]),
    [onCancel],
  );
  return (
    <div class="profile-table">
      <Table label={label} columns={columns} rows={profiles} rowKey={keyOf} empty={empty} />
    </div>
  );
}

const keyOf = ({ priority }: StackedProfile) => String(priority);
