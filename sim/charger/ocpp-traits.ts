// Traits that distinguish virtual OCPP chargers: their use of charging profiles and the rate of their clocks.

/** Ways to handle charging profiles. Any number of them can be combined. */
export const OCPP_BEHAVIOURS = {
  'watts-only': 'takes charging profiles in watts, and refuses amperes',
  'whole-amperes': 'rounds limits down to whole amperes',
  'hides-idle': 'shows no limit while no transaction runs',
  'resumes-transactions': 'goes on with its transactions, and their profiles, after a start',
  'sets-clock': 'sets its clock by what BootNotification and Heartbeat are answered',
  'ignores-profiles': 'accepts charging profiles, does as before, and shows that',
  'rejects-profiles': 'rejects every charging profile',
  'forgets-profiles': 'forgets all charging profiles when it starts',
  'loses-periods': 'keeps the first period of a charging profile alone',
  'one-period': 'says that it takes one period only',
  'ignores-start': 'counts a profile from when it comes, whatever its startSchedule says',
  'hides-schedule': 'does not show its composite schedule',
  'shows-only': 'shows what it was told, and draws the maximum of its hardware',
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
