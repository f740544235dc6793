// A charge point behind a gateway: its connection, its configuration since its start, and its fail-safe.
import { and, assign, type SnapshotFrom, setup, stateIn } from 'xstate';
import type { SetFailsafe } from './failsafe-profile.js';
import type { ChargerAbilities } from './gateway-request.js';

/** One request of the configuration. */
export type ConfigurationStep =
  | { readonly kind: 'readAbilities' }
  | { readonly kind: 'sample' }
  | {
      readonly kind: 'clearTransaction' | 'clearDefault' | 'lookForFailsafe';
      readonly evse: number;
    }
  | { readonly kind: 'askStatus' | 'askValues'; readonly evse: number }
  | InstallationStep;

export interface InstallationStep {
  readonly kind: 'installFailsafe';
  readonly request: SetFailsafe;
}

/**
 * Outcome of a step.
 * - `lost`: no meaningful answer came.
 * - `learned`: the charger reported its abilities; `steps` install the fail-safes.
 * - `repeats`: the step repeats in another form.
 * - `forgotten`: the charger lost its fail-safe at its start.
 * - `refused`: the charger takes no fail-safe.
 */
export type StepOutcome =
  | { readonly kind: 'done' | 'lost' | 'forgotten' }
  | {
      readonly kind: 'learned';
      readonly abilities: ChargerAbilities;
      readonly steps: readonly ConfigurationStep[];
    }
  | { readonly kind: 'repeats'; readonly step: ConfigurationStep }
  | { readonly kind: 'refused'; readonly why: string };

/** `nowMs` is monotonic. */
export type ChargePointEvent =
  | { readonly type: 'charger.connected'; readonly nowMs: number }
  | { readonly type: 'charger.disconnected' }
  /** The charger started, and its management system or the gateway accepted that. */
  | { readonly type: 'charger.booted'; readonly nowMs: number }
  /** Its management system rejected the start. The charger must not be asked before the next one (OCPP). */
  | { readonly type: 'charger.rejected' }
  /** `missing`: requests for reports that the charger has not sent. */
  | { readonly type: 'time.passed'; readonly nowMs: number; readonly missing: readonly ConfigurationStep[] }
  | { readonly type: 'step.answered'; readonly outcome: StepOutcome; readonly nowMs: number };

interface ChargePointContext {
  readonly evses: readonly number[];
  /** An earlier gateway installed the fail-safes, and the charger has not started since. */
  readonly isTakenUp: boolean;
  /** Steps to do; the first is under way. */
  readonly steps: readonly ConfigurationStep[];
  /** Instant of the next change without a message; infinite without one. */
  readonly dueAtMs: number;
  /** As reported since the charger's start. */
  readonly abilities: ChargerAbilities | undefined;
  /** Reason of the refusal in the state `refused`. */
  readonly whyRefused: string;
}

export type ChargePointState = SnapshotFrom<typeof chargePointMachine>;

/** Delay before a failed request is repeated. */
const AGAIN_AFTER_MS = 30_000;
/** A charger that connects without a boot notification for this long counts as not having started. */
const BOOT_WITHIN_MS = 2_000;
/** Requests wait this long, so that the charger first receives the acceptance of its boot. */
const BOOT_SETTLES_MS = 500;

const NOTHING_DUE = { steps: [], dueAtMs: Number.POSITIVE_INFINITY } as const;

function isReportAsked({ steps: [step] }: ChargePointContext): boolean {
  return step?.kind === 'askStatus' || step?.kind === 'askValues';
}

const CONFIGURATION: readonly ConfigurationStep[] = [{ kind: 'readAbilities' }, { kind: 'sample' }];

/** A lease kept from before the start could count again once the charger's clock is set. */
function clearingOf({ evses }: ChargePointContext, looksForFailsafe: boolean): readonly ConfigurationStep[] {
  return evses.flatMap((evse): readonly ConfigurationStep[] => [
    { kind: 'clearTransaction', evse },
    { kind: 'clearDefault', evse },
    ...(looksForFailsafe ? [{ kind: 'lookForFailsafe', evse } as const] : []),
  ]);
}

/** The answer ends the steps: none follows, and none was lost. */
function isLast({ context, event }: { context: ChargePointContext; event: ChargePointEvent }): boolean {
  if (event.type !== 'step.answered' || context.steps.length > 1) return false;
  const { outcome } = event;
  return (
    outcome.kind !== 'lost' &&
    outcome.kind !== 'repeats' &&
    !(outcome.kind === 'learned' && outcome.steps.length > 0)
  );
}

function isDue({ context, event }: { context: ChargePointContext; event: ChargePointEvent }): boolean {
  return event.type === 'time.passed' && event.nowMs >= context.dueAtMs;
}

/** A request ends with its connection, and the next connection begins anew. */
const INTERRUPTED = { 'charger.connected': 'pending' } as const;
const PENDING = { target: 'pending', guard: 'isStopped', actions: 'awaitRetry' } as const;
const CONFIGURED = {
  target: '#chargePoint.configuration.configured',
  guard: 'isLast',
  actions: 'awaitRetry',
} as const;

/** States of a configuration, until each step has its answer. */
const CONFIGURING = {
  configuring: {
    on: {
      ...INTERRUPTED,
      'step.answered': [
        PENDING,
        { target: 'installingFailsafe', guard: 'installsNext', actions: 'goOn' },
        { actions: 'goOn' },
      ],
    },
  },
  installingFailsafe: {
    on: {
      ...INTERRUPTED,
      'step.answered': [PENDING, CONFIGURED, { actions: 'goOn' }],
    },
  },
} as const;

export const chargePointMachine = setup({
  types: {
    context: {} as ChargePointContext,
    events: {} as ChargePointEvent,
    input: {} as Pick<ChargePointContext, 'evses' | 'isTakenUp'>,
  },
  actions: {
    rest: assign(NOTHING_DUE),
    awaitBoot: assign(({ event }) =>
      'nowMs' in event ? { ...NOTHING_DUE, dueAtMs: event.nowMs + BOOT_WITHIN_MS } : {},
    ),
    awaitSettled: assign(({ event }) =>
      'nowMs' in event ? { ...NOTHING_DUE, dueAtMs: event.nowMs + BOOT_SETTLES_MS } : {},
    ),
    forgetAbilities: assign({ abilities: undefined }),
    awaitRetry: assign(({ event }) =>
      'nowMs' in event ? { ...NOTHING_DUE, dueAtMs: event.nowMs + AGAIN_AFTER_MS } : {},
    ),
    planReview: assign(({ event }) => planned(event, [])),
    plan: assign(({ event }) => planned(event, CONFIGURATION)),
    planAfterStart: assign(({ context, event }) =>
      planned(event, [...CONFIGURATION, ...clearingOf(context, false)]),
    ),
    planLook: assign(({ context, event }) =>
      planned(event, [...CONFIGURATION, ...clearingOf(context, true)]),
    ),
    goOn: assign(({ context, event }) => {
      if (event.type !== 'step.answered') return {};
      const { outcome } = event;
      const left = context.steps.slice(1);
      if (outcome.kind === 'repeats') return { steps: [...left, outcome.step] };
      if (outcome.kind !== 'learned') return { steps: left };
      return { steps: [...left, ...outcome.steps], abilities: outcome.abilities };
    }),
    noteRefusal: assign(({ event }) =>
      event.type === 'step.answered' && event.outcome.kind === 'refused'
        ? { whyRefused: event.outcome.why }
        : {},
    ),
  },
  guards: {
    isDue,
    isDueAfterStart: and([isDue, stateIn({ configuration: 'started' })]),
    isLookDue: and([isDue, stateIn({ failsafe: 'installed' })]),
    isReviewDue: (of) => isDue(of) && of.event.type === 'time.passed' && of.event.missing.length > 0,
    isTakenUp: ({ context }) => context.isTakenUp,
    isLost: ({ event }) => event.type === 'step.answered' && event.outcome.kind === 'lost',
    // A missing status or missing values do not stop the configuration.
    isStopped: ({ context, event }) =>
      event.type === 'step.answered' && event.outcome.kind === 'lost' && !isReportAsked(context),
    isLast,
    installsNext: ({ context }) => context.steps[1]?.kind === 'installFailsafe',
    isForgotten: ({ event }) => event.type === 'step.answered' && event.outcome.kind === 'forgotten',
    isRefused: ({ event }) => event.type === 'step.answered' && event.outcome.kind === 'refused',
  },
}).createMachine({
  id: 'chargePoint',
  type: 'parallel',
  context: ({ input }) => ({ ...input, ...NOTHING_DUE, abilities: undefined, whyRefused: '' }),
  states: {
    connection: {
      initial: 'disconnected',
      on: {
        'charger.disconnected': { target: '.disconnected', actions: 'rest' },
        'charger.connected': { target: '.connecting', actions: 'awaitBoot' },
        'charger.booted': { target: '.booting', actions: ['awaitSettled', 'forgetAbilities'] },
        'charger.rejected': { target: '.rejected', actions: 'rest' },
      },
      states: {
        disconnected: {},
        connecting: { on: { 'time.passed': { guard: 'isDue', target: 'connected' } } },
        booting: { on: { 'time.passed': { guard: 'isDue', target: 'connected' } } },
        rejected: {},
        connected: {},
      },
    },
    configuration: {
      initial: 'takenUp',
      on: { 'charger.booted': '.started' },
      states: {
        // The charger has not started since this gateway knows it.
        takenUp: {
          initial: 'pending',
          states: {
            pending: { on: { 'time.passed': { guard: 'isDue', target: 'configuring', actions: 'plan' } } },
            ...CONFIGURING,
          },
        },
        started: {
          initial: 'pending',
          states: {
            pending: {
              on: {
                'time.passed': [
                  { guard: 'isLookDue', target: 'configuring', actions: 'planLook' },
                  { guard: 'isDue', target: 'configuring', actions: 'planAfterStart' },
                ],
              },
            },
            ...CONFIGURING,
          },
        },
        configured: {
          on: {
            'time.passed': [
              { guard: 'isReviewDue', actions: 'planReview' },
              { guard: 'isDue', actions: 'rest' },
            ],
            'step.answered': [{ guard: 'isLost', actions: 'awaitRetry' }, { actions: 'goOn' }],
          },
        },
      },
    },
    failsafe: {
      initial: 'unknown',
      states: {
        unknown: {
          always: [{ guard: 'isTakenUp', target: 'installed' }, { target: 'missing' }],
        },
        missing: {
          on: {
            'step.answered': [
              { guard: 'isRefused', target: 'refused', actions: 'noteRefusal' },
              { guard: 'isLast', target: 'installed' },
            ],
          },
        },
        installed: {
          initial: 'kept',
          on: { 'step.answered': { guard: 'isRefused', target: 'refused', actions: 'noteRefusal' } },
          states: {
            kept: { on: { 'step.answered': { guard: 'isForgotten', target: 'forgotten' } } },
            // The next start shows if the charger keeps it.
            forgotten: { on: { 'time.passed': { guard: 'isDueAfterStart', target: 'kept' } } },
          },
        },
        refused: { on: { 'time.passed': { guard: 'isDueAfterStart', target: 'missing' } } },
      },
    },
  },
});

function planned(event: ChargePointEvent, steps: readonly ConfigurationStep[]): Partial<ChargePointContext> {
  return event.type === 'time.passed' ? { ...NOTHING_DUE, steps: [...event.missing, ...steps] } : {};
}
