// The durable state: its changes and its queries.

import type { Knex } from 'knex';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import type { ClusterId, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { CredentialChange, CredentialRecord, CredentialSet, CredentialUse } from './credentials.js';
import type { Ownership } from './ownership.js';
import type {
  AlarmMuteRecord,
  AlarmRecord,
  AnswerRecord,
  BilledWindowRecord,
  ClusterRecord,
  ConnectorPowerRecord,
  EnergyRecord,
  OfflineChargerRecord,
  OperatorEventRecord,
  PowerRecord,
  ProfileTarget,
  ReservationRecord,
  SessionNeedsRecord,
  SessionRecord,
  TenantState,
} from './records.js';
import type { WebhookProgress, WebhookRecord } from './webhooks.js';

/** One durable change. The changes of one `append` are written all or none, in order. */
export type Change =
  | {
      readonly kind: 'profile.put';
      readonly target: ProfileTarget;
      /** The request was for a cluster with the target. */
      readonly clusterId?: ClusterId;
      readonly profile: LimitProfile;
      readonly atMs: EpochMs;
    }
  /** Frees the slot: the profile that holds it stays as history. */
  | {
      readonly kind: 'profile.cancel';
      readonly target: ProfileTarget;
      /** Of a target that is a connector. */
      readonly locationId?: LocationId;
      readonly priority: number;
      readonly atMs: EpochMs;
    }
  | {
      readonly kind: 'permanentLimit.set';
      readonly locationId: LocationId;
      readonly limitKw: number;
      readonly atMs: EpochMs;
    }
  | { readonly kind: 'cluster.put'; readonly cluster: ClusterRecord }
  | { readonly kind: 'cluster.delete'; readonly clusterId: ClusterId; readonly atMs: EpochMs }
  /** Replaces the connector's row. */
  | { readonly kind: 'reservation.put'; readonly reservation: ReservationRecord }
  | { readonly kind: 'alarm.begin'; readonly alarm: AlarmRecord }
  /** Another cause of an open alarm; no effect on an ended one. */
  | { readonly kind: 'alarm.change'; readonly alarmId: string; readonly reason: string }
  | { readonly kind: 'alarm.end'; readonly alarm: AlarmRecord }
  | { readonly kind: 'alarm.acknowledge'; readonly alarm: AlarmRecord }
  /** Its mute has ended: webhooks receive it now. */
  | { readonly kind: 'alarm.announce'; readonly alarm: AlarmRecord; readonly atMs: EpochMs }
  /** Replaces the mute of the same kind and place. */
  | { readonly kind: 'mute.put'; readonly mute: AlarmMuteRecord }
  /** No effect on a mute that was replaced. */
  | { readonly kind: 'mute.end'; readonly mute: AlarmMuteRecord; readonly atMs: EpochMs }
  /** The present state of a location's grid operator limit: a row of its own, never deleted. */
  | {
      readonly kind: 'operator.put';
      readonly event: OperatorEventRecord;
      /** Of the changes in this process: one millisecond may have two orders. A repeated write keeps it. */
      readonly nth: number;
    }
  /** Replaces the connector's row. */
  | { readonly kind: 'needs.put'; readonly needs: SessionNeedsRecord }
  /** Replaces these quarter-hours of the connector, and counts their day anew. */
  | { readonly kind: 'energy.put'; readonly energy: EnergyRecord }
  /** Replaces a session of the same connector, begin and id; none is ever deleted. */
  | { readonly kind: 'session.put'; readonly session: SessionRecord }
  /** The charger was offline for long, and is online again. */
  | {
      readonly kind: 'charger.offline' | 'charger.online';
      readonly locationId: LocationId;
      readonly charger: OfflineChargerRecord;
      readonly atMs: EpochMs;
    }
  /** `afterId` is the place in the log of a new one; undefined for the newest event. A stored one keeps its own. */
  | { readonly kind: 'webhook.put'; readonly webhook: WebhookRecord; readonly afterId: number | undefined }
  | {
      readonly kind: 'webhook.delete';
      readonly webhookId: string;
      readonly isMail: boolean;
      readonly atMs: EpochMs;
    }
  | { readonly kind: 'webhook.progress'; readonly progress: WebhookProgress }
  /** Dead letters are sent again; null for all. */
  | {
      readonly kind: 'webhook.replay';
      readonly webhookId: string;
      readonly eventIds: readonly number[] | null;
      readonly atMs: EpochMs;
      readonly untilMs: EpochMs;
    }
  /** The answer to a request with a key. The whole commit fails with `AnsweredAlreadyError` if the key has an answer. */
  | { readonly kind: 'answer.put'; readonly answer: AnswerRecord }
  /** The answer as it was sent, if it differs from the expected one. */
  | { readonly kind: 'answer.change'; readonly keyHash: string; readonly sealed: string }
  /** Replaces the location's row. */
  | { readonly kind: 'billedWindow.put'; readonly billedWindow: BilledWindowRecord }
  /** One minute of a location; a second write replaces it. */
  | { readonly kind: 'power.put'; readonly locationId: LocationId; readonly minute: PowerRecord }
  /** Adds minutes of a connector; of equal ones the last counts. */
  | { readonly kind: 'connectorPower.put'; readonly power: ConnectorPowerRecord };

/** The answer to a request with a key, written with the change that it belongs to. */
export type NewAnswer = Extract<Change, { readonly kind: 'answer.put' }>;

/** Changes of some kinds, with their tenant and credential. */
export type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }> & {
  readonly tenantUuid: TenantUuid;
  readonly by?: string | undefined;
};

/** Changes of one caller, written all or none. */
export interface Submission {
  readonly tenantUuid: TenantUuid;
  readonly changes: readonly Change[];
  /** The credential of the changes; undefined without one. */
  readonly by?: string | undefined;
}

/** The store cannot read or write now (locked, full, unreachable). Becomes 503. */
export class StoreUnavailableError extends Error {
  /** True: the commit failed midway, and the write may be on disk. False: nothing was written. */
  readonly isOutcomeUnknown: boolean;

  constructor(message: string, options: { cause?: unknown; isOutcomeUnknown?: boolean } = {}) {
    super(message, options);
    this.name = 'StoreUnavailableError';
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
  }
}

/** An earlier request with the same key was executed, so nothing of this one was written. */
export class AnsweredAlreadyError extends Error {}

/**
 * A database that is damaged, or lacks acknowledged commits. The message is one line with the cause and the remedies.
 */
export class DatabaseLostError extends Error {}

/** Changes of another process (the command line, another node): the tenants to load again. */
export interface Revision {
  readonly revision: number;
  /** Tenants whose locations, chargers or connectors have changed since the given revision. */
  readonly tenants: readonly TenantUuid[];
  readonly credentialsChanged: boolean;
}

/** Some rows of a long answer. */
export interface Page {
  readonly offset: number;
  readonly count: number;
}

/** The durable state. Every method for a tenant's data takes the tenant first. */
export interface Store {
  /**
   * Ownership of the database. A store that claimed it can write until another node does: then `append` rejects with
   * StoreUnavailableError. A store that never claimed writes beside an owner.
   */
  readonly ownership: Ownership;
  /** False once another service has claimed the database. */
  isOwner(): Promise<boolean>;
  /**
   * Writes `changes` in one transaction, together with those of concurrent callers (group commit). Resolves when they
   * are on disk, in the order of the calls. Rejects with StoreUnavailableError if they are not known to be on disk.
   * @param by the credential of the changes, for the event log
   */
  append(tenantUuid: TenantUuid, changes: readonly Change[], by?: string): Promise<void>;
  /**
   * The rows from which the tenant's actors are built: profiles that hold their slot, locations,
   * clusters. The call has its place among the appends of this process: the result has every append that
   * resolves before, and none that resolves after.
   */
  loadTenant(tenantUuid: TenantUuid): Promise<TenantState>;
  /** The same rows as of this moment, for callers that do not run the tenant. It waits for no writer. */
  glanceAtTenant(tenantUuid: TenantUuid): Promise<TenantState>;
  /** Answers a question about the history by rows, all as of one instant. It waits for no writer. */
  read<T>(question: (trx: Knex.Transaction) => Promise<T>): Promise<T>;
  /** Deletes minutes of power before `beforeMs`, of all tenants. */
  forgetPowerBefore(beforeMs: EpochMs): Promise<void>;
  /** Deletes days of energy before `day` (`2026-06-01`), of all tenants. */
  forgetEnergyBefore(day: string): Promise<void>;
  /** Deletes the power of connectors before `day`, of all tenants. */
  forgetConnectorPowerBefore(day: string): Promise<void>;
  /** Deletes recorded answers from before `beforeMs`, of all tenants. */
  forgetAnswersBefore(beforeMs: EpochMs): Promise<void>;
  /** Deletes events from before `beforeMs`, of all tenants. The newest one of a tenant always stays. */
  forgetEventsBefore(beforeMs: EpochMs): Promise<void>;
  /** Tenants and their secrets' hashes, for authentication. */
  loadCredentials(): Promise<CredentialSet>;
  /** The API keys and OAuth clients of a tenant, the oldest first. */
  tenantCredentials(tenantUuid: TenantUuid): Promise<readonly CredentialRecord[]>;
  /**
   * Writes the changes that `decide` derives from the tenant's credentials; resolves to them when they are on disk. No
   * other process changes credentials meanwhile. `decide` may run more than once; if it throws, nothing is written.
   * @param beside changes of the same transaction, taken after `decide`
   */
  changeCredentials(
    tenantUuid: TenantUuid,
    decide: (held: readonly CredentialRecord[]) => readonly CredentialChange[],
    beside?: () => readonly NewAnswer[],
  ): Promise<readonly CredentialChange[]>;
  /** Stores the last use of credentials; a use older than the stored one is left out. */
  noteCredentialUses(uses: readonly CredentialUse[]): Promise<void>;
  /** The newest revision, and the changes after `since`; undefined `since` returns the number alone. */
  revisionSince(since: number | undefined): Promise<Revision>;
  /**
   * Commits a write without effect, and resolves when it is on disk. Rejects with StoreUnavailableError if the database
   * takes no writes, or refused one in the last seconds and took none since.
   */
  ping(): Promise<void>;
  /** Writes all accepted changes, then closes. */
  close(): Promise<void>;
}
