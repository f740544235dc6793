// OCPP 1.6: what the gateway asks of a charger, as calls, and their results as answers.
import type { z } from 'zod';
import type {
  ChargerAbilities,
  GatewayAnswer,
  GatewayRequest,
} from '../../machines/session/gateway-request.js';
import type { RateUnit } from '../../machines/session/lease-schedule.js';
import { compositeSchema, configurationSchema, outcomeSchema } from '../wire/ocpp16.js';
import { answerOf, type Call } from './dialect.js';
import { ALWAYS, profileIdOf, startOf } from './own-profiles.js';

const KEYS = {
  features: 'SupportedFeatureProfiles',
  units: 'ChargingScheduleAllowedChargingRateUnit',
  stackLevel: 'ChargeProfileMaxStackLevel',
  periods: 'ChargingScheduleMaxPeriods',
  ignored: 'IgnoredProfilePurposesOffline',
};
/** The most telling first; a charger gets the first list all of which it measures. */
const MEASURANDS = [
  'Power.Active.Import,Current.Import,Voltage,Energy.Active.Import.Register',
  'Power.Active.Import,Current.Import,Energy.Active.Import.Register',
  'Power.Active.Import,Energy.Active.Import.Register',
  'Current.Import,Voltage,Energy.Active.Import.Register',
  'Current.Import,Energy.Active.Import.Register',
];
/** It takes effect as well, at the latest after its next start. */
const TAKEN = ['Accepted', 'RebootRequired'];

function read<S extends z.ZodType>(schema: S, result: unknown): z.output<S> {
  const { data, error } = schema.safeParse(result);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new Error(`its answer is not understood: ${issue?.path.join('.')}: ${issue?.message}`);
}

/** @returns never rejects */
export function performOcpp16(request: GatewayRequest, call: Call): Promise<GatewayAnswer> {
  return answerOf(() => perform(request, call));
}

async function perform(request: GatewayRequest, call: Call): Promise<GatewayAnswer> {
  switch (request.kind) {
    case 'readAbilities':
      return readAbilities(call);
    case 'sample':
      return sample(request.everyS, call);
    case 'setFailsafe':
      return outcomeOf(await call('SetChargingProfile', failsafeProfile(request)));
    case 'setLease':
      return outcomeOf(await call('SetChargingProfile', leaseProfile(request)));
    case 'clear': {
      // That there is none to clear is as good.
      await call('ClearChargingProfile', { id: profileIdOf(request.evse, request.slot) });
      return { kind: 'done' };
    }
    case 'readSchedule':
      return readSchedule(request, call);
    case 'askStatus': {
      const asked = { requestedMessage: 'StatusNotification', connectorId: request.evse };
      return outcomeOf(await call('TriggerMessage', asked));
    }
    case 'askValues':
      return outcomeOf(
        await call('TriggerMessage', { requestedMessage: 'MeterValues', connectorId: request.evse }),
      );
  }
}

function outcomeOf(result: unknown): GatewayAnswer {
  const { status } = read(outcomeSchema, result);
  return TAKEN.includes(status) ? { kind: 'done' } : { kind: 'refused', why: status };
}

async function readAbilities(call: Call): Promise<GatewayAnswer> {
  const { configurationKey } = read(
    configurationSchema,
    await call('GetConfiguration', { key: Object.values(KEYS) }),
  );
  const values = new Map(configurationKey.map(({ key, value = '' }) => [key, value]));
  const listOf = (key: string) => (values.get(key) ?? '').split(',').map((word) => word.trim());
  const ignored = listOf(KEYS.ignored);
  const isSmart = !values.has(KEYS.features) || listOf(KEYS.features).includes('SmartCharging');
  const abilities: ChargerAbilities = {
    whyNot: isSmart ? undefined : 'it does not support SmartCharging',
    units: unitsOf(values.get(KEYS.units)),
    maxStackLevel: wholeOf(values.get(KEYS.stackLevel), 1),
    maxPeriods: wholeOf(values.get(KEYS.periods), 2),
    ignoresOffline: ignored.includes('TxDefaultProfile') || ignored.includes('TxProfile'),
  };
  return { kind: 'abilities', abilities };
}

/** `Current` and `Power` in the standard; some say `A` and `W`. Both where nothing is said. */
function unitsOf(text: string | undefined): readonly RateUnit[] {
  const words = (text ?? '').split(',').map((word) => word.trim());
  const hasCurrent = words.includes('Current') || words.includes('A');
  const hasPower = words.includes('Power') || words.includes('W');
  if (hasCurrent === hasPower) return ['A', 'W'];
  return hasCurrent ? ['A'] : ['W'];
}

function wholeOf(text: string | undefined, fallback: number): number {
  const value = Number(text);
  return text !== undefined && Number.isInteger(value) && value >= 0 ? value : fallback;
}

async function sample(everyS: number, call: Call): Promise<GatewayAnswer> {
  const change = async (key: string, value: string) =>
    TAKEN.includes(read(outcomeSchema, await call('ChangeConfiguration', { key, value })).status);
  for (const value of MEASURANDS) if (await change('MeterValuesSampledData', value)) break;
  const isTaken = await change('MeterValueSampleInterval', String(Math.round(everyS)));
  return isTaken ? { kind: 'done' } : { kind: 'refused', why: 'MeterValueSampleInterval' };
}

type Of<K extends GatewayRequest['kind']> = Extract<GatewayRequest, { kind: K }>;

function failsafeProfile({ evse, unit, limit }: Of<'setFailsafe'>) {
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

function leaseProfile({ evse, slot, transaction, stackLevel, schedule }: Of<'setLease'>) {
  const { unit, phases, startsAtOwnMs, limit, ttlS, thenLimit } = schedule;
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
          { startPeriod: 0, limit, numberPhases: phases },
          { startPeriod: ttlS, limit: thenLimit, numberPhases: phases },
        ],
      },
    },
  };
}

async function readSchedule(
  { evse, durationS, unit }: Of<'readSchedule'>,
  call: Call,
): Promise<GatewayAnswer> {
  const asked = { connectorId: evse, duration: durationS, chargingRateUnit: unit };
  const composite = read(compositeSchema, await call('GetCompositeSchedule', asked));
  const { status, scheduleStart, chargingSchedule } = composite;
  if (status !== 'Accepted') return { kind: 'refused', why: status };
  const startsAtOwnMs = scheduleStart ?? chargingSchedule?.startSchedule;
  if (startsAtOwnMs === undefined)
    return { kind: 'refused', why: 'it does not say when its schedule begins' };
  const periods = (chargingSchedule?.chargingSchedulePeriod ?? []).map(({ startPeriod, limit }) => ({
    startS: startPeriod,
    limit,
  }));
  const durationOf = chargingSchedule?.duration;
  return {
    kind: 'schedule',
    schedule: {
      unit: chargingSchedule?.chargingRateUnit ?? unit,
      startsAtOwnMs,
      durationS: durationOf,
      periods,
    },
  };
}
