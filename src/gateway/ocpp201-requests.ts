// OCPP 2.0.1 and 2.1: messages of the gateway's requests to a charger, and the meaning of their answers.
import type { ChargerAbilities, GatewayAnswer, ProfileSlot } from '../../machines/session/gateway-request.js';
import { BEGINS_BEFORE_S, type RateUnit } from '../../machines/session/lease-schedule.js';
import { compositeSchema, outcomeSchema, setVariablesSchema, variablesSchema } from '../wire/ocpp201.js';
import {
  ignoresOffline,
  type RequestOf,
  type RequestWords,
  readResult,
  wholeOf,
  wordsOf,
} from './charger-requests.js';
import type { Call } from './dialect.js';
import { ALWAYS, profileIdOf, startOf } from './own-profiles.js';

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
    readAbilities,
    sampled: { measurands: 'TxUpdatedMeasurands', intervalS: 'TxUpdatedInterval' },
    change: changeSampling,
    failsafeProfile,
    leaseProfile: (request) => leaseProfile(request, has.offlineDuration),
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

async function readAbilities(call: Call): Promise<ChargerAbilities> {
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
    maxStackLevel: wholeOf(values.get('ProfileStackLevel'), 1),
    maxPeriods: wholeOf(values.get('PeriodsPerSchedule'), 2),
    ignoresOffline: ignoresOffline(values.get('IgnoredProfilePurposesOffline')),
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
  { evse, slot, transaction, stackLevel, schedule }: RequestOf<'setLease'>,
  hasOfflineDuration: boolean,
) {
  const { unit, phases, startsAtOwnMs, limit, endsAfterS, thenLimit } = schedule;
  const maxOfflineDuration = endsAfterS - BEGINS_BEFORE_S;
  const periods = [
    { startPeriod: 0, limit, numberPhases: phases },
    { startPeriod: endsAfterS, limit: thenLimit, numberPhases: phases },
  ];
  const more = {
    ...(slot === 'transaction' ? { transactionId: String(transaction) } : {}),
    ...(hasOfflineDuration ? { maxOfflineDuration, invalidAfterOfflineDuration: true } : {}),
  };
  return profile(evse, slot, { stackLevel, unit, startSchedule: startOf(startsAtOwnMs), periods }, more);
}

function profile(
  evse: number,
  slot: ProfileSlot,
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
): Promise<GatewayAnswer> {
  const asked = { evseId: evse, duration: durationS, chargingRateUnit: unit };
  const { status, schedule } = readResult(compositeSchema, await call('GetCompositeSchedule', asked));
  if (status !== 'Accepted') return { kind: 'refused', why: status };
  if (schedule === undefined) return { kind: 'refused', why: 'its schedule has no begin' };
  const { chargingRateUnit, scheduleStart: startsAtOwnMs, duration, chargingSchedulePeriod } = schedule;
  const periods = chargingSchedulePeriod.map(({ startPeriod: startS, limit }) => ({ startS, limit }));
  return {
    kind: 'schedule',
    schedule: { unit: chargingRateUnit, startsAtOwnMs, durationS: duration, periods },
  };
}
