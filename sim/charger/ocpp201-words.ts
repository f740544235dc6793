// A virtual charger's words in OCPP 2.0.1 and 2.1.
import {
  answerAlike,
  compositeOf,
  type Device,
  EVSE,
  type OcppWords,
  type SentProfile,
  type SentSchedule,
  type Shown,
  samplesOf,
  setProfile,
  type Words,
} from './ocpp-words.js';

/** Of `SmartChargingCtrlr`. */
const VARIABLES = new Map([
  ['Enabled', 'true'],
  ['RateUnit', 'A,W'],
  ['ProfileStackLevel', '8'],
  ['PeriodsPerSchedule', '8'],
]);
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
interface Profile extends SentProfile {
  readonly id: number;
  readonly chargingSchedule: readonly SentSchedule[];
}

export class Ocpp201Words implements OcppWords {
  readonly #newTransaction: () => string;
  #transaction = '';
  #seqNo = 0;

  /** @param newTransaction a name that no transaction had before */
  constructor(newTransaction: () => string) {
    this.#newTransaction = newTransaction;
  }

  boot(): Words {
    const chargingStation = { vendorName: 'Virtual', model: 'OCPP' };
    return ['BootNotification', { reason: 'PowerUp', chargingStation }];
  }

  status({ status, ownTime: timestamp }: Shown): Words {
    const connectorStatus = status === 'Available' ? 'Available' : 'Occupied';
    return ['StatusNotification', { timestamp, connectorStatus, evseId: EVSE, connectorId: CONNECTOR }];
  }

  started(shown: Shown): Words {
    this.#transaction = this.#newTransaction();
    this.#seqNo = 0;
    const more = {
      evse: { id: EVSE, connectorId: CONNECTOR },
      idToken: { idToken: 'VIRTUAL', type: 'Central' },
    };
    return this.#event('Started', 'CablePluggedIn', this.#transaction, shown, more);
  }

  transactionOf(): string {
    return this.#transaction;
  }

  values(transaction: string, shown: Shown): Words {
    return this.#event('Updated', 'MeterValuePeriodic', transaction, shown, {});
  }

  ended(transaction: string, shown: Shown): Words {
    return this.#event('Ended', 'EVCommunicationLost', transaction, shown, {});
  }

  #event(eventType: string, triggerReason: string, transactionId: string, shown: Shown, more: object): Words {
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
        seqNo: this.#seqNo++,
        transactionInfo: { transactionId, chargingState },
        meterValue: [{ timestamp: shown.ownTime, sampledValue }],
        ...more,
      },
    ];
  }

  answer(method: string, params: object, device: Device): Record<string, unknown> {
    switch (method) {
      case 'GetVariables':
        return { getVariableResult: this.#variables(params as { getVariableData: readonly Variable[] }) };
      case 'SetVariables':
        return {
          setVariableResult: this.#change(params as { setVariableData: readonly Variable[] }, device),
        };
      case 'SetChargingProfile': {
        const { chargingProfile: profile } = params as { chargingProfile: Profile };
        const [schedule] = profile.chargingSchedule;
        if (schedule === undefined) return { status: 'Rejected' };
        return setProfile(device, profile.id, profile, schedule);
      }
      case 'ClearChargingProfile': {
        const { chargingProfileId = 0 } = params as { chargingProfileId?: number };
        return { status: device.clearProfile(chargingProfileId) ? 'Accepted' : 'Unknown' };
      }
      case 'GetCompositeSchedule': {
        const { schedule, scheduleStart } = compositeOf(device, params);
        return { status: 'Accepted', schedule: { ...schedule, evseId: EVSE, scheduleStart } };
      }
      default:
        return answerAlike(method, params, device);
    }
  }

  #variables({ getVariableData }: { readonly getVariableData: readonly Variable[] }): readonly object[] {
    return getVariableData.map(({ component, variable }) => {
      const value = component.name === 'SmartChargingCtrlr' ? VARIABLES.get(variable.name) : undefined;
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
