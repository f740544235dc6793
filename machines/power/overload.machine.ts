// What a service that has too little of its processor leaves undone first: raises of limits, then answers to those who only look.
import { type ActorRefFrom, assign, setup } from 'xstate';

/** It looks at the clock once a second, and tells whether it came late to that: `nowMs` is monotonic. */
export type OverloadEvent =
  | { readonly type: 'look.late'; readonly nowMs: number }
  | { readonly type: 'look.punctual'; readonly nowMs: number };

interface OverloadContext {
  /** Looks in succession that came late, the newest included. */
  readonly lateLooks: number;
  readonly lastLateAtMs: number;
  /** Since when raises wait, reads answered. */
  readonly sinceMs: number;
}

export type OverloadActor = ActorRefFrom<typeof overloadMachine>;

/** One pause, of a collection of garbage or of the host, is no overload: so many late looks in succession are. */
const LATE_LOOKS = 3;
/** Where raises have waited for so long and it still comes late, that did not suffice. */
const WORSE_AFTER_MS = 10_000;
/** Punctual for so long, it takes up again what it left last. */
const BETTER_AFTER_MS = 10_000;

/**
 * Decreases, renewals of leases and writes are never left: they are what keeps sites within their limits. It steps back one
 * state at a time, so that what was left does not come back all at once.
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
