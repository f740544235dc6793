// Gives webhooks and mail subscriptions a common shape as rows.
import type {
  DeliveryList,
  MailSubscriptionList,
  MailSubscriptionView,
  WebhookList,
  WebhookView,
} from '../../src/features/webhooks/contract.js';
import { ApiError } from '../api/api-error.js';
import { type ApiClient, path } from '../api/client.js';

export type SubscriptionKind = 'webhook' | 'mail';
export type EventType = NonNullable<WebhookView['types']>[number];

export interface SubscriptionRow {
  readonly kind: SubscriptionKind;
  readonly id: string;
  /** A URL, or mail addresses. */
  readonly receivers: readonly string[];
  readonly types: readonly EventType[] | null;
  readonly locationIds: readonly string[] | null;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly lastEventId: string;
  readonly previousSecretEndsAt: string | null;
  readonly isRetrying: boolean;
  readonly hasDeadLetters: boolean;
}

/** Words for each kind, and its path in the API. */
export const KINDS = {
  webhook: {
    path: '/webhooks',
    heading: 'Webhooks',
    noun: 'webhook',
    receivers: 'URL',
    empty: 'No webhooks. A webhook sends the event log to a URL of yours, signed.',
  },
  mail: {
    path: '/mail-subscriptions',
    heading: 'Mails',
    noun: 'mail subscription',
    receivers: 'Addresses',
    empty: 'No mail subscriptions. Mails send the event log to people.',
  },
} as const;

export const EVENT_WORDS: Readonly<Record<EventType, string>> = {
  'profile.submitted': 'A profile was submitted',
  'profile.cancelled': 'A profile was cancelled',
  'permanentLimit.changed': 'A permanent limit changed',
  'alarm.began': 'An alarm began',
  'alarm.ended': 'An alarm ended',
  'alarm.acknowledged': 'Someone acknowledged an alarm',
  'alarm.muted': 'Someone muted alarms',
  'alarm.unmuted': 'A mute ended',
  'charger.offline': 'A charger was offline for long',
  'charger.online': 'Such a charger came back',
  'session.ended': 'A charging session ended',
  'operatorLimit.changed': 'The grid operator’s limit changed',
  'cluster.changed': 'A cluster was created or changed',
  'cluster.deleted': 'A cluster was deleted',
  'provisioning.changed': 'Provisioning changed the site',
  'credential.issued': 'A credential was created',
  'credential.changed': 'A credential changed',
  'credential.ended': 'A credential ended',
  'webhook.changed': 'A webhook was created or changed',
  'webhook.deleted': 'A webhook was deleted',
  'mailSubscription.changed': 'A mail subscription was created or changed',
  'mailSubscription.deleted': 'A mail subscription was deleted',
};

export const EVENT_TYPES = Object.keys(EVENT_WORDS) as readonly EventType[];

export function pathOf({ kind, id }: Pick<SubscriptionRow, 'kind' | 'id'>): string {
  return KINDS[kind].path + path`/${id}`;
}

export function labelOf({ receivers }: Pick<SubscriptionRow, 'receivers'>): string {
  return receivers.join(', ');
}

/** Both kinds; each begins with the oldest. */
export async function readSubscriptions(
  client: ApiClient,
  signal: AbortSignal,
): Promise<readonly SubscriptionRow[]> {
  const [{ webhooks }, { mailSubscriptions }] = await Promise.all([
    client.get<WebhookList>(KINDS.webhook.path, signal),
    client.get<MailSubscriptionList>(KINDS.mail.path, signal),
  ]);
  const rows = [...webhooks.map(rowOfWebhook), ...mailSubscriptions.map(rowOfMail)];
  return Promise.all(
    rows.map(async (row) => ({ ...row, hasDeadLetters: await hasDeadLetters(client, row, signal) })),
  );
}

async function hasDeadLetters(
  client: ApiClient,
  row: Pick<SubscriptionRow, 'kind' | 'id'>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await readDeliveries(client, row, 'dead', 1, signal)).length > 0;
  } catch (thrown) {
    // Someone deleted it between both reads.
    if (thrown instanceof ApiError && thrown.code === 'NOT_FOUND') return false;
    throw thrown;
  }
}

export async function readDeliveries(
  client: ApiClient,
  row: Pick<SubscriptionRow, 'kind' | 'id'>,
  state: 'dead' | 'waiting',
  count: number,
  signal: AbortSignal,
): Promise<DeliveryList['deliveries']> {
  const list = await client.get<DeliveryList>(
    pathOf(row) + path`/deliveries?state=${state}&limit=${count}`,
    signal,
  );
  return list.deliveries;
}

type OpenRow = Omit<SubscriptionRow, 'hasDeadLetters'>;

function rowOfWebhook({ webhookId, url, waitingLocations, ...webhook }: WebhookView): OpenRow {
  return { ...webhook, kind: 'webhook', id: webhookId, receivers: [url], isRetrying: waitingLocations > 0 };
}

function rowOfMail({ mailSubscriptionId, to, isWaiting, ...mail }: MailSubscriptionView): OpenRow {
  const id = mailSubscriptionId;
  return { ...mail, kind: 'mail', id, receivers: to, isRetrying: isWaiting, previousSecretEndsAt: null };
}
