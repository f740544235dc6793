// A scenario in the form that the simulator runs: all names resolved and checked, all moments as instants.
import type { AlarmKind, LimitReason } from '../../machines/ledger/grant.js';
import type { Policy } from '../../machines/policy/policies.js';
import type { ConnectorAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TimeZone } from '../../machines/values/time-zone.js';
import type { ConnectorRating } from '../../machines/values/units.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import type { OcppTraits } from '../charger/traits.js';
import type { FaultKind } from '../log/trace-event.js';
import type { Range } from './draw.js';
import type { ScenarioSpan } from './moment.js';

/** `ocpp`: every charger uses OCPP, through a gateway that runs in the process of the simulator. */
export const TRANSPORTS = ['inProcess', 'mqtt', 'ocpp'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** A connector of the scenario; `key` is unique in it. */
export interface ScenarioConnector extends ConnectorAddress, ConnectorRating {
  readonly key: string;
}

/** A charger that uses OCPP. */
export interface OcppMember extends Pick<OcppTraits, 'protocol' | 'behaviours'> {
  readonly controllerUuid: string;
}

/** A class of cars. Power in kW, times in ms, shares from 0 to 1; `share` is the weight of the class. */
export interface VehicleClass {
  readonly name: string;
  readonly share: number;
  readonly maxKw: number;
  readonly phases: 1 | 2 | 3;
  /** Share of its energy after which the power of the car declines; 1 for never. */
  readonly taperFrom: number;
  readonly reactionMs: Range;
  readonly stubbornShare: number;
  readonly isIdeal: boolean;
}

/** A file of recorded sessions; its instant `fromMs` coincides with the start of the scenario. */
export interface RecordedSessions {
  readonly kind: 'csv';
  readonly path: string;
  readonly fromMs: EpochMs;
  readonly energy: 'requested' | 'delivered';
  /** Applies to times in the file without a UTC offset. */
  readonly timeZone: TimeZone | undefined;
  /** The connector of each station. If undefined, the stations take the connectors in order. */
  readonly stations: ReadonlyMap<string, string> | undefined;
}

/** Sessions that are drawn for each connector. `hourWeights` has one weight for each hour of the site's day. */
export interface GeneratedSessions {
  readonly kind: 'generate';
  readonly perDay: number;
  readonly hourWeights: readonly number[];
  readonly energyWh: Range;
  readonly stayMs: Range;
}

/** Declared departures and needs of the sessions. */
export interface Departures {
  /** Share of the sessions that declare theirs. */
  readonly share: number;
  /** Largest error of a declared departure, in both directions. */
  readonly timeErrorMs: number;
  /** Largest error of a declared need, as a share of it. */
  readonly needError: number;
  readonly minimumWh: number;
}

/** A visit that the file lists. Without `vehicle`, the class is drawn. */
interface NamedVisit {
  readonly connectorKey: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
  readonly vehicle: string | undefined;
}

interface ListedSessions {
  readonly kind: 'visits';
  readonly visits: readonly NamedVisit[];
}

export type Sessions = RecordedSessions | GeneratedSessions | ListedSessions;

/** A REST call. Its answer must have `status`, and is kept under `keepAs` for parameters of later calls. */
export interface Action {
  readonly atMs: EpochMs;
  /** Its number in the file; the calls of a branch continue this numbering. */
  readonly nth: number;
  /** Its place in the file. */
  readonly where: string;
  readonly operationId: string;
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly tenantUuid: string;
  /** A value `$name.field` refers to that field of a kept answer. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** The request body; undefined for a request without a body. */
  readonly body: unknown;
  readonly status: number;
  readonly keepAs: string | undefined;
}

/** Direction in which a partition cuts messages: from the charger, to the charger, or both. */
export type CutDirection = 'both' | 'up' | 'down';

/** Failing link of a charger behind the gateway: the charger's own, or the link between gateway and broker. */
export type FaultLink = 'charger' | 'broker';

/** A fault; `faultPlanOf` draws from its ranges. Times in ms, shares from 0 to 1. */
export interface Fault {
  /** A drifting clock lasts for the whole run, so the trace has no event for it. */
  readonly kind: FaultKind | 'clockDrift';
  readonly fromMs: EpochMs;
  readonly untilMs: EpochMs;
  /** The affected chargers; empty if the fault affects the service. */
  readonly chargers: readonly { readonly locationId: string; readonly controllerUuid: string }[];
  /** Share of the affected messages. For a drifting clock, the share by which the clock is slow (negative: fast). */
  readonly share: Range | undefined;
  /** Longest additional delay of a message. */
  readonly upToMs: Range | undefined;
  readonly lengthMs: Range | undefined;
  /** From the start of an episode to the start of the next; undefined for a single episode. */
  readonly everyMs: Range | undefined;
  readonly direction: CutDirection;
  /** Only for chargers that use OCPP. */
  readonly link: FaultLink;
}

/**
 * A line of the low-voltage grid, from its source to the locations at its end. Voltages are phase to neutral; the
 * resistance is that of one phase, source and neutral included. From `fromMs` on, other consumers draw `kw`. The steps
 * are in order of time, and the first one also applies before its instant.
 */
export interface GridLine {
  readonly name: string;
  readonly locationIds: readonly string[];
  readonly sourceVoltageV: number;
  readonly resistanceOhm: number;
  readonly base: readonly { readonly fromMs: EpochMs; readonly kw: number }[];
}

/** A load that is on for `lastsMs` once in each `everyMs`. */
interface Repeated {
  readonly kw: number;
  readonly everyMs: number;
  readonly lastsMs: number;
}

/** A building behind the same connection as the chargers of a location, and its meter. Powers in kW. */
export interface Building {
  readonly tenantUuid: string;
  readonly locationId: string;
  readonly connectionKw: number;
  readonly maxBuildingKw: number;
  readonly leastReserveKw: number;
  readonly pvRaisesHeadroom: boolean;
  /** In order of time; the first step also applies before its instant. */
  readonly base: readonly { readonly fromMs: EpochMs; readonly kw: number }[];
  readonly lift: Repeated | undefined;
  readonly peaks: readonly (Repeated & { readonly fromMs: EpochMs; readonly untilMs: EpochMs })[];
  /** Highest power that the solar panels feed, in the middle of the span. */
  readonly pv: { readonly kw: number; readonly fromMs: EpochMs; readonly untilMs: EpochMs } | undefined;
  readonly meterEveryMs: number;
  readonly meterFaults: readonly {
    readonly kind: 'lost' | 'stuck' | 'signSwapped' | 'tenth' | 'jumped';
    readonly fromMs: EpochMs;
    readonly untilMs: EpochMs;
  }[];
}

/** Faults of the service as a whole; all other faults affect chargers. */
export const SERVICE_FAULTS: readonly Fault['kind'][] = [
  'serviceCrash',
  'brokerRestart',
  'databaseBusy',
  'gatewayCrash',
];

/** Both ends included. */
export interface Bounds {
  readonly atLeast: number;
  readonly atMost: number;
}

/** Applies to an instant (`fromMs` = `untilMs`) or to every instant of a span. */
const INSTANT_MEASURES = ['effectiveLimitKw', 'gridLimitKw', 'powerKw', 'limitA'] as const;
/** Applies to the whole run. */
export const RUN_MEASURES = [
  'energyShare',
  'energyKwh',
  'overshootKws',
  'startsPerSession',
  'lockedThrottledS',
  'violations',
] as const;
export type Measure = (typeof INSTANT_MEASURES)[number] | (typeof RUN_MEASURES)[number];

/** Without `locationId` and `connectorKey`, the expectation applies to all locations together. */
export type Expectation = {
  readonly where: string;
  readonly fromMs: EpochMs;
  readonly untilMs: EpochMs;
  readonly locationId: string | undefined;
  readonly connectorKey: string | undefined;
} & (
  | { readonly measure: Measure; readonly bounds: Bounds }
  | { readonly measure: 'reason'; readonly reasons: readonly LimitReason[] }
  /** `isOpen`: at least one of `alarms` is open; otherwise none of them is. */
  | { readonly measure: 'alarm'; readonly alarms: readonly AlarmKind[]; readonly isOpen: boolean }
);

export interface Scenario extends ScenarioSpan {
  readonly name: string;
  /** Path of the scenario file. */
  readonly path: string;
  readonly seed: number;
  readonly meterPeriodMs: number;
  readonly transport: Transport;
  /** With a value for every secret. */
  readonly provision: ProvisioningFile;
  readonly connectors: readonly ScenarioConnector[];
  /** The chargers that use OCPP; all others use MQTT. */
  readonly ocpp: readonly OcppMember[];
  /** MQTT chargers keep the fail-safe current of their last limit over a restart. */
  readonly keepsThen: boolean;
  /**
   * MQTT chargers end a limit together with its session. Current that their cars do not use can therefore be
   * reallocated.
   */
  readonly endsWithSession: boolean;
  /** MQTT chargers can charge a car on fewer phases than the car uses, if the service requests it. */
  readonly switchesPhases: boolean;
  /** A location on no line has the voltage of its connectors' ratings. */
  readonly grid: readonly GridLine[];
  readonly buildings: readonly Building[];
  readonly sessions: Sessions;
  /** undefined if no car declares anything. */
  readonly departures: Departures | undefined;
  /** Replaces the policies of all locations; no file can have it. */
  readonly policy?: Policy;
  readonly vehicles: readonly VehicleClass[];
  /** In order of time. */
  readonly actions: readonly Action[];
  /** The calls of the file without those of a branch; absent if there is no branch. */
  readonly planned?: readonly Action[];
  readonly faults: readonly Fault[];
  readonly expectations: readonly Expectation[];
}
