// Page of the organization's credentials: lists them, and creates and ends them if the signed-in credential may.
import './access.css';
import { useMemo, useState } from 'preact/hooks';
import { path } from '../api/client.js';
import { ConfirmDialog } from '../clusters/confirm-dialog.js';
import { useTitle } from '../shell/title.js';
import { Badge, type Tone } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Fact } from '../ui/fact.js';
import { ListSection } from '../ui/list-section.js';
import { ErrorNotice, Notice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { CreateCredential } from './create-credential.js';
import { type CredentialKind, type CredentialRow, KINDS, labelOf, refOf } from './credential-rows.js';
import { scopeWords } from './scope-words.js';
import { type Credentials, useCredentials } from './use-credentials.js';

const TONES: Readonly<Record<CredentialRow['state'], Tone>> = {
  active: 'good',
  expired: 'warning',
  revoked: 'neutral',
  disabled: 'neutral',
};

function StateBadge({ state }: Pick<CredentialRow, 'state'>) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

function credentialColumns(onOpen: (row: CredentialRow) => void): readonly Column<CredentialRow>[] {
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

// Dialog with all details of one credential; a second click confirms its end.
function CredentialDetails({
  row,
  all,
  onEnded,
  onClose,
}: {
  readonly row: CredentialRow;
  readonly all: readonly CredentialRow[];
  readonly onEnded: () => void;
  readonly onClose: () => void;
}) {
  const [isConfirming, setConfirming] = useState(false);
  const { noun, end } = KINDS[row.kind];
  if (isConfirming) return <EndDialog row={row} all={all} onEnded={onEnded} onClose={onClose} />;
  const creator = all.find((other) => refOf(other) === row.createdBy);
  return (
    <Dialog title={`${noun} ${labelOf(row)}`} onClose={onClose}>
      <div class="stack">
        <dl class="facts">
          <Fact name={KINDS[row.kind].id}>
            <code>{row.id}</code>
          </Fact>
          <Fact name="State">
            <StateBadge state={row.state} />
            {row.isCaller && ' You are signed in with it.'}
          </Fact>
          <Fact name="Scopes">
            <ul class="scopes">
              {row.scopes.map((scope) => (
                <li key={scope}>
                  <code>{scope}</code> <span class="quiet">{scopeWords(scope)}</span>
                </li>
              ))}
            </ul>
          </Fact>
          <Fact name="Expires">{row.expiresAt === null ? 'Never' : <Time at={row.expiresAt} />}</Fact>
          <Fact name="Last use">{row.lastUsedAt === null ? 'None known' : <Time at={row.lastUsedAt} />}</Fact>
          <Fact name="Created">
            {row.createdAt === null ? 'By an older release' : <Time at={row.createdAt} />}
          </Fact>
          <Fact name="Created by">
            {row.createdBy === null
              ? 'Command line or provisioning file'
              : creator === undefined
                ? row.createdBy
                : nameAndId(creator)}
          </Fact>
          {row.endedAt !== null && (
            <Fact name={KINDS[row.kind].ended === 'revoked' ? 'Revoked' : 'Disabled'}>
              <Time at={row.endedAt} />
              {row.endedBy !== null && ` by ${row.endedBy}`}
            </Fact>
          )}
        </dl>
        {row.endedAt === null && (
          <div class="row">
            <Button kind="danger" onClick={() => setConfirming(true)}>
              {end}…
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  );
}

function nameAndId({ name, id }: CredentialRow): string {
  return name === null ? id : `${name} (${id})`;
}

function EndDialog({
  row,
  all,
  onEnded,
  onClose,
}: {
  readonly row: CredentialRow;
  readonly all: readonly CredentialRow[];
  readonly onEnded: () => void;
  readonly onClose: () => void;
}) {
  const { noun, end, ended, path: below } = KINDS[row.kind];
  const tokens = row.kind === 'client' ? ' Tokens that it was issued end with it.' : '';
  const children = all.filter(({ createdBy, state }) => createdBy === refOf(row) && state === 'active');
  return (
    <ConfirmDialog
      title={`${end} the ${noun}`}
      text={`The ${noun} ${labelOf(row)} is ${ended} for good, from the next request on.${tokens}`}
      actionText={`${end} the ${noun}`}
      doneText={`The ${noun} ${labelOf(row)} was ${ended}.`}
      write={(client) => client.delete(`${below}${path`/${row.id}`}`)}
      onDone={onEnded}
      onClose={onClose}
    >
      {row.isCaller && (
        <Notice kind="warning">
          You are signed in with it: this ends your sign-in, here and everywhere.
        </Notice>
      )}
      {children.length > 0 && (
        <Notice kind="warning">
          It created others, which stay active: {children.map(labelOf).join(', ')}.
        </Notice>
      )}
    </ConfirmDialog>
  );
}

export function AccessPage() {
  useTitle('Access');
  const { value, error, reread } = useCredentials();
  return (
    <div class="lists access">
      <h1>Access</h1>
      {error?.code === 'INSUFFICIENT_SCOPE' ? <ScopeNotice /> : error && <ErrorNotice error={error} />}
      {value === undefined && error === undefined && <p class="quiet">Loading…</p>}
      {value !== undefined && <Lists credentials={value} onChanged={reread} />}
    </div>
  );
}

function ScopeNotice() {
  return (
    <Notice kind="warning">
      To see and change credentials, sign in with one that has the scope <code>credentials:write</code>. No
      credential has it unless it was issued with this scope by name: on the service’s machine,{' '}
      <code>headroom key issue TENANT --scope credentials:write locations:read</code>, and every scope that it
      will grant.
    </Notice>
  );
}

function Lists({
  credentials,
  onChanged,
}: {
  readonly credentials: Credentials;
  readonly onChanged: () => void;
}) {
  const [creating, setCreating] = useState<CredentialKind>();
  const [opened, setOpened] = useState<CredentialRow>();
  const [areEndedShown, setEndedShown] = useState(false);
  const columns = useMemo(() => credentialColumns(setOpened), []);
  const { rows } = credentials;
  const ended = rows.filter(({ state }) => state !== 'active').length;
  return (
    <>
      <p class="quiet">
        Programs and people sign in with these. A secret is shown once, when it is created.{' '}
        {ended > 0 && (
          <label>
            <input
              type="checkbox"
              checked={areEndedShown}
              onChange={(event) => setEndedShown(event.currentTarget.checked)}
            />{' '}
            Show {ended === 1 ? '1 ended one' : `${ended} ended ones`}
          </label>
        )}
      </p>
      {(['apiKey', 'client'] as const).map((kind) => (
        <ListSection
          key={kind}
          heading={KINDS[kind].heading}
          addText={`Create an ${KINDS[kind].noun}…`}
          onAdd={() => setCreating(kind)}
        >
          <Table
            label={KINDS[kind].heading}
            columns={columns}
            rows={rows.filter((row) => row.kind === kind && (areEndedShown || row.state === 'active'))}
            rowKey={refOf}
            empty={KINDS[kind].empty}
          />
        </ListSection>
      ))}
      {creating !== undefined && (
        <CreateCredential
          kind={creating}
          credentials={credentials}
          onCreated={onChanged}
          onClose={() => setCreating(undefined)}
        />
      )}
      {opened !== undefined && (
        <CredentialDetails
          row={opened}
          all={rows}
          onEnded={() => {
            setOpened(undefined);
            onChanged();
          }}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}
