// Requests of a gateway to a charger and the answers, independent of the charger's protocol.
import type { ChargingStatus } from '../values/charging-status.js';
import type { SessionState } from '../values/session-state.js';
import type { LeaseSchedule, RateUnit, ShownSchedule } from './lease-schedule.js';

/**
 * Place of a limit in a charger that has several. `failsafe`: without end, below all others. `default`: the lease while
 * no transaction runs. `transaction`: the lease of the running one, with which it ends.
 */
export type LimitSlot = 'failsafe' | LeaseSlot;
export type LeaseSlot = 'default' | 'transaction';

/** Limits to send for a grant, A per phase: another system may demand less. */
export interface SentLimits {
  readonly limitA: number;
  readonly thenA: number;
}

/** `evse` is the charger's own number of a connector, from 1. */
export type GatewayRequest =
  | { readonly kind: 'readAbilities' }
  /** Requests meter values at that interval. */
  | {
      readonly kind: 'sample';
      readonly everyS: number;
      /** With the state of charge, if the charger has it. */
      readonly withSoc: boolean;
    }
  | { readonly kind: 'setFailsafe'; readonly evse: number; readonly unit: RateUnit; readonly limit: number }
  | {
      readonly kind: 'setLease';
      readonly evse: number;
      readonly slot: LeaseSlot;
      /** The running transaction, for that slot. */
      readonly transaction: TransactionRef | undefined;
      readonly schedule: LeaseSchedule;
      /** End of the lease, by the gateway's clock. */
      readonly endsAtMs: number;
    }
  | { readonly kind: 'clear'; readonly evse: number; readonly slot: LimitSlot }
  | {
      readonly kind: 'readSchedule';
      readonly evse: number;
      readonly durationS: number;
      readonly unit: RateUnit;
    }
  | { readonly kind: 'askStatus'; readonly evse: number }
  | { readonly kind: 'askValues'; readonly evse: number };

/** As the charger's protocol names it. */
export type TransactionRef = number | string;

/** Abilities of a charger that leases depend on. */
export interface ChargerAbilities {
  /** Reason why the charger takes no limits; undefined if it does. */
  readonly whyNot: string | undefined;
  readonly units: readonly RateUnit[];
  /** It takes limits, but they would not end by themselves: the reason and its remedy, for people. */
  readonly hindrance: { readonly why: string; readonly wayOut: string } | undefined;
  /** Further abilities in the words of its protocol, for people. */
  readonly summary: string;
}

export type GatewayAnswer =
  | { readonly kind: 'done' }
  | { readonly kind: 'abilities'; readonly abilities: ChargerAbilities }
  | { readonly kind: 'schedule'; readonly schedule: ShownSchedule }
  /** The charger does not do that. */
  | { readonly kind: 'refused'; readonly why: string }
  /** The outcome is unknown: no answer came, or no meaningful one. */
  | {
      readonly kind: 'failed';
      readonly why: string;
      /** Name of the request in the charger's protocol; undefined if it has none. */
      readonly name?: string | undefined;
    };

/** Meter values of one connector. Values that the charger does not measure are left out. */
export interface MeteredValues {
  /** By the charger's own clock. */
  readonly ownMs: number;
  readonly transaction: TransactionRef | undefined;
  readonly powerW: number | undefined;
  readonly currentA: readonly [number, number, number] | undefined;
  /** False: the charger sends one current for all phases, which is that of the most loaded one. */
  readonly namesPhases: boolean;
  readonly voltageV: readonly [number, number, number] | undefined;
  /** Voltage without a phase: of DC, or of an AC charger that does not name phases. */
  readonly totalVoltageV?: number | undefined;
  readonly energyWh: number | undefined;
  /** State of charge of the car's battery, from 0 to 100. */
  readonly socPercent?: number | undefined;
}

/** Bodies of the messages that the gateway sends for the charger, as in the MQTT contract. */
export interface StateBody {
  readonly v: 1;
  readonly online: boolean;
  readonly boot: string;
  readonly seqNo?: number;
  readonly firmware?: string;
  readonly connectors?: (ConnectorRange & {
    readonly id: string;
    readonly lease: 'heartbeat' | 'none';
    readonly whyNoLease?: string;
    readonly keepsThen: boolean;
    readonly ocppState: SessionState;
  })[];
}

/** A per phase, or W at the car. */
type ConnectorRange =
  | {
      readonly phases: 1 | 3;
      readonly minA: number;
      readonly maxA: number;
      readonly failsafeA: number;
    }
  | { readonly powerType: 'DC'; readonly minW: number; readonly maxW: number; readonly failsafeW: number };

/** Needs that a charger reports of its car, as in the MQTT contract. */
export interface ReportedNeeds {
  /** RFC 3339. */
  readonly departureTime?: string | undefined;
  readonly energyNeedKwh?: number | undefined;
  readonly batteryCapacityKwh?: number | undefined;
  readonly targetSocPercent?: number | undefined;
}

/** Report of a car to its charger. */
export interface CarReport {
  readonly needs: ReportedNeeds;
  /** State of charge of its battery at the report, from 0 to 100. */
  readonly socPercent?: number | undefined;
}

export interface MeterBody {
  readonly v: 1;
  readonly boot: string;
  readonly hb: number;
  readonly status: ChargingStatus;
  readonly powerW: number;
  readonly currentA?: [number, number, number];
  readonly voltageV?: [number, number, number];
  readonly energyWh?: number;
  readonly socPercent?: number;
  readonly epoch: number;
  readonly seq: number;
  /** Of an AC connector. */
  readonly limitA?: number;
  /** Of a DC connector. */
  readonly limitW?: number;
  readonly leaseLeftS?: number;
  readonly isEndOpen?: boolean;
  readonly chargingPreferences?: ReportedNeeds;
  readonly idTag?: string;
}

export interface AckBody {
  readonly v: 1;
  readonly boot: string;
  readonly epoch: number;
  readonly seq: number;
  readonly result: 'APPLIED' | 'STALE' | 'EXPIRED' | 'REJECTED';
  /** Of an AC connector. */
  readonly appliedA?: number;
  /** Of a DC connector. */
  readonly appliedW?: number;
}

export type GatewayMessage<Id extends string = string> =
  | { readonly kind: 'state'; readonly body: StateBody }
  | { readonly kind: 'meter'; readonly connectorId: Id; readonly body: MeterBody }
  | { readonly kind: 'ack'; readonly connectorId: Id; readonly body: AckBody };

/** `…/limit` of the MQTT contract, with the fields that a gateway needs. */
export interface LimitToTake {
  readonly boot: string;
  readonly epoch: number;
  readonly seq: number;
  readonly ref: number;
  readonly ttlS: number;
  readonly limitA: number;
  readonly thenA: number;
  /** Limits of a DC connector, W at the car. */
  readonly limitW?: number | undefined;
  readonly thenW?: number | undefined;
}
