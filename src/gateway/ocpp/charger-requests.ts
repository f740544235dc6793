// Requests of the gateway to a charger in any version of OCPP: the calls of each request, the meaning of their results,
// and the ids of the charging profiles that the gateway sets.
import type { z } from 'zod';
import type { ChargerAbilities, LimitSlot } from '../../../machines/session/gateway-request.js';
import type { RateUnit, ShownSchedule } from '../../../machines/session/lease-schedule.js';
import { type ChargerDialect, ChargerRefusal, type RequestOf } from '../charger-dialect.js';
import type { Call } from './ocpp-dialect.js';

/** Nobody else assigns ids from here on. */
const FIRST_PROFILE_ID = 774_000_000;
const SLOTS: readonly LimitSlot[] = ['failsafe', 'default', 'transaction'];
/** Start of a schedule without end: before any clock of a charger. */
export const ALWAYS = '1970-01-01T00:00:00.000Z';

export function isOwnProfileId(id: number): boolean {
  return id >= FIRST_PROFILE_ID && id < FIRST_PROFILE_ID + 1_000_000;
}

export function profileIdOf(evse: number, slot: LimitSlot): number {
  return FIRST_PROFILE_ID + 10 * evse + SLOTS.indexOf(slot);
}

/** A whole second of the charger's own clock, rounded down. */
export function startOf(ownMs: number): string {
  return new Date(1000 * Math.floor(ownMs / 1000)).toISOString();
}

/** Settings of a charger that leases depend on; undefined if it does not report them. */
export interface ReportedSettings {
  readonly whyNot: string | undefined;
  readonly units: readonly RateUnit[];
  readonly maxStackLevel: string | undefined;
  readonly maxPeriods: string | undefined;
  /** Purposes of profiles that the charger ignores while it is offline. */
  readonly ignoredOffline: string | undefined;
}

/**
 * The part of the requests that differs between versions of OCPP: names of settings, parameters of calls, and results.
 */
export interface RequestWords {
  readSettings(call: Call): Promise<ReportedSettings>;
  /** Names of the settings for the sampled measurands and their interval. */
  readonly sampled: { readonly measurands: string; readonly intervalS: string };
  /** Changes a setting. @returns the status that the charger answers */
  change(setting: string, value: string, call: Call): Promise<string>;
  /** Parameters of `SetChargingProfile`. */
  failsafeProfile(request: RequestOf<'setFailsafe'>): object;
  leaseProfile(request: RequestOf<'setLease'>, stackLevel: number): object;
  /** Parameters of `ClearChargingProfile`. */
  clearing(profileId: number): object;
  /** @throws ChargerRefusal */
  readSchedule(request: RequestOf<'readSchedule'>, call: Call): Promise<ShownSchedule>;
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
/** Of a charger that does not report them. */
const USUAL = { maxStackLevel: 1, maxPeriods: 2 };
const OTHER_CHARGER = 'choose another charger or firmware';
const NAMES: ChargerDialect['names'] = {
  setFailsafe: 'SetChargingProfile',
  setLease: 'SetChargingProfile',
  clear: 'ClearChargingProfile',
  readSchedule: 'GetCompositeSchedule',
};

/** The requests of the gateway as calls of one charger. */
export class ChargerRequests implements ChargerDialect {
  readonly names = NAMES;
  readonly #words: RequestWords;
  readonly #call: Call;
  readonly #levels: { maxStackLevel: number };

  /** @param levels outlasts this connection: the charger reports its settings once after a start */
  constructor(words: RequestWords, call: Call, levels: { maxStackLevel: number }) {
    this.#words = words;
    this.#call = call;
    this.#levels = levels;
  }

  async readAbilities(): Promise<ChargerAbilities> {
    try {
      const settings = await this.#words.readSettings(this.#call);
      this.#levels.maxStackLevel = wholeOf(settings.maxStackLevel, USUAL.maxStackLevel);
      return abilitiesOf(settings);
    } catch (error) {
      if (error instanceof ChargerRefusal) this.#levels.maxStackLevel = USUAL.maxStackLevel;
      throw error;
    }
  }

  async sample({ everyS, withSoc }: RequestOf<'sample'>): Promise<void> {
    const { measurands, intervalS } = this.#words.sampled;
    const isTaken = async (setting: string, value: string) =>
      TAKEN.includes(await this.#words.change(setting, value, this.#call));
    const lists = withSoc ? [...MEASURANDS.map((list) => `${list},SoC`), ...MEASURANDS] : MEASURANDS;
    for (const list of lists) if (await isTaken(measurands, list)) break;
    if (!(await isTaken(intervalS, String(Math.round(everyS))))) throw new ChargerRefusal(intervalS);
  }

  setFailsafe(request: RequestOf<'setFailsafe'>): Promise<void> {
    return this.#order('SetChargingProfile', this.#words.failsafeProfile(request));
  }

  setLease(request: RequestOf<'setLease'>): Promise<void> {
    const { maxStackLevel } = this.#levels;
    return this.#order('SetChargingProfile', this.#words.leaseProfile(request, maxStackLevel));
  }

  readSchedule(request: RequestOf<'readSchedule'>): Promise<ShownSchedule> {
    return this.#words.readSchedule(request, this.#call);
  }

  askStatus(evse: number): Promise<void> {
    return this.#order('TriggerMessage', this.#words.trigger('status', evse));
  }

  askValues(evse: number): Promise<void> {
    return this.#order('TriggerMessage', this.#words.trigger('values', evse));
  }

  /** A profile that does not exist is as good as a cleared one. */
  async clear({ evse, slot }: RequestOf<'clear'>): Promise<void> {
    await this.#call('ClearChargingProfile', this.#words.clearing(profileIdOf(evse, slot)));
  }

  async #order(method: string, params: object): Promise<void> {
    const status = this.#words.statusOf(await this.#call(method, params));
    if (!TAKEN.includes(status)) throw new ChargerRefusal(status);
  }
}

function abilitiesOf(settings: ReportedSettings): ChargerAbilities {
  const { whyNot, units } = settings;
  const maxStackLevel = wholeOf(settings.maxStackLevel, USUAL.maxStackLevel);
  const maxPeriods = wholeOf(settings.maxPeriods, USUAL.maxPeriods);
  const hindrances = [
    maxPeriods < 2 && { why: 'it takes one period only, so that no limit ever ends', wayOut: OTHER_CHARGER },
    maxStackLevel < 1 && {
      why: 'it has one stack level only, so that no lease fits above its fail-safe',
      wayOut: OTHER_CHARGER,
    },
    ignoresOffline(settings.ignoredOffline) && {
      why: 'IgnoredProfilePurposesOffline: it keeps to no limits while it is offline',
      wayOut: 'empty IgnoredProfilePurposesOffline in the charger',
    },
  ];
  const hindrance = hindrances.find((each) => each !== false);
  return { whyNot, units, hindrance, summary: `stack levels up to ${maxStackLevel}, ${maxPeriods} periods` };
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
function wholeOf(text: string | undefined, fallback: number): number {
  const value = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(value) && value >= 0 ? value : fallback;
}

/** The charger would ignore leases while it is offline: `purposes` names one of their purposes. */
export function ignoresOffline(purposes: string | undefined): boolean {
  const ignored = wordsOf(purposes?.toLowerCase());
  return ignored.includes('txdefaultprofile') || ignored.includes('txprofile');
}
