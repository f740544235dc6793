// Lifecycle of one limit profile: SCHEDULED → ACTIVE → EXPIRED as time passes (contract section 3.1).
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
 * Time enters as data: every `boundary.reached` carries `now`. The state follows from the window at that instant,
 * however late the event is. EXPIRED is an ordinary state and not a final one: in `final`, XState walks all events
 * scheduled in the system. A replaced or cancelled profile has no state of its own: its actor is stopped.
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
    // A window that has ended as well goes on at once, through active.
    scheduled: { always: { guard: 'hasBegun', target: 'active' } },
    active: { always: { guard: 'hasEnded', target: 'expired' } },
    expired: {},
  },
});

/** Logic of profiles' actors. A profile inside its window is active from the first. */
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

/** Status as of the newest instant that the actor received. */
export function statusOfActor(actor: ProfileActor): ProfileStatus {
  return STATUSES[actor.getSnapshot().value];
}
