// What happens, told to whoever listens: effects of actors, alarms, limits of connectors, and once a second the power.
import type { Grant } from '../../machines/grant.js';
import type { TenantUuid } from '../../machines/ids.js';
import type { EpochMs } from '../../machines/time.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { AlarmRecord } from '../ports/records.js';
import type { StreamEvent, StreamEventBody } from '../wire/operator-stream.js';
import { toInstant } from '../wire/rest.js';
import { viewOfAlarm } from './alarm-view.js';
import type { Effect } from './directory.js';
import { type DrawnKw, drawnKwOf } from './drawn-power.js';
import type { LocationEntity, Tenant } from './entities.js';
import { viewOfProfile } from './profile-view.js';

/** Ends a subscription; calling it twice is harmless. */
export type Unsubscribe = () => void;

export interface EventStream {
  /** Events of the tenant from now on, of `location` alone where it is given. `listener` must not throw. */
  subscribe(
    tenant: Tenant,
    location: LocationEntity | undefined,
    listener: (event: StreamEvent) => void,
  ): Unsubscribe;
  takeEffect(effect: Effect): void;
  /** An alarm that began or, with its end, one that ended. */
  takeAlarm(tenantUuid: TenantUuid, alarm: AlarmRecord): void;
  /** A limit that was granted to a connector; one that only goes on is told to nobody. */
  takeGrant(location: LocationEntity, key: string, grant: Grant): void;
}

interface Subscriber {
  readonly location: LocationEntity | undefined;
  readonly listener: (event: StreamEvent) => void;
}

/** The listeners of one tenant, and what they were last told of each location's power and each connector's limit. */
interface Audience {
  readonly tenant: Tenant;
  readonly subscribers: Set<Subscriber>;
  readonly toldPower: Map<LocationEntity, DrawnKw>;
  /** By `connectorKey`. */
  readonly toldGrants: Map<string, Pick<Grant, 'limitTenthsA' | 'reason'>>;
  cancelSampling: Cancel;
}

const SAMPLE_EVERY_MS = 1_000;

export function createEventStream(clock: Clock): EventStream {
  const audiences = new Map<TenantUuid, Audience>();
  // A counter a tenant, kept when its last listener leaves: one for all would tell each how busy the others are.
  const lastIds = new Map<TenantUuid, number>();

  function tell({ tenant, subscribers }: Audience, locationId: string, body: StreamEventBody): void {
    const id = (lastIds.get(tenant.tenantUuid) ?? 0) + 1;
    lastIds.set(tenant.tenantUuid, id);
    const event = { id, ...body };
    for (const { location, listener } of subscribers) {
      if (location === undefined || location.record.locationId === locationId) listener(event);
    }
  }

  function sample(audience: Audience): void {
    const at = toInstant(clock.nowMs());
    for (const location of audience.tenant.locations.values()) {
      const drawn = drawnKwOf(location);
      const told = audience.toldPower.get(location);
      if (told?.actualKw === drawn.actualKw && told.estimatedKw === drawn.estimatedKw) continue;
      audience.toldPower.set(location, drawn);
      const { locationId } = location.record;
      tell(audience, locationId, { name: 'power', data: { locationId, at, ...drawn } });
    }
    audience.cancelSampling = clock.after(SAMPLE_EVERY_MS, () => sample(audience));
  }

  function audienceOf(tenant: Tenant): Audience {
    const held = audiences.get(tenant.tenantUuid);
    if (held !== undefined) return held;
    const audience: Audience = {
      tenant,
      subscribers: new Set(),
      toldPower: new Map(),
      toldGrants: new Map(),
      cancelSampling: clock.after(SAMPLE_EVERY_MS, () => sample(audience)),
    };
    audiences.set(tenant.tenantUuid, audience);
    return audience;
  }

  return {
    subscribe(tenant, location, listener) {
      const audience = audienceOf(tenant);
      const subscriber = { location, listener };
      audience.subscribers.add(subscriber);
      // Whoever comes is told the power of every location within a second.
      audience.toldPower.clear();
      return () => {
        audience.subscribers.delete(subscriber);
        if (audience.subscribers.size > 0 || audiences.get(tenant.tenantUuid) !== audience) return;
        audience.cancelSampling();
        audiences.delete(tenant.tenantUuid);
      };
    },
    takeEffect({ entity, effect }) {
      if (entity.kind !== 'location') return;
      const audience = audiences.get(entity.tenant.tenantUuid);
      if (audience === undefined) return;
      const body = bodyOf(entity, effect, clock.nowMs());
      if (body !== undefined) tell(audience, entity.record.locationId, body);
    },
    takeAlarm(tenantUuid, alarm) {
      const audience = audiences.get(tenantUuid);
      if (audience !== undefined)
        tell(audience, alarm.locationId, { name: 'alarm', data: viewOfAlarm(alarm) });
    },
    takeGrant(location, key, { limitTenthsA, limitW, reason }) {
      const audience = audiences.get(location.tenant.tenantUuid);
      if (audience === undefined) return;
      const told = audience.toldGrants.get(key);
      if (told?.limitTenthsA === limitTenthsA && told.reason === reason) return;
      audience.toldGrants.set(key, { limitTenthsA, reason });
      const names = namesOf(location, key, clock.nowMs());
      if (names === undefined) return;
      const data = { ...names, limitA: limitTenthsA / 10, limitKw: limitW / 1000, reason };
      tell(audience, names.locationId, { name: 'connectorLimit', data });
    },
  };
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
      return { name: 'effectiveLimit', data: { locationId, at, effectiveLimitKw: effect.effectiveLimitKw } };
    case 'limitInForce.changed':
      return { name: 'gridLimit', data: { locationId, at, gridLimitKw: effect.limitKw } };
    case 'profile.crossed':
      return { name: 'profile', data: { locationId, at, ...viewOfProfile(effect.profile, effect.status) } };
    case 'profile.cancelled': {
      const profile = viewOfProfile(effect.profile, effect.status);
      return { name: 'profileCancelled', data: { locationId, at, ...profile } };
    }
    case 'connector.locked':
    case 'connector.unlocked': {
      const names = namesOf(location, effect.key, now);
      const limitKw = effect.type === 'connector.locked' ? effect.limitKw : null;
      return names && { name: 'lock', data: { ...names, limitKw } };
    }
    default:
      return undefined;
  }
}
