// What a DELETE of a profile is answered with: the contract has none, and this is the way it leaves.

/** For the profiles of locations, clusters and organizations. */
export const CANCEL_A_PROFILE =
  'a profile is never deleted, it is replaced: POST one of the same priority. To cancel it before it begins, keep its ' +
  'startTime, set endTime 1 ms later and limitKw to what applies there without it; to end it while it is active, POST ' +
  'it again with an endTime a few seconds from now.';

/** For the profiles of a connector, which lock it. */
export const CANCEL_A_LOCK =
  'a profile is never deleted, it is replaced: POST one of the same priority. To cancel it before it begins, keep its ' +
  'startTime and limitKw and set endTime 1 ms later; to end it while it is active, POST it again with an endTime a few ' +
  'seconds from now.';
