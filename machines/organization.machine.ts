// The organization's profiles: recorded and followed through their states, never enforced (section 1).
import { type ActorRefFrom, enqueueActions, setup } from 'xstate';
import { profileMachine } from './profile.machine.js';
import {
  crossBoundaries,
  crossingsAt,
  holdProfile,
  holdStack,
  type ProfileCrossing,
  type ProfileHolder,
  retireProfile,
} from './profile-holder.js';
import type { LimitProfile, ProfileStack } from './profile-stack.js';
import type { EpochMs } from './time.js';

export type OrganizationEvent =
  | { readonly type: 'profile.submitted'; readonly profile: LimitProfile; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs };

export interface OrganizationEffect extends ProfileCrossing {
  readonly type: 'profile.crossed';
}

export type OrganizationActor = ActorRefFrom<typeof organizationMachine>;

export const organizationMachine = setup({
  types: {
    context: {} as ProfileHolder,
    events: {} as OrganizationEvent,
    emitted: {} as OrganizationEffect,
    input: {} as { readonly stack: ProfileStack; readonly now: EpochMs },
  },
  actors: { profile: profileMachine },
}).createMachine({
  id: 'organization',
  context: ({ input, spawn }) =>
    holdStack(input.stack, input.now, (profile) => spawn('profile', { input: profile })),
  on: {
    'profile.submitted': {
      actions: enqueueActions(({ context, event, enqueue }) => {
        retireProfile(context, event.profile.priority, enqueue);
        enqueue.assign(({ spawn }) =>
          holdProfile(context, event.profile, event.now, (profile) => spawn('profile', { input: profile })),
        );
      }),
    },
    'boundary.reached': {
      actions: enqueueActions(({ context, event, enqueue }) => {
        const crossings = crossingsAt(context, event.now);
        enqueue.assign(crossBoundaries(context, crossings, event.now, enqueue));
        for (const crossing of crossings) enqueue.emit({ type: 'profile.crossed', ...crossing });
      }),
    },
  },
});
