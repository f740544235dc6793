// The stays of cars by the messages and calls that reached the service: declared needs, energy and appetite.

import { isEmpty, isSameNeed, needOf, type SessionNeed } from '../../machines/policy/session-needs.js';
import { type ChargingPreferences, needOfPreferences } from '../../src/wire/charging-preferences.js';
import type { MeterMessage } from '../../src/wire/mqtt.js';
import type { Question, RestAnswer } from '../world/rest-client.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook } from './connector-book.js';

/** Energies and declarations reach the disk once a minute. */
const STORED_EVERY_MS = 61_000;
/** Everything that a fault or a lock changed has settled by then. */
export const SETTLED_MS = 100_000;
/** The service counts energy between readings in another way. */
export const TOLERANCE_WH = 150;
/** A car that draws this share of its limit wants more; the service has the same rule. */
const WANTING = 0.9;
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
  /** The service may know no register before the next reading. */
  isRegisterLost: boolean;
  /** A register that went back counts nothing. */
  isRegisterWrong: boolean;
  /** By the last reading under a limit: the car drew all of it. */
  wants: boolean;
}

/** A connector with the stay of its car. */
export interface Standing extends Readonly<Stay> {
  readonly book: ConnectorBook;
  readonly hasCar: boolean;
  /** Number of changes of the car and its declarations. */
  readonly changes: number;
}

interface Written extends Stay {
  readonly book: ConnectorBook;
  hasCar: boolean;
  changes: number;
  session: string | undefined;
  /** Register at the last reading without a car; undefined without one. */
  idleWh: number | undefined;
  /** The service has not ended since that reading, so it knows that register. */
  isIdleKnown: boolean;
  /** The last declaration ended then, or was withdrawn. */
  endedAtMs: number;
}

type StaysWorld = Pick<CheckedWorld, 'books' | 'oracle' | 'nowMs' | 'monotonicMs' | 'reached'>;

export class Stays {
  readonly #world: StaysWorld;
  readonly #standings = new Map<ConnectorBook, Written>();

  constructor(world: StaysWorld) {
    this.#world = world;
  }

  of(book: ConnectorBook): Standing {
    return this.#standingOf(book);
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
    const hasCar = hasCarIn(status);
    const isOther = standing.session !== undefined && session !== standing.session;
    if (hasCar !== standing.hasCar || isOther) standing.changes++;
    if (!hasCar || !standing.hasCar || isOther) end(standing, nowMs);
    const { idleWh } = standing;
    standing.hasCar = hasCar;
    standing.session = session;
    standing.idleWh = hasCar ? undefined : energyWh;
    standing.isIdleKnown ||= !hasCar;
    if (!hasCar) return;
    // A car that came while no message arrived has drawn the increase since then.
    const drawnWh = Math.max(0, (energyWh ?? 0) - (idleWh ?? energyWh ?? 0));
    standing.mostWh += drawnWh;
    if (standing.isIdleKnown) standing.leastWh += drawnWh;
    count(standing, energyWh);
    noteDraw(standing, meter);
    if (chargingPreferences !== undefined) this.#declare(standing, 'charger', chargingPreferences);
  }

  /** The service answered a call about the session of the connector, or gave no answer. */
  called(book: ConnectorBook, { body }: Question, { status }: RestAnswer): void {
    const standing = this.#standingOf(book);
    if (status === 0 || status >= 500) standing.isDoubted = true;
    if (status === 200) this.#declare(standing, 'api', (body ?? {}) as ChargingPreferences);
  }

  /** The service died: begin, energy and end of a stay since `storedUntilMs` may be on no disk. */
  ended(storedUntilMs: number): void {
    for (const standing of this.#standings.values()) {
      standing.isIdleKnown = false;
      const keptFromMs = storedUntilMs - STORED_EVERY_MS;
      if (standing.endedAtMs > keptFromMs) {
        standing.isDoubted = true;
        standing.mayInherit = true;
      }
      if ((standing.declaredSinceMs ?? Number.POSITIVE_INFINITY) <= keptFromMs) continue;
      standing.leastWh = 0;
      standing.isRegisterLost = true;
      standing.arrivedAtMs = this.#world.monotonicMs();
    }
  }

  /** The connector is in reach and keeps to its limits, and the service knows as much of its car as the watch. */
  isSure(book: ConnectorBook): boolean {
    const { isDoubted, isRegisterWrong } = this.#standingOf(book);
    const nowMs = this.#world.monotonicMs();
    if (isDoubted || isRegisterWrong || this.isLockedAround(book)) return false;
    if (book.isSilent(nowMs) || nowMs - book.onlineSinceMs <= SETTLED_MS) return false;
    return !book.isUnreliable && !book.metered.mayBeDistrusted;
  }

  /** Locks have their own order: before them, others make room; after them, the car takes its place again. */
  isLockedAround({ facts }: ConnectorBook): boolean {
    const now = this.#world.nowMs();
    for (const { startsAtMs, endsAtMs } of this.#world.oracle.profilesOf(facts.key))
      if (startsAtMs <= now + 2 * SETTLED_MS && endsAtMs >= now - SETTLED_MS) return true;
    return false;
  }

  /** Its car has declared a need, and a departure that lies ahead. */
  isDeclared(book: ConnectorBook): boolean {
    const standing = this.#standingOf(book);
    if (!standing.hasCar) return false;
    const { departsAtMs, energyWh } = declaredBy(standing);
    return departsAtMs !== undefined && energyWh !== undefined && departsAtMs > this.#world.nowMs();
  }

  #declare(standing: Written, source: 'api' | 'charger', preferences: ChargingPreferences): void {
    const need = needOfPreferences(preferences);
    if (!isSameNeed(standing[source], need)) standing.changes++;
    standing[source] = need;
    const nowMs = this.#world.monotonicMs();
    // Without any declaration the energy of the car is no longer stored.
    if (!isEmpty(declaredBy(standing))) standing.declaredSinceMs ??= nowMs;
    else if (standing.declaredSinceMs !== undefined) {
      standing.endedAtMs = nowMs;
      standing.declaredSinceMs = undefined;
    }
    this.#world.reached.note('needDeclared');
  }

  #standingOf(book: ConnectorBook): Written {
    const known = this.#standings.get(book);
    if (known !== undefined) return known;
    const standing: Written = {
      book,
      hasCar: false,
      changes: 0,
      session: undefined,
      idleWh: undefined,
      isIdleKnown: false,
      endedAtMs: Number.NEGATIVE_INFINITY,
      ...newStay(0, false),
    };
    this.#standings.set(book, standing);
    return standing;
  }
}

/** A car is plugged in at that status, by the rule of the service. */
export function hasCarIn(status: MeterMessage['status']): boolean {
  return status === undefined || !WITHOUT_CAR.includes(status);
}

export function declaredBy({ api, charger }: Pick<Stay, 'api' | 'charger'>): SessionNeed {
  return needOf({ declared: { ...(api && { api }), ...(charger && { charger }) }, charged: undefined });
}

/** The stay of a car ends, and all that was declared for it. */
function end(standing: Written, nowMs: number): void {
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
    isRegisterLost: false,
    isRegisterWrong: false,
    wants: true,
  };
}

function count(standing: Written, energyWh: number | undefined): void {
  const { registerWh } = standing;
  if (energyWh === undefined || energyWh < (registerWh ?? energyWh)) standing.isRegisterWrong = true;
  else {
    const increaseWh = energyWh - (registerWh ?? energyWh);
    if (!standing.isRegisterLost) standing.leastWh += increaseWh;
    standing.mostWh += increaseWh;
  }
  standing.registerWh = energyWh;
  standing.isRegisterLost = false;
}

/** A paused car keeps its last state. */
function noteDraw(standing: Written, { limitA = 0, currentA = [0, 0, 0] }: MeterMessage): void {
  if (limitA < standing.book.facts.leastA) return;
  standing.wants = Math.max(...currentA) >= WANTING * limitA;
}
