// The calls and answers of a virtual charger, as far as they are alike in all versions of OCPP.

import type { TransactionRef } from '../../machines/session/gateway-request.js';
import type { RateUnit } from '../../machines/session/lease-schedule.js';
import type { ChargingStatus } from '../../machines/values/charging-status.js';
import type { ChargingPreferences } from '../../src/wire/charging-preferences.js';

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
  /** Currents and voltages are those of the car, and have no phase. */
  readonly isDc: boolean;
  /** Phases that the car uses. */
  readonly phases: number;
  /** One for each phase of the connector. For DC: the voltage at the car. */
  readonly voltagesV: readonly number[];
  /** Of a DC charger with a car. */
  readonly socPercent: number | undefined;
  /** The charger measures neither current nor voltage. */
  readonly isPowerOnly: boolean;
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
  /** Departure and need of the car at the EVSE; undefined if no message of the version has them. */
  needs(evse: number, preferences: ChargingPreferences): Words | undefined;
  answer(method: string, params: object, device: Device): Record<string, unknown>;
}

const ACCEPTED = { status: 'Accepted' };
const REJECTED = { status: 'Rejected' };

/** Fields of a charging profile's schedule that are alike in all versions. */
interface SentSchedule {
  readonly startSchedule: string;
  readonly chargingRateUnit: RateUnit;
  readonly chargingSchedulePeriod: SetProfile['periods'];
}

/** Fields of a charging profile that are alike in all versions. */
interface SentProfile {
  readonly stackLevel: number;
  readonly chargingProfilePurpose: string;
  readonly transactionId?: TransactionRef;
}

function setProfile(
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
function compositeOf(device: Device, evse: number, params: object) {
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
function answerAlike(method: string, params: object, device: Device): Record<string, unknown> {
  if (method !== 'TriggerMessage') return REJECTED;
  const { requestedMessage, connectorId, evse } = params as {
    requestedMessage: string;
    connectorId?: number;
    evse?: { id: number };
  };
  device.say(requestedMessage === 'StatusNotification' ? 'status' : 'values', connectorId ?? evse?.id);
  return ACCEPTED;
}

interface Sample {
  readonly measurand: string;
  readonly unit: string;
  readonly phase?: string;
  readonly location?: string;
  readonly value: number;
}

/** Samples by measurand, unit and phase, in A, V, W and Wh. */
function samplesOf(shown: Shown): readonly Sample[] {
  return [
    { measurand: 'Power.Active.Import', unit: 'W', value: Math.round(shown.powerW) },
    ...(shown.isPowerOnly ? [] : currentsAndVoltagesOf(shown)),
    { measurand: 'Energy.Active.Import.Register', unit: 'Wh', value: Math.round(shown.energyWh) },
    ...(shown.socPercent === undefined
      ? []
      : [{ measurand: 'SoC', unit: 'Percent', location: 'EV', value: shown.socPercent }]),
  ];
}

function currentsAndVoltagesOf(shown: Shown): readonly Sample[] {
  const used = shown.isDc ? [undefined] : ['L1', 'L2', 'L3'].slice(0, Math.max(1, shown.phases));
  return [
    ...used.map((phase) => ({
      measurand: 'Current.Import',
      unit: 'A',
      ...(phase !== undefined && { phase }),
      value: Math.round(10 * shown.drawnA) / 10,
    })),
    ...shown.voltagesV.map((phaseV, i) => ({
      measurand: 'Voltage',
      unit: 'V',
      ...(!shown.isDc && { phase: `L${i + 1}-N` }),
      value: Math.round(10 * phaseV) / 10,
    })),
  ];
}

const UNIT_NAMES = { A: 'Current', W: 'Power' } as const;

function settingsOf({ units, maxPeriods }: Device): ReadonlyMap<string, string> {
  return new Map([
    ['SupportedFeatureProfiles', 'Core,SmartCharging,RemoteTrigger'],
    ['ChargingScheduleAllowedChargingRateUnit', units.map((unit) => UNIT_NAMES[unit]).join(',')],
    ['ChargeProfileMaxStackLevel', '8'],
    ['ChargingScheduleMaxPeriods', String(maxPeriods)],
  ]);
}

interface Profile16 extends SentProfile {
  readonly chargingProfileId: number;
  readonly chargingSchedule: SentSchedule;
}

export class Ocpp16Words implements OcppWords {
  readonly ownName = undefined;

  boot(): Words {
    return ['BootNotification', { chargePointVendor: 'Virtual', chargePointModel: 'OCPP' }];
  }

  status({ evse: connectorId, status, ownTime: timestamp }: Shown): Words {
    return ['StatusNotification', { connectorId, errorCode: 'NoError', status, timestamp }];
  }

  started({ evse: connectorId, energyWh, ownTime: timestamp }: Shown): Words {
    const meterStart = Math.round(energyWh);
    return ['StartTransaction', { connectorId, idTag: 'VIRTUAL', meterStart, timestamp }];
  }

  transactionOf(answer: unknown): number {
    return (answer as { transactionId: number }).transactionId;
  }

  values(transactionId: number, shown: Shown): Words {
    const sampledValue = samplesOf(shown).map((sample) => ({ ...sample, value: String(sample.value) }));
    const meterValue = [{ timestamp: shown.ownTime, sampledValue }];
    return ['MeterValues', { connectorId: shown.evse, transactionId, meterValue }];
  }

  ended(transactionId: number, { energyWh, ownTime: timestamp }: Shown): Words {
    return ['StopTransaction', { transactionId, meterStop: Math.round(energyWh), timestamp }];
  }

  needs(): undefined {
    return undefined;
  }

  answer(method: string, params: object, device: Device): Record<string, unknown> {
    switch (method) {
      case 'GetConfiguration': {
        const settings = settingsOf(device);
        const { key: keys = [...settings.keys()] } = params as { key?: string[] };
        const known = keys.filter((key) => settings.has(key));
        return {
          configurationKey: known.map((key) => ({ key, readonly: true, value: settings.get(key) })),
          unknownKey: keys.filter((key) => !settings.has(key)),
        };
      }
      case 'ChangeConfiguration': {
        const { key, value } = params as { key: string; value: string };
        if (key === 'MeterValueSampleInterval') device.reportEvery(1000 * Number(value));
        return ACCEPTED;
      }
      case 'SetChargingProfile': {
        const { connectorId: evse, csChargingProfiles: profile } = params as {
          connectorId: number;
          csChargingProfiles: Profile16;
        };
        const of = { evse, id: profile.chargingProfileId };
        return setProfile(device, of, profile, profile.chargingSchedule);
      }
      case 'ClearChargingProfile':
        return { status: device.clearProfile((params as { id: number }).id) ? 'Accepted' : 'Unknown' };
      case 'GetCompositeSchedule': {
        const { connectorId } = params as { connectorId: number };
        const composite = compositeOf(device, connectorId, params);
        if (composite === undefined) return REJECTED;
        const { schedule: chargingSchedule, scheduleStart } = composite;
        return { status: 'Accepted', connectorId, scheduleStart, chargingSchedule };
      }
      default:
        return answerAlike(method, params, device);
    }
  }
}

// The messages of a virtual charger in OCPP 2.0.1 and 2.1.

/** Variables of the component `SmartChargingCtrlr`. */
function variablesOf({ units, maxPeriods }: Device): ReadonlyMap<string, string> {
  return new Map([
    ['Enabled', 'true'],
    ['RateUnit', units.join(',')],
    ['ProfileStackLevel', '8'],
    ['PeriodsPerSchedule', String(maxPeriods)],
  ]);
}

const STATES = new Map([
  ['Charging', 'Charging'],
  ['SuspendedEV', 'SuspendedEV'],
  ['SuspendedEVSE', 'SuspendedEVSE'],
]);
const CONNECTOR = 1;

interface Variable {
  readonly component: { readonly name: string };
  readonly variable: { readonly name: string };
  readonly attributeValue: string;
}
interface Profile201 extends SentProfile {
  readonly id: number;
  readonly chargingSchedule: readonly SentSchedule[];
}

export class Ocpp201Words implements OcppWords {
  readonly #newTransaction: () => string;
  #transaction = '';
  /** Next sequence number of each running transaction. */
  readonly #seqNos = new Map<string, number>();

  /** @param newTransaction returns an id that no transaction had before */
  constructor(newTransaction: () => string) {
    this.#newTransaction = newTransaction;
  }

  boot(): Words {
    const chargingStation = { vendorName: 'Virtual', model: 'OCPP' };
    return ['BootNotification', { reason: 'PowerUp', chargingStation }];
  }

  status({ evse: evseId, status, ownTime: timestamp }: Shown): Words {
    const connectorStatus = status === 'Available' ? 'Available' : 'Occupied';
    return ['StatusNotification', { timestamp, connectorStatus, evseId, connectorId: CONNECTOR }];
  }

  started(shown: Shown): Words {
    this.#transaction = this.#newTransaction();
    const more = {
      evse: { id: shown.evse, connectorId: CONNECTOR },
      idToken: { idToken: 'VIRTUAL', type: 'Central' },
    };
    return this.#event('Started', 'CablePluggedIn', this.#transaction, shown, more);
  }

  get ownName(): string {
    return this.#transaction;
  }

  transactionOf(): string {
    return this.#transaction;
  }

  values(transaction: string, shown: Shown): Words {
    return this.#event('Updated', 'MeterValuePeriodic', transaction, shown, {});
  }

  ended(transaction: string, shown: Shown): Words {
    const words = this.#event('Ended', 'EVCommunicationLost', transaction, shown, {});
    this.#seqNos.delete(transaction);
    return words;
  }

  /** The message has neither a minimum nor a priority, and its energy is whole Wh. */
  needs(evseId: number, { departureTime, energyNeedKwh }: ChargingPreferences): Words | undefined {
    if (departureTime === undefined && energyNeedKwh === undefined) return undefined;
    const acChargingParameters = energyNeedKwh !== undefined && {
      acChargingParameters: {
        energyAmount: Math.round(1000 * energyNeedKwh),
        evMinCurrent: 6,
        evMaxCurrent: 32,
        evMaxVoltage: 230,
      },
    };
    const chargingNeeds = {
      requestedEnergyTransfer: 'AC_three_phase',
      ...(departureTime !== undefined && { departureTime }),
      ...acChargingParameters,
    };
    return ['NotifyEVChargingNeeds', { evseId, chargingNeeds }];
  }

  #event(eventType: string, triggerReason: string, transactionId: string, shown: Shown, more: object): Words {
    const seqNo = this.#seqNos.get(transactionId) ?? 0;
    this.#seqNos.set(transactionId, seqNo + 1);
    const chargingState = STATES.get(shown.status) ?? 'EVConnected';
    const sampledValue = samplesOf(shown).map(({ unit, ...sample }) => ({
      ...sample,
      unitOfMeasure: { unit },
    }));
    return [
      'TransactionEvent',
      {
        eventType,
        triggerReason,
        timestamp: shown.ownTime,
        seqNo,
        transactionInfo: { transactionId, chargingState },
        meterValue: [{ timestamp: shown.ownTime, sampledValue }],
        ...more,
      },
    ];
  }

  answer(method: string, params: object, device: Device): Record<string, unknown> {
    switch (method) {
      case 'GetVariables':
        return {
          getVariableResult: this.#variables(params as { getVariableData: readonly Variable[] }, device),
        };
      case 'SetVariables':
        return {
          setVariableResult: this.#change(params as { setVariableData: readonly Variable[] }, device),
        };
      case 'SetChargingProfile': {
        const { evseId: evse, chargingProfile: profile } = params as {
          evseId: number;
          chargingProfile: Profile201;
        };
        const [schedule] = profile.chargingSchedule;
        if (schedule === undefined) return REJECTED;
        return setProfile(device, { evse, id: profile.id }, profile, schedule);
      }
      case 'ClearChargingProfile': {
        const { chargingProfileId = 0 } = params as { chargingProfileId?: number };
        return { status: device.clearProfile(chargingProfileId) ? 'Accepted' : 'Unknown' };
      }
      case 'GetCompositeSchedule': {
        const { evseId } = params as { evseId: number };
        const composite = compositeOf(device, evseId, params);
        if (composite === undefined) return REJECTED;
        const { schedule, scheduleStart } = composite;
        return { status: 'Accepted', schedule: { ...schedule, evseId, scheduleStart } };
      }
      default:
        return answerAlike(method, params, device);
    }
  }

  #variables(
    { getVariableData }: { readonly getVariableData: readonly Variable[] },
    device: Device,
  ): readonly object[] {
    const variables = variablesOf(device);
    return getVariableData.map(({ component, variable }) => {
      const value = component.name === 'SmartChargingCtrlr' ? variables.get(variable.name) : undefined;
      return value === undefined
        ? { attributeStatus: 'UnknownVariable', component, variable }
        : { attributeStatus: 'Accepted', attributeValue: value, component, variable };
    });
  }

  #change(
    { setVariableData }: { readonly setVariableData: readonly Variable[] },
    device: Device,
  ): readonly object[] {
    return setVariableData.map(({ component, variable, attributeValue }) => {
      if (variable.name === 'TxUpdatedInterval') device.reportEvery(1000 * Number(attributeValue));
      return { attributeStatus: 'Accepted', component, variable };
    });
  }
}
