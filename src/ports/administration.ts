// Durable changes of the command line from outside a running service.

import type { LeaseTiming } from '../../machines/ledger/grant.js';
import type { LimitRules } from '../../machines/limits/limit-rules.js';
import type { Departures } from '../../machines/policy/default-needs.js';
import type { PolicyName } from '../../machines/policy/policies.js';
import type { Connection, Feeder } from '../../machines/power/fuses.js';
import type { ControllerUuid, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { CredentialKind, CredentialRecord, Grantor, MqttLoginRecord } from './credentials.js';
import { OperatorError } from './operator-error.js';
import type {
  ConnectorRecord,
  LocationRecord,
  OperatorRecord,
  ReaderRecord,
  SiteMeterRecord,
  TenantRecord,
} from './records.js';

/** Undefined keeps the stored password. */
interface WithLogin {
  readonly mqttSecretHash: string | undefined;
}

/** A tenant of a provisioning file, secrets already hashed. Ids are validated and unique in the file. */
export interface ProvisionedTenant extends TenantRecord {
  readonly apiKeys: readonly Pick<CredentialRecord, 'id' | 'secretHash' | 'scopes' | 'expiresAtMs'>[];
  readonly oauthClients: readonly Pick<CredentialRecord, 'id' | 'secretHash' | 'scopes'>[];
  readonly locations: readonly (Omit<
    LocationRecord,
    | 'connectors'
    | 'operator'
    | 'siteMeter'
    | 'limitRules'
    | 'policy'
    | 'departures'
    | 'timeZone'
    | 'connection'
    | 'feeders'
  > & {
    readonly operator: (OperatorRecord & WithLogin) | null;
    /** Left out without a site meter. */
    readonly siteMeter?: (SiteMeterRecord & WithLogin) | null;
    /** Left out without a reader. */
    readonly reader?: (ReaderRecord & WithLogin) | null;
    /** Left out without rules. */
    readonly limitRules?: LimitRules;
    /** Left out for equal shares. */
    readonly policy?: PolicyName;
    /** Left out without departures by weekday. */
    readonly departures?: Departures | null;
    /** Left out for UTC. */
    readonly timeZone?: string | null;
    /** Left out if no fuses are known. */
    readonly connection?: Connection | null;
    readonly feeders?: readonly Feeder[];
    readonly chargers: readonly (WithLogin & {
      readonly controllerUuid: ControllerUuid;
      /** Left out for a charger directly on the connection. */
      readonly feeder?: string | null;
      /** Left out if heartbeat and lease follow the service's settings. */
      readonly timing?: LeaseTiming | null;
      readonly connectors: readonly (Omit<
        ConnectorRecord,
        | 'controllerUuid'
        | 'feeder'
        | 'timing'
        | 'rotation'
        | 'dc'
        | 'neverPause'
        | 'operatorMayPause'
        | 'departures'
      > &
        Partial<
          Pick<ConnectorRecord, 'rotation' | 'dc' | 'neverPause' | 'operatorMayPause' | 'departures'>
        >)[];
    })[];
  })[];
  readonly gateways: readonly (WithLogin & {
    readonly gatewayId: string;
    readonly controllers: readonly ControllerUuid[];
  })[];
}

/** A location of such a tenant. */
export type ProvisionedLocation = ProvisionedTenant['locations'][number];

export interface ProvisioningAction {
  readonly action: 'created' | 'updated' | 'removed' | 'unchanged';
  /** `tenant`, `location`, `operator`, `siteMeter`, `reader`, `charger`, `connector`, `api-key`, `client` or `gateway`. */
  readonly kind: string;
  readonly id: string;
}

/** One slow hash over many passwords: it proves that none has changed since each was hashed. */
export interface PasswordSeal {
  /** Owners of the passwords, as `charger/q1-a`. */
  readonly owners: readonly string[];
  /** `hashPassword` of all of them together. */
  readonly hash: string;
}

/** A credential of the command line. */
export type NewCredential = Grantor &
  Pick<CredentialRecord, 'secretHash'> &
  Partial<Pick<CredentialRecord, 'name' | 'createdAtMs'>>;

/** The request of a command names something that does not exist or is taken; the message is for the operator. */
export class AdministrationError extends OperatorError {}

/** Durable changes from outside a running service, which notices them by `Store.revisionSince`. */
export interface Administration {
  /**
   * Creates and updates in one transaction. It deletes no tenant, location, charger, connector or
   * credential. A permanent limit of the REST API stays unless the file's own value has changed since the
   * last provisioning. A revoked key or disabled client stays so. Location and charger ids are unique inside
   * their tenant; key and client ids among all tenants.
   * @throws AdministrationError for an id of another tenant, and for a charger of another location of the tenant
   */
  provision(
    tenant: ProvisionedTenant,
    options: { readonly dryRun: boolean; readonly atMs: EpochMs },
  ): Promise<readonly ProvisioningAction[]>;
  listTenants(): Promise<
    readonly (TenantRecord & { readonly locations: number; readonly connectors: number })[]
  >;
  setFeature(tenantUuid: TenantUuid, feature: string, enabled: boolean, atMs: EpochMs): Promise<void>;
  addCredential(credential: NewCredential): Promise<void>;
  /** One that ended already keeps its instant. */
  endCredential(kind: CredentialKind, id: string, atMs: EpochMs): Promise<void>;
  /** Of one tenant or of all, the oldest first. */
  listCredentials(kind: CredentialKind, tenantUuid?: TenantUuid): Promise<readonly CredentialRecord[]>;
  /** Logins of the tenant that have a password already. */
  mqttLogins(tenantUuid: TenantUuid): Promise<readonly MqttLoginRecord[]>;
  passwordSeals(tenantUuid: TenantUuid): Promise<readonly PasswordSeal[]>;
  /** Replaces all earlier seals. It takes no revision: only provisioning uses seals. */
  keepPasswordSeals(tenantUuid: TenantUuid, seals: readonly PasswordSeal[]): Promise<void>;
  close(): Promise<void>;
}
