// OCPP 1.6: what a management system may do to a charger whose charging profiles carry leases.
import {
  changeConfigurationSchema,
  clearProfileSchema,
  meterValuesSchema,
  type Profile16,
  remoteStartSchema,
  setProfileSchema,
  statusSchema,
} from '../wire/ocpp16.js';
import { type Guard, type Guarded, read } from './dialect.js';
import {
  clearSent,
  enoughMeasurands,
  type GuardParts,
  keepSent,
  REJECTED,
  type SentProfile,
  soonEnough,
} from './kept-profile.js';

export class Ocpp16Guard implements Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  judge(method: string, params: unknown): Guarded {
    switch (method) {
      case 'SetChargingProfile': {
        const { connectorId, csChargingProfiles: profile } = read(setProfileSchema, params);
        // A charger applies it beside all others: it can only lower what is granted.
        if (profile.chargingProfilePurpose === 'ChargePointMaxProfile') return { kind: 'forward', params };
        return keepSent(this.#parts, sentOf(profile, connectorId), false);
      }
      case 'ClearChargingProfile': {
        const { id, connectorId, chargingProfilePurpose, stackLevel } = read(clearProfileSchema, params);
        const criteria = { id, evse: connectorId, purpose: chargingProfilePurpose, stackLevel };
        return clearSent(this.#parts, params, criteria);
      }
      case 'RemoteStartTransaction': {
        // A profile that comes with it would go before every lease.
        const { chargingProfile, ...rest } = read(remoteStartSchema, params);
        if (chargingProfile === undefined) return { kind: 'forward', params };
        const kept = keepSent(this.#parts, sentOf(chargingProfile, rest.connectorId ?? 0), true);
        return kept === REJECTED ? REJECTED : { kind: 'forward', params: rest };
      }
      case 'ChangeConfiguration':
        return this.#configure(params);
      default:
        return { kind: 'forward', params };
    }
  }

  mustReachCsms(method: string, params: unknown): boolean {
    if (method === 'StartTransaction' || method === 'StopTransaction' || method === 'Authorize') return true;
    return method === 'MeterValues' && meterValuesSchema.safeParse(params).data?.transactionId !== undefined;
  }

  topicOf(method: string, params: unknown): string | undefined {
    if (method === 'BootNotification') return method;
    if (method !== 'StatusNotification') return undefined;
    const connectorId = statusSchema.safeParse(params).data?.connectorId;
    return connectorId === undefined ? undefined : `${method} ${connectorId}`;
  }

  /** The charger reports at least as often, and as much, as its lease needs. */
  #configure(params: unknown): Guarded {
    const change = read(changeConfigurationSchema, params);
    const { key, value } = change;
    if (key === 'MeterValueSampleInterval')
      return {
        kind: 'forward',
        params: { ...change, value: soonEnough(value, this.#parts.heartbeatMs) },
      };
    if (key === 'MeterValuesSampledData')
      return { kind: 'forward', params: { ...change, value: enoughMeasurands(value) } };
    return { kind: 'forward', params };
  }
}

function sentOf(profile: Profile16, evse: number): SentProfile {
  return {
    id: profile.chargingProfileId,
    evse,
    stackLevel: profile.stackLevel,
    purpose: profile.chargingProfilePurpose,
    transaction: profile.transactionId,
    kind: profile.chargingProfileKind,
    recurrency: profile.recurrencyKind,
    validFrom: profile.validFrom,
    validTo: profile.validTo,
    schedule: profile.chargingSchedule,
  };
}
