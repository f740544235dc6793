// OCPP 1.6: guards a charger whose charging profiles carry leases against calls of a CSMS.
import {
  changeConfigurationSchema,
  clearProfileSchema,
  meterValuesSchema,
  type Profile16,
  remoteStartSchema,
  setProfileSchema,
  statusSchema,
} from '../wire/ocpp16.js';
import { ignoresOffline } from './charger-requests.js';
import { type Guard, type Guarded, read } from './dialect.js';
import {
  clearSent,
  enoughMeasurands,
  type GuardParts,
  REJECTED,
  type SentProfile,
  soonEnough,
  startWithout,
  takeSent,
  topicToTell,
} from './kept-profile.js';

/** Never overrides a lease: the charger applies the lower of both. */
const MAX = 'ChargePointMaxProfile';

export class Ocpp16Guard implements Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  judge(method: string, params: unknown): Guarded {
    switch (method) {
      case 'SetChargingProfile': {
        const { connectorId, csChargingProfiles: profile } = read(setProfileSchema, params);
        return takeSent(this.#parts, params, sentOf(profile, connectorId), [MAX]);
      }
      case 'ClearChargingProfile': {
        const asked = read(clearProfileSchema, params);
        const { id, connectorId: evse, chargingProfilePurpose: purpose, stackLevel } = asked;
        const maxOnly = { ...asked, chargingProfilePurpose: MAX };
        return clearSent(this.#parts, { params, maxOnly }, { id, evse, purpose, stackLevel });
      }
      case 'RemoteStartTransaction': {
        const { chargingProfile, ...start } = read(remoteStartSchema, params);
        const sent = chargingProfile && sentOf(chargingProfile, start.connectorId ?? 0);
        return startWithout(sent, start, this.#parts);
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
    return topicToTell(method, () => statusSchema.safeParse(params).data?.connectorId);
  }

  /** The charger must go on reporting as its lease needs, and must keep the lease offline. Keys ignore case. */
  #configure(params: unknown): Guarded {
    const change = read(changeConfigurationSchema, params);
    const { key, value } = change;
    switch (key.toLowerCase()) {
      case 'metervaluesampleinterval':
        return {
          kind: 'forward',
          params: { ...change, value: soonEnough(value, this.#parts.heartbeatMs) },
        };
      case 'metervaluessampleddata':
        return { kind: 'forward', params: { ...change, value: enoughMeasurands(value) } };
      case 'ignoredprofilepurposesoffline':
        return ignoresOffline(value) ? REJECTED : { kind: 'forward', params };
      default:
        return { kind: 'forward', params };
    }
  }
}

function sentOf(profile: Profile16, evse: number): SentProfile {
  return { ...profile, id: profile.chargingProfileId, evse, schedule: profile.chargingSchedule };
}
