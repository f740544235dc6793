// Types and timing of the grant protocol between a location and its chargers.
import type { PhaseCount } from './own-phases.js';

/**
 * Start of a charger's lease count. `heartbeat`: the sending of the heartbeat that the grant answers. `receipt`: the
 * receipt of the grant. `none`: the charger keeps no lease, so no limit is certain once it is cut off.
 */
export const LEASE_KINDS = ['heartbeat', 'receipt', 'none'] as const;
export type LeaseKind = (typeof LEASE_KINDS)[number];

/** Heartbeat interval and lease length by the charger's own clock, in whole ms. */
export interface LeaseTiming {
  readonly heartbeatMs: number;
  readonly ttlMs: number;
}

/** Timing of the grant protocol, in whole ms. A charger may have its own heartbeat and lease. */
export interface GrantTiming extends LeaseTiming {
  /** Time that charger and car may take to follow a limit. */
  readonly settleMs: number;
}

/** Charger clocks may run slow by this factor (rule: drift 2 %). */
const DRIFT = 1.02;

/** Duration of a lease on the slowest permitted clock, ms (R1). */
export function longestLeaseMsOf({ ttlMs }: Pick<GrantTiming, 'ttlMs'>): number {
  return Math.ceil(ttlMs * DRIFT);
}

/** Lease length on an accurate clock that has `leaseLeftMs` left on the slowest clock, ms. */
export function ttlMsOf(leaseLeftMs: number): number {
  return Math.ceil(leaseLeftMs / DRIFT);
}

/** A reachable charger takes a limit within this time (mqtt.md, "Taking a limit"). */
const TAKEN_WITHIN_MS = 5_000;

/** Time from sending a lower limit until charger and car follow it at the latest, ms. */
export function noticeMsOf({ settleMs }: Pick<GrantTiming, 'settleMs'>): number {
  return TAKEN_WITHIN_MS + settleMs;
}

/** Longest time that a grant sent now can be in force, ms: lease, drift and settling time. */
export function horizonMsOf(timing: Omit<GrantTiming, 'heartbeatMs'>): number {
  return longestLeaseMsOf(timing) + timing.settleMs;
}

export const ACK_RESULTS = ['APPLIED', 'STALE', 'EXPIRED', 'REJECTED'] as const;
export type AckResult = (typeof ACK_RESULTS)[number];

/** Reason of a connector's limit. */
export const LIMIT_REASONS = [
  /** No limit binds: the connector may draw its maximum. */
  'maximum',
  /** The connector gets its car's draw plus a step. */
  'demand',
  /** The connector shares the location's limit with others. */
  'fairShare',
  /** The connector shares a limit that a cluster's cap sets. */
  'clusterShare',
  /** Power is short, and cars with a declared departure are served in the order of the location's policy. */
  'departure',
  /** The rest of the connector's target becomes free after other chargers have followed their lower limits. */
  'waiting',
  /** Not all floors of 6 A fit: the connector is pending its turn. */
  'paused',
  /** The connector was paused less than a minute ago. A pause lasts at least a minute, even with capacity. */
  'minimumPause',
  /** Priority-locked: the connector runs up to the lock's limit. */
  'lock',
  /** Priority-locked but lowered: every unlocked connector is at 0, or at its unavoidable reservation. */
  'lastResort',
  /** No car is plugged in. */
  'idle',
  /** The connector has no valid lease: its charger keeps to its fail-safe. */
  'failsafe',
  /** The connector drew more than its entitlement: its maximum is reserved. */
  'nonCompliant',
  /** The connector keeps no limits: its maximum is reserved. */
  'readOnly',
  /**
   * Locked connectors need all other power. The connector gets the reservation for its charger's own fail-safe, which
   * no limit avoids.
   */
  'reserved',
] as const;
export type LimitReason = (typeof LIMIT_REASONS)[number];

/**
 * Share of the car's demand that a decision grants. `free`: all of it, or no car is plugged in. `limited`: less.
 * `minimum`: 6 A although the car wants more. `paused`: none.
 */
export const THROTTLES = ['free', 'limited', 'minimum', 'paused'] as const;
export type Throttle = (typeof THROTTLES)[number];

/** Session and phases of a grant that reallocates the connector's other phases. The grant ends with the session. */
export interface ReallocatedTo {
  readonly session: string;
  /** The connector's first `phases` phases; its car uses no others. */
  readonly phases: PhaseCount;
}

/** Limit for one connector with a lease. Currents in tenths of an ampere per phase, integers. */
export interface Grant {
  readonly epoch: number;
  /** Strictly increasing for a connector within an epoch. */
  readonly seq: number;
  /** Boot of the charger that the grant is for; `''` if the charger names none. */
  readonly boot: string;
  /** `hb` of the answered heartbeat. */
  readonly ref: number;
  readonly ttlMs: number;
  readonly limitTenthsA: number;
  /** Power at that current, W; for a DC connector the power at the car, which it keeps to. */
  readonly limitW: number;
  /** Current after the end of the lease. */
  readonly thenTenthsA: number;
  /** The same for a DC connector, W at the car; undefined for AC. */
  readonly thenW?: number | undefined;
  /** Session and phase count of the grant; undefined for a grant for any car on all phases. */
  readonly reallocated?: ReallocatedTo | undefined;
  readonly reason: LimitReason;
}

/** Acknowledgement of a grant by a charger. */
export interface Ack {
  readonly boot?: string | undefined;
  readonly epoch: number;
  readonly seq: number;
  readonly result: AckResult;
  /** A per phase. */
  readonly appliedA?: number | undefined;
  /** For a DC connector, W at the car. */
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
  'DEPARTURE_AT_RISK',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];
