// Checks the policies of locations by the declarations that reached the service: the cars that their order serves
// (P21), the order itself (P22), and the cars that wait (P23).

import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook, SiteBook } from './connector-book.js';
import { declaredBy, SETTLED_MS, type Standing, type Stays, TOLERANCE_WH } from './stays.js';

const LOOK_EVERY_MS = 5_000;
/**
 * A wrong order that lasts is no transition: others made room within a horizon, and a pause lasts a minute. Raises are
 * apart, and chargers that are late count with their entitlement.
 */
const PATIENCE_MS = 200_000;
/** A car that the service found paused at its start may be full. The service offers it nothing for five minutes. */
const FOUND_PAUSED_MS = 330_000;
/** A limit within this of the maximum, or of the lowest, counts as such. */
const TOLERANCE_A = 2.5;
const MS_PER_H = 3_600_000;
const MS_PER_MIN = 60_000;
/** A current counts at up to this much above nominal voltage (R11). */
const HIGHEST_VOLTAGE = 1.1;
/** Cars charge in turns of a quarter of an hour at least, and wait for two hours at most if such turns allow it (R15). */
const SHORTEST_TURN_MS = 15 * MS_PER_MIN;
const LONGEST_WAIT_MS = 120 * MS_PER_MIN;
/** A minute of waiting makes up for one of charging, of which this much counts at most (R15). */
const MOST_CHARGED_MS = 180 * MS_PER_MIN;

/** A declared car that can be judged. */
interface Judged {
  readonly book: ConnectorBook;
  readonly limitA: number;
  /** It draws its limit, and may have more. */
  readonly isLimited: boolean;
  /** It has more than its lowest current. */
  readonly isServed: boolean;
  /** Power of its limit, W. */
  readonly limitW: number;
  /** Power that another one has to free before it can charge; 0 while it charges, W. */
  readonly neededW: number;
  /** Certain, or undefined. */
  readonly isBelowMinimum: boolean | undefined;
  readonly hasNeed: boolean | undefined;
  readonly priority: number;
}

type DepartureWatchWorld = Pick<
  CheckedWorld,
  | 'hasOwnPolicy'
  | 'tenants'
  | 'sites'
  | 'oracle'
  | 'nowMs'
  | 'monotonicMs'
  | 'at'
  | 'isServiceUp'
  | 'reached'
  | 'report'
> & {
  /** Monotonic instant, ms, since which the service runs and can write. */
  readonly soundSinceMs: () => number;
  readonly stays: Stays;
};

export class DepartureWatch {
  readonly #world: DepartureWatchWorld;
  /** Limits by an order have left since then, although the car declares nothing. */
  readonly #orderedSinceMs = new Map<ConnectorBook, number>();
  /** Locations with a policy, whose power alone is shared: a fuse may lack room for one car and not for another. */
  readonly #sites: readonly SiteBook[];
  /** Begin of each wrong order, by both connectors. */
  #wrongSinceMs = new Map<string, number>();
  /** Begin of each wait, by connector: beside room for its car, and while others have their turn. */
  #besideRoomSinceMs = new Map<ConnectorBook, number>();
  #forTurnSinceMs = new Map<ConnectorBook, number>();
  #beganAtMs = 0;

  constructor(world: DepartureWatchWorld) {
    this.#world = world;
    this.#sites = world.tenants.flatMap(({ locations }) =>
      locations.flatMap(({ locationId, policy }) => {
        const site = world.sites.get(locationId);
        const isOrdered = world.hasOwnPolicy || policy !== 'equal';
        return !isOrdered || site === undefined || site.capacitiesA.size > 0 ? [] : [site];
      }),
    );
    if (this.#sites.length > 0) this.#repeat();
  }

  /** The limit leaves now (P21). */
  left(book: ConnectorBook, { reason }: LimitMessage): void {
    const { stays } = this.#world;
    if (reason !== 'departure' || stays.of(book).isDoubted || stays.isDeclared(book)) {
      this.#orderedSinceMs.delete(book);
      return;
    }
    const nowMs = this.#world.monotonicMs();
    const sinceMs = this.#orderedSinceMs.get(book) ?? nowMs;
    this.#orderedSinceMs.set(book, sinceMs);
    if (nowMs - sinceMs <= PATIENCE_MS) return;
    this.#orderedSinceMs.delete(book);
    const detail = 'it is served in the order of departures, and its car declares none ahead';
    this.#world.report({ invariant: 'P21', target: book.facts.key, detail });
  }

  /** A life of the service began. */
  began(): void {
    this.#beganAtMs = this.#world.monotonicMs();
  }

  #repeat(): void {
    this.#world.at(this.#world.nowMs() + LOOK_EVERY_MS, () => {
      this.#look();
      this.#repeat();
    });
  }

  #look(): void {
    const nowMs = this.#world.monotonicMs();
    const before = this.#wrongSinceMs;
    const beside = this.#besideRoomSinceMs;
    const forTurn = this.#forTurnSinceMs;
    this.#wrongSinceMs = new Map();
    this.#besideRoomSinceMs = new Map();
    this.#forTurnSinceMs = new Map();
    if (!this.#world.isServiceUp() || nowMs - this.#world.soundSinceMs() <= SETTLED_MS) return;
    for (const site of this.#sites) {
      // Raises within a cluster wait for its other members, however long those take.
      if ([...this.#world.oracle.capsOf(site.locationId)].length > 0) continue;
      const cars = site.connectors.flatMap((book) => this.#judgedOf(book) ?? []);
      this.#judgeOrder(cars, before);
      // The room beside a lock, a building or a grid operator is not known exactly.
      if (site.isLimitedFromOutside || site.connectors.some((book) => this.#world.stays.isLockedAround(book)))
        continue;
      for (const book of site.connectors) {
        if (!this.#isWaiting(book)) continue;
        this.#world.reached.note('waitJudged');
        this.#judgeRoom(book, cars, beside);
        this.#judgeTurn(book, cars, forTurn);
      }
    }
  }

  #judgeOrder(cars: readonly Judged[], before: ReadonlyMap<string, number>): void {
    const nowMs = this.#world.monotonicMs();
    for (const car of cars)
      for (const other of cars) {
        if (!precedes(car, other)) continue;
        this.#world.reached.note('orderJudged');
        if (!car.isLimited || !other.isServed || other.limitW < car.neededW) continue;
        const pair = `${car.book.facts.key} ${other.book.facts.key}`;
        const sinceMs = before.get(pair) ?? nowMs;
        this.#wrongSinceMs.set(pair, sinceMs);
        if (nowMs - sinceMs <= PATIENCE_MS) continue;
        this.#wrongSinceMs.delete(pair);
        const detail = `${car.limitA} A, and ${other.limitA} A for ${other.book.facts.key}, which comes later`;
        this.#world.report({ invariant: 'P22', target: car.book.facts.key, detail });
      }
  }

  /** Its car would charge, and certainly has no power. */
  #isWaiting(book: ConnectorBook): boolean {
    const { stays } = this.#world;
    const { hasCar, wants } = stays.of(book);
    if (!hasCar || !wants || !stays.isSure(book) || this.#isFoundPaused()) return false;
    return book.sent !== undefined && book.sent.limitA < book.facts.leastA;
  }

  #isFoundPaused(): boolean {
    return this.#world.monotonicMs() - this.#beganAtMs <= FOUND_PAUSED_MS;
  }

  /**
   * No car waits beside room for it. Room is free, or serves cars that come later. It must carry the connector's own
   * outstanding limits as well (R32, R41).
   */
  #judgeRoom(book: ConnectorBook, cars: readonly Judged[], before: ReadonlyMap<ConnectorBook, number>): void {
    const [now, nowMs] = [this.#world.nowMs(), this.#world.monotonicMs()];
    const { locationId, horizonMs, connectors } = book.site;
    if (connectors.some((other) => other !== book && isSetAside(other))) return;
    let roomW = this.#world.oracle.lowestW(locationId, now, now + horizonMs);
    for (const other of connectors) if (other !== book) roomW -= other.boundW(nowMs);
    const own = cars.find((car) => car.book === book);
    if (own?.isBelowMinimum === true)
      for (const car of cars) if (precedes(own, car)) roomW += Math.max(0, car.limitW - keptWOf(car.book));
    if (roomW < Math.max(leastWOf(book), book.boundW(nowMs))) return;
    const sinceMs = before.get(book) ?? nowMs;
    this.#besideRoomSinceMs.set(book, sinceMs);
    if (nowMs - sinceMs <= PATIENCE_MS) return;
    this.#besideRoomSinceMs.delete(book);
    const detail = `its car waits beside ${Math.floor(roomW)} W that are free or serve later cars`;
    this.#world.report({ invariant: 'P23', target: book.facts.key, detail });
  }

  /** A car for which others can make room has its turn in time, unless the policy puts declared cars before it. */
  #judgeTurn(book: ConnectorBook, cars: readonly Judged[], before: ReadonlyMap<ConnectorBook, number>): void {
    const { stays } = this.#world;
    const { connectors } = book.site;
    const others = connectors.filter((other) => other !== book);
    const isFirst =
      !stays.isDeclared(book) ||
      (cars.some((car) => car.book === book && car.isBelowMinimum === true) &&
        others.every((other) => !stays.isDeclared(other) || isAboveMinimum(cars, other)));
    const canSwap = others.some(
      (other) => isRunning(other) && stays.isSure(other) && canMakeRoom(other, leastWOf(book)),
    );
    if (!isFirst || !canSwap) return;
    const nowMs = this.#world.monotonicMs();
    const sinceMs = before.get(book) ?? nowMs;
    this.#forTurnSinceMs.set(book, sinceMs);
    const chargedMs = Math.min(MOST_CHARGED_MS, sinceMs - stays.of(book).arrivedAtMs);
    const mostMs = Math.max(LONGEST_WAIT_MS, SHORTEST_TURN_MS * others.length) + chargedMs + PATIENCE_MS;
    if (nowMs - sinceMs <= mostMs) return;
    this.#forTurnSinceMs.delete(book);
    const detail = `its car has waited for ${Math.floor(mostMs / MS_PER_MIN)} min while others had their turns`;
    this.#world.report({ invariant: 'P23', target: book.facts.key, detail });
  }

  /** Undefined for a connector whose car has declared nothing, or about which the service knows less than the watch. */
  #judgedOf(book: ConnectorBook): Judged | undefined {
    const { stays } = this.#world;
    const { sent, facts } = book;
    if (sent === undefined || !stays.isDeclared(book) || !stays.isSure(book)) return undefined;
    const standing = stays.of(book);
    const [now, nowMs] = [this.#world.nowMs(), this.#world.monotonicMs()];
    const { limitA } = sent;
    const isPaused = limitA < facts.leastA;
    if (isPaused && this.#isFoundPaused()) return undefined;
    const { departsAtMs = now, energyWh = 0, minimumWh = 0, priority = 0 } = declaredBy(standing);
    const stayH = (departsAtMs - now + nowMs - standing.arrivedAtMs) / MS_PER_H;
    // A minimum and a need count up to the energy that the car can take in its stay: by its maximum if it uses its limit.
    const isUsedFully = standing.wants && !isPaused && sent.phases === undefined;
    const takenWh = (isUsedFully ? facts.maxA : facts.leastA) * facts.wattsPerA * stayH;
    return {
      book,
      limitA,
      isLimited: standing.wants && limitA < facts.maxA - TOLERANCE_A,
      isServed: limitA > facts.leastA + TOLERANCE_A,
      limitW: book.wattsOf((own) => (own < (sent.phases ?? 3) ? limitA : 0)),
      neededW: isPaused ? book.wattsOf(() => facts.leastA) : 0,
      isBelowMinimum: isBelow(
        standing,
        Math.min(minimumWh, energyWh, takenWh),
        Math.min(minimumWh, energyWh),
      ),
      hasNeed: not(isBelow(standing, Math.min(energyWh, takenWh), energyWh)),
      priority,
    };
  }
}

/** The rules serve `car` before `other` under any policy. */
function precedes(car: Judged, other: Judged): boolean {
  if (car === other || car.isBelowMinimum === undefined || other.isBelowMinimum !== false) return false;
  if (car.isBelowMinimum) return true;
  if (car.hasNeed !== false || other.hasNeed === undefined) return false;
  return other.hasNeed || car.priority > other.priority;
}

/** Its energy is certainly below both thresholds, or certainly below none; otherwise undefined. */
function isBelow(
  { leastWh, mostWh }: Pick<Standing, 'leastWh' | 'mostWh'>,
  lowestWh: number,
  highestWh: number,
): boolean | undefined {
  if (mostWh < lowestWh - TOLERANCE_WH) return true;
  return highestWh === 0 || leastWh >= highestWh + TOLERANCE_WH ? false : undefined;
}

function not(value: boolean | undefined): boolean | undefined {
  return value === undefined ? undefined : !value;
}

function isAboveMinimum(cars: readonly Judged[], book: ConnectorBook): boolean {
  return cars.some((car) => car.book === book && car.isBelowMinimum === false);
}

/** Power that it needs to charge at all, by the highest voltage. */
function leastWOf({ facts: { leastA, wattsPerA } }: ConnectorBook): number {
  return HIGHEST_VOLTAGE * leastA * wattsPerA;
}

/** The service reserves up to its maximum on all phases, because it takes no limits or did not keep to them. */
function isSetAside({ sent }: ConnectorBook): boolean {
  return sent?.reason === 'nonCompliant' || sent?.reason === 'readOnly';
}

/** Power that a pause does not free: any other fail-safe yields (R23). */
function keptWOf({ facts, ownFailsafeA }: ConnectorBook): number {
  return ownFailsafeA * facts.wattsPerA;
}

function isRunning({ sent, facts }: ConnectorBook): boolean {
  return sent !== undefined && sent.limitA >= facts.leastA;
}

/** A pause of its car frees that power. */
function canMakeRoom(book: ConnectorBook, neededW: number): boolean {
  const { leastA, wattsPerA } = book.facts;
  return leastA * wattsPerA - keptWOf(book) >= neededW / HIGHEST_VOLTAGE;
}
