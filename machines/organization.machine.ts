// The organization's profiles: recorded and followed through their states, never enforced (section 1).
import { type ActorRefFrom, enqueueActions, setup } from 'xstate';
import { profileMachine } from './profile.machine.js';
import {
  crossingsAt,
  holdProfile,
  holdStack,
  type ProfileHolder,
  releaseProfile,
  retireProfile,
  settleCrossings,
  tellCrossings,
} from './profile-holder.js';
import type { LimitProfile, ProfileCrossing, ProfileStack } from './profile-stack.js';
import type { EpochMs } from './time.js';

export type OrganizationEvent =
  | { readonly type: 'profile.submitted'; readonly profile: LimitProfile; readonly now: EpochMs }
  | { readonly type: 'profile.cancelled'; readonly priority: number; readonly now: EpochMs }
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
  actions: {
    crossBoundaries: enqueueActions(({ context, event, enqueue }) => {
      const crossings = crossingsAt(context, event.now);
      tellCrossings(context, crossings, event.now, enqueue);
      enqueue.assign(({ spawn }) =>
        settleCrossings(context, crossings, event, (profile) => spawn('profile', { input: profile })),
      );
      for (const crossing of crossings) enqueue.emit({ type: 'profile.crossed', ...crossing });
    }),
    holdSubmitted: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profile.submitted') return;
      retireProfile(context, event.profile.priority, 'profile.replaced', enqueue);
      enqueue.assign(({ spawn }) =>
        holdProfile(context, event.profile, event.now, (profile) => spawn('profile', { input: profile })),
      );
    }),
    releaseCancelled: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profile.cancelled') return;
      retireProfile(context, event.priority, 'profile.cancelled', enqueue);
      enqueue.assign(releaseProfile(context, event.priority));
    }),
  },
}).createMachine({
  id: 'organization',
  context: ({ input, spawn }) =>
    holdStack(input.stack, input.now, (profile) => spawn('profile', { input: profile })),
  on: {
    'profile.submitted': { actions: ['crossBoundaries', 'holdSubmitted'] },
    'profile.cancelled': { actions: ['crossBoundaries', 'releaseCancelled'] },
    'boundary.reached': { actions: 'crossBoundaries' },
  },
});
