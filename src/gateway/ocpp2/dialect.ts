// The dialect of OCPP 2.0.1 and 2.1: the gateway's requests, the charger's calls, and a guard against a CSMS.

import type { LimitSlot, ReportedNeeds } from '../../../machines/session/gateway-request.js';
import {
  BEGINS_BEFORE_S,
  type RateUnit,
  type ShownSchedule,
} from '../../../machines/session/lease-schedule.js';
import type { ChargingStatus } from '../../../machines/values/charging-status.js';
import { ChargerRefusal, type RequestOf } from '../charger-dialect.js';
import { type CallParts, ChargerCalls } from '../ocpp/charger-calls.js';
import {
  ALWAYS,
  ignoresOffline,
  isOwnProfileId,
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
import {
  type Call,
  type Guard,
  type Guarded,
  type OcppEvents,
  read,
  UnusableMessage,
} from '../ocpp/ocpp-dialect.js';
import { meteredValues } from '../ocpp/sampled-values.js';
import type { EvseUses, TransactionPlaces } from './evse-memory.js';
import {
  authorizeSchema,
  bootSchema,
  type ChangedVariable,
  type ChargingNeeds,
  changedVariablesSchema,
  changeVariablesSchema,
  chargingNeedsSchema,
  clearProfileSchema,
  compositeSchema,
  eventTokenSchema,
  type MeterValue,
  meterValuesSchema,
  outcomeSchema,
  type Profile201,
  requestStartSchema,
  setProfileSchema,
  setVariablesSchema,
  statusSchema,
  tokenAnswerSchema,
  transactionEventSchema,
  updateScheduleSchema,
  usePrioritySchema,
  variablesSchema,
} from './messages.js';

const SMART_CHARGING = 'SmartChargingCtrlr';
const SAMPLING = 'SampledDataCtrlr';
/** Of `SmartChargingCtrlr`. */
const VARIABLES = [
  'Enabled',
  'RateUnit',
  'ProfileStackLevel',
  'PeriodsPerSchedule',
  'IgnoredProfilePurposesOffline',
];

interface Period {
  readonly startPeriod: number;
  readonly limit: number;
  readonly numberPhases?: number;
}

/**
 * @param has.offlineDuration the charger supports `maxOfflineDuration` of
 * OCPP 2.1, which ends a lease while it is offline
 */
export function ocpp201Requests(has: { readonly offlineDuration: boolean }): RequestWords {
  return {
    readSettings,
    sampled: { measurands: 'TxUpdatedMeasurands', intervalS: 'TxUpdatedInterval' },
    change: changeSampling,
    failsafeProfile,
    leaseProfile: (request, stackLevel) => leaseProfile(request, stackLevel, has.offlineDuration),
    clearing: (chargingProfileId) => ({ chargingProfileId }),
    readSchedule,
    trigger: (what, id) =>
      what === 'status'
        ? { requestedMessage: 'StatusNotification', evse: { id, connectorId: 1 } }
        : { requestedMessage: 'TransactionEvent', evse: { id } },
    statusOf: (result) => readResult(outcomeSchema, result).status,
  };
}

async function changeSampling(name: string, attributeValue: string, call: Call): Promise<string> {
  const change = { attributeValue, component: { name: SAMPLING }, variable: { name } };
  const result = await call('SetVariables', { setVariableData: [change] });
  return readResult(setVariablesSchema, result).setVariableResult[0]?.attributeStatus ?? 'Rejected';
}

async function readSettings(call: Call): Promise<ReportedSettings> {
  const component = { name: SMART_CHARGING };
  const getVariableData = VARIABLES.map((name) => ({ component, variable: { name } }));
  const { getVariableResult } = readResult(variablesSchema, await call('GetVariables', { getVariableData }));
  const known = getVariableResult.filter(({ attributeStatus }) => attributeStatus === 'Accepted');
  const values = new Map(known.map(({ variable, attributeValue = '' }) => [variable.name, attributeValue]));
  const isOff = values.get('Enabled')?.toLowerCase() === 'false';
  const isMissing = getVariableResult.every(({ attributeStatus }) => attributeStatus === 'UnknownComponent');
  return {
    whyNot: isMissing
      ? `it has no ${SMART_CHARGING}`
      : isOff
        ? `${SMART_CHARGING}.Enabled is false`
        : undefined,
    units: unitsOf(wordsOf(values.get('RateUnit'))),
    maxStackLevel: values.get('ProfileStackLevel'),
    maxPeriods: values.get('PeriodsPerSchedule'),
    ignoredOffline: values.get('IgnoredProfilePurposesOffline'),
  };
}

/** Without a known unit both count. */
function unitsOf(words: readonly string[]): readonly RateUnit[] {
  const units = (['A', 'W'] as const).filter((unit) => words.includes(unit));
  return units.length === 0 ? ['A', 'W'] : units;
}

function failsafeProfile({ evse, unit, limit }: RequestOf<'setFailsafe'>) {
  const periods = [{ startPeriod: 0, limit }];
  return profile(evse, 'failsafe', { stackLevel: 0, unit, startSchedule: ALWAYS, periods }, {});
}

function leaseProfile(
  { evse, slot, transaction, schedule }: RequestOf<'setLease'>,
  stackLevel: number,
  hasOfflineDuration: boolean,
) {
  const { unit, phases, startsAtOwnMs, limit, endsAfterS, thenLimit } = schedule;
  const ofPhases = phases === undefined ? {} : { numberPhases: phases };
  const maxOfflineDuration = endsAfterS - BEGINS_BEFORE_S;
  const periods = [
    { startPeriod: 0, limit, ...ofPhases },
    { startPeriod: endsAfterS, limit: thenLimit, ...ofPhases },
  ];
  const more = {
    ...(slot === 'transaction' ? { transactionId: String(transaction) } : {}),
    ...(hasOfflineDuration ? { maxOfflineDuration, invalidAfterOfflineDuration: true } : {}),
  };
  return profile(evse, slot, { stackLevel, unit, startSchedule: startOf(startsAtOwnMs), periods }, more);
}

function profile(
  evse: number,
  slot: LimitSlot,
  by: {
    readonly stackLevel: number;
    readonly unit: RateUnit;
    readonly startSchedule: string;
    readonly periods: readonly Period[];
  },
  more: object,
) {
  const id = profileIdOf(evse, slot);
  return {
    evseId: evse,
    chargingProfile: {
      id,
      stackLevel: by.stackLevel,
      chargingProfilePurpose: slot === 'transaction' ? 'TxProfile' : 'TxDefaultProfile',
      chargingProfileKind: 'Absolute',
      ...more,
      chargingSchedule: [
        {
          id,
          startSchedule: by.startSchedule,
          chargingRateUnit: by.unit,
          chargingSchedulePeriod: by.periods,
        },
      ],
    },
  };
}

async function readSchedule(
  { evse, durationS, unit }: RequestOf<'readSchedule'>,
  call: Call,
): Promise<ShownSchedule> {
  const asked = { evseId: evse, duration: durationS, chargingRateUnit: unit };
  const { status, schedule } = readResult(compositeSchema, await call('GetCompositeSchedule', asked));
  if (status !== 'Accepted') throw new ChargerRefusal(status);
  if (schedule === undefined) throw new ChargerRefusal('its schedule has no begin');
  const { chargingRateUnit, scheduleStart: startsAtOwnMs, duration, chargingSchedulePeriod } = schedule;
  const periods = chargingSchedulePeriod.map(({ startPeriod: startS, limit }) => ({ startS, limit }));
  return { unit: chargingRateUnit, startsAtOwnMs, durationS: duration, periods };
}

/** Never overrides a lease, like the purposes below: the charger applies the lower of both. */
const MAX = 'ChargingStationMaxProfile';
const BESIDE = [MAX, 'ChargingStationExternalConstraints'];

export class Ocpp201Guard implements Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  judge(method: string, params: unknown): Guarded {
    switch (method) {
      case 'SetChargingProfile': {
        const { evseId, chargingProfile } = read(setProfileSchema, params);
        return takeSent(this.#parts, params, sentOf(chargingProfile, evseId), BESIDE);
      }
      case 'ClearChargingProfile': {
        const asked = read(clearProfileSchema, params);
        const { chargingProfileId: id, chargingProfileCriteria: by = {} } = asked;
        const { evseId: evse, chargingProfilePurpose: purpose, stackLevel } = by;
        const maxOnly = { ...asked, chargingProfileCriteria: { ...by, chargingProfilePurpose: MAX } };
        return clearSent(this.#parts, { params, maxOnly }, { id, evse, purpose, stackLevel });
      }
      case 'UsePriorityCharging': {
        // A priority profile would override every lease.
        const { activate } = read(usePrioritySchema, params);
        return activate ? REJECTED : { kind: 'forward', params };
      }
      case 'UpdateDynamicSchedule': {
        const { chargingProfileId } = read(updateScheduleSchema, params);
        return isOwnProfileId(chargingProfileId) ? REJECTED : { kind: 'forward', params };
      }
      case 'RequestStartTransaction': {
        const { chargingProfile, ...start } = read(requestStartSchema, params);
        const sent = chargingProfile && sentOf(chargingProfile, start.evseId ?? 0);
        return startWithout(sent, start, this.#parts);
      }
      case 'SetVariables':
        return this.#configure(params);
      default:
        return { kind: 'forward', params };
    }
  }

  mustReachCsms(method: string): boolean {
    return method === 'TransactionEvent' || method === 'Authorize';
  }

  topicOf(method: string, params: unknown): string | undefined {
    return topicToForward(method, () => statusSchema.safeParse(params).data?.evseId);
  }

  /** The charger must go on reporting as its lease needs, and must keep the lease offline. */
  #configure(params: unknown): Guarded {
    const { setVariableData, ...rest } = read(changeVariablesSchema, params);
    const changed = setVariableData.filter(isHarmless).map((each) => {
      const { attributeValue } = each;
      switch (nameOf(each)) {
        case 'sampleddatactrlr.txupdatedinterval':
          return { ...each, attributeValue: soonEnough(attributeValue, this.#parts.heartbeatMs) };
        case 'sampleddatactrlr.txupdatedmeasurands':
          return { ...each, attributeValue: enoughMeasurands(attributeValue) };
        default:
          return each;
      }
    });
    const passed = { kind: 'forward', params: { ...rest, setVariableData: changed } } as const;
    if (changed.length === setVariableData.length) return passed;
    if (changed.length === 0) return { kind: 'answered', answer: resultOf(setVariableData, {}) };
    return { ...passed, answerOf: (answer) => resultOf(setVariableData, answer) };
  }
}

/** The change ends neither leases nor reports. */
function isHarmless(each: ChangedVariable): boolean {
  const { attributeValue } = each;
  switch (nameOf(each)) {
    case 'smartchargingctrlr.enabled':
    case 'sampleddatactrlr.enabled':
      return attributeValue.toLowerCase() === 'true';
    case 'smartchargingctrlr.ignoredprofilepurposesoffline':
      return !ignoresOffline(attributeValue);
    default:
      return true;
  }
}

/**
 * The results in the order of the request: the charger's answers, and a
 * rejection for each change that was not forwarded.
 */
function resultOf(asked: readonly ChangedVariable[], answer: unknown): object {
  const { setVariableResult, ...rest } = changedVariablesSchema.parse(answer);
  const answers = [...setVariableResult];
  const results = asked.flatMap((each) => (isHarmless(each) ? answers.splice(0, 1) : [rejectedOf(each)]));
  return { ...rest, setVariableResult: [...results, ...answers] };
}

function rejectedOf({ attributeType, component, variable }: ChangedVariable) {
  const attribute = attributeType === undefined ? {} : { attributeType };
  return { ...attribute, attributeStatus: 'Rejected', component, variable };
}

/** Names ignore case. */
function nameOf({ component, variable }: ChangedVariable): string {
  return `${component.name}.${variable.name}`.toLowerCase();
}

/** @throws UnusableMessage */
function sentOf(profile: Profile201, evse: number): SentProfile {
  const [schedule] = profile.chargingSchedule;
  if (schedule === undefined) throw new UnusableMessage('it has no schedule');
  return { ...profile, evse, schedule };
}

const ONLY_LOGGED = [
  'ClearedChargingLimit',
  'FirmwareStatusNotification',
  'LogStatusNotification',
  'NotifyChargingLimit',
  'NotifyEvent',
  'NotifyMonitoringReport',
  'NotifyReport',
  'PublishFirmwareStatusNotification',
  'ReportChargingProfiles',
  'SecurityEventNotification',
];
const STATUS_OF_STATE: Readonly<Record<string, ChargingStatus>> = {
  Charging: 'Charging',
  EVConnected: 'Preparing',
  SuspendedEV: 'SuspendedEV',
  SuspendedEVSE: 'SuspendedEVSE',
  Idle: 'Finishing',
};

const WH_PER_KWH = 1000;

/** Each field that the car states. */
function needsOf({
  departureTime,
  acChargingParameters,
  dcChargingParameters,
}: ChargingNeeds): ReportedNeeds {
  const energyWh = acChargingParameters?.energyAmount ?? dcChargingParameters?.energyAmount;
  const { evEnergyCapacity, fullSoC } = dcChargingParameters ?? {};
  return {
    ...(departureTime !== undefined && { departureTime: new Date(departureTime).toISOString() }),
    ...(energyWh !== undefined && { energyNeedKwh: energyWh / WH_PER_KWH }),
    ...(evEnergyCapacity !== undefined && { batteryCapacityKwh: evEnergyCapacity / WH_PER_KWH }),
    ...(fullSoC !== undefined && { targetSocPercent: fullSoC }),
  };
}

interface Parts extends CallParts {
  /** EVSE numbers of the charger. */
  readonly evses: readonly number[];
  /** Outlasts a connection. */
  readonly uses: EvseUses;
  /** Outlasts a connection and a restart of the gateway. */
  readonly places: TransactionPlaces;
}

/** Calls of one charger. */
export class Ocpp201Events implements OcppEvents {
  readonly #parts: Parts;
  readonly #calls: ChargerCalls;
  /**
   * Transactions reported on this connection: the newest of each EVSE, and the one
   * before. Late events of that one begin nothing.
   */
  readonly #evseOf = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#calls = new ChargerCalls(parts, ONLY_LOGGED);
  }

  /** Applies a call to the session. @throws UnusableMessage */
  received(method: string, params: unknown): void {
    const { session, clock, uses } = this.#parts;
    const nowMs = clock.monotonicMs();
    session.received(nowMs);
    if (method === 'StatusNotification') {
      const { evseId, connectorId, connectorStatus, timestamp } = read(statusSchema, params);
      const status = uses.receivedStatus(evseId, connectorId, connectorStatus);
      session.receivedStatus(evseId, status, timestamp, nowMs);
    } else if (method === 'MeterValues') {
      const { evseId, meterValue } = read(meterValuesSchema, params);
      this.#metered(evseId, undefined, meterValue, nowMs);
    } else if (method === 'TransactionEvent') {
      this.#transaction(params, nowMs);
    } else if (method === 'NotifyEVChargingNeeds') {
      const { evseId, chargingNeeds } = read(chargingNeedsSchema, params);
      const socPercent = chargingNeeds.dcChargingParameters?.stateOfCharge;
      session.receivedNeeds(evseId, { needs: needsOf(chargingNeeds), socPercent }, nowMs);
    }
    if (method !== 'BootNotification') this.#calls.wakeAfterAnswer();
  }

  /** Applies a call together with its answer. @returns the answer to send. @throws UnusableMessage, ForwardedError */
  async answered(method: string, params: unknown, answer: object): Promise<object> {
    if (method === 'Heartbeat') return this.#calls.tellTime(answer);
    if (method === 'TransactionEvent') this.#authorized(params, answer);
    if (method !== 'BootNotification') return answer;
    const { vendorName, model, firmwareVersion } = read(bootSchema, params).chargingStation;
    this.#calls.booted([vendorName, model, firmwareVersion], answer);
    this.#evseOf.clear();
    this.#parts.uses.forget();
    this.#calls.wakeAfterAnswer();
    return answer;
  }

  /** The answer without a CSMS. @throws UnusableMessage, UnknownMethod */
  async answer(method: string, params: unknown): Promise<object> {
    const { askIdTag } = this.#parts;
    switch (method) {
      case 'TransactionEvent': {
        const { idToken } = read(eventTokenSchema, params);
        return idToken === undefined ? {} : { idTokenInfo: { status: await askIdTag(idToken.idToken) } };
      }
      case 'Authorize':
        return { idTokenInfo: { status: await askIdTag(read(authorizeSchema, params).idToken.idToken) } };
      case 'NotifyEVChargingNeeds':
        return { status: 'Accepted' };
      case 'NotifyEVChargingSchedule':
      case 'SignCertificate':
        return { status: 'Rejected' };
      default:
        return this.#calls.answer(method, params);
    }
  }

  /** A token that ends a transaction may be another one than the token that began it. */
  #authorized(params: unknown, answer: object): void {
    const { idToken } = read(eventTokenSchema, params);
    const { eventType, transactionInfo, evse } = read(transactionEventSchema, params);
    if (idToken === undefined || eventType === 'Ended') return;
    if (read(tokenAnswerSchema, answer).idTokenInfo?.status !== 'Accepted') return;
    const evseId = evse?.id ?? this.#placeOf(transactionInfo.transactionId);
    if (evseId !== undefined) this.#parts.session.receivedIdTag(evseId, idToken.idToken);
  }

  #transaction(params: unknown, nowMs: number): void {
    const { session, uses, places } = this.#parts;
    const { eventType, timestamp, transactionInfo, evse, meterValue } = read(transactionEventSchema, params);
    const { transactionId, chargingState } = transactionInfo;
    const evseId = evse?.id ?? this.#placeOf(transactionId);
    if (evseId === undefined) return;
    if (evse?.connectorId !== undefined) uses.receivedConnector(evseId, evse.connectorId);
    if (eventType === 'Ended') {
      this.#evseOf.delete(transactionId);
      places.ended(transactionId);
      uses.receivedState(evseId, 'Finishing');
      session.receivedStatus(evseId, 'Finishing', timestamp, nowMs);
      session.transactionEnded(transactionId, nowMs);
      return;
    }
    places.began(transactionId, evseId);
    if (!this.#evseOf.has(transactionId)) {
      this.#remember(transactionId, evseId);
      session.transactionBegan(evseId, transactionId, nowMs);
    }
    const status = STATUS_OF_STATE[chargingState ?? ''];
    if (status !== undefined) {
      uses.receivedState(evseId, status);
      session.receivedStatus(evseId, status, timestamp, nowMs);
    }
    session.transactionGoesOn(evseId, transactionId, timestamp);
    this.#metered(evseId, transactionId, meterValue, nowMs);
  }

  /** End events get lost, and a connection lasts for months. */
  #remember(transactionId: string, evseId: number): void {
    const before = [...this.#evseOf].filter(([, evse]) => evse === evseId);
    for (const [older] of before.slice(0, -1)) this.#evseOf.delete(older);
    this.#evseOf.set(transactionId, evseId);
  }

  /** The EVSE of a transaction whose event does not name it: the one of an earlier event, or the only EVSE. */
  #placeOf(transactionId: string): number | undefined {
    const { evses, places } = this.#parts;
    return places.evseOf(transactionId) ?? (evses.length === 1 ? evses[0] : undefined);
  }

  #metered(
    evseId: number,
    transaction: string | undefined,
    meterValue: readonly MeterValue[],
    nowMs: number,
  ): void {
    for (const { timestamp, sampledValue } of meterValue) {
      const sampled = sampledValue.map(({ value, measurand, phase, location, unitOfMeasure }) => ({
        value,
        measurand,
        phase,
        location,
        unit: unitOfMeasure?.unit,
        multiplier: unitOfMeasure?.multiplier,
      }));
      this.#parts.session.receivedValues(evseId, meteredValues(timestamp, transaction, sampled), nowMs);
    }
  }
}
