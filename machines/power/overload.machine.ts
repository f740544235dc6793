// Load shedding of a service with too little processor time: first raises of limits, then read requests.
import { type ActorRefFrom, assign, setup } from 'xstate';

/** The service checks its clock once a second and reports late checks. `nowMs` is monotonic. */
export type OverloadEvent =
  | { readonly type: 'look.late'; readonly nowMs: number }
  | { readonly type: 'look.punctual'; readonly nowMs: number };

interface OverloadContext {
  /** Late checks in succession, the newest included. */
  readonly lateLooks: number;
  readonly lastLateAtMs: number;
  /** Last entry into `raisesWait`, in which raises are suspended and read requests are answered. */
  readonly sinceMs: number;
}

export type OverloadActor = ActorRefFrom<typeof overloadMachine>;

/** A single pause, of garbage collection or of the host, is no overload. This many late checks in succession are. */
const LATE_LOOKS = 3;
/** If checks are still late after raises have been suspended for this long, read requests are refused too. */
const WORSE_AFTER_MS = 10_000;
/** After this long without a late check, the service resumes the work that it suspended last. */
const BETTER_AFTER_MS = 10_000;

/**
 * Decreases, lease renewals and writes always continue, because they keep sites within their limits. Recovery goes one
 * state at a time, so that the suspended work does not return all at once.
 */
export const overloadMachine = setup({
  types: { context: {} as OverloadContext, events: {} as OverloadEvent },
  actions: {
    countLate: assign(({ context, event }) => ({
      lateLooks: context.lateLooks + 1,
      lastLateAtMs: event.nowMs,
    })),
    forgetLate: assign({ lateLooks: 0 }),
    rememberSince: assign(({ event }) => ({ sinceMs: event.nowMs })),
  },
  guards: {
    isLateAgain: ({ context }) => context.lateLooks + 1 >= LATE_LOOKS,
    isStillLate: ({ context, event }) =>
      context.lateLooks + 1 >= LATE_LOOKS && event.nowMs - context.sinceMs >= WORSE_AFTER_MS,
    hasRecovered: ({ context, event }) =>
      event.nowMs - Math.max(context.lastLateAtMs, context.sinceMs) >= BETTER_AFTER_MS,
  },
}).createMachine({
  id: 'overload',
  context: {
    lateLooks: 0,
    lastLateAtMs: Number.NEGATIVE_INFINITY,
    sinceMs: Number.NEGATIVE_INFINITY,
  },
  initial: 'none',
  on: {
    'look.late': { actions: 'countLate' },
    'look.punctual': { actions: 'forgetLate' },
  },
  states: {
    none: {
      on: { 'look.late': { guard: 'isLateAgain', target: 'raisesWait' } },
    },
    raisesWait: {
      entry: 'rememberSince',
      on: {
        'look.late': { guard: 'isStillLate', target: 'readsRefused' },
        'look.punctual': { guard: 'hasRecovered', target: 'none' },
      },
    },
    readsRefused: {
      on: { 'look.punctual': { guard: 'hasRecovered', target: 'raisesWait' } },
    },
  },
});
