// Requests of the gateway to a charger in any version of OCPP: the calls of
// each request, and the meaning of their results.
import type { z } from 'zod';
import type {
  ChargerAbilities,
  GatewayAnswer,
  GatewayRequest,
} from '../../machines/session/gateway-request.js';
import { type Call, CallRefused } from './dialect.js';
import { profileIdOf } from './own-profiles.js';

export type RequestOf<K extends GatewayRequest['kind']> = Extract<GatewayRequest, { kind: K }>;

/**
 * The part of the requests that differs between versions of OCPP: names of settings, parameters of calls, and results.
 */
export interface RequestWords {
  readAbilities(call: Call): Promise<ChargerAbilities>;
  /** Names of the settings for the sampled measurands and their interval. */
  readonly sampled: { readonly measurands: string; readonly intervalS: string };
  /** Changes a setting. @returns the status that the charger answers */
  change(setting: string, value: string, call: Call): Promise<string>;
  /** Parameters of `SetChargingProfile`. */
  failsafeProfile(request: RequestOf<'setFailsafe'>): object;
  leaseProfile(request: RequestOf<'setLease'>): object;
  /** Parameters of `ClearChargingProfile`. */
  clearing(profileId: number): object;
  readSchedule(request: RequestOf<'readSchedule'>, call: Call): Promise<GatewayAnswer>;
  /** Parameters of `TriggerMessage`. */
  trigger(what: 'status' | 'values', evse: number): object;
  /** The status in the result of a call that sets a value or triggers a message. */
  statusOf(result: unknown): string;
}

/** The most useful list first; a charger gets the first one that it accepts. */
const MEASURANDS = [
  'Power.Active.Import,Current.Import,Voltage,Energy.Active.Import.Register',
  'Power.Active.Import,Current.Import,Energy.Active.Import.Register',
  'Power.Active.Import,Energy.Active.Import.Register',
  'Current.Import,Voltage,Energy.Active.Import.Register',
  'Current.Import,Energy.Active.Import.Register',
];
/** `RebootRequired` takes effect too, at the latest after the charger's next start. */
const TAKEN = ['Accepted', 'RebootRequired'];

/** Never rejects: a failure is an answer too. */
export async function performRequest(
  words: RequestWords,
  request: GatewayRequest,
  call: Call,
): Promise<GatewayAnswer> {
  try {
    return await perform(words, request, call);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: error instanceof CallRefused ? 'refused' : 'failed', why };
  }
}

async function perform(words: RequestWords, request: GatewayRequest, call: Call): Promise<GatewayAnswer> {
  const outcomeOf = async (method: string, params: object): Promise<GatewayAnswer> => {
    const status = words.statusOf(await call(method, params));
    return TAKEN.includes(status) ? { kind: 'done' } : { kind: 'refused', why: status };
  };
  switch (request.kind) {
    case 'readAbilities':
      return { kind: 'abilities', abilities: await words.readAbilities(call) };
    case 'sample':
      return sample(words, request.everyS, call);
    case 'setFailsafe':
      return outcomeOf('SetChargingProfile', words.failsafeProfile(request));
    case 'setLease':
      return outcomeOf('SetChargingProfile', words.leaseProfile(request));
    case 'clear':
      // A profile that does not exist is as good as a cleared one.
      await call('ClearChargingProfile', words.clearing(profileIdOf(request.evse, request.slot)));
      return { kind: 'done' };
    case 'readSchedule':
      return words.readSchedule(request, call);
    case 'askStatus':
      return outcomeOf('TriggerMessage', words.trigger('status', request.evse));
    case 'askValues':
      return outcomeOf('TriggerMessage', words.trigger('values', request.evse));
  }
}

async function sample(words: RequestWords, everyS: number, call: Call): Promise<GatewayAnswer> {
  const { measurands, intervalS } = words.sampled;
  const isTaken = async (setting: string, value: string) =>
    TAKEN.includes(await words.change(setting, value, call));
  for (const list of MEASURANDS) if (await isTaken(measurands, list)) break;
  if (await isTaken(intervalS, String(Math.round(everyS)))) return { kind: 'done' };
  return { kind: 'refused', why: intervalS };
}

/** Parses the result of a call by `schema`. @throws Error if it does not match */
export function readResult<S extends z.ZodType>(schema: S, result: unknown): z.output<S> {
  const { data, error } = schema.safeParse(result);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new Error(`its answer is malformed: ${issue?.path.join('.')}: ${issue?.message}`);
}

/** The words of a comma-separated list. */
export function wordsOf(list = ''): readonly string[] {
  return list.split(',').map((word) => word.trim());
}

/** A whole number from 0 on; otherwise `fallback`. */
export function wholeOf(text: string | undefined, fallback: number): number {
  const value = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(value) && value >= 0 ? value : fallback;
}

/** The charger would ignore leases while it is offline: `purposes` names one of their purposes. */
export function ignoresOffline(purposes: string | undefined): boolean {
  const ignored = wordsOf(purposes?.toLowerCase());
  return ignored.includes('txdefaultprofile') || ignored.includes('txprofile');
}
