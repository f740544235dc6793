// The grid operator's limit on one location, with the states of EEBUS LPC (Limitation of Power Consumption).
import { type ActorRefFrom, assign, enqueueActions, sendParent, setup } from 'xstate';
import type { EpochMs } from '../values/time.js';
import { type LimitOutlook, type LimitSource, outlookLimits } from './limit-in-force.js';

/** As provisioned for a location. */
export interface OperatorRule {
  /** Limit while the operator is lost, kW. */
  readonly failsafeKw: number;
  /** Duration of that limit if the operator stays silent (LPC-022: 2 to 24 hours). */
  readonly failsafeMinMs: number;
  /** Silence of this length means that the operator is lost (LPC-911: 120 s if heartbeats are due every 60 s). */
  readonly missingAfterMs: number;
}

/** A limit as the operator sent it. */
export interface OperatorOrder {
  /** Sender, in the operator's own words: shown and recorded. */
  readonly source: string;
  /** Undefined: the order is inactive, and the location is free. */
  readonly limitKw: number | undefined;
  /**
   * Instant at which the order ends by itself; undefined: the order holds until it is revoked (LPC test case
   * APCL_DUR_02).
   */
  readonly endsAtMs: EpochMs | undefined;
  /** By the sender's clock: an order that is not newer than the last one is doubled or late. */
  readonly sentAtMs: EpochMs;
}

export type OperatorEvent =
  /** The operator is alive. */
  | { readonly type: 'heartbeat.received'; readonly now: EpochMs }
  /** The operator sent a limit, and so is alive as well. */
  | { readonly type: 'order.received'; readonly order: OperatorOrder; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs };

export const OPERATOR_STATES = [
  'init',
  'unlimitedControlled',
  'limited',
  'failsafe',
  'unlimitedAutonomous',
] as const;
export type OperatorState = (typeof OPERATOR_STATES)[number];

/** State that outlasts a restart. */
export interface OperatorStanding {
  readonly state: OperatorState;
  /** Start of the state: the instant at which it was due, however late its event was. */
  readonly sinceMs: EpochMs;
  /** Limit of the location, kW; undefined if the operator does not limit it. */
  readonly limitKw: number | undefined;
  /** Last order of the operator; undefined before its first order, and once the operator was lost (LPC-918). */
  readonly order: OperatorOrder | undefined;
  /** `sentAtMs` of the newest order ever taken: older orders are doubled or late. */
  readonly newestSentAtMs: EpochMs | undefined;
}

export interface OperatorContext extends Omit<OperatorStanding, 'state' | 'limitKw'> {
  readonly rule: OperatorRule;
  /** Instant of the operator's last message; undefined without one. */
  readonly receivedAtMs: EpochMs | undefined;
  /** Instant of the operator's first message in the present fail-safe. */
  readonly returnedAtMs: EpochMs | undefined;
  /** As of the last event. */
  readonly now: EpochMs;
  /** The state before a restart. */
  readonly resumed: OperatorState;
  /** Start of the time in which messages can arrive: none arrive while the service is down. */
  readonly startedAtMs: EpochMs;
  /** The location had no operator before, or the fail-safe limit was provisioned anew while it held. */
  readonly isNews: boolean;
}

export interface OperatorInput {
  readonly rule: OperatorRule;
  readonly now: EpochMs;
  /** State before a restart; undefined if the location had no operator until now. */
  readonly standing: OperatorStanding | undefined;
}

/** Report to the location after a change of state or order. */
export interface OperatorReport {
  readonly type: 'operator.changed';
  readonly standing: OperatorStanding;
}

export type OperatorActor = ActorRefFrom<typeof operatorMachine>;

const NEVER = Number.POSITIVE_INFINITY;

/** Instant at which the operator counts as lost without a further message (LPC-911). */
function lostAtMs({ rule, receivedAtMs, sinceMs }: OperatorContext): EpochMs {
  return (receivedAtMs ?? sinceMs) + rule.missingAfterMs;
}

function orderEndsAtMs({ order }: OperatorContext): EpochMs {
  return order?.endsAtMs ?? NEVER;
}

/** Instant at which a location that never received an order goes on by itself (LPC-906). */
function initEndsAtMs({ rule, startedAtMs }: OperatorContext): EpochMs {
  return startedAtMs + rule.missingAfterMs;
}

/** End of the fail-safe without an order: the operator is back and sends none (LPC-921), or stays silent (LPC-922). */
function failsafeEndsAtMs({ rule, sinceMs, returnedAtMs }: OperatorContext): EpochMs {
  return Math.min(sinceMs + rule.failsafeMinMs, (returnedAtMs ?? NEVER) + rule.missingAfterMs);
}

/** Instant of the next change by itself; undefined while the state waits for the operator. */
export function nextOperatorBoundary(actor: OperatorActor): EpochMs | undefined {
  const { value, context } = actor.getSnapshot();
  if (value === 'init') return initEndsAtMs(context);
  if (value === 'limited') return Math.min(lostAtMs(context), orderEndsAtMs(context));
  if (value === 'unlimitedControlled') return lostAtMs(context);
  return value === 'failsafe' ? failsafeEndsAtMs(context) : undefined;
}

/** Limit of the operator, kW; undefined without one. Until the first order the fail-safe limit holds (LPC-901/1). */
function limitKwIn(state: OperatorState, { rule, order }: OperatorContext): number | undefined {
  if (state === 'limited') return order?.limitKw;
  return state === 'init' || state === 'failsafe' ? rule.failsafeKw : undefined;
}

function isAnotherFailsafe({ state, limitKw }: OperatorStanding, { failsafeKw }: OperatorRule): boolean {
  return (state === 'init' || state === 'failsafe') && limitKw !== failsafeKw;
}

/** Limit as of the last event, kW; undefined without one. */
export function operatorLimitKwOf(actor: OperatorActor): number | undefined {
  const { value, context } = actor.getSnapshot();
  return limitKwIn(value === 'starting' ? context.resumed : value, context);
}

/** Limit of the operator from now on, as far as known; undefined without one. */
function outlookOf(actor: OperatorActor): LimitOutlook | undefined {
  const limitKw = operatorLimitKwOf(actor);
  if (limitKw === undefined) return undefined;
  const { value, context } = actor.getSnapshot();
  if (value === 'limited') return { limitKw, endsAtMs: orderEndsAtMs(context) };
  return { limitKw, endsAtMs: value === 'failsafe' ? failsafeEndsAtMs(context) : initEndsAtMs(context) };
}

/** The grid operator's limit as of the actor's last event. No priority lifts it. */
export function operatorLimit(actor: OperatorActor): LimitSource {
  const limits = () => outlookLimits(outlookOf(actor), { kind: 'operatorLimit' });
  return {
    name: 'operatorLimit',
    isOrdered: true,
    mayPauseLocks: true,
    get current() {
      return limits().current;
    },
    limitAt: (atMs) => limits().limitAt(atMs),
    nextChangeAfter: (atMs) => limits().nextChangeAfter(atMs),
    lowestFrom: () => limits().current,
    explain: () => 'the limit of the grid operator',
  };
}

/** State to keep over a restart and to show. */
export function operatorStandingOf(actor: OperatorActor): OperatorStanding {
  const { value, context } = actor.getSnapshot();
  return standingIn(value === 'starting' ? context.resumed : value, context);
}

function standingIn(state: OperatorState, context: OperatorContext): OperatorStanding {
  const { sinceMs, order, newestSentAtMs } = context;
  return { state, sinceMs, limitKw: limitKwIn(state, context), order, newestSentAtMs };
}

const report = <const S extends OperatorState>(state: S) => ({ type: 'report', params: { state } }) as const;
const resumed = <const S extends OperatorState>(state: S) =>
  ({ type: 'isResumedIn', params: { state } }) as const;

export const operatorMachine = setup({
  types: {
    context: {} as OperatorContext,
    events: {} as OperatorEvent,
    input: {} as OperatorInput,
  },
  actions: {
    // A wall clock that steps back unnoticed does not set the operator back.
    rememberNow: assign({ now: ({ context, event }) => Math.max(context.now, event.now) }),
    rememberReceived: assign({ receivedAtMs: ({ context, event }) => Math.max(context.now, event.now) }),
    rememberReturn: assign({
      returnedAtMs: ({ context, event }) => context.returnedAtMs ?? Math.max(context.now, event.now),
    }),
    followOrder: assign(({ context, event }) => {
      if (event.type !== 'order.received') return context;
      const { order } = event;
      const now = Math.max(context.now, event.now);
      return {
        order,
        newestSentAtMs: order.sentAtMs,
        sinceMs: now,
        receivedAtMs: now,
        returnedAtMs: undefined,
      };
    }),
    endOrder: assign(({ context }) => {
      if (context.order === undefined) return context;
      const order = { ...context.order, limitKw: undefined, endsAtMs: undefined };
      return { order, sinceMs: orderEndsAtMs(context) };
    }),
    loseOperator: assign(({ context }) => ({
      sinceMs: lostAtMs(context),
      order: undefined,
      receivedAtMs: undefined,
      returnedAtMs: undefined,
    })),
    endInit: assign(({ context }) => ({ sinceMs: initEndsAtMs(context) })),
    endFailsafe: assign(({ context }) => ({ sinceMs: failsafeEndsAtMs(context), returnedAtMs: undefined })),
    reportNews: enqueueActions(({ context, enqueue }) => {
      const { resumed, isNews } = context;
      if (isNews) enqueue.sendParent({ type: 'operator.changed', standing: standingIn(resumed, context) });
    }),
    report: sendParent(({ context }, { state }: { readonly state: OperatorState }) => ({
      type: 'operator.changed',
      standing: standingIn(state, context),
    })),
  },
  guards: {
    isResumedIn: ({ context }, { state }: { readonly state: OperatorState }) => context.resumed === state,
    isNewLimit: ({ context, event }) =>
      event.type === 'order.received' && isNew(context, event) && isInForce(event.order, event.now),
    isNewRelease: ({ context, event }) =>
      event.type === 'order.received' && isNew(context, event) && !isInForce(event.order, event.now),
    isLost: ({ context }) => context.now >= lostAtMs(context),
    isOrderOver: ({ context }) =>
      context.now >= orderEndsAtMs(context) && orderEndsAtMs(context) < lostAtMs(context),
    isInitOver: ({ context }) => context.now >= initEndsAtMs(context),
    isFailsafeOver: ({ context }) => context.now >= failsafeEndsAtMs(context),
  },
}).createMachine({
  id: 'lpc',
  context: ({ input: { rule, now, standing } }) => ({
    rule,
    now,
    resumed: standing?.state ?? 'init',
    startedAtMs: now,
    isNews: standing === undefined || isAnotherFailsafe(standing, rule),
    sinceMs: standing?.sinceMs ?? now,
    order: standing?.order,
    newestSentAtMs: standing?.newestSentAtMs,
    // No message could arrive while the service was down, so the permitted silence begins anew.
    receivedAtMs: standing === undefined || standing.state === 'failsafe' ? undefined : now,
    returnedAtMs: undefined,
  }),
  initial: 'starting',
  on: {
    'boundary.reached': { actions: 'rememberNow' },
    'heartbeat.received': { actions: 'rememberReceived' },
    'order.received': [
      { guard: 'isNewLimit', target: '.limited', actions: ['followOrder', report('limited')] },
      {
        guard: 'isNewRelease',
        target: '.unlimitedControlled',
        actions: ['followOrder', report('unlimitedControlled')],
      },
    ],
  },
  states: {
    // Continues in the state before the restart, which is no news; the very first state is news.
    starting: {
      exit: 'reportNews',
      always: [
        { guard: resumed('unlimitedControlled'), target: 'unlimitedControlled' },
        { guard: resumed('limited'), target: 'limited' },
        { guard: resumed('failsafe'), target: 'failsafe' },
        { guard: resumed('unlimitedAutonomous'), target: 'unlimitedAutonomous' },
        { target: 'init' },
      ],
    },
    init: {
      always: {
        guard: 'isInitOver',
        target: 'unlimitedAutonomous',
        actions: ['endInit', report('unlimitedAutonomous')],
      },
    },
    unlimitedControlled: {
      always: { guard: 'isLost', target: 'failsafe', actions: ['loseOperator', report('failsafe')] },
    },
    limited: {
      always: [
        {
          guard: 'isOrderOver',
          target: 'unlimitedControlled',
          actions: ['endOrder', report('unlimitedControlled')],
        },
        { guard: 'isLost', target: 'failsafe', actions: ['loseOperator', report('failsafe')] },
      ],
    },
    failsafe: {
      on: { 'heartbeat.received': { actions: 'rememberReturn' } },
      always: {
        guard: 'isFailsafeOver',
        target: 'unlimitedAutonomous',
        actions: ['endFailsafe', report('unlimitedAutonomous')],
      },
    },
    unlimitedAutonomous: {},
  },
});

/**
 * Two different orders of one instant are both taken, in order of arrival: clocks may count whole seconds. An order
 * that has ended by itself does not apply again if it arrives again.
 */
function isNew(
  { newestSentAtMs, order: held }: OperatorContext,
  { order, now }: { readonly order: OperatorOrder; readonly now: EpochMs },
): boolean {
  const { sentAtMs, limitKw, endsAtMs } = order;
  if (newestSentAtMs === undefined || sentAtMs > newestSentAtMs) return true;
  if (sentAtMs !== held?.sentAtMs) return false;
  if (limitKw !== undefined && held.limitKw === undefined && !isInForce(order, now)) return false;
  return limitKw !== held.limitKw || endsAtMs !== held.endsAtMs;
}

function isInForce({ limitKw, endsAtMs }: OperatorOrder, now: EpochMs): boolean {
  return limitKw !== undefined && (endsAtMs === undefined || endsAtMs > now);
}
