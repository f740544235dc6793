// Dependencies and input of every operation, and the look-up of its target.

import { DomainError } from '../../machines/values/errors.js';
import {
  asId,
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../machines/values/ids.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { AlarmMuteRecord, AlarmRecord, Scope } from '../ports/records.js';
import type { NewAnswer, Store } from '../ports/store.js';
import { wrongParameter } from '../wire/plain-errors.js';
import type { Assembly } from './assembly.js';
import type { ClusterEntity, ConnectorEntity, Directory, LocationEntity, Tenant } from './directory.js';

// One command at a time per entity, so that a command's checks still hold after its write has reached the disk.
interface EntityQueue {
  /** Runs `work` after all earlier work under `key` has ended, well or badly. @returns the result of `work` */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export function createEntityQueue(): EntityQueue {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async run(key, work) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      tails.set(key, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === mine) tails.delete(key);
      }
    },
  };
}

/** The present side of operators' care for alarms; their rows are written before. */
export interface AlarmCare {
  acknowledge(location: LocationEntity, alarm: AlarmRecord): AlarmRecord;
  mute(location: LocationEntity, mute: AlarmMuteRecord): void;
  unmute(location: LocationEntity, mute: AlarmMuteRecord): void;
}

export interface Core {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'append'>;
  /** Resolves once all earlier changes of the tenant are on disk; rejects if the database does not take them now. */
  readonly written: (tenantUuid: TenantUuid) => Promise<void>;
  /** Reads rows, all as of one instant. */
  readonly read: Store['read'];
  /** Readings of the location that are too old stop counting, however late the next sweep is. */
  readonly expireReadings: (location: LocationEntity) => void;
  readonly directory: Directory;
  readonly alarms: AlarmCare;
  readonly assembly: Assembly;
  /** One command at a time per cluster, so that its checks still hold at its write. */
  readonly clusterQueue: EntityQueue;
  readonly newId: () => string;
  /** The rule that the URL of a webhook breaks; undefined for none. */
  readonly urlProblem: (url: string) => string | undefined;
  /** The service has a mail server. */
  readonly isMailOn: boolean;
  /** Wakes requests that wait for an event of the log. */
  readonly changes: ChangeSignal;
}

/** Requests of a tenant that may wait for a change at the same time. */
const MOST_WAITING = 100;

/** Wakes requests that wait for a committed change of their tenant. */
export class ChangeSignal {
  readonly #clock: Clock;
  readonly #onRing: (tenantUuid?: TenantUuid) => void;
  readonly #tenants = new Map<TenantUuid, { seen: number; readonly waiting: Set<() => void> }>();
  #isClosed = false;

  /** @param onRing is called for each change; without a tenant, any may have changed */
  constructor(clock: Clock, onRing: (tenantUuid?: TenantUuid) => void) {
    this.#clock = clock;
    this.#onRing = onRing;
  }

  /** The number of changes so far: read it before the rows, so that no change is missed. */
  seen(tenantUuid: TenantUuid): number {
    return this.#of(tenantUuid).seen;
  }

  /** False if too many requests of the tenant wait, or the service stops. */
  mayWait(tenantUuid: TenantUuid): boolean {
    return !this.#isClosed && this.#of(tenantUuid).waiting.size < MOST_WAITING;
  }

  /** Resolves after a change beyond the `seen` ones, after `withinMs`, or once the service stops. */
  after(tenantUuid: TenantUuid, seen: number, withinMs: number): Promise<void> {
    const of = this.#of(tenantUuid);
    if (this.#isClosed || of.seen !== seen) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        cancel();
        of.waiting.delete(wake);
        resolve();
      };
      const cancel = this.#clock.after(withinMs, wake);
      of.waiting.add(wake);
    });
  }

  /** Another process may have changed something. */
  ringAll(): void {
    for (const tenantUuid of this.#tenants.keys()) this.#wake(tenantUuid);
    this.#onRing();
  }

  /** A change of the tenant may be on disk. */
  ring(tenantUuid: TenantUuid): void {
    this.#wake(tenantUuid);
    this.#onRing(tenantUuid);
  }

  #wake(tenantUuid: TenantUuid): void {
    const of = this.#of(tenantUuid);
    of.seen++;
    for (const wake of [...of.waiting]) wake();
  }

  /** Nobody waits from now on. */
  close(): void {
    this.#isClosed = true;
    for (const { waiting } of this.#tenants.values()) for (const wake of [...waiting]) wake();
  }

  #of(tenantUuid: TenantUuid) {
    let of = this.#tenants.get(tenantUuid);
    if (of === undefined) {
      of = { seen: 0, waiting: new Set() };
      this.#tenants.set(tenantUuid, of);
    }
    return of;
  }
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** The parameters of a path pattern as raw text: an invalid identifier counts as unknown. */
export type ParametersOf<Path extends string> = { readonly [Name in NamesIn<Path>]: string };

/** The input of an operation. The tenant comes from the credential alone. */
export interface Asked<Path = Readonly<Record<string, string>>, Body = unknown, Query = unknown> {
  readonly tenantUuid: TenantUuid;
  readonly requestId: string;
  /** The credential of the request, as `credentialRef` writes it. */
  readonly by: string;
  /** Of that credential. */
  readonly scopes: readonly Scope[];
  readonly path: Path;
  /** Checked by the schema of the operation. */
  readonly body: Body;
  readonly query: Query;
  /** The header `If-Match`. */
  readonly ifMatch?: string | undefined;
  /** Advises of a shortage of power that the operation leads to; called before the answer. */
  readonly warn: Advise;
  readonly keep: Keep;
}

/**
 * The changes that record the expected answer of a request with an `Idempotency-Key`; none for another request. They
 * belong into the commit of the operation: then no crash separates the change from its answer.
 */
export type Keep = (expected: () => object) => readonly NewAnswer[];

export const keepNothing: Keep = () => [];

/** Passes the consequences of a write to its caller. */
export type Advise = (advice: string) => void;

/**
 * A command or query of a feature. It fails with DomainError if the contract refuses it, and with StoreUnavailableError
 * if nothing could be written.
 */
export interface Operation<Context = Core> {
  readonly operationId: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  handle(context: Context, asked: Asked): object | Promise<object>;
}

// Finds the entity that the raw text of a path names, caught up with the clock. Another tenant's id is as unknown as an
// id that never existed.

/** @throws DomainError LOCATION_NOT_FOUND */
export function findLocation(directory: Directory, tenantUuid: TenantUuid, text: string): LocationEntity {
  const locationId = asId<LocationId>(text);
  const location = locationId && findTenant(directory, tenantUuid).locations.get(locationId);
  if (!location)
    throw new DomainError(
      'LOCATION_NOT_FOUND',
      `No such location: ${text.slice(0, 128)}; GET /v1/locations has all`,
    );
  directory.catchUp([location]);
  return location;
}

/**
 * Id of the location that a parameter names; undefined if it names none.
 * @throws DomainError LOCATION_NOT_FOUND
 */
export function findLocationId(
  directory: Directory,
  tenantUuid: TenantUuid,
  text: string | undefined,
): LocationId | undefined {
  if (text !== undefined) return findLocation(directory, tenantUuid, text).record.locationId;
  findTenant(directory, tenantUuid);
  return undefined;
}

/** @throws DomainError CHARGER_NOT_FOUND */
export function findConnector(
  directory: Directory,
  tenantUuid: TenantUuid,
  text: { readonly controllerUuid: string; readonly connectorId: string },
): ConnectorEntity {
  const controllerUuid = asId<ControllerUuid>(text.controllerUuid);
  const connectorId = asId<ConnectorId>(text.connectorId);
  const key = controllerUuid && connectorId && connectorKey({ controllerUuid, connectorId });
  const connector = key && findTenant(directory, tenantUuid).connectors.get(key);
  if (!connector)
    throw new DomainError(
      'CHARGER_NOT_FOUND',
      `No such connector: ${text.controllerUuid.slice(0, 128)} / ${text.connectorId.slice(0, 128)}; GET /v1/locations/{locationId}/live has all`,
    );
  directory.catchUp([connector.location]);
  return connector;
}

/**
 * The connector that two parameters name; undefined without them.
 * @throws DomainError INVALID_REQUEST_BODY if one is missing, or CHARGER_NOT_FOUND
 */
export function findConnectorAsked(
  directory: Directory,
  tenantUuid: TenantUuid,
  query: { readonly controllerUuid?: string | undefined; readonly connectorId?: string | undefined },
): ConnectorEntity | undefined {
  const { controllerUuid, connectorId } = query;
  if (controllerUuid === undefined && connectorId === undefined) return undefined;
  if (controllerUuid === undefined)
    throw wrongParameter('controllerUuid', 'is missing; name the charger of connectorId');
  if (connectorId === undefined)
    throw wrongParameter('connectorId', 'is missing; name a connector of controllerUuid');
  return findConnector(directory, tenantUuid, { controllerUuid, connectorId });
}

/** @throws DomainError CLUSTER_NOT_FOUND */
export function findCluster(directory: Directory, tenantUuid: TenantUuid, clusterId: string): ClusterEntity {
  const cluster = findTenant(directory, tenantUuid).clusters.get(clusterId);
  if (cluster === undefined)
    throw new DomainError(
      'CLUSTER_NOT_FOUND',
      `No such cluster: ${clusterId.slice(0, 128)}; GET /v1/clusters has all`,
    );
  directory.catchUp(cluster.members);
  return cluster;
}

/** @throws DomainError SERVICE_UNAVAILABLE while the actors of a new tenant are still being built. */
export function findTenant(directory: Directory, tenantUuid: TenantUuid): Tenant {
  const tenant = directory.tenants.get(tenantUuid);
  if (tenant === undefined)
    throw new DomainError('SERVICE_UNAVAILABLE', 'The organization is being set up; try again.');
  return tenant;
}

/** @throws DomainError TARGET_INACTIVE */
export function requireActiveLocation(location: LocationEntity): void {
  if (location.record.status !== 'ACTIVE') {
    throw new DomainError(
      'TARGET_INACTIVE',
      'The location is not active; activate it before changing its limits.',
    );
  }
}

/** @throws DomainError TARGET_INACTIVE if the connector or its location is inactive. */
export function requireActiveConnector(connector: ConnectorEntity): void {
  requireActiveLocation(connector.location);
  if (connector.record.status !== 'ACTIVE') {
    throw new DomainError(
      'TARGET_INACTIVE',
      'The connector is not active; activate it before changing its limits.',
    );
  }
}
