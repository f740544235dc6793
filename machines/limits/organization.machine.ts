// Profiles of an organization: recorded and followed through their states, never enforced (contract section 1).
import { type ActorRefFrom, enqueueActions, setup } from 'xstate';
import type { EpochMs } from '../values/time.js';
import {
  type HolderEvent,
  holdStack,
  holdSubmitted,
  notifyProfiles,
  type ProfileHolder,
  releaseCancelled,
} from './profile.machine.js';
import type { ProfileStack } from './profile-stack.js';

export type OrganizationActor = ActorRefFrom<typeof organizationMachine>;

export const organizationMachine = setup({
  types: {
    context: {} as ProfileHolder,
    events: {} as HolderEvent,
    input: {} as { readonly stack: ProfileStack; readonly now: EpochMs },
  },
  actions: {
    holdSubmitted: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'profile.submitted') holdSubmitted(holder, event);
    }),
    releaseCancelled: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'profile.cancelled') releaseCancelled(holder, event);
    }),
    notifyProfiles: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'boundary.reached') notifyProfiles(holder, event);
    }),
  },
}).createMachine({
  id: 'organization',
  context: ({ input, spawn }) => holdStack(input.stack, input.now, spawn),
  on: {
    'profile.submitted': { actions: 'holdSubmitted' },
    'profile.cancelled': { actions: 'releaseCancelled' },
    'boundary.reached': { actions: 'notifyProfiles' },
  },
});
