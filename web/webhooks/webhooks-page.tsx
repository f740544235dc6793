// Page of the subscriptions to the event log: webhooks and mails, their deliveries and dead letters.
import './webhooks.css';
import { useMemo, useState } from 'preact/hooks';
import type { DeliveryList, IssuedWebhook } from '../../src/features/webhooks/contract.js';
import { useResource } from '../api/resource.js';
import { ConfirmDialog } from '../clusters/confirm-dialog.js';
import { useEvery } from '../location/server-clock.js';
import { SubmissionForm } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { type LocationNames, useLocationNames } from '../locations/use-location-names.js';
import { useTitle } from '../shell/title.js';
import { announce } from '../ui/announce.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Fact } from '../ui/fact.js';
import { Choice } from '../ui/field.js';
import { ListSection } from '../ui/list-section.js';
import { ErrorNotice, Notice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { SubscriptionForm, WebhookSecret } from './subscription-form.js';
import {
  EVENT_WORDS,
  KINDS,
  labelOf,
  pathOf,
  readDeliveries,
  readSubscriptions,
  type SubscriptionKind,
  type SubscriptionRow,
} from './subscription-rows.js';

/** The stream has no events about deliveries. */
const EVERY_MS = 10_000;
const DELIVERIES_SHOWN = 100;

export function WebhooksPage() {
  useTitle('Webhooks and mails');
  const { value, error, reread } = useResource(readSubscriptions, []);
  useEvery(EVERY_MS, () => reread());
  return (
    <div class="lists subscriptions">
      <h1>Webhooks and mails</h1>
      {error?.code === 'INSUFFICIENT_SCOPE' ? (
        <Notice kind="warning">
          To see and change webhooks and mails, sign in with a credential that has the scope{' '}
          <code>credentials:write</code>. To create them, it also needs <code>locations:read</code>.
        </Notice>
      ) : (
        error && <ErrorNotice error={error} />
      )}
      {value === undefined && error === undefined && <p class="quiet">Loading…</p>}
      {value !== undefined && <Lists rows={value} onChanged={() => reread()} />}
    </div>
  );
}

function Lists({
  rows,
  onChanged,
}: {
  readonly rows: readonly SubscriptionRow[];
  readonly onChanged: () => void;
}) {
  const names = useLocationNames();
  const [creating, setCreating] = useState<SubscriptionKind>();
  const [openedId, setOpenedId] = useState<string>();
  const columns = useMemo(() => columnsOf(names, setOpenedId), [names]);
  const opened = rows.find(({ id }) => id === openedId);
  return (
    <>
      <p class="quiet">Each sends events of the log: at least once, and again until its receiver has them.</p>
      {(['webhook', 'mail'] as const).map((kind) => (
        <ListSection
          key={kind}
          heading={KINDS[kind].heading}
          addText={`Create a ${KINDS[kind].noun}…`}
          onAdd={() => setCreating(kind)}
        >
          <Table
            label={KINDS[kind].heading}
            columns={columns}
            rows={rows.filter((row) => row.kind === kind)}
            rowKey={({ id }) => id}
            empty={KINDS[kind].empty}
          />
        </ListSection>
      ))}
      {creating !== undefined && (
        <SubscriptionForm kind={creating} onWritten={onChanged} onClose={() => setCreating(undefined)} />
      )}
      {opened !== undefined && (
        <Details
          key={opened.id}
          row={opened}
          names={names}
          onChanged={onChanged}
          onClose={() => setOpenedId(undefined)}
        />
      )}
    </>
  );
}

function columnsOf(names: LocationNames, onOpen: (id: string) => void): readonly Column<SubscriptionRow>[] {
  return [
    {
      key: 'receivers',
      header: 'Receiver',
      isRowHeader: true,
      cell: (row) => <span title={labelOf(row)}>{labelOf(row)}</span>,
      sortValue: labelOf,
    },
    {
      key: 'types',
      header: 'Events',
      class: 'filter',
      isWideOnly: true,
      cell: ({ types }) => (types === null ? 'All' : <span title={types.join(' ')}>{types.join(' ')}</span>),
    },
    {
      key: 'locations',
      header: 'Locations',
      class: 'filter',
      isWideOnly: true,
      cell: ({ locationIds }) => locationsText(locationIds, names),
    },
    {
      key: 'state',
      header: 'State',
      class: 'state',
      cell: (row) => <StateBadge row={row} />,
      sortValue: ({ hasDeadLetters, isRetrying }) => Number(hasDeadLetters) * 2 + Number(isRetrying),
    },
    {
      key: 'details',
      header: 'Details',
      class: 'details',
      cell: (row) => (
        <Button
          kind="plain"
          label={`Details of the ${KINDS[row.kind].noun} to ${labelOf(row)}`}
          onClick={() => onOpen(row.id)}
        >
          Details…
        </Button>
      ),
    },
  ];
}

function locationsText(locationIds: SubscriptionRow['locationIds'], names: LocationNames) {
  if (locationIds === null) return 'All';
  const text = locationIds.map(names).join(', ');
  return <span title={text}>{text}</span>;
}

function StateBadge({ row: { hasDeadLetters, isRetrying } }: { readonly row: SubscriptionRow }) {
  if (hasDeadLetters)
    return (
      <Badge tone="bad" title="Dead letters: events that were given up.">
        given up
      </Badge>
    );
  if (isRetrying)
    return (
      <Badge tone="warning" title="Events are under way, or are sent again later.">
        waiting
      </Badge>
    );
  return <Badge tone="good">delivered</Badge>;
}

type Step = 'change' | 'delete' | 'secret';

function Details({
  row,
  names,
  onChanged,
  onClose,
}: {
  readonly row: SubscriptionRow;
  readonly names: LocationNames;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const [step, setStep] = useState<Step>();
  const { kind, types, previousSecretEndsAt } = row;
  const { noun, receivers } = KINDS[kind];
  const finish = () => {
    onChanged();
    onClose();
  };
  if (step === 'change')
    return <SubscriptionForm kind={kind} before={row} onWritten={onChanged} onClose={onClose} />;
  if (step === 'secret') return <SecretForm row={row} onWritten={onChanged} onClose={onClose} />;
  if (step === 'delete')
    return (
      <ConfirmDialog
        title={`Delete the ${noun}`}
        text={`The ${noun} to ${labelOf(row)} ends, and its dead letters are deleted. Events stay in the log.`}
        actionText={`Delete the ${noun}`}
        doneText={`The ${noun} was deleted.`}
        write={(client) => client.delete(pathOf(row))}
        onDone={finish}
        onClose={onClose}
      />
    );
  return (
    <Dialog title={`Details of the ${noun}`} onClose={onClose}>
      <div class="stack">
        <dl class="facts">
          <Fact name={receivers}>{labelOf(row)}</Fact>
          <Fact name="Events">
            {types === null ? 'All' : types.map((type) => EVENT_WORDS[type] ?? type).join(', ')}
          </Fact>
          <Fact name="Locations">{locationsText(row.locationIds, names)}</Fact>
          <Fact name="Created">
            <Time at={row.createdAt} /> by {row.createdBy}
          </Fact>
          {previousSecretEndsAt !== null && (
            <Fact name="Former secret">
              It signs too until <Time at={previousSecretEndsAt} />.
            </Fact>
          )}
        </dl>
        <Deliveries row={row} names={names} onReplayed={onChanged} />
        <div class="row">
          <Button onClick={() => setStep('change')}>Change…</Button>
          {kind === 'webhook' && <Button onClick={() => setStep('secret')}>Replace the secret…</Button>}
          <Button kind="danger" onClick={() => setStep('delete')}>
            Delete…
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

type Delivery = DeliveryList['deliveries'][number];

/** The dead letters, and the events that are sent again later. */
function Deliveries({
  row,
  names,
  onReplayed,
}: {
  readonly row: SubscriptionRow;
  readonly names: LocationNames;
  readonly onReplayed: () => void;
}) {
  const read = useResource(
    (client, signal) =>
      Promise.all([
        readDeliveries(client, row, 'dead', DELIVERIES_SHOWN + 1, signal),
        readDeliveries(client, row, 'waiting', DELIVERIES_SHOWN + 1, signal),
      ]),
    [row.id],
  );
  useEvery(EVERY_MS, () => read.reread());
  const { isBusy, error, send } = useSubmission<DeliveryList>(() => {
    announce('The events are sent again.');
    read.reread();
    onReplayed();
  });
  const replay = (body: object) => void send((client) => client.post(`${pathOf(row)}/replay`, body));
  const [dead, waiting] = read.value ?? [[], []];
  return (
    <>
      {read.error !== undefined && <ErrorNotice error={read.error} />}
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="row between">
        <h3>Dead letters</h3>
        {dead.length > 0 && (
          <Button isBusy={isBusy} onClick={() => replay({})}>
            Send all again
          </Button>
        )}
      </div>
      {read.value !== undefined && dead.length === 0 && <p class="quiet">None: no event was given up.</p>}
      <DeliveryLines
        deliveries={dead}
        names={names}
        label="Dead letters"
        onReplay={isBusy ? undefined : (eventId) => replay({ eventIds: [eventId] })}
      />
      {waiting.length > 0 && (
        <>
          <h3>Sent again later</h3>
          <DeliveryLines deliveries={waiting} names={names} label="Sent again later" />
        </>
      )}
    </>
  );
}

function DeliveryLines({
  deliveries,
  names,
  label,
  onReplay,
}: {
  readonly deliveries: readonly Delivery[];
  readonly names: LocationNames;
  readonly label: string;
  readonly onReplay?: ((eventId: string) => void) | undefined;
}) {
  if (deliveries.length === 0) return null;
  return (
    <ul class="deliveries" aria-label={label}>
      {deliveries.slice(0, DELIVERIES_SHOWN).map((delivery) => (
        <li key={delivery.eventId}>
          <div>
            <strong>Event {delivery.eventId}</strong>{' '}
            <span class="quiet small">
              {delivery.locationId === null ? 'the organization' : names(delivery.locationId)},{' '}
              {delivery.attempts} {delivery.attempts === 1 ? 'attempt' : 'attempts'}
              {delivery.nextAttemptAt !== null && (
                <>
                  , next <Time at={delivery.nextAttemptAt} isShort />
                </>
              )}
            </span>
            <p class="small">{delivery.error}</p>
            {delivery.to !== null && <p class="small">Not received by {delivery.to.join(', ')}</p>}
          </div>
          {onReplay !== undefined && (
            <Button
              kind="plain"
              label={`Send again event ${delivery.eventId}`}
              onClick={() => onReplay(delivery.eventId)}
            >
              Send again
            </Button>
          )}
        </li>
      ))}
      {deliveries.length > DELIVERIES_SHOWN && <li class="quiet">And more.</li>}
    </ul>
  );
}

const OVERLAPS = [
  ['86400', 'One day, for a change-over'],
  ['3600', 'One hour'],
  ['604800', 'Seven days'],
  ['0', 'Not at all: it leaked'],
] as const;

function SecretForm({
  row,
  onWritten,
  onClose,
}: {
  readonly row: SubscriptionRow;
  readonly onWritten: () => void;
  readonly onClose: () => void;
}) {
  const [overlapS, setOverlapS] = useState<string>(OVERLAPS[0][0]);
  const submission = useSubmission<IssuedWebhook>(() => {
    announce('The webhook signs with a new secret.');
    onWritten();
  });
  const { written } = submission;
  if (written !== undefined)
    return <WebhookSecret title="The new secret" secret={written.body.secret} onClose={onClose} />;
  return (
    <Dialog title="Replace the secret" onClose={onClose}>
      <SubmissionForm
        submission={submission}
        isToldAtFields={false}
        focusOn="select"
        submitText="Replace the secret"
        onDone={onClose}
        write={(client) => client.post(`${pathOf(row)}/secret`, { overlapS: Number(overlapS) })}
      >
        <p class="confirm">Events to {labelOf(row)} are signed with a new secret, which is shown once.</p>
        <Choice
          label="The present secret signs too for"
          value={overlapS}
          options={OVERLAPS}
          onChoose={setOverlapS}
        />
      </SubmissionForm>
    </Dialog>
  );
}
