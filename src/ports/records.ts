// The truth as rows give it back: tenants, locations, connectors, clusters, profiles, promises, alarms.

import type { BilledSoFar, PeakShavingRule } from '../../machines/limits/billed-window.js';
import type { SiteMeterRule } from '../../machines/limits/building-load.js';
import type { OperatorRule, OperatorStanding } from '../../machines/limits/operator.machine.js';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import type { Connection, Feeder, Rotation } from '../../machines/power/fuses.js';
import type { AlarmKind, LeaseKind, LeaseTiming } from '../../machines/power/grant.js';
import type { PhaseCount } from '../../machines/power/own-phases.js';
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
  /** Current the charger falls back to by itself when it hears nothing, A per phase. */
  readonly failsafeA: number;
  /** How often its charger reports and how long its leases last; null where that is as the service is set. */
  readonly timing: LeaseTiming | null;
  readonly dc: DcRating | null;
  /** Its car is not paused to let others charge once it has begun: it would not wake up. */
  readonly neverPause: boolean;
  /** The grid operator's limit may pause it while it is locked, where that does not hold the floors of all locks. */
  readonly operatorMayPause: boolean;
  /** How it is wired to the phases of the grid; null where that is not known. */
  readonly rotation: Rotation | null;
  /** The feeder its charger hangs on; null where that is the connection itself. */
  readonly feeder: string | null;
}

/** Who speaks for the grid operator at a location. */
export interface OperatorRecord extends OperatorRule {
  readonly operatorUuid: string;
}

/** The meter that tells what the building of a location takes. */
export interface SiteMeterRecord extends SiteMeterRule {
  readonly meterUuid: string;
}

export interface LocationRecord {
  readonly locationId: LocationId;
  readonly name: string;
  readonly status: OperatingStatus;
  readonly permanentLimitKw: number;
  /** Physical connection; null where provisioning names none. */
  readonly gridLimitKw: number | null;
  /** null where no grid operator may limit it. */
  readonly operator: OperatorRecord | null;
  /** null where no meter tells what the building takes. */
  readonly siteMeter: SiteMeterRecord | null;
  /** null where the average that the tariff bills is not limited. */
  readonly peakShaving: PeakShavingRule | null;
  /** The fuse of the physical connection; null where provisioning names none. */
  readonly connection: Connection | null;
  /** The fuses inside. */
  readonly feeders: readonly Feeder[];
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

/** What a profile limits. */
export type ProfileTarget =
  | { readonly kind: 'location'; readonly locationId: LocationId }
  | { readonly kind: 'connector'; readonly controllerUuid: ControllerUuid; readonly connectorId: ConnectorId }
  | { readonly kind: 'organization' };

/** A profile in force in its slot (neither replaced nor cancelled). */
export interface ProfileRecord extends LimitProfile {
  readonly target: ProfileTarget;
}

/** A profile as it was once submitted; `supersededAtMs`, when it was replaced or cancelled, is null while it holds its slot. */
export interface ProfileHistoryRecord extends ProfileRecord {
  readonly submittedAtMs: EpochMs;
  readonly supersededAtMs: EpochMs | null;
}

export interface PermanentLimitHistoryRecord {
  readonly limitKw: number;
  readonly setAtMs: EpochMs;
}

/**
 * The most a connector may have been promised, kept on disk before it is: after a crash nobody can be entitled to more.
 * Currents in tenths of an ampere per phase.
 */
export interface ReservationRecord {
  readonly controllerUuid: ControllerUuid;
  readonly connectorId: ConnectorId;
  readonly limitTenthsA: number;
  /** What it falls back to when its lease ends. */
  readonly thenTenthsA: number;
  readonly lease: LeaseKind;
  /** How long its longest lease lasts; null where that was written before leases had lengths of their own. */
  readonly ttlMs: number | null;
  /** How many of its phases, from its first on, both are for; null where that was written before any were left out: all. */
  readonly phases: PhaseCount | null;
}

/** Something an operator should know of. `controllerUuid` and `connectorId` are null for an alarm of the whole location. */
export interface AlarmRecord {
  readonly alarmId: string;
  readonly kind: AlarmKind;
  readonly locationId: LocationId;
  readonly controllerUuid: ControllerUuid | null;
  readonly connectorId: ConnectorId | null;
  /** A sentence for the operator: why it lasts, or why it did when it ended. */
  readonly reason: string;
  /** Why it began. */
  readonly firstReason: string;
  readonly beganAtMs: EpochMs;
  /** null while it lasts. */
  readonly endedAtMs: EpochMs | null;
}

/** What the grid operator's limit stood at from `recordedAtMs` on. */
export interface OperatorEventRecord extends OperatorStanding {
  readonly locationId: LocationId;
  readonly recordedAtMs: EpochMs;
}

/** What a location imported of the window that its tariff bills, as far as it was counted. */
export interface BilledWindowRecord extends BilledSoFar {
  readonly locationId: LocationId;
}

/** What a location drew in a stretch of time: one minute as stored, longer as asked for. */
export type PowerRecord = EndedMinute;

/** Minutes folded into a step; currents of the whole location, or of the feeder that was asked for. */
export type PowerStep = Omit<PowerRecord, 'feeders'>;

/** Everything a tenant's actors are built from. */
export interface TenantState {
  readonly locations: readonly LocationRecord[];
  readonly clusters: readonly ClusterRecord[];
  readonly profiles: readonly ProfileRecord[];
  readonly reservations: readonly ReservationRecord[];
  /** Alarms that have not ended. */
  readonly openAlarms: readonly AlarmRecord[];
  /** The newest of each location that ever had an operator. */
  readonly operatorEvents: readonly OperatorEventRecord[];
  /** Of each location of which the import was ever counted. */
  readonly billedWindows: readonly BilledWindowRecord[];
}
