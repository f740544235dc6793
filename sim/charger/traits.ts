// Traits that distinguish virtual chargers: their leases, the rate of their clocks, and their misbehaviours.
import type { LeaseKind } from '../../machines/ledger/grant.js';

/** Kinds of misbehaviour. Any number of them can be combined. */
export const MISBEHAVIOURS = {
  'late-reaction': 'raises its power at once, and lowers it only when the settling time is over',
  'ignore-limits': 'acknowledges every limit and draws the maximum of its hardware',
  overdraw: 'draws the limit times the overdraw factor',
  'impossible-power': 'follows its limits, but reports a power that no connector can draw',
  'backward-counters': 'reports an energy register and heartbeat numbers that go down',
  'old-boot': 'sends every second value again with an old boot id',
  'others-ids': 'sends every second value in the name of another charger',
  flood: 'sends every value a hundred times',
  garbage: 'sends messages that cannot be read, beside good ones',
  'false-ack': 'acknowledges a lower limit at once, but never applies it',
  'no-ack': 'follows its limits, but never acknowledges them',
  'forget-then': 'forgets at a restart which limit applies after its lease has ended',
  'keep-phases': 'acknowledges a limit for fewer phases, and lets its car go on on all',
  'power-only': 'reports powerW and nothing else, and follows no limits',
} as const;
export type Misbehaviour = keyof typeof MISBEHAVIOURS;

export interface ChargerTraits {
  readonly lease: LeaseKind;
  /** A limit for a session ends with that session. */
  readonly endsWithSession: boolean;
  /** On request the charger charges a car on fewer phases than the car uses; requires `endsWithSession`. */
  readonly switchesPhases: boolean;
  /** Excess length of its seconds over true ones: 0.02 is 2 % slow, -0.02 is 2 % fast. */
  readonly driftShare: number;
  /** Time from accepting a limit until the pilot signals it, ms by its own clock; the protocol allows at most 5 s. */
  readonly pilotDelayMs: number;
  /** Time between heartbeats, ms by its own clock. */
  readonly meterPeriodMs: number;
  readonly misbehaviours: readonly Misbehaviour[];
  /** For `overdraw`. */
  readonly overdrawFactor: number;
  /** For `late-reaction`: longest time in which car and charger may follow a limit, ms. */
  readonly settleMs: number;
}

export const HONEST: ChargerTraits = {
  lease: 'heartbeat',
  endsWithSession: false,
  switchesPhases: false,
  driftShare: 0,
  pilotDelayMs: 1000,
  meterPeriodMs: 10_000,
  misbehaviours: [],
  overdrawFactor: 1.5,
  settleMs: 10_000,
};

// Traits that distinguish virtual OCPP chargers: their use of charging profiles and the rate of their clocks.
export const OCPP_BEHAVIOURS = {
  'watts-only': 'takes charging profiles in watts, and refuses amperes',
  'amperes-only': 'takes charging profiles in amperes, and refuses watts',
  'whole-amperes': 'rounds limits down to whole amperes',
  'meters-power': 'measures power and energy, and neither current nor voltage',
  'hides-idle': 'shows no limit while no transaction runs',
  'resumes-transactions': 'goes on with its transactions, and their profiles, after a start',
  'sets-clock': 'sets its clock by the answers to BootNotification and Heartbeat',
  'ignores-profiles': 'accepts charging profiles, ignores them, and shows its old schedule',
  'rejects-profiles': 'rejects every charging profile',
  'forgets-profiles': 'forgets all charging profiles when it starts',
  'loses-periods': 'keeps the first period of a charging profile alone',
  'one-period': 'reports that it takes one period only',
  'ignores-start': 'counts a profile from its receipt, and ignores its startSchedule',
  'hides-schedule': 'does not show its composite schedule',
  'shows-only': 'shows its charging profiles, and draws the maximum of its hardware',
  'rounds-up': 'rounds limits to the nearest whole ampere',
} as const;
export type OcppBehaviour = keyof typeof OCPP_BEHAVIOURS;

/** Chargers with one of these cannot keep a lease, so the service reserves their maximum. */
export const LEASELESS: readonly OcppBehaviour[] = [
  'ignores-profiles',
  'rejects-profiles',
  'forgets-profiles',
  'loses-periods',
  'one-period',
  'ignores-start',
  'hides-schedule',
  'shows-only',
];

export const OCPP_PROTOCOLS = ['ocpp1.6', 'ocpp2.0.1', 'ocpp2.1'] as const;
export type OcppProtocol = (typeof OCPP_PROTOCOLS)[number];

export interface OcppTraits {
  readonly protocol: OcppProtocol;
  readonly behaviours: readonly OcppBehaviour[];
  /** Excess length of its seconds over true ones: 0.02 is 2 % slow, -0.02 is 2 % fast. */
  readonly driftShare: number;
  /** If set, its cars raise their draw at once, and lower it only this many ms after a lower limit. */
  readonly lateMs: number | undefined;
}

export const PLAIN_OCPP: OcppTraits = {
  protocol: 'ocpp1.6',
  behaviours: [],
  driftShare: 0,
  lateMs: undefined,
};
