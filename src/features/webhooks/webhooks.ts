// Webhooks of an organization: entitled credentials create, change and delete them, and send dead letters again.
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Core } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { WebhookLane, WebhookRecord } from '../../ports/webhooks.js';
import { generateWebhookSecret } from '../../secrets.js';
import { toInstant } from '../../wire/instants.js';
import {
  createWebhookRequestSchema,
  deliveriesQuerySchema,
  deliveryListSchema,
  issuedWebhookSchema,
  replayRequestSchema,
  rotateSecretRequestSchema,
  type WebhookView,
  webhookDeletedSchema,
  webhookListSchema,
  webhookRequestSchema,
  webhookSchema,
} from './contract.js';
import type { PlacedWebhook } from './rows.js';
import { type Filter, filterOf, requireReader, Subscriptions } from './subscriptions.js';

/** A webhook lets another system receive events, as a credential lets it read them. */
const OF_WEBHOOKS = { ...EXTENSION, tag: 'webhooks', scope: 'credentials:write' } as const;
const PATH = '/v1/webhooks';
const ONE = `${PATH}/{webhookId}` as const;

const webhooks = new Subscriptions(false, 'webhook', viewOf);

export const listWebhooks = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'listWebhooks',
  method: 'get',
  path: PATH,
  summary: 'List the webhooks, the oldest first, without their secrets',
  responseSchema: webhookListSchema,
  errors: [],
  handle: async (core, { tenantUuid }) => ({ webhooks: await webhooks.list(core, tenantUuid) }),
});

export const createWebhook = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'createWebhook',
  method: 'post',
  path: PATH,
  summary: 'Send the events of the log to a URL; only this answer has the secret that signs them',
  status: 201,
  requestSchema: createWebhookRequestSchema,
  responseSchema: issuedWebhookSchema,
  errors: ['LOCATION_NOT_FOUND'],
  async handle(core, asked) {
    requireReader(asked.scopes);
    const { after } = asked.body;
    const secret = generateWebhookSecret();
    const target = targetOf(core, asked.tenantUuid, asked.body);
    const decided = { mailTo: null, ...target, secret, previousSecret: null };
    const afterId = after === undefined ? undefined : Number(after);
    return webhooks.create(core, asked, decided, afterId, (view) => ({ ...view, secret }));
  },
});

export const getWebhook = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'getWebhook',
  method: 'get',
  path: ONE,
  summary: 'Read a webhook and its place in the event log',
  responseSchema: webhookSchema,
  errors: ['NOT_FOUND'],
  handle: (core, { tenantUuid, path }) => webhooks.show(core, tenantUuid, path.webhookId),
});

export const updateWebhook = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'updateWebhook',
  method: 'put',
  path: ONE,
  summary: 'Replace the URL and the filter of a webhook, which goes on in its place',
  requestSchema: webhookRequestSchema,
  responseSchema: webhookSchema,
  errors: ['NOT_FOUND', 'LOCATION_NOT_FOUND'],
  async handle(core, { tenantUuid, by, scopes, body, path }) {
    requireReader(scopes);
    const changed = () => targetOf(core, tenantUuid, body);
    return webhooks.change(core, { tenantUuid, by }, path.webhookId, changed, (view) => view);
  },
});

export const rotateWebhookSecret = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'rotateWebhookSecret',
  method: 'post',
  path: `${ONE}/secret`,
  summary: 'Sign with a new secret, and for a while with the one before too',
  requestSchema: rotateSecretRequestSchema,
  responseSchema: issuedWebhookSchema,
  errors: ['NOT_FOUND'],
  handle(core, asked) {
    const secret = generateWebhookSecret();
    const overlapMs = 1000 * asked.body.overlapS;
    const changed = (before: PlacedWebhook, nowMs: number) => ({
      secret,
      previousSecret: { secret: before.secret, untilMs: nowMs + overlapMs },
    });
    return webhooks.change(core, asked, asked.path.webhookId, changed, (view) => ({ ...view, secret }));
  },
});

export const deleteWebhook = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'deleteWebhook',
  method: 'delete',
  path: ONE,
  summary: 'Delete a webhook with its dead letters',
  responseSchema: webhookDeletedSchema,
  errors: ['NOT_FOUND'],
  async handle(core, asked) {
    const { webhookId } = asked.path;
    await webhooks.remove(core, asked, webhookId);
    return { webhookId, deleted: true as const };
  },
});

export const listDeliveries = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'listWebhookDeliveries',
  method: 'get',
  path: `${ONE}/deliveries`,
  summary: 'List the events that were given up, or that are sent again later',
  querySchema: deliveriesQuerySchema,
  responseSchema: deliveryListSchema,
  errors: ['NOT_FOUND'],
  handle: (core, { tenantUuid, path, query }) => webhooks.deliveries(core, tenantUuid, path.webhookId, query),
});

export const replayWebhook = endpoint({
  ...OF_WEBHOOKS,
  operationId: 'replayWebhook',
  method: 'post',
  path: `${ONE}/replay`,
  summary: 'Send dead letters again, and list all that are under way',
  requestSchema: replayRequestSchema,
  responseSchema: deliveryListSchema,
  errors: ['NOT_FOUND'],
  handle: (core, asked) => webhooks.replay(core, asked, asked.path.webhookId),
});

/** @throws DomainError INVALID_REQUEST_BODY, LOCATION_NOT_FOUND */
function targetOf(
  { directory, urlProblem }: Core,
  tenantUuid: TenantUuid,
  body: Filter & { readonly url: string },
): Pick<WebhookRecord, 'url' | 'types' | 'locationIds'> {
  const problem = urlProblem(body.url);
  if (problem !== undefined) throw new DomainError('INVALID_REQUEST_BODY', `url: ${problem}`);
  return { url: body.url, ...filterOf(directory, tenantUuid, body) };
}

function viewOf(webhook: PlacedWebhook, lanes: readonly WebhookLane[]): WebhookView {
  const { types, locationIds, previousSecret } = webhook;
  return {
    webhookId: webhook.webhookId,
    url: webhook.url,
    types: types && [...types],
    locationIds: locationIds && [...locationIds],
    createdAt: toInstant(webhook.createdAtMs),
    createdBy: webhook.createdBy,
    updatedAt: toInstant(webhook.updatedAtMs),
    previousSecretEndsAt: previousSecret && toInstant(previousSecret.untilMs),
    lastEventId: String(webhook.cursorId),
    waitingLocations: lanes.length,
  };
}

/** The object of an event about a webhook. It has no secret. */
export function viewOfWebhookChange({ webhookId, url, types, locationIds }: WebhookRecord) {
  return { webhookId, url, types, locationIds };
}
