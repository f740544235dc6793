// What distinguishes one virtual charger from another: how it counts leases, how its clock runs, and how it misbehaves.
import type { LeaseKind } from '../../machines/grant.js';

/** The ways to be a bad charger. Any number of them can be combined. */
export const MISBEHAVIOURS = {
  'late-reaction': 'takes more at once and draws, within settle, the most it was ever allowed',
  'ignore-limits': 'acknowledges every limit and draws what its hardware can',
  overdraw: 'draws the limit times the overdraw factor',
  'impossible-power': 'follows its limits, but reports a power no connector could have',
  'backward-counters': 'reports an energy register and heartbeat numbers that fall',
  'old-boot': 'says every second value again under a boot id that is over',
  'others-ids': 'says every second value for another charger',
  flood: 'says every value a hundred times',
  garbage: 'says what is no message beside what is one',
  'false-ack': 'acknowledges at once what it never applies: a limit below the highest it ever had',
  'no-ack': 'follows its limits and never says so',
  'forget-then': 'forgets over a restart what applies when a lease has ended',
  'power-only': 'says powerW and nothing else, and takes no limits',
} as const;
export type Misbehaviour = keyof typeof MISBEHAVIOURS;

export interface ChargerTraits {
  readonly lease: LeaseKind;
  /** How much longer its seconds last than true ones: 0.02 is 2 % slow, -0.02 is 2 % fast. */
  readonly driftShare: number;
  /** From accepting a limit until the pilot tells the car, ms by its own clock: 5 s is the most the protocol bears. */
  readonly pilotDelayMs: number;
  /** Between heartbeats, ms by its own clock. */
  readonly meterPeriodMs: number;
  readonly misbehaviours: readonly Misbehaviour[];
  /** For `overdraw`. */
  readonly overdrawFactor: number;
  /** For `late-reaction`: how long car and charger may take to follow a limit, ms. */
  readonly settleMs: number;
}

export const HONEST: ChargerTraits = {
  lease: 'heartbeat',
  driftShare: 0,
  pilotDelayMs: 1000,
  meterPeriodMs: 10_000,
  misbehaviours: [],
  overdrawFactor: 1.5,
  settleMs: 10_000,
};
