// The lifecycle of one limit profile: SCHEDULED → ACTIVE → EXPIRED by the passing of time, replaced (section 3.1) or cancelled.
import { type ActorRefFrom, assign, setup } from 'xstate';
import type { EpochMs, TimeWindow } from './time.js';
import { statusAt } from './time.js';

export type ProfileEvent =
  | { readonly type: 'boundary.reached'; readonly now: EpochMs }
  | { readonly type: 'profile.replaced' }
  | { readonly type: 'profile.cancelled' };

export type ProfileActor = ActorRefFrom<typeof profileMachine>;

/**
 * Time enters as data: every `boundary.reached` carries `now`, and the state follows from the window at that instant,
 * however late the event is. EXPIRED is an ordinary state, not a final one: reaching `final` makes XState walk all
 * events scheduled in the system. Only what has not ended can be cancelled; whoever takes its slot replaces it anyway.
 */
export const profileMachine = setup({
  types: {
    context: {} as { readonly window: TimeWindow; readonly now: EpochMs },
    events: {} as ProfileEvent,
    input: {} as { readonly window: TimeWindow; readonly now: EpochMs },
  },
  actions: {
    rememberNow: assign({
      now: ({ context, event }) => (event.type === 'boundary.reached' ? event.now : context.now),
    }),
  },
  guards: {
    hasBegun: ({ context }) => statusAt(context.window, context.now) === 'ACTIVE',
    hasEnded: ({ context }) => statusAt(context.window, context.now) === 'EXPIRED',
  },
}).createMachine({
  id: 'profile',
  context: ({ input }) => input,
  initial: 'scheduled',
  on: {
    'boundary.reached': { actions: 'rememberNow' },
    'profile.replaced': { target: '.replaced' },
  },
  states: {
    scheduled: {
      on: { 'profile.cancelled': 'cancelled' },
      always: [
        { guard: 'hasEnded', target: 'expired' },
        { guard: 'hasBegun', target: 'active' },
      ],
    },
    active: {
      on: { 'profile.cancelled': 'cancelled' },
      always: { guard: 'hasEnded', target: 'expired' },
    },
    expired: {},
    replaced: { on: { 'boundary.reached': {}, 'profile.replaced': {} } },
    cancelled: { on: { 'boundary.reached': {}, 'profile.replaced': {} } },
  },
});
