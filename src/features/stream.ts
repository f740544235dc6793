// Sends a tenant's events to its listeners: effects of actors, alarms, limits of connectors; each second power and
// fuses.
import type { Grant } from '../../machines/ledger/grant.js';
import type { TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import {
  type DrawnKw,
  drawnKwOf,
  type Effect,
  type LocationEntity,
  type Tenant,
} from '../actors/directory.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { AlarmRecord } from '../ports/records.js';
import { toInstant } from '../wire/instants.js';
import { viewOfAlarm } from './alarms/alarms.js';
import { viewOfFuses } from './live.js';
import { viewOfStanding } from './operator-limit/operator-limit.js';
import { viewOfBilledWindow } from './peak-shaving/peak-shaving.js';
import { viewOfProfile } from './profiles/profiles.js';
import { viewOfBuilding } from './site-meter/site-meter.js';
import type { StreamEvent, StreamEventBody } from './stream-contract.js';

/** Ends a subscription; a second call is harmless. */
export type Unsubscribe = () => void;

interface Subscriber {
  readonly location: LocationEntity | undefined;
  readonly listener: (event: StreamEvent) => void;
}

/** Listeners of one tenant, and the values that they received last for each location and connector. */
interface Audience {
  readonly tenant: Tenant;
  readonly subscribers: Set<Subscriber>;
  readonly toldPower: Map<LocationEntity, DrawnKw>;
  /** As JSON. */
  readonly toldFuses: Map<LocationEntity, string>;
  /** By `connectorKey`. */
  readonly toldGrants: Map<string, Pick<Grant, 'limitTenthsA' | 'reason'>>;
  cancelSampling: Cancel;
}

const SAMPLE_EVERY_MS = 1_000;

export class EventStream {
  readonly #clock: Clock;
  readonly #audiences = new Map<TenantUuid, Audience>();
  // One counter per tenant, kept after its last listener leaves. A common one would show each tenant the others'
  // activity.
  readonly #lastIds = new Map<TenantUuid, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Events of the tenant from now on, of `location` alone if given. `listener` must not throw. */
  subscribe(
    tenant: Tenant,
    location: LocationEntity | undefined,
    listener: (event: StreamEvent) => void,
  ): Unsubscribe {
    const audience = this.#audienceOf(tenant);
    const subscriber = { location, listener };
    audience.subscribers.add(subscriber);
    // A new listener receives the power of every location within a second.
    audience.toldPower.clear();
    audience.toldFuses.clear();
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
    const body = bodyOf(entity, effect, this.#clock.nowMs());
    if (body !== undefined) this.#tell(audience, entity.record.locationId, body);
  }

  /** An alarm that began or changed, or, with its end, one that ended. */
  onAlarm(tenantUuid: TenantUuid, alarm: AlarmRecord): void {
    const audience = this.#audiences.get(tenantUuid);
    if (audience === undefined) return;
    this.#tell(audience, alarm.locationId, { event: 'alarm', data: viewOfAlarm(alarm) });
  }

  /** A limit that is the same as before is not sent again. */
  onGrant(location: LocationEntity, key: string, { limitTenthsA, limitW, reason }: Grant): void {
    const audience = this.#audiences.get(location.tenant.tenantUuid);
    if (audience === undefined) return;
    const told = audience.toldGrants.get(key);
    if (told?.limitTenthsA === limitTenthsA && told.reason === reason) return;
    audience.toldGrants.set(key, { limitTenthsA, reason });
    const names = namesOf(location, key, this.#clock.nowMs());
    if (names === undefined) return;
    const data = { ...names, limitA: limitTenthsA / 10, limitKw: limitW / 1000, reason };
    this.#tell(audience, names.locationId, { event: 'connectorLimit', data });
  }

  #audienceOf(tenant: Tenant): Audience {
    const held = this.#audiences.get(tenant.tenantUuid);
    if (held !== undefined) return held;
    const audience: Audience = {
      tenant,
      subscribers: new Set(),
      toldPower: new Map(),
      toldFuses: new Map(),
      toldGrants: new Map(),
      cancelSampling: this.#clock.after(SAMPLE_EVERY_MS, () => this.#sample(audience)),
    };
    this.#audiences.set(tenant.tenantUuid, audience);
    return audience;
  }

  #sample(audience: Audience): void {
    const at = toInstant(this.#clock.nowMs());
    for (const location of audience.tenant.locations.values()) {
      this.#sampleFuses(audience, location, at);
      const drawn = drawnKwOf(location);
      const told = audience.toldPower.get(location);
      if (told?.actualKw === drawn.actualKw && told.estimatedKw === drawn.estimatedKw) continue;
      audience.toldPower.set(location, drawn);
      const { locationId } = location.record;
      this.#tell(audience, locationId, { event: 'power', data: { locationId, at, ...drawn } });
    }
    audience.cancelSampling = this.#clock.after(SAMPLE_EVERY_MS, () => this.#sample(audience));
  }

  #sampleFuses(audience: Audience, location: LocationEntity, at: string): void {
    const fuses = viewOfFuses(location);
    const text = fuses.length === 0 ? '' : JSON.stringify(fuses);
    if ((audience.toldFuses.get(location) ?? '') === text) return;
    audience.toldFuses.set(location, text);
    const { locationId } = location.record;
    this.#tell(audience, locationId, { event: 'fuses', data: { locationId, at, fuses } });
  }

  #tell({ tenant, subscribers }: Audience, locationId: string, body: StreamEventBody): void {
    const id = (this.#lastIds.get(tenant.tenantUuid) ?? 0) + 1;
    this.#lastIds.set(tenant.tenantUuid, id);
    const event = { id, ...body };
    for (const { location, listener } of subscribers) {
      if (location === undefined || location.record.locationId === locationId) listener(event);
    }
  }
}

function namesOf(location: LocationEntity, key: string, now: EpochMs) {
  const record = location.connectors.get(key)?.record;
  if (record === undefined) return undefined;
  const { controllerUuid, connectorId } = record;
  return { locationId: location.record.locationId, at: toInstant(now), controllerUuid, connectorId };
}

function bodyOf(
  location: LocationEntity,
  effect: Effect['effect'],
  now: EpochMs,
): StreamEventBody | undefined {
  const { locationId } = location.record;
  const at = toInstant(now);
  switch (effect.type) {
    case 'effectiveLimit.changed':
      return { event: 'effectiveLimit', data: { locationId, at, effectiveLimitKw: effect.effectiveLimitKw } };
    case 'limitInForce.changed':
      return { event: 'gridLimit', data: { locationId, at, gridLimitKw: effect.limitKw } };
    case 'operator.changed':
      return { event: 'operatorLimit', data: { locationId, at, ...viewOfStanding(effect.standing) } };
    case 'siteMeter.changed':
      return { event: 'building', data: { locationId, at, ...viewOfBuilding(effect) } };
    case 'peakShaving.changed': {
      const window = viewOfBilledWindow(location);
      return window && { event: 'peakShaving', data: { locationId, at, ...window } };
    }
    case 'profile.crossed':
      return { event: 'profile', data: { locationId, at, ...viewOfProfile(effect.profile, effect.status) } };
    case 'profile.cancelled': {
      const profile = viewOfProfile(effect.profile, effect.status);
      return { event: 'profileCancelled', data: { locationId, at, ...profile } };
    }
    case 'connector.locked':
    case 'connector.unlocked': {
      const names = namesOf(location, effect.key, now);
      const limitKw = effect.type === 'connector.locked' ? effect.limitKw : null;
      return names && { event: 'lock', data: { ...names, limitKw } };
    }
    default:
      return undefined;
  }
}
