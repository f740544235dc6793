// Dialog that creates or changes a webhook or mail subscription. It shows the secret of a new webhook once.
import { useState } from 'preact/hooks';
import type { IssuedWebhook } from '../../src/features/webhooks/contract.js';
import { useResource } from '../api/resource.js';
import { messagesByField } from '../location/profile-draft.js';
import { SubmissionForm } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { LocationPicker } from '../locations/location-picker.js';
import { readLocations } from '../locations/use-locations.js';
import { announce } from '../ui/announce.js';
import { CheckList } from '../ui/check-list.js';
import { Dialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { ErrorNotice } from '../ui/notice.js';
import { SecretDialog } from '../ui/secret-dialog.js';
import {
  EVENT_TYPES,
  EVENT_WORDS,
  KINDS,
  pathOf,
  type SubscriptionKind,
  type SubscriptionRow,
} from './subscription-rows.js';

export function SubscriptionForm({
  kind,
  before,
  onWritten,
  onClose,
}: {
  readonly kind: SubscriptionKind;
  /** The one to change; undefined for a new one. */
  readonly before?: SubscriptionRow;
  readonly onWritten: () => void;
  readonly onClose: () => void;
}) {
  const { noun } = KINDS[kind];
  const [receivers, setReceivers] = useState(before?.receivers.join(' ') ?? '');
  const [types, setTypes] = useState<readonly string[]>(before?.types ?? []);
  const [locationIds, setLocationIds] = useState<readonly string[]>(before?.locationIds ?? []);
  const locations = useResource(readLocations, []);
  const submission = useSubmission<Partial<IssuedWebhook>>(({ body }) => {
    announce(`The ${noun} was ${before === undefined ? 'created' : 'changed'}.`);
    onWritten();
    if (body.secret === undefined) onClose();
  });
  const secret = submission.written?.body.secret;
  if (secret !== undefined)
    return <WebhookSecret title={`The ${noun} was created`} secret={secret} onClose={onClose} />;
  const addresses = receivers.split(/[\s,;]+/).filter((address) => address !== '');
  const fields = ['url', 'to', ...addresses.map((_, i) => `to.${i}`), 'types', 'locationIds'];
  const messages = messagesByField(submission.error, fields);
  const wrongAt = addresses.findIndex((_, i) => messages.has(`to.${i}`));
  const wrong = wrongAt < 0 ? undefined : `${addresses[wrongAt]} ${messages.get(`to.${wrongAt}`)}`;
  const body = {
    ...(kind === 'mail' ? { to: addresses } : { url: receivers.trim() }),
    types: types.length === 0 ? null : types,
    locationIds: locationIds.length === 0 ? null : locationIds,
  };
  return (
    <Dialog title={`${before === undefined ? 'Create a' : 'Change the'} ${noun}`} onClose={onClose}>
      <SubmissionForm
        submission={submission}
        isToldAtFields={messages.size > 0}
        onDone={onClose}
        focusOn="input"
        submitText={before === undefined ? `Create the ${noun}` : 'Save the change'}
        write={(client) =>
          before === undefined ? client.post(KINDS[kind].path, body) : client.put(pathOf(before), body)
        }
      >
        <Field
          label={KINDS[kind].receivers}
          autoComplete="off"
          inputMode={kind === 'mail' ? 'email' : 'url'}
          value={receivers}
          hint={
            kind === 'mail'
              ? 'At most 20, with spaces between them.'
              : 'An https address, which answers each event with 2xx.'
          }
          error={messages.get('url') ?? messages.get('to') ?? wrong}
          onInput={setReceivers}
        />
        <CheckList
          legend="Events (none: all)"
          note={`${types.length} chosen`}
          error={messages.get('types')}
          values={EVENT_TYPES}
          chosen={types}
          onChange={setTypes}
        >
          {(type) => (
            <>
              {EVENT_WORDS[type]} <code class="quiet small">{type}</code>
            </>
          )}
        </CheckList>
        {locations.error !== undefined && <ErrorNotice error={locations.error} />}
        {locations.value !== undefined && (
          <LocationPicker
            legend="Locations (none: all)"
            locations={locations.value}
            chosen={locationIds}
            error={messages.get('locationIds')}
            onChange={setLocationIds}
          />
        )}
      </SubmissionForm>
    </Dialog>
  );
}

export function WebhookSecret({
  title,
  secret,
  onClose,
}: {
  readonly title: string;
  readonly secret: string;
  readonly onClose: () => void;
}) {
  const note = 'Your system checks the signature of each event with it.';
  return <SecretDialog title={title} note={note} texts={[['Secret', secret]]} onClose={onClose} />;
}
