// Dialog that creates a credential. It shows the secret once, and no part of the page keeps it.
import { useState } from 'preact/hooks';
import type { IssuedApiKey, IssuedOauthClient } from '../../src/features/credentials/contract.js';
import { fromLocalInput } from '../location/local-input.js';
import { messagesByField } from '../location/profile-draft.js';
import { SubmissionForm } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { announce } from '../ui/announce.js';
import { CheckList } from '../ui/check-list.js';
import { Dialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { SecretDialog } from '../ui/secret-dialog.js';
import { localText, utcText } from '../ui/time.js';
import { type CredentialKind, KINDS } from './credential-rows.js';
import { scopeWords } from './scope-words.js';
import type { Credentials } from './use-credentials.js';

type Issued = IssuedApiKey | IssuedOauthClient;

const FIELDS = ['name', 'scopes', 'expiresAt'] as const;

export function CreateCredential({
  kind,
  credentials: { grantableScopes, latestExpiresAt },
  onCreated,
  onClose,
}: {
  readonly kind: CredentialKind;
  readonly credentials: Credentials;
  readonly onCreated: () => void;
  readonly onClose: () => void;
}) {
  const { noun, path } = KINDS[kind];
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>([]);
  const [expiry, setExpiry] = useState('');
  const submission = useSubmission<Issued>(() => {
    announce(`The ${noun} was created.`);
    onCreated();
  });
  const messages = messagesByField(submission.error, FIELDS);
  if (submission.written !== undefined)
    return <ShowSecret kind={kind} issued={submission.written.body} onClose={onClose} />;
  const expiresAtMs = fromLocalInput(expiry);
  const bound =
    latestExpiresAt === null
      ? 'Leave it empty for one that never expires.'
      : `At the latest ${localText(latestExpiresAt)}, when yours expires.`;
  return (
    <Dialog title={`Create an ${noun}`} onClose={onClose}>
      <SubmissionForm
        submission={submission}
        isToldAtFields={messages.size > 0}
        onDone={onClose}
        focusOn="input"
        submitText={`Create the ${noun}`}
        write={(client) =>
          client.post<Issued>(path, {
            name,
            scopes,
            ...(expiresAtMs !== undefined && { expiresAt: new Date(expiresAtMs).toISOString() }),
          })
        }
      >
        <Field
          label="Name"
          autoComplete="off"
          value={name}
          hint="The program or person that uses it."
          error={messages.get('name')}
          onInput={setName}
        />
        <CheckList
          legend="Scopes"
          note="You can grant only your own scopes."
          error={messages.get('scopes')}
          values={grantableScopes}
          chosen={scopes}
          onChange={setScopes}
        >
          {(scope) => (
            <>
              <code>{scope}</code> <span class="quiet small">{scopeWords(scope)}</span>
            </>
          )}
        </CheckList>
        <Field
          label="Expires"
          type="datetime-local"
          step={1}
          value={expiry}
          hint={expiresAtMs === undefined ? bound : utcText(new Date(expiresAtMs).toISOString())}
          error={messages.get('expiresAt')}
          onInput={setExpiry}
        />
      </SubmissionForm>
    </Dialog>
  );
}

function ShowSecret({
  kind,
  issued,
  onClose,
}: {
  readonly kind: CredentialKind;
  readonly issued: Issued;
  readonly onClose: () => void;
}) {
  const { noun, secret: label } = KINDS[kind];
  return (
    <SecretDialog
      title={`The ${noun} ${issued.name ?? ''} was created`}
      note="The service keeps only its hash."
      texts={[
        ...('clientId' in issued ? [['Client id', issued.clientId] as const] : []),
        [label, 'apiKey' in issued ? issued.apiKey : issued.clientSecret],
      ]}
      onClose={onClose}
    />
  );
}
