// Webhooks: their rows, and the way out to their receivers.
import type { LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { EventType } from './records.js';

/** A subscription to the event log: a webhook, or mails. */
export interface WebhookRecord {
  readonly webhookId: string;
  /** Receivers of mails. Null for a webhook. Mails have no url and no secret: both are empty. */
  readonly mailTo: readonly string[] | null;
  readonly url: string;
  /** Null: all. */
  readonly types: readonly EventType[] | null;
  /** Null: all, and events without a location. */
  readonly locationIds: readonly LocationId[] | null;
  /** As `generateWebhookSecret` makes it. It signs, so no hash would do. */
  readonly secret: string;
  /** It signs too until its instant. */
  readonly previousSecret: { readonly secret: string; readonly untilMs: EpochMs } | null;
  readonly createdAtMs: EpochMs;
  /** The credential, as `credentialRef` writes it. */
  readonly createdBy: string;
  readonly updatedAtMs: EpochMs;
}

/** A location whose next event has failed: its later events wait. Other locations do not. */
export interface WebhookLane {
  /** Null: events without a location. */
  readonly locationId: LocationId | null;
  /** Events up to this id are delivered or dead. */
  readonly afterId: number;
  /** Of its next event. */
  readonly attempts: number;
  readonly nextAttemptAtMs: EpochMs;
  readonly error: string;
  /** Of a mail: the receivers that have it or refused it. A further attempt leaves them out. */
  readonly settledTo: readonly string[];
}

/** An event that was given up. For a mail: by some of its receivers at least. */
export interface DeadLetter {
  readonly eventId: number;
  readonly locationId: LocationId | null;
  readonly attempts: number;
  readonly diedAtMs: EpochMs;
  readonly error: string;
  /** It is sent again from then on; null for one that rests. */
  readonly nextAttemptAtMs: EpochMs | null;
  /** A repeated attempt ends then. */
  readonly triedUntilMs: EpochMs | null;
  /** Of a mail: the receivers that have it, or wait for it in a lane. All others get it again. */
  readonly settledTo: readonly string[];
}

/** The changes by a round of deliveries. */
export interface WebhookProgress {
  readonly webhookId: string;
  /** Each event up to this id is delivered, dead, or in a lane. */
  readonly cursorId: number;
  readonly lanes: readonly WebhookLane[];
  readonly endedLanes: readonly (LocationId | null)[];
  readonly deadLetters: readonly DeadLetter[];
  /** Ids of dead letters that were delivered. */
  readonly revived: readonly number[];
}

export interface WebhookMessage {
  readonly tenantUuid: TenantUuid;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

export interface Mail {
  readonly tenantUuid: TenantUuid;
  /** As the mail shows them. */
  readonly to: readonly string[];
  /** This attempt goes to these of `to`. */
  readonly receivers: readonly string[];
  /** The same for each attempt, without brackets and domain. */
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** Undefined: the mail server has it for all receivers. Receivers in neither list have it. */
export type MailFailure =
  | {
      readonly error: string;
      /** For good: a further attempt would be refused, too. */
      readonly refused: readonly string[];
      readonly delayed: readonly string[];
    }
  | undefined;

/** Never rejects. */
export type SendMail = (mail: Mail) => Promise<MailFailure>;

/** Undefined: the receiver has it. */
export type WebhookFailure = { readonly error: string; readonly retryAfterMs?: number } | undefined;

/** Never rejects. */
export type SendWebhook = (message: WebhookMessage) => Promise<WebhookFailure>;
