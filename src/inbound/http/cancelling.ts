// What a DELETE of all schedules of a target is answered with: profiles are cancelled one by one.

/** Where the profiles of a target are submitted. */
export const CANCEL_BY_PRIORITY =
  'name the priority of the profile to cancel: DELETE …/schedules/{priority}.';

/** A cluster's schedule is a profile of each member. */
export const CANCEL_BY_MEMBER =
  'each member took it as a profile of its own: DELETE /v1/locations/{locationId}/schedules/{priority} for each.';
