// Identifiers of the domain, branded so that one kind is never passed for another.

declare const brand: unique symbol;
type Id<Kind extends string> = string & { readonly [brand]: Kind };

export type TenantUuid = Id<'tenant'>;
export type LocationId = Id<'location'>;
export type ControllerUuid = Id<'controller'>;
export type ConnectorId = Id<'connector'>;
export type ClusterId = Id<'cluster'>;

const ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

/** True for 1 to 128 characters of `A-Za-z0-9._:-`, as identifiers appear in MQTT topics. */
export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/** Undefined if `text` is no valid identifier. */
export function asId<T extends Id<string>>(text: string): T | undefined {
  return isId(text) ? (text as T) : undefined;
}

/** One connector: the controller's id and the connector's number on it. */
export interface ConnectorRef {
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
}

/** Key of a connector inside its tenant. No identifier contains `/`, so keys cannot collide. */
export function connectorKey(ref: ConnectorRef): string {
  return `${ref.controllerUuid}/${ref.connectorId}`;
}

/** Charger that a message comes from or goes to. The location is part of it because it is the unit of partition. */
export interface ChargerAddress {
  readonly tenantUuid: TenantUuid;
  readonly locationId: LocationId;
  readonly controllerUuid: ControllerUuid;
}

export interface ConnectorAddress extends ChargerAddress {
  readonly connectorId: ConnectorId;
}
