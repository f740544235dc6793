// Page of the organization's credentials: lists them, and creates and ends them if the signed-in credential may.
import './access.css';
import { useMemo, useState } from 'preact/hooks';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { ErrorNotice, Notice } from '../ui/notice.js';
import { Table } from '../ui/table.js';
import { CreateCredential } from './create-credential.js';
import { credentialColumns } from './credential-columns.js';
import { CredentialDetails } from './credential-details.js';
import { type CredentialKind, type CredentialRow, KINDS, refOf } from './credential-rows.js';
import { type Credentials, useCredentials } from './use-credentials.js';

export function AccessPage() {
  useTitle('Access');
  const { value, error, reread } = useCredentials();
  return (
    <div class="access">
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
      credential has it unless it was issued with it by name: on the service’s machine,{' '}
      <code>headroom key issue TENANT --scope credentials:write locations:read</code>, and every scope that it
      is to grant.
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
            Show {ended} that ended
          </label>
        )}
      </p>
      {(['apiKey', 'client'] as const).map((kind) => (
        <section key={kind} aria-label={KINDS[kind].heading}>
          <div class="row between">
            <h2>{KINDS[kind].heading}</h2>
            <Button kind="primary" onClick={() => setCreating(kind)}>
              Create an {KINDS[kind].noun}…
            </Button>
          </div>
          <Table
            label={KINDS[kind].heading}
            columns={columns}
            rows={rows.filter((row) => row.kind === kind && (areEndedShown || row.state === 'active'))}
            rowKey={refOf}
            empty={KINDS[kind].empty}
          />
        </section>
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
