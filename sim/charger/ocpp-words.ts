// What a virtual charger says and understands, whatever version of OCPP it speaks.
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import type { RateUnit } from '../../machines/session/lease-schedule.js';

/** A call: method and parameters. */
export type Words = readonly [string, object];

/** What the meter of an EVSE shows. Currents in A per phase. */
export interface Shown {
  readonly evse: number;
  readonly ownTime: string;
  readonly status: ChargingStatus;
  readonly energyWh: number;
  readonly powerW: number;
  readonly drawnA: number;
  /** That the car uses. */
  readonly phases: number;
  /** Of each phase that the connector has. */
  readonly voltagesV: readonly number[];
}

/** A charging profile as it was set. */
export interface SetProfile {
  readonly evse: number;
  readonly id: number;
  readonly isOfTransaction: boolean;
  /** Undefined: whichever runs. */
  readonly transaction: TransactionRef | undefined;
  readonly stackLevel: number;
  readonly startSchedule: string;
  readonly unit: RateUnit;
  readonly periods: readonly { readonly startPeriod: number; readonly limit: number }[];
}

/** What a call does to the charger. */
export interface Device {
  /** Periods that it takes, as it says. */
  readonly maxPeriods: number;
  readonly units: readonly RateUnit[];
  /** False where it does not take it. */
  setProfile(profile: SetProfile): boolean;
  /** False where it has none with that id. */
  clearProfile(id: number): boolean;
  /** Undefined where it does not say. */
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
  /** @param evse undefined: all */
  say(what: 'status' | 'values', evse: number | undefined): void;
}

export interface OcppWords {
  boot(): Words;
  status(shown: Shown): Words;
  /** A transaction begins. */
  started(shown: Shown): Words;
  /** What the charger itself named the transaction that began last; undefined where the answer names it. */
  readonly ownName: TransactionRef | undefined;
  /** Its name, from the answer or its own. */
  transactionOf(answer: unknown): TransactionRef;
  values(transaction: TransactionRef, shown: Shown): Words;
  ended(transaction: TransactionRef, shown: Shown): Words;
  /** What it answers when it is called. */
  answer(method: string, params: object, device: Device): Record<string, unknown>;
}

export const ACCEPTED = { status: 'Accepted' };
export const REJECTED = { status: 'Rejected' };

/** The schedule of a charging profile, in the words of all versions. */
export interface SentSchedule {
  readonly startSchedule: string;
  readonly chargingRateUnit: RateUnit;
  readonly chargingSchedulePeriod: SetProfile['periods'];
}

/** A charging profile, in the words of all versions. */
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

/** What `GetCompositeSchedule` asks for, in the words of all versions; undefined where the charger does not say. */
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

/** The answer to what is asked in the same words in all versions. */
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

/** By measurand, unit and phase, in A, V, W and Wh. */
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
