// Words and colours of the rule behind a limit in force, and of the reasons of connectors' limits.
import type { LimitReason } from '../../machines/power/grant.js';
import type { LimitRule } from '../../sim/report/report-data.js';
import { REASON_WORDS } from '../location/words.js';

type Cause = LimitRule['cause'];

export function colourOfRule({ cause, operator }: LimitRule): string {
  return cause === 'operatorLimit' && operator !== 'limited' ? 'failsafe' : COLOUR_OF_CAUSE[cause];
}

const COLOUR_OF_CAUSE: Readonly<Record<Cause, string>> = {
  permanentLimit: 'idle',
  profile: 'effective',
  clusterShare: 'share',
  operatorLimit: 'operator',
  peakShaving: 'peak-shaving',
  building: 'building',
  physicalConnection: 'muted',
};

/** Such as `profile of priority 5`. */
export function ruleWords({ cause, rule, operator }: LimitRule): string {
  switch (cause) {
    case 'permanentLimit':
      return 'permanent limit';
    case 'profile':
      return `profile of priority ${rule}`;
    case 'clusterShare':
      return `share of cluster ${rule}`;
    case 'operatorLimit':
      return operator === 'limited' ? 'grid operator' : 'fail-safe of the grid operator';
    case 'peakShaving':
      return 'peak shaving';
    case 'building':
      return 'building';
    case 'physicalConnection':
      return 'physical connection';
  }
}

/** The reason of a connector's limit; a share names the limit that is shared. */
export function reasonWords(reason: LimitReason, rule: LimitRule | undefined): string {
  const words = REASON_WORDS[reason];
  const isShare = reason === 'fairShare' || reason === 'clusterShare';
  return isShare && rule !== undefined ? `${words}: ${ruleWords(rule)}` : words;
}

/** Groups of reasons with one colour each; the key is the name of the colour. */
export const REASON_GROUPS = {
  free: 'not limited',
  shared: 'shares the limit',
  waiting: 'waits for others to follow',
  paused: 'paused, waits its turn',
  lock: 'priority lock',
  'last-resort': 'lock lowered, last resort',
  failsafe: 'fail-safe',
  unruly: 'does not follow its limit',
  idle: 'no car',
} as const;
export type ReasonGroup = keyof typeof REASON_GROUPS;

export const GROUP_OF_REASON: Readonly<Record<LimitReason, ReasonGroup>> = {
  maximum: 'free',
  demand: 'free',
  fairShare: 'shared',
  clusterShare: 'shared',
  waiting: 'waiting',
  paused: 'paused',
  minimumPause: 'paused',
  lock: 'lock',
  lastResort: 'last-resort',
  idle: 'idle',
  failsafe: 'failsafe',
  nonCompliant: 'unruly',
  readOnly: 'unruly',
  reserved: 'shared',
};
