// Every seam of the service, types only: what the core needs of clocks, stores and wires, and nothing of how.
import type { ClusterId, ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../machines/ids.js';
import type { MeterReading, RecordResult } from '../machines/meter-ledger.js';
import type { LimitProfile } from '../machines/profile-stack.js';
import type { EpochMs, TimeWindow } from '../machines/time.js';
import type { ConnectorRating } from '../machines/units.js';

// ---------------------------------------------------------------- time

/** Cancels what it was given for; calling it twice is harmless. */
export type Cancel = () => void;

/** The only source of time. Production reads the host's clocks, tests and the simulator hand in a virtual one. */
export interface Clock {
  /** Wall-clock instant, integer milliseconds. It may jump, forward or back. */
  nowMs(): EpochMs;
  /** Milliseconds from an arbitrary origin that never jump and never go back. */
  monotonicMs(): number;
  /** Calls `callback` once, about `delayMs` from now (0 to 2^31-1). It does not keep the process alive. */
  after(delayMs: number, callback: () => void): Cancel;
}

// ---------------------------------------------------------------- log and metrics

/** The part of pino the service uses, so that nothing else depends on pino itself. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

// ---------------------------------------------------------------- records: the truth, as rows give it back

export type OperatingStatus = 'ACTIVE' | 'INACTIVE';

export const SCOPES = [
  'locations:read',
  'locations:write',
  'clusters:read',
  'clusters:write',
  'chargers:write',
  'org:write',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ENERGY_MANAGEMENT = 'energy-management';

export interface TenantRecord {
  readonly tenantUuid: TenantUuid;
  readonly name: string;
  readonly features: readonly string[];
}

export interface ConnectorRecord extends ConnectorRating {
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
  readonly status: OperatingStatus;
  /** Current the charger falls back to by itself when it hears nothing, A per phase. */
  readonly failsafeA: number;
}

export interface LocationRecord {
  readonly locationId: LocationId;
  readonly name: string;
  readonly status: OperatingStatus;
  readonly permanentLimitKw: number;
  /** Physical connection; null where provisioning names none. */
  readonly gridLimitKw: number | null;
  readonly connectors: readonly ConnectorRecord[];
}

export interface ClusterRecord {
  readonly clusterId: ClusterId;
  readonly name: string;
  readonly locationIds: readonly LocationId[];
  readonly limitKw: number | null;
  readonly status: OperatingStatus;
  readonly createdAtMs: EpochMs;
  readonly updatedAtMs: EpochMs;
}

/** What a profile limits. */
export type ProfileTarget =
  | { readonly kind: 'location'; readonly locationId: LocationId }
  | { readonly kind: 'connector'; readonly controllerUuid: ControllerUuid; readonly connectorId: ConnectorId }
  | { readonly kind: 'organization' };

/** A profile in force in its slot (not replaced). */
export interface ProfileRecord extends LimitProfile {
  readonly target: ProfileTarget;
}

/** A profile as it was once submitted; `supersededAtMs` is null while it holds its slot. */
export interface ProfileHistoryRecord extends ProfileRecord {
  readonly submittedAtMs: EpochMs;
  readonly supersededAtMs: EpochMs | null;
}

export interface PermanentLimitHistoryRecord {
  readonly limitKw: number;
  readonly setAtMs: EpochMs;
}

/** Everything a tenant's actors are built from. */
export interface TenantState {
  readonly locations: readonly LocationRecord[];
  readonly clusters: readonly ClusterRecord[];
  readonly profiles: readonly ProfileRecord[];
}

// ---------------------------------------------------------------- credentials

export interface ApiKeyRecord {
  readonly keyId: string;
  readonly tenantUuid: TenantUuid;
  /** SHA-256 of the secret part, hex. */
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly expiresAtMs: EpochMs | null;
  readonly revokedAtMs: EpochMs | null;
}

export interface OauthClientRecord {
  readonly clientId: string;
  readonly tenantUuid: TenantUuid;
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly disabledAtMs: EpochMs | null;
}

/** A login of a charger, or of a gateway that speaks for several. */
export interface MqttLoginRecord {
  readonly tenantUuid: TenantUuid;
  /** The part after `/` of the username, and the client id it must use. */
  readonly clientId: string;
  readonly secretHash: string;
  /** The controllers it may speak for, with their locations. */
  readonly controllers: readonly {
    readonly locationId: LocationId;
    readonly controllerUuid: ControllerUuid;
  }[];
}

/** All credentials of all tenants: small, held in memory, replaced whole when they change. */
export interface CredentialSet {
  readonly tenants: readonly TenantRecord[];
  readonly apiKeys: readonly ApiKeyRecord[];
  readonly oauthClients: readonly OauthClientRecord[];
  readonly mqttLogins: readonly MqttLoginRecord[];
}

// ---------------------------------------------------------------- the store

/** One durable change. Changes handed to one `append` are written all or nothing, in order. */
export type Change =
  | {
      readonly kind: 'profile.put';
      readonly target: ProfileTarget;
      readonly profile: LimitProfile;
      readonly atMs: EpochMs;
    }
  | {
      readonly kind: 'permanentLimit.set';
      readonly locationId: LocationId;
      readonly limitKw: number;
      readonly atMs: EpochMs;
    }
  | { readonly kind: 'cluster.put'; readonly cluster: ClusterRecord }
  | { readonly kind: 'cluster.delete'; readonly clusterId: ClusterId };

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

/** What another process (the command line, another node) changed: which entities to read again. */
export interface Revision {
  readonly revision: number;
  /** Tenants whose locations, chargers or connectors changed since the revision asked about. */
  readonly tenants: readonly TenantUuid[];
  readonly credentialsChanged: boolean;
}

/** The durable truth. Every method that touches a tenant's data takes the tenant first. */
export interface Store {
  /**
   * Makes this store's service the owner of the database. Whoever claimed it before can write no more: `append` of an
   * owner that was replaced rejects with StoreUnavailableError. A store that never claimed writes beside an owner.
   */
  claim(): Promise<void>;
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
  profileHistory(
    tenantUuid: TenantUuid,
    target: ProfileTarget,
    window: TimeWindow,
  ): Promise<ProfileHistoryRecord[]>;
  permanentLimitHistory(
    tenantUuid: TenantUuid,
    locationId: LocationId,
  ): Promise<PermanentLimitHistoryRecord[]>;
  /** Tenants and their secrets' hashes, for authentication. */
  loadCredentials(): Promise<CredentialSet>;
  /** The newest revision, and what changed after `since`; undefined `since` asks for the number alone. */
  revisionSince(since: number | undefined): Promise<Revision>;
  /** Resolves when the database answers; rejects with StoreUnavailableError otherwise. */
  ping(): Promise<void>;
  /** Writes what was accepted, then closes. */
  close(): Promise<void>;
}

// ---------------------------------------------------------------- telemetry

/** Messages in and out, whatever broker carries them. */
export interface MessageBus {
  /** Begins to deliver. `onMessage` never throws. Resolves to the address chargers connect to. */
  start(onMessage: (topic: string, payload: Buffer) => void): Promise<{ readonly url: string }>;
  /** Hands a message to the broker; QoS 1 is resent by the broker until acknowledged or the session ends. */
  publish(topic: string, payload: string, options: { readonly qos: 0 | 1; readonly retain: boolean }): void;
  isHealthy(): boolean;
  stop(): Promise<void>;
}

/** A login that was found good, and what it may speak for. */
export interface MqttLogin {
  readonly tenantUuid: TenantUuid;
  /** The client id it must use. */
  readonly clientId: string;
  /** `{tenantUuid}/{clientId}`: unique among all tenants, as the client id is not. */
  readonly username: string;
  /** `ems/v1/{tenantUuid}/{locationId}/{controllerUuid}` of each of its chargers. */
  readonly prefixes: readonly string[];
}

/** The logins chargers and gateways connect with. */
export interface MqttLogins {
  /** undefined for a wrong name or password. */
  authenticate(username: string, password: Buffer): MqttLogin | undefined;
  /** False once the login vanished, or got another password or other chargers. */
  isCurrent(login: MqttLogin): boolean;
  /** Calls `listener` whenever logins may have stopped being current. */
  onReplaced(listener: () => void): void;
}

/** Where one connector's meter values go. It is kept and reused for as long as it is current. */
export interface ConnectorMeter {
  /** False once its location was built anew or let go of: look the connector up again. */
  readonly isCurrent: boolean;
  /** Folds one value in, on `Clock.monotonicMs`; tells the machines by itself where a mode changed. Never throws. */
  record(reading: MeterReading, nowMs: number): RecordResult;
}

/** What a charger says of itself when it comes, goes, or is lost (its last will). */
export interface ChargerState {
  readonly online: boolean;
  readonly boot?: string | undefined;
}

/** Takes what chargers report. Neither function throws or waits. */
export interface MeterSink {
  /** undefined where there is no such connector at that charger and location of the tenant. */
  connectorMeter(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    connectorId: ConnectorId,
  ): ConnectorMeter | undefined;
  /** To every connector of the charger; undefined where there is no such charger. */
  recordState(
    tenantUuid: TenantUuid,
    locationId: LocationId,
    controllerUuid: ControllerUuid,
    state: ChargerState,
  ): RecordResult | undefined;
}

// ---------------------------------------------------------------- administration: what the command line may change

/** A tenant as a provisioning file describes it, secrets already hashed. Ids are validated and unique in the file. */
export interface ProvisionedTenant extends TenantRecord {
  readonly apiKeys: readonly Omit<ApiKeyRecord, 'tenantUuid' | 'revokedAtMs'>[];
  readonly oauthClients: readonly Omit<OauthClientRecord, 'tenantUuid' | 'disabledAtMs'>[];
  readonly locations: readonly (Omit<LocationRecord, 'connectors'> & {
    readonly chargers: readonly {
      readonly controllerUuid: ControllerUuid;
      /** undefined keeps the stored password. */
      readonly mqttSecretHash: string | undefined;
      readonly connectors: readonly Omit<ConnectorRecord, 'controllerUuid'>[];
    }[];
  })[];
  readonly gateways: readonly {
    readonly gatewayId: string;
    readonly mqttSecretHash: string | undefined;
    readonly controllers: readonly ControllerUuid[];
  }[];
}

export interface ProvisioningAction {
  readonly action: 'created' | 'updated' | 'unchanged';
  /** `tenant`, `location`, `charger`, `connector`, `api-key`, `client` or `gateway`. */
  readonly kind: string;
  readonly id: string;
}

/** Something the command line asked for that does not exist or is taken; the message is for the operator. */
export class AdministrationError extends Error {}

/** Durable changes made from outside a running service, which sees them through `Store.revisionSince`. */
export interface Administration {
  /**
   * Creates and updates in one transaction, never deletes. A permanent limit set over REST stays unless the file's own
   * value changed since it was last provisioned. A revoked key or disabled client stays so. Location and charger ids are
   * unique inside their tenant; key and client ids among all tenants. An id that is taken by another tenant, and a
   * charger that already belongs to another location of the tenant, is an AdministrationError.
   */
  provision(
    tenant: ProvisionedTenant,
    options: { readonly dryRun: boolean; readonly atMs: EpochMs },
  ): Promise<readonly ProvisioningAction[]>;
  listTenants(): Promise<
    readonly (TenantRecord & { readonly locations: number; readonly connectors: number })[]
  >;
  setFeature(tenantUuid: TenantUuid, feature: string, enabled: boolean): Promise<void>;
  addApiKey(key: ApiKeyRecord): Promise<void>;
  listApiKeys(tenantUuid?: TenantUuid): Promise<readonly ApiKeyRecord[]>;
  revokeApiKey(keyId: string, atMs: EpochMs): Promise<void>;
  addOauthClient(client: OauthClientRecord): Promise<void>;
  listOauthClients(tenantUuid?: TenantUuid): Promise<readonly OauthClientRecord[]>;
  disableOauthClient(clientId: string, atMs: EpochMs): Promise<void>;
  /** Which chargers and gateways of the tenant have a password already. */
  mqttLogins(tenantUuid: TenantUuid): Promise<readonly MqttLoginRecord[]>;
  close(): Promise<void>;
}
