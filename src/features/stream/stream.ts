// Sends a tenant's events to its listeners: effects of actors, alarms, limits of connectors; each second power and
// fuses.
import type { z } from 'zod';
import type { Grant } from '../../../machines/ledger/grant.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import {
  type DrawnKw,
  drawnKwOf,
  type Effect,
  type LocationEntity,
  type Tenant,
} from '../../actors/directory.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { AlarmRecord } from '../../ports/records.js';
import type { EndpointDescription } from '../../wire/openapi.js';

/** @param responseSchema every event */
export function streamEndpoint<Query extends z.ZodObject, Schema extends z.ZodType>(
  querySchema: Query,
  responseSchema: Schema,
) {
  return {
    operationId: 'followEvents',
    method: 'get',
    path: '/v1/stream',
    tag: 'operators',
    summary: 'Follow limits, profiles, locks, alarms and power, or the event log, as server-sent events',
    scope: 'locations:read',
    isExtension: true,
    querySchema,
    status: 200,
    responseSchema,
    produces: 'text/event-stream',
    errors: ['LOCATION_NOT_FOUND'],
  } as const satisfies EndpointDescription;
}

/** Builds the events, whose data are fields of several features. */
interface EventViews<Body> {
  /** Undefined for an effect that is no event of the stream. */
  ofEffect(location: LocationEntity, effect: Effect['effect'], now: EpochMs): Body | undefined;
  ofAlarm(alarm: AlarmRecord): Body;
  /** Undefined for a connector that is no longer there. */
  ofGrant(location: LocationEntity, key: string, grant: Grant, now: EpochMs): Body | undefined;
  ofPower(location: LocationEntity, drawn: DrawnKw, now: EpochMs): Body;
  ofFuses(location: LocationEntity, now: EpochMs): Body;
  /** The part of that event which makes it a new one. */
  fusesOf(location: LocationEntity): readonly object[];
}

/** Ends a subscription; a second call is harmless. */
export type Unsubscribe = () => void;

interface Subscriber<Body> {
  readonly location: LocationEntity | undefined;
  readonly listener: (event: Body & { readonly id: number }) => void;
}

/** Listeners of one tenant, and the values that they received last for each location and connector. */
interface Audience<Body> {
  readonly tenant: Tenant;
  readonly subscribers: Set<Subscriber<Body>>;
  readonly sentPower: Map<LocationEntity, DrawnKw>;
  /** As JSON. */
  readonly sentFuses: Map<LocationEntity, string>;
  /** By `connectorKey`. */
  readonly sentGrants: Map<string, Pick<Grant, 'limitTenthsA' | 'reason'>>;
  cancelSampling: Cancel;
}

const SAMPLE_EVERY_MS = 1_000;

export class EventStream<Body extends object> {
  readonly #clock: Clock;
  readonly #views: EventViews<Body>;
  readonly #audiences = new Map<TenantUuid, Audience<Body>>();
  // One counter per tenant, kept after its last listener leaves. A common one would show each tenant the others'
  // activity.
  readonly #lastIds = new Map<TenantUuid, number>();

  constructor(clock: Clock, views: EventViews<Body>) {
    this.#clock = clock;
    this.#views = views;
  }

  /** Events of the tenant from now on, of `location` alone if given. `listener` must not throw. */
  subscribe(
    tenant: Tenant,
    location: LocationEntity | undefined,
    listener: Subscriber<Body>['listener'],
  ): Unsubscribe {
    const audience = this.#audienceOf(tenant);
    const subscriber = { location, listener };
    audience.subscribers.add(subscriber);
    // A new listener receives the power of every location within a second.
    audience.sentPower.clear();
    audience.sentFuses.clear();
    return () => {
      audience.subscribers.delete(subscriber);
      if (audience.subscribers.size > 0 || this.#audiences.get(tenant.tenantUuid) !== audience) return;
      audience.cancelSampling();
      this.#audiences.delete(tenant.tenantUuid);
    };
  }

  onEffect({ entity, effect }: Effect): void {
    if (entity.kind !== 'location') return;
    const audience = this.#audiences.get(entity.tenant.tenantUuid);
    if (audience === undefined) return;
    const body = this.#views.ofEffect(entity, effect, this.#clock.nowMs());
    if (body !== undefined) this.#send(audience, entity.record.locationId, body);
  }

  /** An alarm that began or changed, or, with its end, one that ended. */
  onAlarm(tenantUuid: TenantUuid, alarm: AlarmRecord): void {
    const audience = this.#audiences.get(tenantUuid);
    if (audience !== undefined) this.#send(audience, alarm.locationId, this.#views.ofAlarm(alarm));
  }

  /** A limit that is the same as before is not sent again. */
  onGrant(location: LocationEntity, key: string, grant: Grant): void {
    const audience = this.#audiences.get(location.tenant.tenantUuid);
    if (audience === undefined) return;
    const { limitTenthsA, reason } = grant;
    const sent = audience.sentGrants.get(key);
    if (sent?.limitTenthsA === limitTenthsA && sent.reason === reason) return;
    audience.sentGrants.set(key, { limitTenthsA, reason });
    const body = this.#views.ofGrant(location, key, grant, this.#clock.nowMs());
    if (body !== undefined) this.#send(audience, location.record.locationId, body);
  }

  #audienceOf(tenant: Tenant): Audience<Body> {
    const held = this.#audiences.get(tenant.tenantUuid);
    if (held !== undefined) return held;
    const audience: Audience<Body> = {
      tenant,
      subscribers: new Set(),
      sentPower: new Map(),
      sentFuses: new Map(),
      sentGrants: new Map(),
      cancelSampling: this.#clock.after(SAMPLE_EVERY_MS, () => this.#sample(audience)),
    };
    this.#audiences.set(tenant.tenantUuid, audience);
    return audience;
  }

  #sample(audience: Audience<Body>): void {
    const now = this.#clock.nowMs();
    for (const location of audience.tenant.locations.values()) {
      const { locationId } = location.record;
      if (this.#haveFusesChanged(audience, location))
        this.#send(audience, locationId, this.#views.ofFuses(location, now));
      const drawn = drawnKwOf(location);
      const sent = audience.sentPower.get(location);
      if (sent?.actualKw === drawn.actualKw && sent.estimatedKw === drawn.estimatedKw) continue;
      audience.sentPower.set(location, drawn);
      this.#send(audience, locationId, this.#views.ofPower(location, drawn, now));
    }
    audience.cancelSampling = this.#clock.after(SAMPLE_EVERY_MS, () => this.#sample(audience));
  }

  #haveFusesChanged({ sentFuses }: Audience<Body>, location: LocationEntity): boolean {
    const fuses = this.#views.fusesOf(location);
    const text = fuses.length === 0 ? '' : JSON.stringify(fuses);
    if ((sentFuses.get(location) ?? '') === text) return false;
    sentFuses.set(location, text);
    return true;
  }

  #send({ tenant, subscribers }: Audience<Body>, locationId: string, body: Body): void {
    const id = (this.#lastIds.get(tenant.tenantUuid) ?? 0) + 1;
    this.#lastIds.set(tenant.tenantUuid, id);
    const event = { id, ...body };
    for (const { location, listener } of subscribers) {
      if (location === undefined || location.record.locationId === locationId) listener(event);
    }
  }
}
