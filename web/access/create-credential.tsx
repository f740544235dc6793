// Dialog that creates a credential. It shows the secret once, and no part of the page keeps it.
import { useRef, useState } from 'preact/hooks';
import type { IssuedApiKey, IssuedOauthClient } from '../../src/features/credentials/contract.js';
import { fromLocalInput } from '../location/local-input.js';
import { messagesByField } from '../location/profile-draft.js';
import { SubmissionForm } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { Notice } from '../ui/notice.js';
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
        <ScopePicker
          grantable={grantableScopes}
          chosen={scopes}
          error={messages.get('scopes')}
          onChange={setScopes}
        />
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

function ScopePicker({
  grantable,
  chosen,
  error,
  onChange,
}: {
  readonly grantable: readonly string[];
  readonly chosen: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (chosen: readonly string[]) => void;
}) {
  return (
    <fieldset class="members" aria-describedby="scopes-note">
      <legend>Scopes</legend>
      <p id="scopes-note" class={error === undefined ? 'hint' : 'hint wrong'}>
        {error ?? 'You can grant only your own scopes.'}
      </p>
      <ul>
        {grantable.map((scope) => (
          <li key={scope}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={(event) =>
                  onChange(
                    event.currentTarget.checked
                      ? [...chosen, scope]
                      : chosen.filter((other) => other !== scope),
                  )
                }
              />
              <span>
                <code>{scope}</code> <span class="quiet small">{scopeWords(scope)}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
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
    <Dialog title={`The ${noun} ${issued.name ?? ''} was created`} onClose={onClose}>
      <div class="stack">
        <Notice kind="warning">
          Copy it now: the secret is shown only once. The service keeps only its hash.
        </Notice>
        {'clientId' in issued && <Copyable label="Client id" text={issued.clientId} />}
        <Copyable label={label} text={'apiKey' in issued ? issued.apiKey : issued.clientSecret} />
        <div class="row">
          <Button kind="primary" onClick={onClose}>
            I have stored the secret
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function Copyable({ label, text }: { readonly label: string; readonly text: string }) {
  const shown = useRef<HTMLDivElement>(null);

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      announce(`${label} copied.`);
    } catch {
      // Browsers allow copying only on pages that came over HTTPS.
      shown.current?.querySelector('input')?.select();
      announce(`${label} selected: copy it with the keyboard.`, 'warning');
    }
  }

  return (
    <div ref={shown} class="copyable">
      <Field label={label} readOnly value={text} autoComplete="off" spellcheck={false} />
      <Button label={`Copy the ${label}`} onClick={() => void copy()}>
        Copy
      </Button>
    </div>
  );
}
