// The grid operator's limit of a location: its messages, by REST or MQTT, its present state, and its history.
import {
  nextOperatorBoundary,
  type OperatorEvent,
  type OperatorStanding,
  operatorStandingOf,
} from '../../../machines/limits/lpc.machine.js';
import { DomainError } from '../../../machines/values/errors.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { type Core, findLocation } from '../../actors/core.js';
import type { LocationEntity } from '../../actors/directory.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import { toInstant } from '../../wire/instants.js';
import { askedHistory, historyQuerySchema, nextCursorOf, rowsOfPage } from '../../wire/spans.js';
import {
  OPERATOR_STATE_NAMES,
  type OperatorHistory,
  type OperatorLimitView,
  type OperatorMessage,
  operatorHistorySchema,
  operatorLimitSchema,
  operatorMessageSchema,
} from './contract.js';
import { readOperatorEvents } from './rows.js';

const PATH = '/v1/locations/{locationId}/operator-limit';
/** A sender's clock may run ahead by this much; an order from further ahead would shut out the orders that follow. */
const AHEAD_MS = 60_000;

export const getOperatorLimit = endpoint({
  operationId: 'getOperatorLimit',
  method: 'get',
  path: PATH,
  ...EXTENSION,
  scope: 'locations:read',
  summary: "Read the state of the grid operator's limit of a location",
  responseSchema: operatorLimitSchema,
  errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
  handle: ({ directory }, { tenantUuid, path }) =>
    requireOperatorLimit(findLocation(directory, tenantUuid, path.locationId)),
});

/**
 * The limit holds before its answer leaves, even if it cannot be written: a limit must not wait for a disk. Then the
 * answer is 503, and the write follows. An inactive location takes a limit too: no charger may draw there, and the
 * operator is not to be refused.
 */
export const setOperatorLimit = endpoint({
  operationId: 'setOperatorLimit',
  method: 'put',
  path: PATH,
  ...EXTENSION,
  scope: 'operator:write',
  summary: 'As the grid operator: limit a location, end the limit, or send a heartbeat',
  requestSchema: operatorMessageSchema,
  responseSchema: operatorLimitSchema,
  errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
  async handle(core, { tenantUuid, path, body }) {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    requireOperatorLimit(location);
    const verdict = receiveOperator(core, location, body);
    if (verdict === 'ahead')
      throw new DomainError(
        'INVALID_REQUEST_BODY',
        `sentAt: must not be in the future; the service's clock reads ${toInstant(core.clock.nowMs())}`,
      );
    if (verdict === 'outdated')
      throw new DomainError(
        'INVALID_REQUEST_BODY',
        'sentAt: must be later than that of the last order, and a heartbeat must be recent',
      );
    await core.written(tenantUuid);
    return requireOperatorLimit(location);
  },
});

/** To prove each order, and the time in which it held. */
export const getOperatorLimitHistory = endpoint({
  operationId: 'getOperatorLimitHistory',
  method: 'get',
  path: `${PATH}/history`,
  ...EXTENSION,
  scope: 'locations:read',
  summary: "List every state of the grid operator's limit of a location",
  querySchema: historyQuerySchema,
  responseSchema: operatorHistorySchema,
  errors: ['LOCATION_NOT_FOUND'],
  async handle({ directory, read }, { tenantUuid, path, query }) {
    const { window, page } = askedHistory(query);
    const { locationId } = findLocation(directory, tenantUuid, path.locationId).record;
    const events = await read((trx) => readOperatorEvents(trx, tenantUuid, locationId, window, page));
    return {
      locationId,
      from: toInstant(window.startsAtMs),
      to: toInstant(window.endsAtMs),
      events: rowsOfPage(page, events).map((event) => ({
        recordedAt: toInstant(event.recordedAtMs),
        ...viewOfStanding(event),
      })),
      nextCursor: nextCursorOf(page, events),
    };
  },
});

/**
 * A message takes effect at once, by any way in; undefined if no grid operator may limit the location. `outdated`: a
 * newer order was taken before, or the heartbeat is too old to show anything. `ahead`: the sender's clock is wrong.
 */
export function receiveOperator(
  { directory, clock }: Pick<Core, 'directory' | 'clock'>,
  location: LocationEntity,
  message: OperatorMessage,
): 'accepted' | 'outdated' | 'ahead' | undefined {
  const now = clock.nowMs();
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

/** @throws DomainError NOT_FOUND if no grid operator may limit the location */
function requireOperatorLimit(location: LocationEntity): OperatorLimitView {
  const view = viewOfOperatorLimit(location);
  if (view === undefined)
    throw new DomainError(
      'NOT_FOUND',
      'No grid operator may limit this location; name one as "operator" of the location in the provisioning file.',
    );
  return view;
}

/** Undefined if no grid operator may limit the location. */
export function viewOfOperatorLimit({ record, actor }: LocationEntity): OperatorLimitView | undefined {
  const { operator } = actor.getSnapshot().context;
  if (operator === undefined) return undefined;
  const { rule, receivedAtMs } = operator.getSnapshot().context;
  const nextChangeAtMs = nextOperatorBoundary(operator);
  return {
    locationId: record.locationId,
    operatorUuid: record.operator?.operatorUuid ?? '',
    ...viewOfStanding(operatorStandingOf(operator)),
    lastHeardAt: instantOrNull(receivedAtMs),
    nextChangeAt: nextChangeAtMs === Number.POSITIVE_INFINITY ? null : instantOrNull(nextChangeAtMs),
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
