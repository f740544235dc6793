// The messages of a virtual charger in OCPP 2.0.1 and 2.1.
import {
  answerAlike,
  compositeOf,
  type Device,
  type OcppWords,
  REJECTED,
  type SentProfile,
  type SentSchedule,
  type Shown,
  samplesOf,
  setProfile,
  type Words,
} from './ocpp-words.js';

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
interface Profile extends SentProfile {
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
          chargingProfile: Profile;
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
