// The energy that the car of one connector needs, and the time at which it leaves, by the source that declares them.

import type { EpochMs } from '../values/time.js';

/** Declarations of one source; an omitted field is not declared. Energies in Wh, delivered since the car arrived. */
export interface SessionNeed {
  readonly departsAtMs?: EpochMs | undefined;
  readonly energyWh?: number | undefined;
  /** Delivered before any car gets more than its own minimum. */
  readonly minimumWh?: number | undefined;
  /** From 0 to 10; a car with a higher one precedes. */
  readonly priority?: number | undefined;
  /** Capacity of its battery. */
  readonly batteryWh?: number | undefined;
  /** State of charge that it needs at its departure; full if omitted. */
  readonly targetSocPercent?: number | undefined;
}

const FIELDS = [
  'departsAtMs',
  'energyWh',
  'minimumWh',
  'priority',
  'batteryWh',
  'targetSocPercent',
] as const satisfies readonly (keyof SessionNeed)[];

/** In the order of precedence. `default` is from the provisioning file. */
export const NEED_SOURCES = ['api', 'charger', 'default'] as const;
export type NeedSource = (typeof NEED_SOURCES)[number];

/** State of charge of a car's battery when it changed last, and the energy that the car had received by then. */
export interface ChargedState {
  readonly socPercent: number;
  readonly deliveredWh: number;
}

/** Declared needs of a car, and the energy that it has received. */
export interface SessionNeeds {
  readonly declared: Readonly<Partial<Record<NeedSource, SessionNeed>>>;
  /** Since the arrival of the car, Wh. */
  readonly deliveredWh: number;
  /** undefined if it is not reported. */
  readonly charged: ChargedState | undefined;
}

const FULL_PERCENT = 100;

/** It declares nothing. */
export function isEmpty(need: SessionNeed): boolean {
  return FIELDS.every((field) => need[field] === undefined);
}

/** A charger may repeat a declaration with every reading. */
export function isSameNeed(a: SessionNeed | undefined, b: SessionNeed | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return FIELDS.every((field) => a[field] === b[field]);
}

/** Each field from the first source that declares it. Without a declared energy the battery gives the need. */
export function needOf({ declared, charged }: Omit<SessionNeeds, 'deliveredWh'>): SessionNeed {
  const need: { -readonly [Field in keyof SessionNeed]: SessionNeed[Field] } = {};
  for (const source of NEED_SOURCES) {
    const of = declared[source];
    if (of !== undefined) for (const field of FIELDS) need[field] ??= of[field];
  }
  need.energyWh ??= missingOfBattery(need, charged);
  return need;
}

/** Since its arrival: the delivered energy and the share of the battery that is missing to the target. */
function missingOfBattery(
  { batteryWh, targetSocPercent = FULL_PERCENT }: SessionNeed,
  charged: ChargedState | undefined,
): number | undefined {
  if (batteryWh === undefined || charged === undefined) return undefined;
  const missing = Math.max(0, targetSocPercent - charged.socPercent) / FULL_PERCENT;
  return Math.round(charged.deliveredWh + missing * batteryWh);
}

/** Less than these parts of a need is no reason for an alarm, and then no reason to keep it. */
const MISSED = { wh: 500, share: 0.05 };
const STILL_MISSED = { wh: 250, share: 0.025 };

/** So much of a need is missing that its car counts as late. @param isAlready it counted as late before */
export function isMissed(missingWh: number, energyWh: number, isAlready = false): boolean {
  const { wh, share } = isAlready ? STILL_MISSED : MISSED;
  return missingWh >= Math.max(wh, share * energyWh);
}
