// Checks the policies of locations by the declarations that reached the service: the cars that their order serves
// (P21), and the order itself (P22).

import { needOf, type SessionNeed } from '../../machines/policy/session-needs.js';
import type { EpochMs } from '../../machines/values/time.js';
import { type ChargingPreferences, needOfPreferences } from '../../src/wire/charging-preferences.js';
import type { LimitMessage, MeterMessage } from '../../src/wire/mqtt.js';
import type { Question, RestAnswer } from '../world/rest-client.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook, SiteBook } from './connector-book.js';

const LOOK_EVERY_MS = 5_000;
/**
 * A wrong order that lasts is no transition: others made room within a horizon, and a pause lasts a minute. Raises are
 * apart, and chargers that are late count with their entitlement.
 */
const PATIENCE_MS = 200_000;
/** Everything that a fault or a lock changed has settled by then. */
const SETTLED_MS = 100_000;
/** A car that the service found paused at its start may be full. The service offers it nothing for five minutes. */
const FOUND_PAUSED_MS = 330_000;
/** Energies and declarations reach the disk once a minute. */
const STORED_EVERY_MS = 61_000;
/** The service counts energy between readings in another way. */
const TOLERANCE_WH = 150;
/** A limit within this of the maximum, or of the lowest, counts as such. */
const TOLERANCE_A = 2.5;
/** A car that draws this share of its limit wants more; the service has the same rule. */
const WANTING = 0.9;
const MS_PER_H = 3_600_000;
const WITHOUT_CAR: readonly unknown[] = ['Available', 'Finishing', 'Faulted', 'Unavailable'];

/** The stay of one car, by the messages that the service received. */
interface Stay {
  arrivedAtMs: number;
  charger: SessionNeed | undefined;
  api: SessionNeed | undefined;
  /** Some declaration counts since then; undefined without one. */
  declaredSinceMs: number | undefined;
  /** A lost answer, or a crash, left the declarations of this car unknown. */
  isDoubted: boolean;
  /** The service that starts next may take declarations on disk for those of the next car. */
  mayInherit: boolean;
  /** Energy since its arrival: a service that crashed may have lost some of it. */
  leastWh: number;
  mostWh: number;
  registerWh: number | undefined;
  /** A register that went back counts nothing. */
  isRegisterWrong: boolean;
  /** By the last reading under a limit: the car drew all of it. */
  wants: boolean;
}

/** A connector with the stay of its car. */
interface Standing extends Stay {
  readonly book: ConnectorBook;
  hasCar: boolean;
  session: string | undefined;
  /** The last declaration ended then. */
  endedAtMs: number;
  /** Limits by an order have left since then, although the car declares nothing. */
  orderedSinceMs: number | undefined;
}

/** A declared car that can be judged. */
interface Judged {
  readonly key: string;
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
  | 'books'
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
};

export class DepartureWatch {
  readonly #world: DepartureWatchWorld;
  readonly #standings = new Map<ConnectorBook, Standing>();
  /** Locations with a policy, whose power alone is shared: a fuse may lack room for one car and not for another. */
  readonly #sites: readonly SiteBook[];
  /** Begin of each wrong order, by both connectors. */
  #wrongSinceMs = new Map<string, number>();
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

  /** The service took this reading as the newest one. @param isOfOldBoot the charger has started again since */
  received(book: ConnectorBook, meter: MeterMessage, isOfOldBoot: boolean): void {
    const standing = this.#standingOf(book);
    if (isOfOldBoot) {
      standing.isDoubted = true;
      return;
    }
    const nowMs = this.#world.monotonicMs();
    const { status, session, energyWh, chargingPreferences } = meter;
    const hasCar = status === undefined || !WITHOUT_CAR.includes(status);
    const isOther = standing.session !== undefined && session !== standing.session;
    if (!hasCar || !standing.hasCar || isOther) end(standing, nowMs);
    standing.hasCar = hasCar;
    standing.session = session;
    if (!hasCar) return;
    count(standing, energyWh);
    noteDraw(standing, meter);
    if (chargingPreferences !== undefined) this.#declare(standing, 'charger', chargingPreferences);
  }

  /** The service answered a call, or gave no answer. */
  called({ method, path, body }: Question, { status }: RestAnswer): void {
    const [, kind, controllerUuid = '', , connectorId = '', what] = path.split('/');
    if (kind !== 'chargers' || what !== 'session' || method === 'GET') return;
    const book = this.#world.books.byId(controllerUuid, connectorId);
    if (book === undefined) return;
    const standing = this.#standingOf(book);
    if (status === 0 || status >= 500) standing.isDoubted = true;
    if (status === 200) this.#declare(standing, 'api', (body ?? {}) as ChargingPreferences);
  }

  /** The limit leaves now (P21). */
  left(book: ConnectorBook, { reason }: LimitMessage): void {
    const standing = this.#standingOf(book);
    const isOrdered = reason === 'departure' && !standing.isDoubted;
    if (!isOrdered || isDeclared(standing, this.#world.nowMs())) {
      standing.orderedSinceMs = undefined;
      return;
    }
    const nowMs = this.#world.monotonicMs();
    standing.orderedSinceMs ??= nowMs;
    if (nowMs - standing.orderedSinceMs <= PATIENCE_MS) return;
    standing.orderedSinceMs = undefined;
    const detail = 'it is served in the order of departures, and its car declares none ahead';
    this.#world.report({ invariant: 'P21', target: book.facts.key, detail });
  }

  /** A life of the service began. */
  began(): void {
    this.#beganAtMs = this.#world.monotonicMs();
  }

  /** The service died: begin, energy and end of a stay since `storedUntilMs` may be on no disk. */
  ended(storedUntilMs: number): void {
    for (const standing of this.#standings.values()) {
      const keptFromMs = storedUntilMs - STORED_EVERY_MS;
      if (standing.endedAtMs > keptFromMs) {
        standing.isDoubted = true;
        standing.mayInherit = true;
      }
      if ((standing.declaredSinceMs ?? Number.POSITIVE_INFINITY) <= keptFromMs) continue;
      standing.leastWh = 0;
      standing.arrivedAtMs = this.#world.monotonicMs();
    }
  }

  #declare(standing: Standing, source: 'api' | 'charger', preferences: ChargingPreferences): void {
    standing[source] = needOfPreferences(preferences);
    standing.declaredSinceMs ??= this.#world.monotonicMs();
    this.#world.reached.note('needDeclared');
  }

  #standingOf(book: ConnectorBook): Standing {
    const known = this.#standings.get(book);
    if (known !== undefined) return known;
    const standing: Standing = {
      book,
      hasCar: false,
      session: undefined,
      endedAtMs: Number.NEGATIVE_INFINITY,
      orderedSinceMs: undefined,
      ...newStay(0, false),
    };
    this.#standings.set(book, standing);
    return standing;
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
    this.#wrongSinceMs = new Map();
    if (!this.#world.isServiceUp() || nowMs - this.#world.soundSinceMs() <= SETTLED_MS) return;
    for (const site of this.#sites) {
      // Raises within a cluster wait for its other members, however long those take.
      if ([...this.#world.oracle.capsOf(site.locationId)].length > 0) continue;
      const cars = site.connectors.flatMap((book) => this.#judgedOf(book) ?? []);
      for (const car of cars)
        for (const other of cars) {
          if (!precedes(car, other)) continue;
          this.#world.reached.note('orderJudged');
          if (!car.isLimited || !other.isServed || other.limitW < car.neededW) continue;
          const pair = `${car.key} ${other.key}`;
          const sinceMs = before.get(pair) ?? nowMs;
          this.#wrongSinceMs.set(pair, sinceMs);
          if (nowMs - sinceMs <= PATIENCE_MS) continue;
          this.#wrongSinceMs.delete(pair);
          const detail = `${car.limitA} A, and ${other.limitA} A for ${other.key}, which comes later`;
          this.#world.report({ invariant: 'P22', target: car.key, detail });
        }
    }
  }

  /** Undefined for a connector whose car has declared nothing, or about which the service knows less than the watch. */
  #judgedOf(book: ConnectorBook): Judged | undefined {
    const { sent, facts, onlineSinceMs } = book;
    const standing = this.#standings.get(book);
    const [now, nowMs] = [this.#world.nowMs(), this.#world.monotonicMs()];
    if (standing === undefined || sent === undefined || !isDeclared(standing, now)) return undefined;
    if (standing.isDoubted || standing.isRegisterWrong || this.#isLockedAround(facts.key, now))
      return undefined;
    if (book.isSilent(nowMs) || nowMs - onlineSinceMs <= SETTLED_MS) return undefined;
    if (book.isUnreliable || book.metered.mayBeDistrusted) return undefined;
    const { limitA } = sent;
    const isPaused = limitA < facts.leastA;
    if (isPaused && nowMs - this.#beganAtMs <= FOUND_PAUSED_MS) return undefined;
    const { departsAtMs = now, energyWh = 0, minimumWh = 0, priority = 0 } = declaredBy(standing);
    const stayH = (departsAtMs - now + nowMs - standing.arrivedAtMs) / MS_PER_H;
    // A minimum and a need count up to the energy that the car can take in its stay: by its maximum if it uses its limit.
    const isUsedFully = standing.wants && !isPaused && sent.phases === undefined;
    const takenWh = (isUsedFully ? facts.maxA : facts.leastA) * facts.wattsPerA * stayH;
    return {
      key: facts.key,
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

  /** Locks have their own order: before them, others make room; after them, the car takes its place again. */
  #isLockedAround(key: string, now: EpochMs): boolean {
    for (const { startsAtMs, endsAtMs } of this.#world.oracle.profilesOf(key))
      if (startsAtMs <= now + 2 * SETTLED_MS && endsAtMs >= now - SETTLED_MS) return true;
    return false;
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

function declaredBy({ api, charger }: Standing): SessionNeed {
  return needOf({ declared: { ...(api && { api }), ...(charger && { charger }) }, charged: undefined });
}

/** Its car has declared a need, and a departure that lies ahead. */
function isDeclared(standing: Standing, now: EpochMs): boolean {
  if (!standing.hasCar) return false;
  const { departsAtMs, energyWh } = declaredBy(standing);
  return departsAtMs !== undefined && energyWh !== undefined && departsAtMs > now;
}

/** The stay of a car ends, and all that was declared for it. */
function end(standing: Standing, nowMs: number): void {
  if (standing.declaredSinceMs !== undefined) standing.endedAtMs = nowMs;
  Object.assign(standing, newStay(nowMs, standing.mayInherit));
}

/** A car arrives, and has declared nothing. */
function newStay(arrivedAtMs: number, isDoubted: boolean): Stay {
  return {
    arrivedAtMs,
    charger: undefined,
    api: undefined,
    declaredSinceMs: undefined,
    isDoubted,
    mayInherit: false,
    leastWh: 0,
    mostWh: 0,
    registerWh: undefined,
    isRegisterWrong: false,
    wants: true,
  };
}

function count(standing: Standing, energyWh: number | undefined): void {
  const { registerWh } = standing;
  if (energyWh === undefined || energyWh < (registerWh ?? energyWh)) standing.isRegisterWrong = true;
  else {
    const increaseWh = energyWh - (registerWh ?? energyWh);
    standing.leastWh += increaseWh;
    standing.mostWh += increaseWh;
  }
  standing.registerWh = energyWh;
}

/** A paused car keeps its last state. */
function noteDraw(standing: Standing, { limitA = 0, currentA = [0, 0, 0] }: MeterMessage): void {
  if (limitA < standing.book.facts.leastA) return;
  standing.wants = Math.max(...currentA) >= WANTING * limitA;
}
