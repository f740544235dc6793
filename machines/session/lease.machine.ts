// A connector's lease behind a gateway: writing it to the charger, and verifying that the charger keeps it.
import { assign, type SnapshotFrom, setup } from 'xstate';
import type { LeaseSlot, LimitToTake, SentLimits } from './gateway-request.js';
import type { LeaseSchedule } from './lease-schedule.js';

/** A grant, and the schedule that carries it to the charger. */
export interface LeasePlan {
  readonly limit: LimitToTake;
  readonly sent: SentLimits;
  readonly slot: LeaseSlot;
  readonly schedule: LeaseSchedule;
  readonly endsAtMs: number;
}

/**
 * Work left before the grant is acknowledged, which frees power for others.
 * - `clear`: a default lease from before the transaction would apply again after the transaction ends.
 * - `fallback`: the fail-safe profile is not yet the grant's fallback.
 */
export type LeaseWork = 'clear' | 'fallback' | 'none';

/** Instants are monotonic. */
export type LeaseEvent =
  | { readonly type: 'lease.planned'; readonly plan: LeasePlan }
  | { readonly type: 'lease.dropped' }
  | { readonly type: 'profile.accepted' }
  | { readonly type: 'profile.refused' }
  /** `limit`: as shown, in the unit of the schedule; undefined if the charger shows none while idle. */
  | { readonly type: 'limit.shown'; readonly limit: number | undefined; readonly left: LeaseWork }
  | { readonly type: 'limit.hidden'; readonly nowMs: number }
  | { readonly type: 'meter.asked'; readonly nowMs: number }
  | { readonly type: 'limit.metered' | 'default.cleared'; readonly left: LeaseWork }
  | { readonly type: 'fallback.set' }
  /** `isKnown`: it kept leases before, with its firmware. `isTakenUp`: it has not started since. */
  | { readonly type: 'charger.started'; readonly isKnown: boolean; readonly isTakenUp: boolean }
  /** The charger showed that it lowers itself when a lease ends. */
  | { readonly type: 'lease.proved' }
  /** It holds its lease by its present clock, and nothing above that. */
  | { readonly type: 'lease.kept' }
  | { readonly type: 'lease.refuted' }
  /** The charger still lowers itself at the end of a lease, but that end may have moved. */
  | { readonly type: 'clock.changed' };

interface LeaseContext {
  /** Undefined in the state `idle`. */
  readonly plan: LeasePlan | undefined;
  /** Refusals of this plan. */
  readonly refusals: number;
  readonly shownLimit: number | undefined;
  /** In the state `metering`: deadline for the meter to show that the charger keeps the limit. Else infinite. */
  readonly meteredByMs: number;
  /** The next request for meter values; infinite without one. */
  readonly asksMeterAtMs: number;
}

export type LeaseState = SnapshotFrom<typeof leaseMachine>;

const METERED_WITHIN_MS = 15_000;
/**
 * Interval between requests for meter values: many chargers report more rarely than that. Charger and car need a moment
 * to follow.
 */
const ASKS_METER_EVERY_MS = 5_000;
const NOTHING_METERED = {
  meteredByMs: Number.POSITIVE_INFINITY,
  asksMeterAtMs: Number.POSITIVE_INFINITY,
} as const;
const NO_PLAN = { plan: undefined, refusals: 0, shownLimit: undefined, ...NOTHING_METERED } as const;

/** The charger keeps the grant, and no default lease is left. */
const CLEARED = [{ guard: 'isFallbackLeft', target: 'settingFallback' }, { target: 'idle' }] as const;

export const leaseMachine = setup({
  types: { context: {} as LeaseContext, events: {} as LeaseEvent },
  actions: {
    begin: assign(({ event }) => (event.type === 'lease.planned' ? { ...NO_PLAN, plan: event.plan } : {})),
    forget: assign(NO_PLAN),
    countRefusal: assign(({ context }) => ({ refusals: context.refusals + 1 })),
    noteShown: assign(({ event }) => (event.type === 'limit.shown' ? { shownLimit: event.limit } : {})),
    endMetering: assign(NOTHING_METERED),
    watchMeter: assign(({ event }) =>
      event.type === 'limit.hidden'
        ? { meteredByMs: event.nowMs + METERED_WITHIN_MS, asksMeterAtMs: event.nowMs + ASKS_METER_EVERY_MS }
        : {},
    ),
    awaitMeter: assign(({ event }) =>
      event.type === 'meter.asked' ? { asksMeterAtMs: event.nowMs + ASKS_METER_EVERY_MS } : {},
    ),
  },
  guards: {
    isDefaultLeft: ({ event }) => 'left' in event && event.left === 'clear',
    isFallbackLeft: ({ event }) => 'left' in event && event.left === 'fallback',
    isTakenUp: ({ event }) => event.type === 'charger.started' && event.isKnown && event.isTakenUp,
    isKnown: ({ event }) => event.type === 'charger.started' && event.isKnown,
  },
}).createMachine({
  id: 'lease',
  type: 'parallel',
  context: NO_PLAN,
  states: {
    writing: {
      initial: 'idle',
      on: { 'lease.dropped': '.idle' },
      states: {
        idle: {
          entry: 'forget',
          on: { 'lease.planned': { target: 'setting', actions: 'begin' } },
        },
        // The charger is to accept the profile.
        setting: {
          on: { 'profile.accepted': 'showing', 'profile.refused': { actions: 'countRefusal' } },
        },
        // Its composite schedule is to show the limit.
        showing: {
          on: {
            'limit.shown': [
              { guard: 'isDefaultLeft', target: 'clearing', actions: 'noteShown' },
              { guard: 'isFallbackLeft', target: 'settingFallback', actions: 'noteShown' },
              { target: 'idle' },
            ],
            'limit.hidden': { target: 'metering', actions: 'watchMeter' },
          },
        },
        // Its meter is to show the limit.
        metering: {
          exit: 'endMetering',
          on: {
            'limit.metered': [{ guard: 'isDefaultLeft', target: 'clearing' }, ...CLEARED],
            'meter.asked': { actions: 'awaitMeter' },
          },
        },
        clearing: {
          on: { 'default.cleared': CLEARED },
        },
        settingFallback: {
          on: { 'fallback.set': 'idle' },
        },
      },
    },
    verification: {
      initial: 'unverified',
      on: {
        'charger.started': [
          { guard: 'isTakenUp', target: '.takenUp' },
          { guard: 'isKnown', target: '.known' },
          { target: '.unverified' },
        ],
        'lease.proved': '.verified',
        'lease.refuted': '.refuted',
      },
      states: {
        unverified: {},
        // It kept leases before its start, with its present firmware.
        known: {},
        // It kept leases under an earlier gateway, and has not started since.
        takenUp: {},
        verified: {},
        refuted: {},
      },
    },
    clock: {
      initial: 'steady',
      on: { 'charger.started': '.steady', 'lease.proved': '.steady', 'lease.kept': '.steady' },
      states: {
        steady: { on: { 'clock.changed': 'doubted' } },
        // Its lease may end at another time than planned.
        doubted: {},
      },
    },
  },
});
