// Passes the grid operator's messages from any inbound path to the location: they hold at once, and every change is
// kept.
import {
  type OperatorEvent,
  type OperatorStanding,
  operatorStandingOf,
} from '../../machines/limits/lpc.machine.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Directory, LocationEntity } from '../actors/directory.js';
import type { Change } from '../ports/store.js';
import type { OperatorMessage } from '../ports/telemetry.js';

/** A sender's clock may run ahead by this much; an order from further ahead would shut out the orders that follow. */
const AHEAD_MS = 60_000;

/**
 * `outdated`: a newer order was taken before, or the heartbeat is too old to show anything. `ahead`: the sender's clock
 * is wrong.
 */
export type OperatorVerdict = 'accepted' | 'outdated' | 'ahead';

/** Undefined if no grid operator may limit the location. */
export function receiveOperator(
  directory: Directory,
  location: LocationEntity,
  message: OperatorMessage,
  now: EpochMs,
): OperatorVerdict | undefined {
  const { operator } = location.actor.getSnapshot().context;
  if (operator === undefined) return undefined;
  const { rule } = operator.getSnapshot().context;
  if (message.sentAtMs > now + AHEAD_MS) return 'ahead';
  const isOrder = message.isActive !== undefined;
  const { newestSentAtMs = Number.NEGATIVE_INFINITY } = operatorStandingOf(operator);
  if (isOrder ? message.sentAtMs < newestSentAtMs : message.sentAtMs <= now - rule.missingAfterMs)
    return 'outdated';
  directory.sendToLocation(location, { type: 'operator.event', event: eventOf(message, now) });
  return 'accepted';
}

function eventOf(
  { source, isActive, limitKw, durationS, sentAtMs }: OperatorMessage,
  now: EpochMs,
): OperatorEvent {
  if (isActive === undefined) return { type: 'heartbeat.received', now };
  const order = {
    source,
    limitKw: isActive ? limitKw : undefined,
    endsAtMs: isActive && durationS !== undefined ? sentAtMs + durationS * 1000 : undefined,
    sentAtMs,
  };
  return { type: 'order.received', order, now };
}

/** Row with the state of the location's operator limit. */
export function operatorChangeOf(
  { record }: LocationEntity,
  standing: OperatorStanding,
  now: EpochMs,
): Change {
  return { kind: 'operator.put', event: { ...standing, locationId: record.locationId, recordedAtMs: now } };
}
