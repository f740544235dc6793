// The dialect of OCPP 1.6: the gateway's requests to a charger, the charger's calls, and a guard against a CSMS.

import type { RateUnit, ShownSchedule } from '../../../machines/session/lease-schedule.js';
import { CHARGING_STATUSES, type ChargingStatus } from '../../../machines/values/charging-status.js';
import { ChargerRefusal, type RequestOf } from '../charger-dialect.js';
import { type CallParts, ChargerCalls } from '../ocpp/charger-calls.js';
import {
  ALWAYS,
  ignoresOffline,
  profileIdOf,
  type ReportedSettings,
  type RequestWords,
  readResult,
  startOf,
  wordsOf,
} from '../ocpp/charger-requests.js';
import {
  clearSent,
  enoughMeasurands,
  type GuardParts,
  REJECTED,
  type SentProfile,
  soonEnough,
  startWithout,
  takeSent,
  topicToForward,
} from '../ocpp/csms-guard.js';
import { type Call, type Guard, type Guarded, type OcppEvents, read } from '../ocpp/ocpp-dialect.js';
import { meteredValues } from '../ocpp/sampled-values.js';
import {
  authorizeSchema,
  bootSchema,
  changeConfigurationSchema,
  clearProfileSchema,
  compositeSchema,
  configurationSchema,
  meterValuesSchema,
  outcomeSchema,
  type Profile16,
  remoteStartSchema,
  setProfileSchema,
  startedSchema,
  startTransactionSchema,
  statusSchema,
  stopTransactionSchema,
} from './messages.js';
import type { TransactionIds } from './transaction-ids.js';

const KEYS = {
  features: 'SupportedFeatureProfiles',
  units: 'ChargingScheduleAllowedChargingRateUnit',
  stackLevel: 'ChargeProfileMaxStackLevel',
  periods: 'ChargingScheduleMaxPeriods',
  ignored: 'IgnoredProfilePurposesOffline',
};

export const OCPP16_REQUESTS: RequestWords = {
  readSettings,
  sampled: { measurands: 'MeterValuesSampledData', intervalS: 'MeterValueSampleInterval' },
  change: async (key, value, call) => statusOf(await call('ChangeConfiguration', { key, value })),
  failsafeProfile,
  leaseProfile,
  clearing: (id) => ({ id }),
  readSchedule,
  trigger: (what, connectorId) => ({
    requestedMessage: what === 'status' ? 'StatusNotification' : 'MeterValues',
    connectorId,
  }),
  statusOf,
};

function statusOf(result: unknown): string {
  return readResult(outcomeSchema, result).status;
}

async function readSettings(call: Call): Promise<ReportedSettings> {
  const { configurationKey } = readResult(
    configurationSchema,
    await call('GetConfiguration', { key: Object.values(KEYS) }),
  );
  const values = new Map(configurationKey.map(({ key, value = '' }) => [key, value]));
  const features = values.get(KEYS.features);
  const isSmart = features === undefined || wordsOf(features).includes('SmartCharging');
  return {
    whyNot: isSmart ? undefined : 'it does not support SmartCharging',
    units: unitsOf(wordsOf(values.get(KEYS.units))),
    maxStackLevel: values.get(KEYS.stackLevel),
    maxPeriods: values.get(KEYS.periods),
    ignoredOffline: values.get(KEYS.ignored),
  };
}

/** OCPP 1.6 names them `Current` and `Power`; some chargers send `A` and `W`. Without a known word both count. */
function unitsOf(words: readonly string[]): readonly RateUnit[] {
  const hasCurrent = words.includes('Current') || words.includes('A');
  const hasPower = words.includes('Power') || words.includes('W');
  if (hasCurrent === hasPower) return ['A', 'W'];
  return hasCurrent ? ['A'] : ['W'];
}

function failsafeProfile({ evse, unit, limit }: RequestOf<'setFailsafe'>) {
  return {
    connectorId: evse,
    csChargingProfiles: {
      chargingProfileId: profileIdOf(evse, 'failsafe'),
      stackLevel: 0,
      chargingProfilePurpose: 'TxDefaultProfile',
      chargingProfileKind: 'Absolute',
      chargingSchedule: {
        startSchedule: ALWAYS,
        chargingRateUnit: unit,
        chargingSchedulePeriod: [{ startPeriod: 0, limit }],
      },
    },
  };
}

function leaseProfile({ evse, slot, transaction, schedule }: RequestOf<'setLease'>, stackLevel: number) {
  const { unit, phases, startsAtOwnMs, limit, endsAfterS, thenLimit } = schedule;
  const ofPhases = phases === undefined ? {} : { numberPhases: phases };
  const ofTransaction = { chargingProfilePurpose: 'TxProfile', transactionId: transaction };
  return {
    connectorId: evse,
    csChargingProfiles: {
      chargingProfileId: profileIdOf(evse, slot),
      stackLevel,
      ...(slot === 'transaction' ? ofTransaction : { chargingProfilePurpose: 'TxDefaultProfile' }),
      chargingProfileKind: 'Absolute',
      chargingSchedule: {
        startSchedule: startOf(startsAtOwnMs),
        chargingRateUnit: unit,
        chargingSchedulePeriod: [
          { startPeriod: 0, limit, ...ofPhases },
          { startPeriod: endsAfterS, limit: thenLimit, ...ofPhases },
        ],
      },
    },
  };
}

async function readSchedule(
  { evse, durationS, unit }: RequestOf<'readSchedule'>,
  call: Call,
): Promise<ShownSchedule> {
  const asked = { connectorId: evse, duration: durationS, chargingRateUnit: unit };
  const composite = readResult(compositeSchema, await call('GetCompositeSchedule', asked));
  const { status, scheduleStart, chargingSchedule } = composite;
  if (status !== 'Accepted') throw new ChargerRefusal(status);
  const startsAtOwnMs = scheduleStart ?? chargingSchedule?.startSchedule;
  if (startsAtOwnMs === undefined) throw new ChargerRefusal('its schedule has no begin');
  const periods = (chargingSchedule?.chargingSchedulePeriod ?? []).map(({ startPeriod, limit }) => ({
    startS: startPeriod,
    limit,
  }));
  return {
    unit: chargingSchedule?.chargingRateUnit ?? unit,
    startsAtOwnMs,
    durationS: chargingSchedule?.duration,
    periods,
  };
}

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
    return topicToForward(method, () => statusSchema.safeParse(params).data?.connectorId);
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

const ONLY_LOGGED = [
  'FirmwareStatusNotification',
  'DiagnosticsStatusNotification',
  'LogStatusNotification',
  'SecurityEventNotification',
  'SignedFirmwareStatusNotification',
];
/** The effect of these calls depends on their answer. */
const WITH_ANSWER = ['BootNotification', 'StartTransaction'];

/** `Reserved`: no car charges there yet. */
function reportedStatusOf(word: string): ChargingStatus {
  return CHARGING_STATUSES.find((status) => status === word) ?? 'Available';
}

interface Parts extends CallParts {
  readonly transactionIds: TransactionIds;
}

/** Calls of one charger. */
export class Ocpp16Events implements OcppEvents {
  readonly #parts: Parts;
  readonly #calls: ChargerCalls;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#calls = new ChargerCalls(parts, ONLY_LOGGED);
  }

  /** Applies a call to the session. @throws UnusableMessage */
  received(method: string, params: unknown): void {
    const { session, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    session.received(nowMs);
    if (method === 'StatusNotification') {
      const { connectorId, status, timestamp } = read(statusSchema, params);
      session.receivedStatus(connectorId, reportedStatusOf(status), timestamp, nowMs);
    } else if (method === 'MeterValues') {
      this.#metered(params);
    } else if (method === 'StopTransaction') {
      const { transactionId } = read(stopTransactionSchema, params);
      this.#parts.transactionIds.ended(transactionId);
      session.transactionEnded(transactionId, nowMs);
    }
    if (!WITH_ANSWER.includes(method)) this.#calls.wakeAfterAnswer();
  }

  /** Applies a call together with its answer. @returns the answer to send. @throws UnusableMessage, ForwardedError */
  async answered(method: string, params: unknown, answer: object): Promise<object> {
    const { session, clock } = this.#parts;
    if (method === 'BootNotification') {
      const { chargePointVendor, chargePointModel, firmwareVersion } = read(bootSchema, params);
      this.#calls.booted([chargePointVendor, chargePointModel, firmwareVersion], answer);
    } else if (method === 'StartTransaction') {
      const { connectorId, idTag } = read(startTransactionSchema, params);
      const { transactionId, idTagInfo } = read(startedSchema, answer);
      session.transactionBegan(connectorId, transactionId, clock.monotonicMs());
      if (idTagInfo?.status === 'Accepted') session.receivedIdTag(connectorId, idTag);
    }
    if (WITH_ANSWER.includes(method)) this.#calls.wakeAfterAnswer();
    return method === 'Heartbeat' ? this.#calls.tellTime(answer) : answer;
  }

  /** The answer without a CSMS. @throws UnusableMessage, UnknownMethod */
  async answer(method: string, params: unknown): Promise<object> {
    switch (method) {
      case 'StopTransaction':
        return {};
      case 'Authorize': {
        const { idTag } = read(authorizeSchema, params);
        return { idTagInfo: { status: await this.#parts.askIdTag(idTag) } };
      }
      case 'StartTransaction':
        return this.#began(params);
      default:
        return this.#calls.answer(method, params);
    }
  }

  #metered(params: unknown): void {
    const { session, clock } = this.#parts;
    const { connectorId, transactionId, meterValue } = read(meterValuesSchema, params);
    const nowMs = clock.monotonicMs();
    for (const { timestamp, sampledValue } of meterValue) {
      const sampled = sampledValue
        .filter(({ format }) => format === undefined || format === 'Raw')
        .map(({ value, measurand, phase, location, unit }) => ({
          value: value.trim() === '' ? Number.NaN : Number(value),
          measurand,
          phase,
          location,
          unit,
        }));
      session.receivedValues(connectorId, meteredValues(timestamp, transactionId, sampled), nowMs);
    }
  }

  async #began(params: unknown): Promise<object> {
    const { askIdTag, transactionIds, clock } = this.#parts;
    const { connectorId, idTag, meterStart, timestamp } = read(startTransactionSchema, params);
    const status = await askIdTag(idTag);
    const said = `${connectorId} ${timestamp} ${meterStart} ${idTag}`;
    return { transactionId: transactionIds.idOf(said, clock.nowMs()), idTagInfo: { status } };
  }
}
