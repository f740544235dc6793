// The words and shapes of the grant protocol: what a location promises a charger, and what comes back.
import type { PhaseCount } from './own-phases.js';

/**
 * How a charger counts a lease. `heartbeat`: from when it sent the heartbeat a grant answers. `receipt`: from when it
 * received the grant. `none`: it keeps to no lease, so nothing it is told can be relied upon once it is cut off.
 */
export const LEASE_KINDS = ['heartbeat', 'receipt', 'none'] as const;
export type LeaseKind = (typeof LEASE_KINDS)[number];

/** How often a charger reports, and how long it may keep to a grant by its own clock, in whole ms. */
export interface LeaseTiming {
  readonly heartbeatMs: number;
  readonly ttlMs: number;
}

/** Of the grant protocol, in whole ms; a charger may have a heartbeat and a lease of its own. */
export interface GrantTiming extends LeaseTiming {
  /** How long charger and car may take to follow a limit. */
  readonly settleMs: number;
}

/** Clocks of chargers may run this much slow (rule: drift 2 %). */
const DRIFT = 1.02;

/** How long a lease lasts by the slowest clock, ms. */
export function longestLeaseMsOf({ ttlMs }: Pick<GrantTiming, 'ttlMs'>): number {
  return Math.ceil(ttlMs * DRIFT);
}

/** How long a lease may last by a clock that is right, ms, of which so much is left by the slowest one. */
export function ttlMsOf(leaseLeftMs: number): number {
  return Math.ceil(leaseLeftMs / DRIFT);
}

/** The longest a grant that leaves now can be in force, ms: lease, drift and settling time. */
export function horizonMsOf(timing: Omit<GrantTiming, 'heartbeatMs'>): number {
  return longestLeaseMsOf(timing) + timing.settleMs;
}

export const ACK_RESULTS = ['APPLIED', 'STALE', 'EXPIRED', 'REJECTED'] as const;
export type AckResult = (typeof ACK_RESULTS)[number];

/** Why a connector has the limit it has. */
export const LIMIT_REASONS = [
  /** Nothing binds: it may draw its maximum. */
  'maximum',
  /** It gets what its car takes and a step more. */
  'demand',
  /** It shares the location's limit with the others. */
  'fairShare',
  /** It shares a limit that a cluster's cap sets. */
  'clusterShare',
  /** What it is due becomes free once other chargers have followed their lower limits. */
  'waiting',
  /** Not all floors of 6 A fit: it waits its turn. */
  'paused',
  /** It was paused less than a minute ago: a pause lasts that long at least, even where there is room. */
  'minimumPause',
  /** Priority-locked: it runs up to the lock's limit. */
  'lock',
  /** Priority-locked, and lowered all the same: every unlocked connector is at 0, or at what is reserved for it anyway. */
  'lastResort',
  /** No car is there. */
  'idle',
  /** Its lease ended, or it never had one: it keeps to its fail-safe by itself. */
  'failsafe',
  /** It drew more than it was allowed: its maximum is reserved. */
  'nonCompliant',
  /** It keeps to no limits: its maximum is reserved. */
  'readOnly',
  /** Locked connectors need all else: it has what is reserved for it whatever it is told, because its charger falls back to that. */
  'reserved',
] as const;
export type LimitReason = (typeof LIMIT_REASONS)[number];

/** What others may use of a connector's phases ends with the session of its car. */
export interface LentTo {
  readonly session: string;
  /** The connector's first so many: its car uses no other. */
  readonly phases: PhaseCount;
}

/** A limit for one connector with a lease. Currents in tenths of an ampere per phase, integers. */
export interface Grant {
  readonly epoch: number;
  /** Rises strictly for a connector inside an epoch. */
  readonly seq: number;
  /** The start of the charger it is for; `''` where the charger names none. */
  readonly boot: string;
  /** `hb` of the heartbeat it answers. */
  readonly ref: number;
  readonly ttlMs: number;
  readonly limitTenthsA: number;
  /** Power at that current, W; of a DC connector the power at the car, which it keeps to. */
  readonly limitW: number;
  /** What applies when the lease ends. */
  readonly thenTenthsA: number;
  /** The same of a DC connector, W at the car; undefined for AC. */
  readonly thenW?: number | undefined;
  /** It is for one session and the phases that its car uses; undefined where it is for any car, on all phases. */
  readonly lent?: LentTo | undefined;
  readonly reason: LimitReason;
}

/** What a charger says it did with a grant. */
export interface Ack {
  readonly boot?: string | undefined;
  readonly epoch: number;
  readonly seq: number;
  readonly result: AckResult;
  /** A per phase. */
  readonly appliedA?: number | undefined;
  /** Of a DC connector, W at the car. */
  readonly appliedW?: number | undefined;
}

export const ALARM_KINDS = [
  'LIMIT_UNATTAINABLE',
  'NON_COMPLIANT',
  'OFFLINE',
  'STALE',
  'SITE_METER_STALE',
  'SITE_METER_IMPLAUSIBLE',
  'NO_LEASE',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];
