// The lifecycle of one limit profile: SCHEDULED → ACTIVE → EXPIRED by the passing of time (section 3.1).
import { type ActorLogic, type ActorRefFrom, assign, type SnapshotFrom, setup } from 'xstate';
import { type EpochMs, type ProfileStatus, statusAt, type TimeWindow } from '../values/time.js';
import { beginningWith } from './first-snapshot.js';

export interface ProfileEvent {
  readonly type: 'boundary.reached';
  readonly now: EpochMs;
}

interface ProfileInput {
  readonly window: TimeWindow;
  readonly now: EpochMs;
}

export type ProfileLogic = ActorLogic<SnapshotFrom<typeof profileMachine>, ProfileEvent, ProfileInput>;
export type ProfileActor = ActorRefFrom<typeof profileMachine>;

/**
 * Time enters as data: every `boundary.reached` carries `now`, and the state follows from the window at that instant,
 * however late the event is. EXPIRED is an ordinary state, not a final one: reaching `final` makes XState walk all
 * events scheduled in the system. A profile that is replaced or cancelled has no state of its own: its actor is stopped.
 */
export const profileMachine = setup({
  types: {
    context: {} as ProfileInput,
    events: {} as ProfileEvent,
    input: {} as ProfileInput,
  },
  actions: {
    rememberNow: assign({ now: ({ event }) => event.now }),
  },
  guards: {
    hasBegun: ({ context: { window, now } }) => now >= window.startsAtMs,
    hasEnded: ({ context: { window, now } }) => now >= window.endsAtMs,
  },
}).createMachine({
  id: 'profile',
  context: ({ input }) => input,
  initial: 'scheduled',
  on: { 'boundary.reached': { actions: 'rememberNow' } },
  states: {
    // One that has ended as well goes on at once, through active.
    scheduled: { always: { guard: 'hasBegun', target: 'active' } },
    active: { always: { guard: 'hasEnded', target: 'expired' } },
    expired: {},
  },
});

/** What profiles' actors run on. One whose window lasts is active from the first. */
export const profileLogic: ProfileLogic = beginningWith(profileMachine, (input: ProfileInput) =>
  statusAt(input.window, input.now) === 'ACTIVE'
    ? profileMachine.resolveState({ value: 'active', context: input })
    : undefined,
);

const STATUSES: Readonly<Record<'scheduled' | 'active' | 'expired', ProfileStatus>> = {
  scheduled: 'SCHEDULED',
  active: 'ACTIVE',
  expired: 'EXPIRED',
};

/** The status of a profile is the state of its actor, as of the instant it was told last. */
export function statusOfActor(actor: ProfileActor): ProfileStatus {
  return STATUSES[actor.getSnapshot().value];
}
