// Every event of the stream: the effect that it follows from, and the view that fills it.
import type { Grant } from '../../machines/ledger/grant.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Effect, LocationEntity } from '../actors/directory.js';
import type { Clock } from '../ports/clock.js';
import { toInstant } from '../wire/instants.js';
import { viewOfAlarm } from './alarms/alarms.js';
import { viewOfFuses } from './live/live.js';
import { viewOfStanding } from './operator-limit/operator-limit.js';
import { viewOfBilledWindow } from './peak-shaving/peak-shaving.js';
import { viewOfProfile } from './profiles/profiles.js';
import { viewOfBuilding } from './site-meter/site-meter.js';
import { EventStream, streamEndpoint } from './stream/stream.js';
import { type StreamEventBody, streamEventSchema, streamQuerySchema } from './stream-contract.js';

export const followEvents = streamEndpoint(streamQuerySchema, streamEventSchema);

export function createEventStream(clock: Clock): EventStream<StreamEventBody> {
  return new EventStream(clock, {
    ofEffect,
    ofAlarm: (alarm) => ({ event: 'alarm', data: viewOfAlarm(alarm) }),
    ofGrant(location, key, grant, now) {
      const names = namesOf(location, key, now);
      return names && { event: 'connectorLimit', data: { ...names, ...viewOfGrant(grant) } };
    },
    ofPower: (location, drawn, now) => ({ event: 'power', data: { ...frameOf(location, now), ...drawn } }),
    ofFuses: (location, now) => ({
      event: 'fuses',
      data: { ...frameOf(location, now), fuses: viewOfFuses(location) },
    }),
    fusesOf: viewOfFuses,
  });
}

function viewOfGrant({ limitTenthsA, limitW, reason }: Grant) {
  return { limitA: limitTenthsA / 10, limitKw: limitW / 1000, reason };
}

function frameOf({ record: { locationId } }: LocationEntity, now: EpochMs) {
  return { locationId, at: toInstant(now) };
}

/** Undefined for a connector that was removed. */
function namesOf(location: LocationEntity, key: string, now: EpochMs) {
  const record = location.connectors.get(key)?.record;
  if (record === undefined) return undefined;
  const { controllerUuid, connectorId } = record;
  return { ...frameOf(location, now), controllerUuid, connectorId };
}

function ofEffect(
  location: LocationEntity,
  effect: Effect['effect'],
  now: EpochMs,
): StreamEventBody | undefined {
  const frame = frameOf(location, now);
  switch (effect.type) {
    case 'effectiveLimit.changed':
      return { event: 'effectiveLimit', data: { ...frame, effectiveLimitKw: effect.effectiveLimitKw } };
    case 'limitInForce.changed':
      return { event: 'gridLimit', data: { ...frame, gridLimitKw: effect.limitKw } };
    case 'operator.changed':
      return { event: 'operatorLimit', data: { ...frame, ...viewOfStanding(effect.standing) } };
    case 'siteMeter.changed':
      return { event: 'building', data: { ...frame, ...viewOfBuilding(effect) } };
    case 'peakShaving.changed': {
      const window = viewOfBilledWindow(location);
      return window && { event: 'peakShaving', data: { ...frame, ...window } };
    }
    case 'profile.crossed':
      return { event: 'profile', data: { ...frame, ...viewOfProfile(effect.profile, effect.status) } };
    case 'profile.cancelled': {
      const profile = viewOfProfile(effect.profile, effect.status);
      return { event: 'profileCancelled', data: { ...frame, ...profile } };
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
