// What callers and chargers identify themselves with, secrets hashed.
import type { ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Scope, TenantRecord } from './records.js';

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

/** A login of a charger, of a gateway that speaks for several, of a grid operator, or of a location's meter. */
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
  /** The location whose grid operator it is; left out for a charger and a gateway. */
  readonly operatorOf?: LocationId | undefined;
  /** The location whose meter it is. */
  readonly siteMeterOf?: LocationId | undefined;
}

/** All credentials of all tenants: small, held in memory, replaced whole when they change. */
export interface CredentialSet {
  readonly tenants: readonly TenantRecord[];
  readonly apiKeys: readonly ApiKeyRecord[];
  readonly oauthClients: readonly OauthClientRecord[];
  readonly mqttLogins: readonly MqttLoginRecord[];
}
