// Words and colours of the rule behind a limit in force, and of the reasons of connectors' limits.
import type { LimitReason } from '../../machines/ledger/grant.js';
import type { LimitRule } from '../../sim/report/report-data.js';
import { REASON_WORDS } from '../location/words.js';
import { lookOf } from './source-lines.js';

/** Name of a colour in the style sheet. */
export function colourOfRule(rule: LimitRule): string {
  return inForce(rule).colour;
}

/** Such as `profile of priority 5`. */
export function ruleWords(rule: LimitRule): string {
  return inForce(rule).words;
}

/** The location's own limits have no other source. */
function inForce(rule: LimitRule) {
  if (rule.cause === 'permanentLimit') return { words: 'permanent limit', colour: 'idle' };
  if (rule.cause === 'profile') return { words: `profile of priority ${rule.rule}`, colour: 'effective' };
  return lookOf(rule.cause).inForce(rule);
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
  departure: 'shared',
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
