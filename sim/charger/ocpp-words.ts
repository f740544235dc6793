// The calls and answers of a virtual charger, as far as they are alike in all versions of OCPP.
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import type { RateUnit } from '../../machines/session/lease-schedule.js';

/** A call: method and parameters. */
export type Words = readonly [string, object];

/** Meter and status of an EVSE. Currents are in A per phase. */
export interface Shown {
  readonly evse: number;
  readonly ownTime: string;
  readonly status: ChargingStatus;
  readonly energyWh: number;
  readonly powerW: number;
  readonly drawnA: number;
  /** Phases that the car uses. */
  readonly phases: number;
  /** One for each phase of the connector. */
  readonly voltagesV: readonly number[];
}

/** A charging profile as sent to the charger. */
export interface SetProfile {
  readonly evse: number;
  readonly id: number;
  readonly isOfTransaction: boolean;
  /** Undefined for whichever transaction runs. */
  readonly transaction: TransactionRef | undefined;
  readonly stackLevel: number;
  readonly startSchedule: string;
  readonly unit: RateUnit;
  readonly periods: readonly { readonly startPeriod: number; readonly limit: number }[];
}

/** Effects of a call on the charger. */
export interface Device {
  /** Most periods of a profile, as the charger reports. */
  readonly maxPeriods: number;
  readonly units: readonly RateUnit[];
  /** False if the charger refuses the profile. */
  setProfile(profile: SetProfile): boolean;
  /** False for an unknown profile id. */
  clearProfile(id: number): boolean;
  /** Undefined for a charger that hides its schedule. */
  composite(
    evse: number,
    durationS: number,
    unit: RateUnit,
  ):
    | {
        readonly unit: RateUnit;
        readonly startTime: string;
        readonly periods: readonly { readonly startPeriod: number; readonly limit: number }[];
      }
    | undefined;
  reportEvery(ms: number): void;
  /** @param evse undefined for all EVSEs */
  say(what: 'status' | 'values', evse: number | undefined): void;
}

export interface OcppWords {
  boot(): Words;
  status(shown: Shown): Words;
  started(shown: Shown): Words;
  /** The charger's own id of the transaction that began last; undefined if the answer assigns the id (OCPP 1.6). */
  readonly ownName: TransactionRef | undefined;
  /** Transaction id from the answer (OCPP 1.6), or the charger's own. */
  transactionOf(answer: unknown): TransactionRef;
  values(transaction: TransactionRef, shown: Shown): Words;
  ended(transaction: TransactionRef, shown: Shown): Words;
  answer(method: string, params: object, device: Device): Record<string, unknown>;
}

export const ACCEPTED = { status: 'Accepted' };
export const REJECTED = { status: 'Rejected' };

/** Fields of a charging profile's schedule that are alike in all versions. */
export interface SentSchedule {
  readonly startSchedule: string;
  readonly chargingRateUnit: RateUnit;
  readonly chargingSchedulePeriod: SetProfile['periods'];
}

/** Fields of a charging profile that are alike in all versions. */
export interface SentProfile {
  readonly stackLevel: number;
  readonly chargingProfilePurpose: string;
  readonly transactionId?: TransactionRef;
}

export function setProfile(
  device: Device,
  { evse, id }: Pick<SetProfile, 'evse' | 'id'>,
  { stackLevel, chargingProfilePurpose, transactionId }: SentProfile,
  schedule: SentSchedule,
): typeof ACCEPTED {
  const isTaken = device.setProfile({
    evse,
    id,
    stackLevel,
    isOfTransaction: chargingProfilePurpose === 'TxProfile',
    transaction: transactionId,
    startSchedule: schedule.startSchedule,
    unit: schedule.chargingRateUnit,
    periods: schedule.chargingSchedulePeriod,
  });
  return isTaken ? ACCEPTED : REJECTED;
}

/**
 * The parts of an answer to `GetCompositeSchedule` that are alike in all versions. Undefined for a charger that hides
 * its schedule.
 */
export function compositeOf(device: Device, evse: number, params: object) {
  const { duration, chargingRateUnit = 'A' } = params as { duration: number; chargingRateUnit?: RateUnit };
  const composite = device.composite(evse, duration, chargingRateUnit);
  if (composite === undefined) return undefined;
  const { unit, startTime, periods } = composite;
  return {
    scheduleStart: startTime,
    schedule: { duration, chargingRateUnit: unit, chargingSchedulePeriod: periods },
  };
}

/** Answers the calls that are alike in all versions. */
export function answerAlike(method: string, params: object, device: Device): Record<string, unknown> {
  if (method !== 'TriggerMessage') return REJECTED;
  const { requestedMessage, connectorId, evse } = params as {
    requestedMessage: string;
    connectorId?: number;
    evse?: { id: number };
  };
  device.say(requestedMessage === 'StatusNotification' ? 'status' : 'values', connectorId ?? evse?.id);
  return ACCEPTED;
}

/** Samples by measurand, unit and phase, in A, V, W and Wh. */
export function samplesOf(shown: Shown): readonly {
  readonly measurand: string;
  readonly unit: string;
  readonly phase?: string;
  readonly value: number;
}[] {
  const used = ['L1', 'L2', 'L3'].slice(0, Math.max(1, shown.phases));
  return [
    { measurand: 'Power.Active.Import', unit: 'W', value: Math.round(shown.powerW) },
    ...used.map((phase) => ({
      measurand: 'Current.Import',
      unit: 'A',
      phase,
      value: Math.round(10 * shown.drawnA) / 10,
    })),
    ...shown.voltagesV.map((phaseV, i) => ({
      measurand: 'Voltage',
      unit: 'V',
      phase: `L${i + 1}-N`,
      value: Math.round(10 * phaseV) / 10,
    })),
    { measurand: 'Energy.Active.Import.Register', unit: 'Wh', value: Math.round(shown.energyWh) },
  ];
}
