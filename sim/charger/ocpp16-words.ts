// A virtual charger's words in OCPP 1.6.
import {
  ACCEPTED,
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

const SETTINGS = new Map([
  ['SupportedFeatureProfiles', 'Core,SmartCharging,RemoteTrigger'],
  ['ChargingScheduleAllowedChargingRateUnit', 'Current,Power'],
  ['ChargeProfileMaxStackLevel', '8'],
  ['ChargingScheduleMaxPeriods', '8'],
]);

interface Profile extends SentProfile {
  readonly chargingProfileId: number;
  readonly chargingSchedule: SentSchedule;
}

export class Ocpp16Words implements OcppWords {
  boot(): Words {
    return ['BootNotification', { chargePointVendor: 'Virtual', chargePointModel: 'OCPP' }];
  }

  status({ status, ownTime: timestamp }: Shown): Words {
    return ['StatusNotification', { connectorId: EVSE, errorCode: 'NoError', status, timestamp }];
  }

  started({ energyWh, ownTime: timestamp }: Shown): Words {
    const meterStart = Math.round(energyWh);
    return ['StartTransaction', { connectorId: EVSE, idTag: 'VIRTUAL', meterStart, timestamp }];
  }

  transactionOf(answer: unknown): number {
    return (answer as { transactionId: number }).transactionId;
  }

  values(transactionId: number, shown: Shown): Words {
    const sampledValue = samplesOf(shown).map((sample) => ({ ...sample, value: String(sample.value) }));
    const meterValue = [{ timestamp: shown.ownTime, sampledValue }];
    return ['MeterValues', { connectorId: EVSE, transactionId, meterValue }];
  }

  ended(transactionId: number, { energyWh, ownTime: timestamp }: Shown): Words {
    return ['StopTransaction', { transactionId, meterStop: Math.round(energyWh), timestamp }];
  }

  answer(method: string, params: object, device: Device): Record<string, unknown> {
    switch (method) {
      case 'GetConfiguration': {
        const { key: keys = [...SETTINGS.keys()] } = params as { key?: string[] };
        const known = keys.filter((key) => SETTINGS.has(key));
        return {
          configurationKey: known.map((key) => ({ key, readonly: true, value: SETTINGS.get(key) })),
          unknownKey: keys.filter((key) => !SETTINGS.has(key)),
        };
      }
      case 'ChangeConfiguration': {
        const { key, value } = params as { key: string; value: string };
        if (key === 'MeterValueSampleInterval') device.reportEvery(1000 * Number(value));
        return ACCEPTED;
      }
      case 'SetChargingProfile': {
        const { csChargingProfiles: profile } = params as { csChargingProfiles: Profile };
        return setProfile(device, profile.chargingProfileId, profile, profile.chargingSchedule);
      }
      case 'ClearChargingProfile':
        return { status: device.clearProfile((params as { id: number }).id) ? 'Accepted' : 'Unknown' };
      case 'GetCompositeSchedule': {
        const { schedule: chargingSchedule, scheduleStart } = compositeOf(device, params);
        return { status: 'Accepted', connectorId: EVSE, scheduleStart, chargingSchedule };
      }
      default:
        return answerAlike(method, params, device);
    }
  }
}
