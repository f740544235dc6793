// Counts the rare branches of the protocol: a campaign that never reached a branch has shown nothing about it (P16).

/** Each must happen at least once in a campaign. */
export const RARE_BRANCHES = {
  staleGrantRefused: 'a charger refused a limit that was not newer than what it held, or of another boot',
  expiredGrantRefused: 'a limit came so late that its lease was over',
  leaseExpired: 'a lease ended on a charger, which fell back by itself',
  quarantine: 'a charger drew more than it may, and its maximum was reserved',
  lastResort: 'locked connectors were lowered below their limit',
  rotationPause: 'a connector that charged was paused, because not all floors fit',
  lookAheadLowered: 'limits were lowered before the window that lowers them began',
  reservationStored: 'a promise was written before it left',
  restartRestored: 'a limit left while promises of an earlier life were in force',
  clusterShareWaiting: "a location's share of a cluster waited for the other members",
  lostAckHealed: 'a meter value told what a lost ack should have told',
  lastWillHeard: 'a broker told of a broken connection',
  lateAck: 'an ack came after a newer limit had left',
  unattainable: 'a limit could not be kept by any means',
  waiting: 'a raise waited for others to follow theirs',
  heartbeatOvertaken: 'a heartbeat came after a newer one',
  oldBootHeard: 'a message of a boot came that was over',
  diedBeforeCommit: 'the service died with a write asked for, before its commit',
  diedAfterCommit: 'the service died after a commit that nobody heard of',
  refusedByBusyDatabase: 'a call was refused because nothing could be written',
  doubledDelivery: 'messages that had been delivered were delivered again',
  profileCancelled: 'a profile was cancelled before it ended',
  concurrentRemovals: 'members of one cluster were removed at the same time',
  phasesLent: 'a limit was for one session, and for fewer phases than the connector has',
  phasesSwitched: 'a limit was for fewer phases than its car uses, because its charger switches them',
  sessionOver: 'a limit came for a session that was over',
  operatorJudged: "what a site drew was held against a grid operator's limit",
  operatorLost: 'a grid operator was lost, and the fail-safe limit began',
  operatorOutdated: 'a grid operator sent what was older than what it had sent before',
  billedWindowJudged: 'the average of a window that a tariff bills was held against what the site keeps to',
  otherTenantRefused: "another tenant asked for the first one's objects",
} as const;
export type RareBranch = keyof typeof RARE_BRANCHES;

/**
 * With several nodes the order that the service received is unknown, since another node may have answered. So sites
 * with several nodes have no such orders and tariffs.
 */
const OF_ONE_SERVICE: ReadonlySet<RareBranch> = new Set([
  'operatorJudged',
  'operatorLost',
  'operatorOutdated',
  'billedWindowJudged',
]);

/** Branches that a campaign can reach. */
export function reachableBranches({ nodes }: { readonly nodes?: number | undefined }): readonly RareBranch[] {
  const all = Object.keys(RARE_BRANCHES) as RareBranch[];
  return nodes === undefined ? all : all.filter((branch) => !OF_ONE_SERVICE.has(branch));
}

export interface Reached {
  note(branch: RareBranch): void;
  /** By branch; no entry for a branch that was not reached. */
  readonly counts: ReadonlyMap<RareBranch, number>;
}

export function createReached(): Reached {
  const counts = new Map<RareBranch, number>();
  return {
    counts,
    note: (branch) => void counts.set(branch, (counts.get(branch) ?? 0) + 1),
  };
}
