// Credentials of REST callers and chargers, secrets hashed.
import type { ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Scope, TenantRecord } from './records.js';

/** The two kinds of credential for the REST API. */
export type CredentialKind = 'apiKey' | 'client';

/** An API key or OAuth client, with its history for the administrators of its tenant. */
export interface CredentialRecord {
  readonly kind: CredentialKind;
  /** The key id or client id. */
  readonly id: string;
  readonly tenantUuid: TenantUuid;
  /** Hash of the secret: of a key the SHA-256 of its secret part, hex. */
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly expiresAtMs: EpochMs | null;
  /** Instant of the revocation or the disabling. */
  readonly endedAtMs: EpochMs | null;
  /** Null for a credential without a name. */
  readonly name: string | null;
  /** Null in rows of releases that did not store it. */
  readonly createdAtMs: EpochMs | null;
  /** A credential as `credentialRef` writes it; null for the command line and for provisioning. */
  readonly createdBy: string | null;
  readonly endedBy: string | null;
  /** After `kill -9` of the service up to a minute behind. */
  readonly lastUsedAtMs: EpochMs | null;
}

/** One durable change of a tenant's credentials. */
export type CredentialChange =
  | { readonly type: 'add'; readonly credential: CredentialRecord }
  /** It ends for good. */
  | { readonly type: 'end'; readonly credential: CredentialRecord }
  /** Its row is deleted. */
  | { readonly type: 'forget'; readonly credential: CredentialRecord };

/** A request that a credential signed in. */
export interface CredentialUse {
  readonly kind: CredentialKind;
  readonly id: string;
  readonly tenantUuid: TenantUuid;
  readonly usedAtMs: EpochMs;
}

/** The credential of the request, with the rights that it may pass on. */
export type Grantor = Pick<CredentialRecord, 'kind' | 'id' | 'tenantUuid' | 'scopes' | 'expiresAtMs'>;

/** A login of a charger, of a gateway for several, of a grid operator, of a site meter, or of a reader. */
export interface MqttLoginRecord {
  readonly tenantUuid: TenantUuid;
  /** The part after `/` of the username, and the required client id. */
  readonly clientId: string;
  readonly secretHash: string;
  /** The controllers for which it may publish and subscribe, with their locations. */
  readonly controllers: readonly {
    readonly locationId: LocationId;
    readonly controllerUuid: ControllerUuid;
  }[];
  /** The location of a grid operator's login; left out for others. */
  readonly operatorOf?: LocationId | undefined;
  /** The location of a site meter's login; left out for others. */
  readonly siteMeterOf?: LocationId | undefined;
  /** The location of a reader's login, which publishes nothing; left out for others. */
  readonly readerOf?: LocationId | undefined;
}

/** Credentials and logins of all tenants: small, held in memory, replaced whole when they change. */
export interface CredentialSet {
  readonly tenants: readonly TenantRecord[];
  readonly credentials: readonly CredentialRecord[];
  readonly mqttLogins: readonly MqttLoginRecord[];
}
