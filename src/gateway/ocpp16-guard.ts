// OCPP 1.6: what a management system may do to a charger whose charging profiles carry leases.
import type { ForeignProfile, ForeignProfiles } from '../../machines/session/foreign-profiles.js';
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import {
  changeConfigurationSchema,
  clearProfileSchema,
  meterValuesSchema,
  type Profile16,
  remoteStartSchema,
  setProfileSchema,
  statusSchema,
} from '../wire/ocpp16.js';
import { type Guard, type Guarded, read, UnusableMessage } from './dialect.js';
import { isOwnProfileId } from './ocpp16-requests.js';

const ACCEPTED: Guarded = { kind: 'answered', answer: { status: 'Accepted' } };
const REJECTED: Guarded = { kind: 'answered', answer: { status: 'Rejected' } };
/** What leases are counted by, beside what the management system wants to be told. */
const NEEDED_MEASURANDS = ['Power.Active.Import', 'Current.Import'];

export interface GuardParts {
  readonly profiles: ForeignProfiles;
  readonly heartbeatMs: number;
  /** The transaction that runs at a connector. */
  readonly transactionAt: (evse: number) => TransactionRef | undefined;
  readonly nowMs: () => number;
  /** Its profiles are others than before. */
  readonly changed: () => void;
}

export class Ocpp16Guard implements Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  judge(method: string, params: unknown): Guarded {
    switch (method) {
      case 'SetChargingProfile':
        return this.#set(params);
      case 'ClearChargingProfile':
        return this.#clear(params);
      case 'RemoteStartTransaction':
        return this.#start(params);
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

  #set(params: unknown): Guarded {
    const { connectorId, csChargingProfiles: profile } = read(setProfileSchema, params);
    // A charger applies it beside all others: it can only lower what is granted.
    if (profile.chargingProfilePurpose === 'ChargePointMaxProfile') return { kind: 'forward', params };
    const transaction = this.#parts.transactionAt(connectorId);
    const isOfTransaction = profile.chargingProfilePurpose === 'TxProfile';
    // As the standard has it: for a transaction that runs, and none that is over.
    if (isOfTransaction && transaction === undefined) return REJECTED;
    if (isOfTransaction && (profile.transactionId ?? transaction) !== transaction) return REJECTED;
    return this.#keep(foreignOf(profile, connectorId, this.#parts.nowMs(), transaction));
  }

  #keep(profile: ForeignProfile): Guarded {
    if (isOwnProfileId(profile.id) || !this.#parts.profiles.put(profile)) return REJECTED;
    this.#parts.changed();
    return ACCEPTED;
  }

  #clear(params: unknown): Guarded {
    const { id, connectorId, chargingProfilePurpose, stackLevel } = read(clearProfileSchema, params);
    if (chargingProfilePurpose === 'ChargePointMaxProfile') return { kind: 'forward', params };
    const purpose = { TxDefaultProfile: 'default', TxProfile: 'transaction' } as const;
    const cleared = this.#parts.profiles.clear({
      id,
      evse: connectorId,
      purpose: purpose[chargingProfilePurpose as keyof typeof purpose],
      stackLevel,
    });
    if (cleared > 0) {
      this.#parts.changed();
      return ACCEPTED;
    }
    // One that the charger has of before the gateway. Without an id, what the gateway set would go with it.
    if (id !== undefined && !isOwnProfileId(id)) return { kind: 'forward', params };
    return { kind: 'answered', answer: { status: 'Unknown' } };
  }

  /** A profile that comes with a remote start would go before every lease. */
  #start(params: unknown): Guarded {
    const { chargingProfile, ...rest } = read(remoteStartSchema, params);
    if (chargingProfile !== undefined) {
      const kept = foreignOf(chargingProfile, rest.connectorId ?? 0, this.#parts.nowMs(), undefined);
      if (this.#keep(kept) === REJECTED) return REJECTED;
    }
    return { kind: 'forward', params: rest };
  }

  /** The charger reports at least as often, and as much, as its lease needs. */
  #configure(params: unknown): Guarded {
    const change = read(changeConfigurationSchema, params);
    const everyS = this.#parts.heartbeatMs / 1000;
    if (change.key === 'MeterValueSampleInterval') {
      const askedS = Number(change.value);
      const value = String(askedS > 0 ? Math.min(askedS, everyS) : everyS);
      return { kind: 'forward', params: { ...change, value } };
    }
    if (change.key === 'MeterValuesSampledData') {
      const asked = change.value.split(',').map((word) => word.trim());
      const isEnough = NEEDED_MEASURANDS.some((measurand) => asked.includes(measurand));
      const words = isEnough ? asked : ['Power.Active.Import', ...asked.filter((word) => word !== '')];
      return { kind: 'forward', params: { ...change, value: words.join(',') } };
    }
    return { kind: 'forward', params };
  }
}

/** @throws UnusableMessage */
function foreignOf(
  profile: Profile16,
  evse: number,
  nowMs: number,
  transaction: TransactionRef | undefined,
): ForeignProfile {
  const {
    chargingProfileId: id,
    stackLevel,
    chargingProfileKind,
    recurrencyKind,
    chargingSchedule,
  } = profile;
  const { duration, startSchedule, chargingRateUnit: unit, chargingSchedulePeriod } = chargingSchedule;
  const periods = chargingSchedulePeriod.map(({ startPeriod, limit, numberPhases }) => ({
    startS: startPeriod,
    limit,
    ...(numberPhases === undefined ? {} : { phases: numberPhases }),
  }));
  if (periods[0]?.startS !== 0) throw new UnusableMessage('the first period must begin at 0');
  const isOfTransaction = profile.chargingProfilePurpose === 'TxProfile';
  return {
    id,
    evse,
    stackLevel,
    unit,
    periods,
    purpose: isOfTransaction ? 'transaction' : 'default',
    ...(isOfTransaction && transaction !== undefined ? { transaction } : {}),
    kind: kindOf(chargingProfileKind, recurrencyKind),
    startsAtMs: startSchedule ?? nowMs,
    ...(profile.validFrom === undefined ? {} : { validFromMs: profile.validFrom }),
    ...(profile.validTo === undefined ? {} : { validToMs: profile.validTo }),
    ...(duration === undefined ? {} : { durationS: duration }),
  };
}

export function kindOf(kind: string, recurrency: string | undefined): ForeignProfile['kind'] {
  if (kind === 'Relative') return 'relative';
  if (kind === 'Absolute') return 'absolute';
  return recurrency === 'Weekly' ? 'weekly' : 'daily';
}
