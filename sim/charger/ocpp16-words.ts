import {
  ACCEPTED,
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

const UNIT_NAMES = { A: 'Current', W: 'Power' } as const;

function settingsOf({ units, maxPeriods }: Device): ReadonlyMap<string, string> {
  return new Map([
    ['SupportedFeatureProfiles', 'Core,SmartCharging,RemoteTrigger'],
    ['ChargingScheduleAllowedChargingRateUnit', units.map((unit) => UNIT_NAMES[unit]).join(',')],
    ['ChargeProfileMaxStackLevel', '8'],
    ['ChargingScheduleMaxPeriods', String(maxPeriods)],
  ]);
}

interface Profile extends SentProfile {
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
          csChargingProfiles: Profile;
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
