import { Badge, type Tone } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import type { Column } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { type CredentialRow, KINDS, labelOf } from './credential-rows.js';

const TONES: Readonly<Record<CredentialRow['state'], Tone>> = {
  active: 'good',
  expired: 'warning',
  revoked: 'neutral',
  disabled: 'neutral',
};

export function StateBadge({ state }: Pick<CredentialRow, 'state'>) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

export function credentialColumns(onOpen: (row: CredentialRow) => void): readonly Column<CredentialRow>[] {
  return [
    {
      key: 'name',
      header: 'Name',
      isRowHeader: true,
      class: 'name',
      cell: (row) => (
        <>
          {labelOf(row)} {row.isCaller && <span class="quiet small">(signed in)</span>}
        </>
      ),
      sortValue: labelOf,
    },
    {
      key: 'id',
      header: 'Id',
      class: 'id',
      isWideOnly: true,
      cell: ({ id }) => <code title={id}>{id}</code>,
      sortValue: ({ id }) => id,
    },
    {
      key: 'scopes',
      header: 'Scopes',
      class: 'scopes',
      isWideOnly: true,
      cell: ({ scopes }) => <span title={scopes.join(' ')}>{scopes.join(' ')}</span>,
    },
    {
      key: 'expires',
      header: 'Expires',
      class: 'instant',
      isWideOnly: true,
      cell: ({ expiresAt }) => (expiresAt === null ? 'Never' : <Time at={expiresAt} />),
      sortValue: ({ expiresAt }) => expiresAt ?? '9',
    },
    {
      key: 'used',
      header: 'Last use',
      class: 'instant',
      isWideOnly: true,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? '–' : <Time at={lastUsedAt} isShort />),
      sortValue: ({ lastUsedAt }) => lastUsedAt ?? '',
    },
    {
      key: 'state',
      header: 'State',
      class: 'state',
      cell: ({ state }) => <StateBadge state={state} />,
      sortValue: ({ state }) => state,
    },
    {
      key: 'details',
      header: 'Details',
      class: 'details',
      cell: (row) => (
        <Button
          kind="plain"
          label={`Details of the ${KINDS[row.kind].noun} ${labelOf(row)}`}
          onClick={() => onOpen(row)}
        >
          Details…
        </Button>
      ),
    },
  ];
}
