// The durable truth: what can be written, and what can be asked.

import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import type { ClusterId, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { CredentialChange, CredentialRecord, CredentialSet, CredentialUse } from './credentials.js';
import type { Ownership } from './ownership.js';
import type {
  AlarmRecord,
  BilledWindowRecord,
  ClusterRecord,
  OperatorEventRecord,
  PermanentLimitHistoryRecord,
  PowerRecord,
  PowerStep,
  ProfileHistoryRecord,
  ProfileTarget,
  ReservationRecord,
  TenantState,
} from './records.js';

/** One durable change. Changes handed to one `append` are written all or nothing, in order. */
export type Change =
  | {
      readonly kind: 'profile.put';
      readonly target: ProfileTarget;
      readonly profile: LimitProfile;
      readonly atMs: EpochMs;
    }
  /** Frees the slot: the profile that holds it stays as history. */
  | {
      readonly kind: 'profile.cancel';
      readonly target: ProfileTarget;
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
  | { readonly kind: 'cluster.delete'; readonly clusterId: ClusterId }
  /** Replaces what was stored for the connector. */
  | { readonly kind: 'reservation.put'; readonly reservation: ReservationRecord }
  | { readonly kind: 'alarm.begin'; readonly alarm: AlarmRecord }
  /** It lasts for another reason now; nothing where it has ended. */
  | { readonly kind: 'alarm.change'; readonly alarmId: string; readonly reason: string }
  | { readonly kind: 'alarm.end'; readonly alarmId: string; readonly atMs: EpochMs }
  /** What the grid operator's limit of a location stands at now: a row of its own, for good. */
  | { readonly kind: 'operator.put'; readonly event: OperatorEventRecord }
  /** Replaces what was stored for the location. */
  | { readonly kind: 'billedWindow.put'; readonly billedWindow: BilledWindowRecord }
  /** One minute of a location; written again, it is replaced. */
  | { readonly kind: 'power.put'; readonly locationId: LocationId; readonly minute: PowerRecord };

/** Thrown by a store that cannot take or give anything now (locked, full, unreachable). Becomes 503. */
export class StoreUnavailableError extends Error {
  /** True where a write may be on disk all the same: it failed while it was being committed. False: nothing was written. */
  readonly isOutcomeUnknown: boolean;

  constructor(message: string, options: { cause?: unknown; isOutcomeUnknown?: boolean } = {}) {
    super(message, options);
    this.name = 'StoreUnavailableError';
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
  }
}

/**
 * Thrown where a database cannot be relied upon: it is damaged, or lacks what was acknowledged. Its message is one line
 * that says what happened and the ways out.
 */
export class DatabaseLostError extends Error {}

/** What another process (the command line, another node) changed: which entities to read again. */
export interface Revision {
  readonly revision: number;
  /** Tenants whose locations, chargers or connectors changed since the revision asked about. */
  readonly tenants: readonly TenantUuid[];
  readonly credentialsChanged: boolean;
}

/** Some rows of a long answer. */
export interface Page {
  readonly offset: number;
  readonly count: number;
}

/** The durable truth. Every method that touches a tenant's data takes the tenant first. */
export interface Store {
  /**
   * Which node owns the database. A store that claimed it can write until another does: then `append` rejects with
   * StoreUnavailableError. One that never claimed writes beside an owner.
   */
  readonly ownership: Ownership;
  /** False once another service claimed the database. */
  isOwner(): Promise<boolean>;
  /**
   * Writes `changes` in one transaction, together with those of concurrent callers (group commit). When it resolves,
   * they are on disk; calls resolve in the order they were made. Rejects with StoreUnavailableError when they are not
   * known to be on disk.
   */
  append(tenantUuid: TenantUuid, changes: readonly Change[]): Promise<void>;
  /**
   * What the tenant's actors are built from: profiles that hold their slot, locations, clusters. Takes its turn among
   * the appends of this process: it shows every one that resolved before it does, and none that resolves after it.
   */
  loadTenant(tenantUuid: TenantUuid): Promise<TenantState>;
  /** The same as it stands at this moment, whoever is about to write: for who does not run the tenant. */
  glanceAtTenant(tenantUuid: TenantUuid): Promise<TenantState>;
  /**
   * Every profile of the target ever submitted whose window meets `window`, in the order they were submitted; rows that
   * are added later come last, so that `page` can be asked for one after the other.
   */
  profileHistory(
    tenantUuid: TenantUuid,
    target: ProfileTarget,
    window: TimeWindow,
    page?: Page,
  ): Promise<ProfileHistoryRecord[]>;
  /** The profiles that held a slot of the target at `atMs`: submitted by then and not superseded. In order of submission. */
  profilesAt(tenantUuid: TenantUuid, target: ProfileTarget, atMs: EpochMs): Promise<ProfileHistoryRecord[]>;
  /** In the order they were set: the one in force when `window` begins and those set inside it; all where it is left out. */
  permanentLimitHistory(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    window?: TimeWindow,
    page?: Page,
  ): Promise<PermanentLimitHistoryRecord[]>;
  /** Alarms that lasted at any time inside `window`, the newest first, at most `count`; of one location or of all. */
  alarms(
    tenantUuid: TenantUuid,
    filter: {
      readonly locationId: LocationId | undefined;
      readonly window: TimeWindow;
      readonly count: number;
    },
  ): Promise<AlarmRecord[]>;
  /** What the grid operator's limit of a location stood at inside `window`, what it began with first; in order. */
  operatorEvents(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    window: TimeWindow,
    page?: Page,
  ): Promise<OperatorEventRecord[]>;
  /**
   * Power of a location in steps of `stepMs` (whole minutes) counted from `window.startsAtMs`, oldest first; a step
   * without a stored minute is left out. Currents are those of the whole location, or of `feeder`.
   */
  powerHistory(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    window: TimeWindow,
    stepMs: number,
    feeder?: string,
  ): Promise<PowerStep[]>;
  /** Forgets minutes of power before `beforeMs`, of all tenants; nothing else is ever deleted. */
  forgetPowerBefore(beforeMs: EpochMs): Promise<void>;
  /** Tenants and their secrets' hashes, for authentication. */
  loadCredentials(): Promise<CredentialSet>;
  /** The API keys and OAuth clients of a tenant, the oldest first. */
  tenantCredentials(tenantUuid: TenantUuid): Promise<readonly CredentialRecord[]>;
  /**
   * Writes the changes that `decide` derives from the tenant's credentials; resolves to them when they are on disk. No
   * other process changes credentials meanwhile. `decide` may run more than once; if it throws, nothing is written.
   */
  changeCredentials(
    tenantUuid: TenantUuid,
    decide: (held: readonly CredentialRecord[]) => readonly CredentialChange[],
  ): Promise<readonly CredentialChange[]>;
  /** Stores the last use of credentials; an older use than the stored one is left out. */
  noteCredentialUses(uses: readonly CredentialUse[]): Promise<void>;
  /** The newest revision, and what changed after `since`; undefined `since` asks for the number alone. */
  revisionSince(since: number | undefined): Promise<Revision>;
  /**
   * Writes something that changes nothing: resolves when it is on disk. Rejects with StoreUnavailableError where the
   * database takes no writes, or refused one in the last seconds and took none since.
   */
  ping(): Promise<void>;
  /** Writes what was accepted, then closes. */
  close(): Promise<void>;
}
