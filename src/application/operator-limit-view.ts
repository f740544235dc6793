// Converts the grid operator's limit into the form of answers and of the event stream.
import {
  nextOperatorBoundary,
  type OperatorActor,
  type OperatorStanding,
  operatorStandingOf,
} from '../../machines/limits/lpc.machine.js';
import { DomainError } from '../../machines/values/errors.js';
import type { LocationEntity } from '../actors/directory.js';
import { OPERATOR_STATE_NAMES, type OperatorHistory, type OperatorLimitView } from '../wire/grid-operator.js';
import { toInstant } from '../wire/instants.js';

/** @throws DomainError NOT_FOUND if no grid operator may limit the location */
export function requireOperator(location: LocationEntity): OperatorActor {
  const { operator } = location.actor.getSnapshot().context;
  if (operator === undefined)
    throw new DomainError(
      'NOT_FOUND',
      'No grid operator may limit this location; name one as "operator" of the location in the provisioning file.',
    );
  return operator;
}

export function viewOfOperatorLimit(location: LocationEntity, operator: OperatorActor): OperatorLimitView {
  const { rule, receivedAtMs } = operator.getSnapshot().context;
  return {
    locationId: location.record.locationId,
    operatorUuid: location.record.operator?.operatorUuid ?? '',
    ...viewOfStanding(operatorStandingOf(operator)),
    lastHeardAt: instantOrNull(receivedAtMs),
    nextChangeAt: instantOrNull(finite(nextOperatorBoundary(operator))),
    failsafeKw: rule.failsafeKw,
    failsafeMinS: rule.failsafeMinMs / 1000,
    heartbeatS: rule.missingAfterMs / 2000,
  };
}

export function viewOfStanding({
  state,
  sinceMs,
  limitKw,
  order,
}: OperatorStanding): Omit<OperatorHistory['events'][number], 'recordedAt'> {
  return {
    state: OPERATOR_STATE_NAMES[state],
    since: toInstant(sinceMs),
    limitKw: limitKw ?? null,
    source: order?.source ?? null,
    sentAt: instantOrNull(order?.sentAtMs),
    endsAt: instantOrNull(order?.endsAtMs),
  };
}

function instantOrNull(atMs: number | undefined): string | null {
  return atMs === undefined ? null : toInstant(atMs);
}

function finite(atMs: number | undefined): number | undefined {
  return atMs === Number.POSITIVE_INFINITY ? undefined : atMs;
}
