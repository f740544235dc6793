// Dialog with all details of one credential; a second click confirms its end.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { path } from '../api/client.js';
import { ConfirmDialog } from '../clusters/confirm-dialog.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Notice } from '../ui/notice.js';
import { Time } from '../ui/time.js';
import { StateBadge } from './credential-columns.js';
import { type CredentialRow, KINDS, labelOf, refOf } from './credential-rows.js';
import { scopeWords } from './scope-words.js';

export function CredentialDetails({
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
        <dl class="credential">
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

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
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
        <Notice kind="warning">You are signed in with it: this signs you out, here and everywhere.</Notice>
      )}
      {children.length > 0 && (
        <Notice kind="warning">
          It created others, which stay active: {children.map(labelOf).join(', ')}.
        </Notice>
      )}
    </ConfirmDialog>
  );
}
