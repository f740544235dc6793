// OCPP 2.0.1 and 2.1: what the gateway asks of a charger, as calls, and their results as answers.
import type { z } from 'zod';
import type { GatewayAnswer, GatewayRequest, ProfileSlot } from '../../machines/session/gateway-request.js';
import type { RateUnit } from '../../machines/session/lease-schedule.js';
import { compositeSchema, outcomeSchema, setVariablesSchema, variablesSchema } from '../wire/ocpp201.js';
import { answerOf, type Call } from './dialect.js';
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
/** The most telling first; a charger gets the first list all of which it measures. */
const MEASURANDS = [
  'Power.Active.Import,Current.Import,Voltage,Energy.Active.Import.Register',
  'Power.Active.Import,Current.Import,Energy.Active.Import.Register',
  'Power.Active.Import,Energy.Active.Import.Register',
  'Current.Import,Voltage,Energy.Active.Import.Register',
];
const TAKEN = ['Accepted', 'RebootRequired'];

type Of<K extends GatewayRequest['kind']> = Extract<GatewayRequest, { kind: K }>;
interface Period {
  readonly startPeriod: number;
  readonly limit: number;
  readonly numberPhases?: number;
}

function read<S extends z.ZodType>(schema: S, result: unknown): z.output<S> {
  const { data, error } = schema.safeParse(result);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new Error(`its answer is not understood: ${issue?.path.join('.')}: ${issue?.message}`);
}

/**
 * @param has.offlineDuration it knows 2.1's `maxOfflineDuration`, which ends a lease by itself while it is offline
 * @returns never rejects
 */
export function performOcpp201(
  request: GatewayRequest,
  call: Call,
  has: { readonly offlineDuration: boolean },
): Promise<GatewayAnswer> {
  return answerOf(() => perform(request, call, has.offlineDuration));
}

async function perform(
  request: GatewayRequest,
  call: Call,
  hasOfflineDuration: boolean,
): Promise<GatewayAnswer> {
  switch (request.kind) {
    case 'readAbilities':
      return readAbilities(call);
    case 'sample':
      return sample(request.everyS, call);
    case 'setFailsafe':
      return outcomeOf(await call('SetChargingProfile', failsafeProfile(request)));
    case 'setLease':
      return outcomeOf(await call('SetChargingProfile', leaseProfile(request, hasOfflineDuration)));
    case 'clear': {
      // That there is none to clear is as good.
      await call('ClearChargingProfile', { chargingProfileId: profileIdOf(request.evse, request.slot) });
      return { kind: 'done' };
    }
    case 'readSchedule':
      return readSchedule(request, call);
    case 'askStatus': {
      const evse = { id: request.evse, connectorId: 1 };
      return outcomeOf(await call('TriggerMessage', { requestedMessage: 'StatusNotification', evse }));
    }
    case 'askValues': {
      const evse = { id: request.evse };
      return outcomeOf(await call('TriggerMessage', { requestedMessage: 'TransactionEvent', evse }));
    }
  }
}

function outcomeOf(result: unknown): GatewayAnswer {
  const { status } = read(outcomeSchema, result);
  return TAKEN.includes(status) ? { kind: 'done' } : { kind: 'refused', why: status };
}

async function readAbilities(call: Call): Promise<GatewayAnswer> {
  const component = { name: SMART_CHARGING };
  const getVariableData = VARIABLES.map((name) => ({ component, variable: { name } }));
  const { getVariableResult } = read(variablesSchema, await call('GetVariables', { getVariableData }));
  const known = getVariableResult.filter(({ attributeStatus }) => attributeStatus === 'Accepted');
  const values = new Map(known.map(({ variable, attributeValue = '' }) => [variable.name, attributeValue]));
  const ignored = wordsOf(values.get('IgnoredProfilePurposesOffline'));
  const isOff = values.get('Enabled')?.toLowerCase() === 'false';
  const isMissing = getVariableResult.every(({ attributeStatus }) => attributeStatus === 'UnknownComponent');
  return {
    kind: 'abilities',
    abilities: {
      whyNot: isMissing
        ? `it has no ${SMART_CHARGING}`
        : isOff
          ? `${SMART_CHARGING}.Enabled is false`
          : undefined,
      units: unitsOf(wordsOf(values.get('RateUnit'))),
      maxStackLevel: wholeOf(values.get('ProfileStackLevel'), 1),
      maxPeriods: wholeOf(values.get('PeriodsPerSchedule'), 2),
      ignoresOffline: ignored.includes('TxDefaultProfile') || ignored.includes('TxProfile'),
    },
  };
}

function wordsOf(list = ''): readonly string[] {
  return list.split(',').map((word) => word.trim());
}

/** Both where nothing is said. */
function unitsOf(words: readonly string[]): readonly RateUnit[] {
  const units = (['A', 'W'] as const).filter((unit) => words.includes(unit));
  return units.length === 0 ? ['A', 'W'] : units;
}

function wholeOf(text: string | undefined, fallback: number): number {
  const value = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(value) && value >= 0 ? value : fallback;
}

async function sample(everyS: number, call: Call): Promise<GatewayAnswer> {
  const set = async (name: string, attributeValue: string) => {
    const data = { attributeValue, component: { name: SAMPLING }, variable: { name } };
    const { setVariableResult } = read(
      setVariablesSchema,
      await call('SetVariables', { setVariableData: [data] }),
    );
    return TAKEN.includes(setVariableResult[0]?.attributeStatus ?? '');
  };
  for (const value of MEASURANDS) if (await set('TxUpdatedMeasurands', value)) break;
  const isTaken = await set('TxUpdatedInterval', String(Math.round(everyS)));
  return isTaken ? { kind: 'done' } : { kind: 'refused', why: `${SAMPLING}.TxUpdatedInterval` };
}

function failsafeProfile({ evse, unit, limit }: Of<'setFailsafe'>) {
  const periods = [{ startPeriod: 0, limit }];
  return profile(evse, 'failsafe', { stackLevel: 0, unit, startSchedule: ALWAYS, periods }, {});
}

function leaseProfile(
  { evse, slot, transaction, stackLevel, schedule }: Of<'setLease'>,
  hasOfflineDuration: boolean,
) {
  const { unit, phases, startsAtOwnMs, limit, ttlS, thenLimit } = schedule;
  const periods = [
    { startPeriod: 0, limit, numberPhases: phases },
    { startPeriod: ttlS, limit: thenLimit, numberPhases: phases },
  ];
  const more = {
    ...(slot === 'transaction' ? { transactionId: String(transaction) } : {}),
    ...(hasOfflineDuration ? { maxOfflineDuration: ttlS, invalidAfterOfflineDuration: true } : {}),
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
  { evse, durationS, unit }: Of<'readSchedule'>,
  call: Call,
): Promise<GatewayAnswer> {
  const asked = { evseId: evse, duration: durationS, chargingRateUnit: unit };
  const { status, schedule } = read(compositeSchema, await call('GetCompositeSchedule', asked));
  if (status !== 'Accepted') return { kind: 'refused', why: status };
  if (schedule === undefined) return { kind: 'refused', why: 'it does not say when its schedule begins' };
  const { chargingRateUnit, scheduleStart: startsAtOwnMs, duration, chargingSchedulePeriod } = schedule;
  const periods = chargingSchedulePeriod.map(({ startPeriod: startS, limit }) => ({ startS, limit }));
  return {
    kind: 'schedule',
    schedule: { unit: chargingRateUnit, startsAtOwnMs, durationS: duration, periods },
  };
}
