// What a virtual charger says and understands, whatever version of OCPP it speaks.
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import type { RateUnit } from '../../machines/session/lease-schedule.js';

/** A call: method and parameters. */
export type Words = readonly [string, object];

/** What its meter shows. Currents in A per phase. */
export interface Shown {
  readonly ownTime: string;
  readonly status: ChargingStatus;
  readonly energyWh: number;
  readonly powerW: number;
  readonly drawnA: number;
  /** That the car uses, and that the connector has. */
  readonly phases: number;
  readonly ratedPhases: number;
  readonly voltageV: number;
}

/** A charging profile as it was set. */
export interface SetProfile {
  readonly id: number;
  readonly isOfTransaction: boolean;
  readonly stackLevel: number;
  readonly startSchedule: string;
  readonly unit: RateUnit;
  readonly periods: readonly { readonly startPeriod: number; readonly limit: number }[];
}

/** What a call does to the charger. */
export interface Device {
  setProfile(profile: SetProfile): void;
  /** False where it has none with that id. */
  clearProfile(id: number): boolean;
  composite(
    durationS: number,
    unit: RateUnit,
  ): {
    readonly unit: RateUnit;
    readonly startTime: string;
    readonly periods: readonly { readonly startPeriod: number; readonly limit: number }[];
  };
  reportEvery(ms: number): void;
  say(what: 'status' | 'values'): void;
}

export interface OcppWords {
  boot(): Words;
  status(shown: Shown): Words;
  /** A transaction begins. */
  started(shown: Shown): Words;
  /** Its name, from the answer or its own. */
  transactionOf(answer: unknown): TransactionRef;
  values(transaction: TransactionRef, shown: Shown): Words;
  ended(transaction: TransactionRef, shown: Shown): Words;
  /** What it answers when it is called. */
  answer(method: string, params: object, device: Device): Record<string, unknown>;
}

export const EVSE = 1;
export const ACCEPTED = { status: 'Accepted' };

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
}

export function setProfile(
  device: Device,
  id: number,
  { stackLevel, chargingProfilePurpose }: SentProfile,
  schedule: SentSchedule,
): typeof ACCEPTED {
  device.setProfile({
    id,
    stackLevel,
    isOfTransaction: chargingProfilePurpose === 'TxProfile',
    startSchedule: schedule.startSchedule,
    unit: schedule.chargingRateUnit,
    periods: schedule.chargingSchedulePeriod,
  });
  return ACCEPTED;
}

/** What `GetCompositeSchedule` asks for, in the words of all versions. */
export function compositeOf(device: Device, params: object) {
  const { duration, chargingRateUnit = 'A' } = params as { duration: number; chargingRateUnit?: RateUnit };
  const { unit, startTime, periods } = device.composite(duration, chargingRateUnit);
  return {
    scheduleStart: startTime,
    schedule: { duration, chargingRateUnit: unit, chargingSchedulePeriod: periods },
  };
}

/** The answer to what is asked in the same words in all versions. */
export function answerAlike(method: string, params: object, device: Device): Record<string, unknown> {
  if (method !== 'TriggerMessage') return { status: 'Rejected' };
  const { requestedMessage } = params as { requestedMessage: string };
  device.say(requestedMessage === 'StatusNotification' ? 'status' : 'values');
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
  const rated = ['L1-N', 'L2-N', 'L3-N'].slice(0, shown.ratedPhases);
  return [
    { measurand: 'Power.Active.Import', unit: 'W', value: Math.round(shown.powerW) },
    ...used.map((phase) => ({
      measurand: 'Current.Import',
      unit: 'A',
      phase,
      value: Math.round(10 * shown.drawnA) / 10,
    })),
    ...rated.map((phase) => ({ measurand: 'Voltage', unit: 'V', phase, value: shown.voltageV })),
    { measurand: 'Energy.Active.Import.Register', unit: 'Wh', value: Math.round(shown.energyWh) },
  ];
}
