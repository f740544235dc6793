// The organization's profiles: recorded and followed through their states, never enforced (section 1).
import { type ActorRefFrom, enqueueActions, setup } from 'xstate';
import type { EpochMs } from '../values/time.js';
import { profileMachine } from './profile.machine.js';
import {
  crossingsOf,
  endedActors,
  holdProfile,
  holdStack,
  type ProfileHolder,
  type ProfilesTold,
  profilesDueAt,
  releaseProfile,
  slotOf,
  wakeProfiles,
  without,
} from './profile-holder.js';
import type { LimitProfile, ProfileCrossing, ProfileStack } from './profile-stack.js';

export type OrganizationEvent =
  | { readonly type: 'profile.submitted'; readonly profile: LimitProfile; readonly now: EpochMs }
  | { readonly type: 'profile.cancelled'; readonly priority: number; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs }
  | ProfilesTold;

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
    tellProfiles: enqueueActions(({ context, event, enqueue, self }) => {
      if (!('now' in event)) return;
      const { now } = event;
      const told = profilesDueAt(context, now, slotOf(event));
      enqueue.assign(({ spawn }) =>
        wakeProfiles(context, told, now, (profile) => spawn('profile', { input: profile })),
      );
      for (const { profile } of told) {
        const actor = context.profiles.get(profile.priority);
        if (actor !== undefined) enqueue.sendTo(actor, { type: 'boundary.reached', now });
      }
      if (told.length > 0) enqueue.sendTo(self, { type: 'profiles.told', told, isFirst: false });
    }),
    holdSubmitted: enqueueActions(({ context, event, enqueue, self }) => {
      if (event.type !== 'profile.submitted') return;
      const replaced = context.profiles.get(event.profile.priority);
      if (replaced !== undefined) enqueue.stopChild(replaced);
      enqueue.assign(({ spawn }) =>
        holdProfile(context, event.profile, event.now, (profile) => spawn('profile', { input: profile })),
      );
      enqueue.sendTo(self, { type: 'profiles.told', told: [], isFirst: false });
    }),
    releaseCancelled: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profile.cancelled') return;
      const cancelled = context.profiles.get(event.priority);
      if (cancelled !== undefined) enqueue.stopChild(cancelled);
      enqueue.assign(releaseProfile(context, event.priority));
    }),
    emitCrossings: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'profiles.told') return;
      for (const crossing of crossingsOf(context, event.told))
        enqueue.emit({ type: 'profile.crossed', ...crossing });
    }),
    dropEnded: enqueueActions(({ context, enqueue }) => {
      const ended = endedActors(context);
      if (ended.length === 0) return;
      for (const [, actor] of ended) enqueue.stopChild(actor);
      const priorities = ended.map(([priority]) => priority);
      enqueue.assign({ profiles: without(context.profiles, priorities) });
    }),
  },
}).createMachine({
  id: 'organization',
  context: ({ input, spawn }) =>
    holdStack(input.stack, input.now, (profile) => spawn('profile', { input: profile })),
  on: {
    'profile.submitted': { actions: ['tellProfiles', 'holdSubmitted'] },
    'profile.cancelled': { actions: ['tellProfiles', 'releaseCancelled'] },
    'boundary.reached': { actions: 'tellProfiles' },
    'profiles.told': { actions: ['emitCrossings', 'dropEnded'] },
  },
});
