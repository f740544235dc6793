// Declared needs of a connector's car, and the energy that it has received. Only this module writes `Needs`.

import { defaultNeedOf } from '../policy/default-needs.js';
import type { DeclaredCar } from '../policy/policies.js';
import {
  isEmpty,
  isSameNeed,
  type NeedSource,
  needOf,
  type SessionNeed,
  type SessionNeeds,
} from '../policy/session-needs.js';
import type { EpochMs } from '../values/time.js';
import type { Instant } from './budget.js';
import { type Connector, createNeeds, turnOf, type Writing } from './connector.js';
import type { MeterReading } from './meter-ledger.js';

const MS_PER_H = 3_600_000;

type Written = Writing<'needs'>;

/** Replaces the declarations of one source; undefined or nothing withdraws them. True if they change. */
export function declareNeed(
  { needs }: Written,
  source: NeedSource,
  declared: SessionNeed | undefined,
): boolean {
  const need = declared === undefined || isEmpty(declared) ? undefined : declared;
  const { [source]: before, ...others } = needs.declared;
  if (isSameNeed(before, need)) return false;
  needs.declared = need === undefined ? others : { ...others, [source]: need };
  needs.isRowOutdated ||= !isAnyDeclared(needs);
  return true;
}

/** Applies the departures of the provisioning file from the arrival of the car on. True if its need changes. */
export function followDepartures(connector: Written): boolean {
  const { arrivedAtMs } = connector.needs;
  const { departures } = connector.provisioned.spec;
  const isKnown = departures != null && arrivedAtMs !== undefined;
  return declareNeed(connector, 'default', isKnown ? defaultNeedOf(departures, arrivedAtMs) : undefined);
}

/** The car left, so its declarations end. */
function endStay({ needs }: Written): void {
  const isRowOutdated = needs.isRowOutdated || isAnyDeclared(needs);
  Object.assign(needs, createNeeds(), { isRowOutdated });
}

export function isAnyDeclared({ declared }: Pick<SessionNeeds, 'declared'>): boolean {
  return Object.keys(declared).length > 0;
}

/** The row is about to be as the needs are. */
export function renewRow({ needs }: Written): void {
  needs.isRowOutdated = false;
}

/**
 * Counts the energy of a reading: the register's increase, or else the power since the reading before, for as long as
 * that was fresh.
 * @param isSameCar false if the reading is of no car, or of another one than the reading before
 */
export function countEnergy(
  connector: Written,
  { energyWh, powerW, socPercent, session }: MeterReading,
  isSameCar: boolean,
  { now, nowMs }: Instant,
): boolean {
  const { needs, telemetry, car } = connector;
  // A charger that has restarted is known by no session, so `isSameCar` cannot compare it.
  const isOtherSession = (needs.isFromBefore || needs.session !== undefined) && session !== needs.session;
  const isSame = needs.isFromBefore ? car.demand.hasCar : isSameCar;
  if (!isSame || isOtherSession) endStay(connector);
  needs.isFromBefore = false;
  needs.session = session;
  if (energyWh !== undefined && needs.registerWh !== undefined && energyWh >= needs.registerWh)
    needs.deliveredWh += energyWh - needs.registerWh;
  else if (needs.countedAtMs !== undefined)
    needs.deliveredWh +=
      (needs.countedW * Math.min(nowMs - needs.countedAtMs, telemetry.slot.staleAfterMs)) / MS_PER_H;
  needs.registerWh = energyWh;
  needs.countedAtMs = nowMs;
  needs.countedW = powerW;
  // A gateway repeats a state of charge while its car receives more, so only a change has its energy.
  if (socPercent !== undefined && socPercent !== needs.charged?.socPercent)
    needs.charged = { socPercent, deliveredWh: needs.deliveredWh };
  if (!car.demand.hasCar || needs.arrivedAtMs !== undefined) return false;
  needs.arrivedAtMs = now;
  return followDepartures(connector);
}

/**
 * The car for a policy; undefined if it has not declared both a departure and a need, or if its departure is over: then
 * it shares equally. Its need is at most the energy that it can take in its stay, so that a false need buys nothing.
 * @param mostW the highest power that it can use
 */
export function declaredCarOf(connector: Connector, mostW: number, now: EpochMs): DeclaredCar | undefined {
  const { key, needs, account } = connector;
  const { departsAtMs, energyWh, minimumWh = 0, priority = 0 } = needOf(needs);
  if (departsAtMs === undefined || energyWh === undefined || departsAtMs <= now || mostW <= 0)
    return undefined;
  const stayMs = departsAtMs - (needs.arrivedAtMs ?? now);
  return {
    key,
    departsAtMs,
    needWh: Math.min(energyWh, Math.max(needs.deliveredWh, (mostW * stayMs) / MS_PER_H)),
    deliveredWh: needs.deliveredWh,
    minimumWh,
    priority,
    mostW,
    isCharging: turnOf(connector).onSinceMs !== undefined,
    circuitPhases: account.circuitPhases,
    milliwattsPerTenth: account.milliwattsPerTenth,
  };
}
