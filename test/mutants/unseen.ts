// Parts of machines that the story does not show, and why they are no decoration all the same.

const FREES_MEMORY =
  'it lets go of actors that have nothing to do any more; test/actors/ended-profiles counts them';
const KEEPS_TIME =
  'the directory tells a late boundary first, for connectors too; a machine keeps time whoever tells it';

/** Why, by the mutant's name. */
export const UNSEEN: Readonly<Record<string, string>> = {
  'connector: profile.submitted, without tellProfiles': KEEPS_TIME,
  'connector: profile.cancelled, without tellProfiles': KEEPS_TIME,
  'location: profile.submitted, without tellProfiles': KEEPS_TIME,
  'location: profile.cancelled, without tellProfiles': KEEPS_TIME,
  'location: permanentLimit.set, without tellProfiles': KEEPS_TIME,
  'organization: profile.submitted, without tellProfiles': KEEPS_TIME,
  'organization: profile.cancelled, without tellProfiles': KEEPS_TIME,
  'connector: profiles.told, without dropEnded': FREES_MEMORY,
  'location: profiles.told, without dropEnded': FREES_MEMORY,
  'organization: profiles.told, without dropEnded': FREES_MEMORY,
};
