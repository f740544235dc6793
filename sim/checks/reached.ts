// Counts the rare branches of the protocol: a campaign that never reached a branch has shown nothing about it (P16).

/** Each must happen at least once in a campaign. */
export const RARE_BRANCHES = {
  staleGrantRefused: 'a charger refused an older limit, or one of another boot',
  expiredGrantRefused: 'a limit came after the end of its lease',
  leaseExpired: 'a lease ended on a charger, which fell back by itself',
  quarantine: 'a charger drew more than its limit, and its maximum was reserved',
  lastResort: 'locked connectors were lowered below their limit',
  rotationPause: 'a connector that charged was paused, because not all floors fit',
  lookAheadLowered: 'limits were lowered before the window that lowers them began',
  reservationStored: 'an entitlement was written before its grant left',
  restartRestored: 'a limit left while grants of an earlier life were in force',
  clusterShareWaiting: "a location's share of a cluster waited for the other members",
  lostAckHealed: 'a meter value acknowledged a limit whose ack was lost',
  lastWillHeard: 'a broker reported a broken connection',
  lateAck: 'an ack came after a newer limit had left',
  unattainable: 'a limit could not be kept by any means',
  waiting: 'a raise waited for others to follow theirs',
  heartbeatOvertaken: 'a heartbeat came after a newer one',
  oldBootHeard: 'a message of an earlier boot came',
  diedBeforeCommit: 'the service died with a write asked for, before its commit',
  diedAfterCommit: 'the service died after a commit whose answer nobody received',
  refusedByBusyDatabase: 'a call was refused because nothing could be written',
  doubledDelivery: 'messages that had been delivered were delivered again',
  profileCancelled: 'a profile was cancelled before it ended',
  concurrentRemovals: 'members of one cluster were removed at the same time',
  phasesLent: 'a limit was for one session, and for fewer phases than the connector has',
  phasesSwitched: 'a limit was for fewer phases than its car uses, because its charger switches them',
  sessionOver: 'a limit came for a session that was over',
  operatorJudged: "power of a site was checked against a grid operator's limit",
  operatorLost: 'a grid operator was lost, and the fail-safe limit began',
  operatorOutdated: 'a grid operator sent an order older than the one before',
  billedWindowJudged: 'the average of a billed window was checked against its limit',
  needDeclared: 'a car or a driver declared a departure or a need',
  orderJudged: 'two cars with declared departures were checked for their order',
  waitJudged: 'a car without power was checked for room and for its turn',
  forecastJudged: 'the forecasts of a location were compared with limits, needs and alarms',
  otherTenantRefused: 'another tenant requested objects of the first one',
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
