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
}

/** In the order of precedence. `default` is from the provisioning file. */
export const NEED_SOURCES = ['api', 'charger', 'default'] as const;
export type NeedSource = (typeof NEED_SOURCES)[number];

/** Declared needs of a car, and the energy that it has received. */
export interface SessionNeeds {
  readonly declared: Readonly<Partial<Record<NeedSource, SessionNeed>>>;
  /** Since the arrival of the car, Wh. */
  readonly deliveredWh: number;
}

/** It declares nothing. */
export function isEmpty({ departsAtMs, energyWh, minimumWh, priority }: SessionNeed): boolean {
  return [departsAtMs, energyWh, minimumWh, priority].every((field) => field === undefined);
}

/** A charger may repeat a declaration with every reading. */
export function isSameNeed(a: SessionNeed | undefined, b: SessionNeed | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const isSameEnergy = a.energyWh === b.energyWh && a.minimumWh === b.minimumWh;
  return isSameEnergy && a.departsAtMs === b.departsAtMs && a.priority === b.priority;
}

/** Each field from the first source that declares it. */
export function needOf({ declared }: SessionNeeds): SessionNeed {
  const need: { -readonly [Field in keyof SessionNeed]: SessionNeed[Field] } = {};
  for (const source of NEED_SOURCES) {
    const { departsAtMs, energyWh, minimumWh, priority } = declared[source] ?? {};
    need.departsAtMs ??= departsAtMs;
    need.energyWh ??= energyWh;
    need.minimumWh ??= minimumWh;
    need.priority ??= priority;
  }
  return need;
}
