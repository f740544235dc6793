// The session of a connector's car: its declared needs, and the energy that it has received. Only this module writes
// `Needs`.

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
import { wattsOfTenths } from '../values/units.js';
import type { Instant } from './budget.js';
import {
  type Connector,
  createNeeds,
  type EndedSession,
  throttleOf,
  turnOf,
  type Writing,
} from './connector.js';
import type { QuarterEnergy } from './energy-count.js';
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

/** The car left, so its declarations end. A session whose begin is unknown leaves no record. */
function endSession({ needs }: Written, leftAtMs: EpochMs): void {
  const { arrivedAtMs, declared, deliveredWh, charged, session, idTag, peakW, isIntegrated, times } = needs;
  const isRowOutdated = needs.isRowOutdated || isAnyDeclared(needs) || arrivedAtMs !== undefined;
  const ended =
    arrivedAtMs === undefined
      ? needs.ended
      : [
          ...needs.ended,
          {
            arrivedAtMs,
            // The wall clock may have been set back since.
            leftAtMs: Math.max(arrivedAtMs, leftAtMs),
            declared,
            need: needOf(needs),
            deliveredWh,
            charged,
            session,
            idTag,
            peakW,
            isIntegrated,
            times,
          },
        ];
  Object.assign(needs, createNeeds(), { isRowOutdated, ended });
}

export function isAnyDeclared({ declared }: Pick<SessionNeeds, 'declared'>): boolean {
  return Object.keys(declared).length > 0;
}

/** After a restart, the row on disk would not continue the session or the count of energy. */
export function isRowOutdated({ needs, energy }: Connector, now: EpochMs): boolean {
  return needs.isRowOutdated || energy.isDue(now);
}

/**
 * The row is about to be as the needs are.
 * @returns the energy of quarter-hours for the commit of that row
 */
export function renewRow({ needs, energy }: Written, now: EpochMs): readonly QuarterEnergy[] {
  needs.isRowOutdated = false;
  return energy.take(now);
}

/** Sessions that have ended since the last call, the oldest first. */
export function takeEnded({ needs }: Written): readonly EndedSession[] {
  const { ended } = needs;
  needs.ended = [];
  return ended;
}

/**
 * Counts the energy of a reading. An increase of the register up to the reading that ends a session belongs to it.
 * @param isSameCar false if the reading is of no car, or of another one than the reading before
 */
export function countEnergy(
  connector: Written,
  reading: MeterReading,
  isSameCar: boolean,
  at: Instant,
): boolean {
  const { needs, telemetry, car, energy, account, failsafe } = connector;
  const { powerW, socPercent, session, idTag } = reading;
  // A charger that has restarted is known by no session, so `isSameCar` cannot compare it.
  const isOtherSession = (needs.isFromBefore || needs.session !== undefined) && session !== needs.session;
  const isSame = (needs.isFromBefore ? car.demand.hasCar : isSameCar) && !isOtherSession;
  const mostW = wattsOfTenths(account.maxTenthsA, failsafe.ratedMilliwattsPerTenth);
  const countedWh = energy.count(reading, mostW, telemetry.slot.staleAfterMs, at);
  const registeredWh = energy.isIntegrated ? 0 : countedWh;
  countTimes(connector);
  if (isSame) {
    needs.deliveredWh += countedWh;
    needs.isIntegrated ||= countedWh > registeredWh;
  } else {
    // A car that came since the reading before has drawn the increase.
    const isOfNext = needs.arrivedAtMs === undefined && car.demand.hasCar;
    if (needs.arrivedAtMs !== undefined) needs.deliveredWh += registeredWh;
    endSession(connector, at.now);
    if (isOfNext) needs.deliveredWh += registeredWh;
  }
  needs.isFromBefore = false;
  needs.session = session;
  if (car.demand.hasCar) {
    needs.peakW = Math.max(needs.peakW, powerW);
    needs.isRowOutdated ||= idTag !== undefined && idTag !== needs.idTag;
    needs.idTag = idTag ?? needs.idTag;
  }
  // A gateway repeats a state of charge while its car receives more, so only a change has its energy.
  if (socPercent !== undefined && socPercent !== needs.charged?.socPercent)
    needs.charged = { socPercent, deliveredWh: needs.deliveredWh };
  if (!car.demand.hasCar || needs.arrivedAtMs !== undefined) return false;
  needs.arrivedAtMs = at.now;
  needs.isRowOutdated = true;
  return followDepartures(connector);
}

/** A car that charges draws more than its electronics. */
const CHARGING_W = 100;

/** The time since the reading before, for as long as that was fresh. */
function countTimes(connector: Written): void {
  const { needs, energy, decided } = connector;
  const { times, arrivedAtMs } = needs;
  const { freshW, freshMs } = energy;
  if (arrivedAtMs === undefined || freshMs === 0) return;
  if (freshW >= CHARGING_W) times.chargingMs = (times.chargingMs ?? 0) + freshMs;
  if (throttleOf(connector) === 'free') return;
  const { reason } = decided;
  times.limitedMs[reason] = (times.limitedMs[reason] ?? 0) + freshMs;
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
