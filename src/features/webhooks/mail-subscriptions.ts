// Mails of an organization: the deliveries of webhooks, gathered into mails to its people.
import { DomainError } from '../../../machines/values/errors.js';
import type { Core } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { WebhookLane, WebhookRecord } from '../../ports/webhooks.js';
import { toInstant } from '../../wire/instants.js';
import {
  deliveriesQuerySchema,
  deliveryListSchema,
  type MailSubscriptionView,
  mailSubscriptionDeletedSchema,
  mailSubscriptionListSchema,
  mailSubscriptionRequestSchema,
  mailSubscriptionSchema,
  replayRequestSchema,
} from './contract.js';
import type { PlacedWebhook } from './rows.js';
import { filterOf, requireReader, Subscriptions } from './subscriptions.js';

const OF_MAILS = { ...EXTENSION, tag: 'webhooks', scope: 'credentials:write' } as const;
const PATH = '/v1/mail-subscriptions';
const ONE = `${PATH}/{mailSubscriptionId}` as const;

const mails = new Subscriptions(true, 'mail subscription', viewOf);

export const listMailSubscriptions = endpoint({
  ...OF_MAILS,
  operationId: 'listMailSubscriptions',
  method: 'get',
  path: PATH,
  summary: 'List the mail subscriptions, the oldest first',
  responseSchema: mailSubscriptionListSchema,
  errors: [],
  handle: async (core, { tenantUuid }) => ({ mailSubscriptions: await mails.list(core, tenantUuid) }),
});

export const createMailSubscription = endpoint({
  ...OF_MAILS,
  operationId: 'createMailSubscription',
  method: 'post',
  path: PATH,
  summary: 'Send the events of the log from now on as mails; events of half a minute share one',
  status: 201,
  requestSchema: mailSubscriptionRequestSchema,
  responseSchema: mailSubscriptionSchema,
  errors: ['LOCATION_NOT_FOUND'],
  async handle(core, asked) {
    requireReader(asked.scopes);
    requireMail(core);
    const { to } = asked.body;
    const filter = filterOf(core.directory, asked.tenantUuid, asked.body);
    const decided = { mailTo: [...new Set(to)], url: '', ...filter, secret: '', previousSecret: null };
    return mails.create(core, asked, decided, undefined, (view) => view);
  },
});

export const getMailSubscription = endpoint({
  ...OF_MAILS,
  operationId: 'getMailSubscription',
  method: 'get',
  path: ONE,
  summary: 'Read a mail subscription and its place in the event log',
  responseSchema: mailSubscriptionSchema,
  errors: ['NOT_FOUND'],
  handle: (core, { tenantUuid, path }) => mails.show(core, tenantUuid, path.mailSubscriptionId),
});

export const updateMailSubscription = endpoint({
  ...OF_MAILS,
  operationId: 'updateMailSubscription',
  method: 'put',
  path: ONE,
  summary: 'Replace the receivers and the filter of a mail subscription, which goes on in its place',
  requestSchema: mailSubscriptionRequestSchema,
  responseSchema: mailSubscriptionSchema,
  errors: ['NOT_FOUND', 'LOCATION_NOT_FOUND'],
  async handle(core, { tenantUuid, by, scopes, body, path }) {
    requireReader(scopes);
    requireMail(core);
    const changed = () => ({ ...filterOf(core.directory, tenantUuid, body), mailTo: [...new Set(body.to)] });
    return mails.change(core, { tenantUuid, by }, path.mailSubscriptionId, changed, (view) => view);
  },
});

export const deleteMailSubscription = endpoint({
  ...OF_MAILS,
  operationId: 'deleteMailSubscription',
  method: 'delete',
  path: ONE,
  summary: 'Delete a mail subscription with its dead letters',
  responseSchema: mailSubscriptionDeletedSchema,
  errors: ['NOT_FOUND'],
  async handle(core, asked) {
    const { mailSubscriptionId } = asked.path;
    await mails.remove(core, asked, mailSubscriptionId);
    return { mailSubscriptionId, deleted: true as const };
  },
});

export const listMailDeliveries = endpoint({
  ...OF_MAILS,
  operationId: 'listMailDeliveries',
  method: 'get',
  path: `${ONE}/deliveries`,
  summary: 'List the events whose mail was given up, or the first event of a mail that is sent again later',
  querySchema: deliveriesQuerySchema,
  responseSchema: deliveryListSchema,
  errors: ['NOT_FOUND'],
  handle: (core, { tenantUuid, path, query }) =>
    mails.deliveries(core, tenantUuid, path.mailSubscriptionId, query),
});

export const replayMails = endpoint({
  ...OF_MAILS,
  operationId: 'replayMails',
  method: 'post',
  path: `${ONE}/replay`,
  summary: 'Send dead letters again, and list all that are under way',
  requestSchema: replayRequestSchema,
  responseSchema: deliveryListSchema,
  errors: ['NOT_FOUND'],
  handle: (core, asked) => mails.replay(core, asked, asked.path.mailSubscriptionId),
});

/** @throws DomainError FEATURE_NOT_ENABLED */
function requireMail({ isMailOn }: Core): void {
  if (!isMailOn)
    throw new DomainError(
      'FEATURE_NOT_ENABLED',
      'This service sends no mail; its operator sets HEADROOM_SMTP_URL and HEADROOM_MAIL_FROM.',
    );
}

function viewOf(subscription: PlacedWebhook, lanes: readonly WebhookLane[]): MailSubscriptionView {
  const { types, locationIds } = subscription;
  return {
    mailSubscriptionId: subscription.webhookId,
    to: [...(subscription.mailTo ?? [])],
    types: types && [...types],
    locationIds: locationIds && [...locationIds],
    createdAt: toInstant(subscription.createdAtMs),
    createdBy: subscription.createdBy,
    updatedAt: toInstant(subscription.updatedAtMs),
    lastEventId: String(subscription.cursorId),
    isWaiting: lanes.length > 0,
  };
}

/** The object of an event about a mail subscription. */
export function viewOfMailChange({ webhookId, mailTo, types, locationIds }: WebhookRecord) {
  return { mailSubscriptionId: webhookId, to: mailTo, types, locationIds };
}
