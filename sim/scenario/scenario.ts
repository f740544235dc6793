// A scenario as the simulator runs it: everything of the file found, checked and put on one axis of time.
import type { AlarmKind, LimitReason } from '../../machines/power/grant.js';
import type { ConnectorAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ConnectorRating } from '../../machines/values/units.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import type { OcppTraits } from '../charger/ocpp-traits.js';
import type { FaultKind } from '../trace/trace-event.js';
import type { Range } from './draw.js';
import type { ScenarioSpan } from './moment.js';
import type { TimeZone } from './time-zone.js';

/** `ocpp`: every charger speaks it, and the gateway speaks for them in process. */
export const TRANSPORTS = ['inProcess', 'mqtt', 'ocpp'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** A connector of the scenario. `key` is unique in it. */
export interface ScenarioConnector extends ConnectorAddress, ConnectorRating {
  readonly key: string;
}

/** A charger that speaks OCPP. */
export interface OcppMember extends Pick<OcppTraits, 'protocol' | 'behaviours'> {
  readonly controllerUuid: string;
}

/** A class of cars. Power in kW, times in ms, shares from 0 to 1; `share` is its weight among the classes. */
export interface VehicleClass {
  readonly name: string;
  readonly share: number;
  readonly maxKw: number;
  readonly phases: 1 | 2 | 3;
  /** The part of its energy after which it takes less and less; 1 for never. */
  readonly taperFrom: number;
  readonly reactionMs: Range;
  readonly stubbornShare: number;
  readonly isIdeal: boolean;
}

/** A recorded file of sessions; what the file says of `fromMs` happens at the scenario's start. */
export interface RecordedSessions {
  readonly kind: 'csv';
  readonly path: string;
  readonly fromMs: EpochMs;
  readonly energy: 'requested' | 'delivered';
  /** That of the file's times without an offset from UTC. */
  readonly timeZone: TimeZone | undefined;
  /** The connector of each station; undefined: the stations take the connectors in order. */
  readonly stations: ReadonlyMap<string, string> | undefined;
}

/** Sessions drawn for each connector. `hourWeights` has one for each hour of the site's day. */
export interface GeneratedSessions {
  readonly kind: 'generate';
  readonly perDay: number;
  readonly hourWeights: readonly number[];
  readonly energyWh: Range;
  readonly stayMs: Range;
}

/** A visit that the file names. Without `vehicle`, the class is drawn. */
export interface NamedVisit {
  readonly connectorKey: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
  readonly vehicle: string | undefined;
}

export interface ListedSessions {
  readonly kind: 'visits';
  readonly visits: readonly NamedVisit[];
}

export type Sessions = RecordedSessions | GeneratedSessions | ListedSessions;

/** A REST call. Its answer must have `status`, and is kept under `keepAs` for parameters of later calls. */
export interface Action {
  readonly atMs: EpochMs;
  /** Its number in the file; those of a branch go on from there. */
  readonly nth: number;
  /** Where it stands in the file. */
  readonly where: string;
  readonly operationId: string;
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly tenantUuid: string;
  /** A value `$name.field` stands for that field of a kept answer. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** As it is sent, undefined where nothing is. */
  readonly body: unknown;
  readonly status: number;
  readonly keepAs: string | undefined;
}

/** Which ways a partition cuts: from the charger, to it, or both. */
export type CutDirection = 'both' | 'up' | 'down';

/** Which link of a charger behind the gateway fails: its own, or that of the gateway to the broker. */
export type FaultLink = 'charger' | 'broker';

/** A fault; ranges are drawn from by `faultPlanOf`. Times in ms, shares from 0 to 1. */
export interface Fault {
  /** A clock that drifts is a trait of the charger for the whole run, no event of the trace. */
  readonly kind: FaultKind | 'clockDrift';
  readonly fromMs: EpochMs;
  readonly untilMs: EpochMs;
  /** The chargers it befalls; empty where it befalls the service. */
  readonly chargers: readonly { readonly locationId: string; readonly controllerUuid: string }[];
  /** Of messages; of a clock that drifts, how much it is slow (negative: fast). */
  readonly share: Range | undefined;
  /** Messages come up to this much later. */
  readonly upToMs: Range | undefined;
  readonly lengthMs: Range | undefined;
  /** From one beginning to the next; undefined: once. */
  readonly everyMs: Range | undefined;
  readonly direction: CutDirection;
  /** Of a charger that speaks OCPP: to the gateway, or of the gateway to the broker. */
  readonly link: FaultLink;
}

/**
 * A line of the low-voltage grid, from its source to the locations at its end. Voltages are phase to neutral, the resistance
 * is that of one phase, source and neutral included. From `fromMs` on others draw `kw`, in the order of time; before the first
 * step what it says.
 */
export interface GridLine {
  readonly name: string;
  readonly locationIds: readonly string[];
  readonly sourceVoltageV: number;
  readonly resistanceOhm: number;
  readonly base: readonly { readonly fromMs: EpochMs; readonly kw: number }[];
}

/** What is on for `lastsMs`, once in each `everyMs`. */
export interface Repeated {
  readonly kw: number;
  readonly everyMs: number;
  readonly lastsMs: number;
}

/** A building beside the chargers of a location, and its meter. Powers in kW. */
export interface Building {
  readonly tenantUuid: string;
  readonly locationId: string;
  readonly connectionKw: number;
  readonly maxBuildingKw: number;
  readonly leastReserveKw: number;
  readonly pvRaisesHeadroom: boolean;
  /** In the order of time; before the first step what that says. */
  readonly base: readonly { readonly fromMs: EpochMs; readonly kw: number }[];
  readonly lift: Repeated | undefined;
  readonly peaks: readonly (Repeated & { readonly fromMs: EpochMs; readonly untilMs: EpochMs })[];
  /** Most it feeds, at the middle of the span. */
  readonly pv: { readonly kw: number; readonly fromMs: EpochMs; readonly untilMs: EpochMs } | undefined;
  readonly meterEveryMs: number;
  readonly meterFaults: readonly {
    readonly kind: 'lost' | 'stuck' | 'signSwapped' | 'tenth' | 'jumped';
    readonly fromMs: EpochMs;
    readonly untilMs: EpochMs;
  }[];
}

/** Faults of the service as a whole; the others befall chargers. */
export const SERVICE_FAULTS: readonly Fault['kind'][] = [
  'serviceCrash',
  'brokerRestart',
  'databaseBusy',
  'gatewayCrash',
];

/** What a number may be, both included. */
export interface Bounds {
  readonly atLeast: number;
  readonly atMost: number;
}

/** Held at an instant (`fromMs` = `untilMs`) or at every instant of a span. */
const INSTANT_MEASURES = ['effectiveLimitKw', 'gridLimitKw', 'powerKw', 'limitA'] as const;
/** Of the whole run. */
export const RUN_MEASURES = [
  'energyShare',
  'energyKwh',
  'overshootKws',
  'startsPerSession',
  'lockedThrottledS',
  'violations',
] as const;
export type Measure = (typeof INSTANT_MEASURES)[number] | (typeof RUN_MEASURES)[number];

/** What is expected; without `locationId` and `connectorKey`, of all locations together. */
export type Expectation = {
  readonly where: string;
  readonly fromMs: EpochMs;
  readonly untilMs: EpochMs;
  readonly locationId: string | undefined;
  readonly connectorKey: string | undefined;
} & (
  | { readonly measure: Measure; readonly bounds: Bounds }
  | { readonly measure: 'reason'; readonly reasons: readonly LimitReason[] }
  /** At least one of `alarms` is open, or none of them. */
  | { readonly measure: 'alarm'; readonly alarms: readonly AlarmKind[]; readonly isOpen: boolean }
);

export interface Scenario extends ScenarioSpan {
  readonly name: string;
  /** The file it was read from. */
  readonly path: string;
  readonly seed: number;
  readonly meterPeriodMs: number;
  readonly transport: Transport;
  /** With every secret filled in. */
  readonly provision: ProvisioningFile;
  readonly connectors: readonly ScenarioConnector[];
  /** The chargers that speak OCPP; the others speak MQTT. */
  readonly ocpp: readonly OcppMember[];
  /** Chargers that speak MQTT keep over a restart what they are told to fall back to. */
  readonly keepsThen: boolean;
  /** Chargers that speak MQTT end a limit with the session it is for: what their cars do not use can be lent. */
  readonly endsWithSession: boolean;
  /** They also charge a car on fewer phases than that uses, where they are told so. */
  readonly switchesPhases: boolean;
  /** Locations on no line have the voltage of their rating. */
  readonly grid: readonly GridLine[];
  readonly buildings: readonly Building[];
  readonly sessions: Sessions;
  readonly vehicles: readonly VehicleClass[];
  /** In the order of time. */
  readonly actions: readonly Action[];
  /** Those of the file alone, where a branch added some. */
  readonly planned?: readonly Action[];
  readonly faults: readonly Fault[];
  readonly expectations: readonly Expectation[];
}
