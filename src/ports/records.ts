// The shapes of stored rows: tenants, locations, connectors, clusters, profiles, reservations, alarms.

import type { AlarmKind, LeaseKind, LeaseTiming } from '../../machines/ledger/grant.js';
import type { PhaseCount } from '../../machines/ledger/own-phases.js';
import type { BilledSoFar } from '../../machines/limits/billed-window.js';
import type { SiteMeterRule } from '../../machines/limits/building-load.js';
import type { LimitRules } from '../../machines/limits/limit-rules.js';
import type { OperatorRule, OperatorStanding } from '../../machines/limits/lpc.machine.js';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import type { Departures } from '../../machines/policy/default-needs.js';
import type { PolicyName } from '../../machines/policy/policies.js';
import type { EndedSession, StoredNeeds } from '../../machines/power/connector.js';
import type { MinuteRun } from '../../machines/power/connector-minutes.js';
import type { QuarterEnergy } from '../../machines/power/energy-count.js';
import type { Connection, Feeder, PhaseRotation } from '../../machines/power/fuses.js';
import type { EndedMinute } from '../../machines/power/power-minute.js';
import type {
  ClusterId,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ConnectorRating, DcRating } from '../../machines/values/units.js';

export type OperatingStatus = 'ACTIVE' | 'INACTIVE';

export { NAMED_SCOPES, SCOPES, type Scope, USUAL_SCOPES } from '../../machines/values/scopes.js';

export const ENERGY_MANAGEMENT = 'energy-management';

export interface TenantRecord {
  readonly tenantUuid: TenantUuid;
  readonly name: string;
  readonly features: readonly string[];
}

export interface ConnectorRecord extends ConnectorRating {
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
  readonly status: OperatingStatus;
  /** Current to which the charger falls back by itself without messages, A per phase. */
  readonly failsafeA: number;
  /** Heartbeat and lease of its charger; null for the service's settings. */
  readonly timing: LeaseTiming | null;
  readonly dc: DcRating | null;
  /** After its begin a session is not paused to let others charge: the car would not wake up. */
  readonly neverPause: boolean;
  /** The grid operator's limit may pause it while it is locked, if the floors of all locks do not fit. */
  readonly operatorMayPause: boolean;
  /** Wiring to the phases of the grid; null if unknown. */
  readonly rotation: PhaseRotation | null;
  /** The feeder of its charger; null for the connection itself. */
  readonly feeder: string | null;
  /** Departures of its cars; null for those of the location. */
  readonly departures: Departures | null;
}

/** The grid operator of a location. */
export interface OperatorRecord extends OperatorRule {
  readonly operatorUuid: string;
}

/** A login that receives the state of a location over MQTT, and publishes nothing. */
export interface ReaderRecord {
  readonly readerUuid: string;
}

/** The meter that measures the building of a location. */
export interface SiteMeterRecord extends SiteMeterRule {
  readonly meterUuid: string;
}

export interface LocationRecord {
  readonly locationId: LocationId;
  readonly name: string;
  readonly status: OperatingStatus;
  readonly permanentLimitKw: number;
  /** Physical connection; null if none is provisioned. */
  readonly gridLimitKw: number | null;
  /** null without a grid operator. */
  readonly operator: OperatorRecord | null;
  /** null without a site meter. */
  readonly siteMeter: SiteMeterRecord | null;
  /** Rules of its further limits. */
  readonly limitRules: LimitRules;
  /** Order in which cars with a declared departure are served. */
  readonly policy: PolicyName;
  /** Departures of cars that declare none; null without any. */
  readonly departures: Departures | null;
  /** IANA name of the zone in which its days begin; null for UTC. */
  readonly timeZone: string | null;
  /** The fuse of the physical connection; null if none is provisioned. */
  readonly connection: Connection | null;
  /** The fuses behind the connection. */
  readonly feeders: readonly Feeder[];
  /** Home Assistant finds it over MQTT. `false`: it did once, so retained messages may be left. Left out: it never did. */
  readonly homeAssistant?: boolean | undefined;
  readonly connectors: readonly ConnectorRecord[];
}

export interface ClusterRecord {
  readonly clusterId: ClusterId;
  readonly name: string;
  readonly locationIds: readonly LocationId[];
  readonly limitKw: number | null;
  readonly status: OperatingStatus;
  readonly createdAtMs: EpochMs;
  readonly updatedAtMs: EpochMs;
}

/** The object that a profile limits. */
export type ProfileTarget =
  | { readonly kind: 'location'; readonly locationId: LocationId }
  | { readonly kind: 'connector'; readonly controllerUuid: ControllerUuid; readonly connectorId: ConnectorId }
  | { readonly kind: 'organization' };

/** A profile that holds its slot (neither replaced nor cancelled). */
export interface ProfileRecord extends LimitProfile {
  readonly target: ProfileTarget;
}

/**
 * A submitted profile. `supersededAtMs` is the time of its replacement or cancellation, null while it holds its slot.
 */
export interface ProfileHistoryRecord extends ProfileRecord {
  readonly submittedAtMs: EpochMs;
  readonly supersededAtMs: EpochMs | null;
}

export interface PermanentLimitHistoryRecord {
  readonly limitKw: number;
  readonly setAtMs: EpochMs;
}

/**
 * Persisted worst-case grant of a connector. It is on disk before a larger grant leaves: after a crash no charger can
 * be entitled to more. Currents in tenths of an ampere per phase.
 */
export interface ReservationRecord {
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
  readonly limitTenthsA: number;
  /** Current after the end of the lease. */
  readonly thenTenthsA: number;
  readonly lease: LeaseKind;
  /** Length of its longest lease; null in rows from before individual lease lengths. */
  readonly ttlMs: number | null;
  /**
   * Number of phases, from the connector's first on, of both currents.
   * null in rows from before reallocated phases: all.
   */
  readonly phases: PhaseCount | null;
}

/**
 * A condition that an operator should notice. `controllerUuid` and
 * `connectorId` are null for an alarm of the whole location.
 */
export interface AlarmRecord {
  readonly alarmId: string;
  readonly kind: AlarmKind;
  readonly locationId: LocationId;
  readonly controllerUuid: ControllerUuid | null;
  readonly connectorId: ConnectorId | null;
  /** Present or final cause, as a sentence for the operator. */
  readonly reason: string;
  /** Cause at the begin. */
  readonly firstReason: string;
  readonly beganAtMs: EpochMs;
  /** null while it lasts. */
  readonly endedAtMs: EpochMs | null;
  /** The last one; null before. */
  readonly acknowledgement: AlarmAcknowledgement | null;
  /** It began under a mute that has not ended: no webhook has received it. */
  readonly isWithheld: boolean;
  /** End of the mute that covers it. Rows do not have it: it follows from the mutes. */
  readonly mutedUntilMs: EpochMs | null;
}

export interface AlarmAcknowledgement {
  readonly atMs: EpochMs;
  /** The credential, as `credentialRef` writes it. */
  readonly by: string;
  readonly note: string | null;
}

/** Alarms of a kind that begin before `untilMs` are withheld from webhooks. One of a location covers its connectors. */
export interface AlarmMuteRecord {
  readonly muteId: string;
  readonly kind: AlarmKind;
  readonly locationId: LocationId;
  /** null, with `connectorId`, for the whole location. */
  readonly controllerUuid: ControllerUuid | null;
  readonly connectorId: ConnectorId | null;
  readonly untilMs: EpochMs;
  readonly note: string | null;
  readonly mutedAtMs: EpochMs;
  /** The credential, as `credentialRef` writes it. */
  readonly mutedBy: string;
}

/** The state of the grid operator's limit from `recordedAtMs` on. */
export interface OperatorEventRecord extends OperatorStanding {
  readonly locationId: LocationId;
  readonly recordedAtMs: EpochMs;
}

/** The car at a connector: its declared needs, and its energy so far. */
export interface SessionNeedsRecord extends StoredNeeds {
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
}

/** A charging session that has ended. */
export interface SessionRecord extends Omit<EndedSession, 'charged'> {
  readonly locationId: LocationId;
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
}

/** Minutes of a connector, the oldest first. */
export interface ConnectorPowerRecord {
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
  readonly runs: readonly MinuteRun[];
}

/** Energy of a connector in some quarter-hours of a day. */
export interface EnergyRecord {
  readonly locationId: LocationId;
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
  /** The day in the zone of the location, as `2026-06-01`, and its begin. */
  readonly day: string;
  readonly startsAtMs: EpochMs;
  readonly quarters: readonly QuarterEnergy[];
}

/** A charger that the event log has as offline. */
export interface OfflineChargerRecord {
  readonly controllerUuid: ControllerUuid;
  readonly sinceMs: EpochMs;
}

/** Types of events in the log. */
export const EVENT_TYPES = [
  'profile.submitted',
  'profile.cancelled',
  'permanentLimit.changed',
  'cluster.changed',
  'cluster.deleted',
  'alarm.began',
  'alarm.ended',
  'alarm.acknowledged',
  'alarm.muted',
  'alarm.unmuted',
  'operatorLimit.changed',
  'session.ended',
  'charger.offline',
  'charger.online',
  'provisioning.changed',
  'credential.issued',
  'credential.changed',
  'credential.ended',
  'webhook.changed',
  'webhook.deleted',
  'mailSubscription.changed',
  'mailSubscription.deleted',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const EVENT_SOURCES = ['rest', 'commandLine', 'service'] as const;
export type EventSource = (typeof EVENT_SOURCES)[number];

/** An event of the log of a tenant. */
export interface EventRecord {
  /** Ascending within the tenant. */
  readonly id: number;
  readonly type: EventType;
  readonly atMs: EpochMs;
  readonly locationId: LocationId | null;
  readonly controllerUuid: ControllerUuid | null;
  readonly connectorId: ConnectorId | null;
  /** The credential that caused it. */
  readonly by: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Import of a location in its billed window so far. */
export interface BilledWindowRecord extends BilledSoFar {
  readonly locationId: LocationId;
}

/** Power of a location over a span of time: one minute as stored, longer in answers. */
export type PowerRecord = EndedMinute;

/** Minutes folded into a step; currents of the whole location, or of the requested feeder. */
export type PowerStep = Omit<PowerRecord, 'feeders'>;

/** All rows from which a tenant's actors are built. */
export interface TenantState {
  readonly locations: readonly LocationRecord[];
  readonly clusters: readonly ClusterRecord[];
  readonly profiles: readonly ProfileRecord[];
  readonly reservations: readonly ReservationRecord[];
  /** Alarms that have not ended. */
  readonly openAlarms: readonly AlarmRecord[];
  /** Mutes that have not ended. */
  readonly alarmMutes: readonly AlarmMuteRecord[];
  /** The newest state of each location that ever had an operator. */
  readonly operatorEvents: readonly OperatorEventRecord[];
  /** One for each connector that ever had a car. */
  readonly sessionNeeds: readonly SessionNeedsRecord[];
  /** One for each location with a counted import. */
  readonly billedWindows: readonly BilledWindowRecord[];
  readonly offlineChargers: readonly OfflineChargerRecord[];
}

/** The answer to a request with an `Idempotency-Key`. */
export interface AnswerRecord {
  readonly keyHash: string;
  /** Hash of the request, which must be the same for the same key. */
  readonly requestHash: string;
  /** The answer, encrypted: only the key of the request opens it. */
  readonly sealed: string;
  readonly atMs: EpochMs;
}
