// Sign-in with an API key, or with a client's id and secret. One request checks the credential before the dashboard
// opens.
import { useRef, useState } from 'preact/hooks';
import { asApiError } from '../api/api-error.js';
import { createApiClient } from '../api/client.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { Field } from '../ui/field.js';
import { Notice } from '../ui/notice.js';
import type { Credential } from './credential.js';

type Kind = Credential['kind'];

export function SignIn({
  reason,
  onSignIn,
}: {
  /** Reason for the end of the previous session. */
  readonly reason: string | undefined;
  readonly onSignIn: (credential: Credential) => void;
}) {
  useTitle('Sign in');
  const [kind, setKind] = useState<Kind>('apiKey');
  const [refusal, setRefusal] = useState(reason);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    if (form.current === null || isBusy) return;
    const credential = credentialOf(kind, new FormData(form.current));
    setBusy(true);
    setRefusal(undefined);
    try {
      if (!(await mayRead(credential))) location.hash = hrefOf('access');
      onSignIn(credential);
    } catch (thrown) {
      setBusy(false);
      setRefusal(refusalText(kind, thrown));
    }
  }

  return (
    <main class="sign-in">
      <h1>Headroom</h1>
      <p class="quiet">Energy management for charging sites</p>
      <form ref={form} onSubmit={submit} class="panel stack">
        {kind === 'apiKey' ? (
          <Field key="apiKey" label="API key" name="apiKey" type="password" autocomplete="off" required />
        ) : (
          <>
            <Field key="clientId" label="Client id" name="clientId" autocomplete="off" required />
            <Field label="Client secret" name="clientSecret" type="password" autocomplete="off" required />
          </>
        )}
        {refusal !== undefined && <Notice kind="error">{refusal}</Notice>}
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Sign in
        </Button>
        {/* After the fields, so that the first Tab on the page leads to a field. */}
        <fieldset class="choice">
          <legend>Sign in with</legend>
          <KindChoice kind="apiKey" label="API key" chosen={kind} onChoose={setKind} />
          <KindChoice kind="client" label="Client credentials" chosen={kind} onChoose={setKind} />
        </fieldset>
        <p class="quiet small">
          Kept for this tab only, and sent to this service alone. The API is described at{' '}
          <a href="/docs/">/docs</a>.
        </p>
      </form>
    </main>
  );
}

/** True if the credential may read locations; false if it may only administer credentials. Throws if it is refused. */
async function mayRead(credential: Credential): Promise<boolean> {
  const client = createApiClient({ credential });
  try {
    await client.get('/locations?limit=1');
    return true;
  } catch (refusal) {
    if (asApiError(refusal).code !== 'INSUFFICIENT_SCOPE') throw refusal;
    await client.get('/credentials/api-keys').catch(() => {
      throw refusal;
    });
    return false;
  }
}

function KindChoice(props: {
  readonly kind: Kind;
  readonly label: string;
  readonly chosen: Kind;
  readonly onChoose: (kind: Kind) => void;
}) {
  const { kind, label, chosen, onChoose } = props;
  return (
    <label>
      <input type="radio" name="kind" checked={chosen === kind} onChange={() => onChoose(kind)} /> {label}
    </label>
  );
}

function credentialOf(kind: Kind, form: FormData): Credential {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  if (kind === 'apiKey') return { kind, apiKey: text('apiKey') };
  return { kind, clientId: text('clientId'), clientSecret: text('clientSecret') };
}

function refusalText(kind: Kind, thrown: unknown): string {
  const { status, message } = asApiError(thrown);
  if (status !== 401) return message;
  return kind === 'apiKey'
    ? 'The service does not accept this API key: it is unknown, expired or revoked.'
    : 'The service does not accept this client: it is unknown, disabled, or its secret is wrong.';
}
