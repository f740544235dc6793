// The wire between one charger and the service: slow, and on request lossy, doubling, holding back, cut in either direction.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import { seedFor } from '../scenario/draw.js';
import type { Agenda, Happening } from './agenda.js';

/** How badly a charger's wire behaves. Shares from 0 to 1, times in ms. */
export interface Weather {
  readonly lossShare: number;
  readonly duplicateShare: number;
  /** Added to a message's way, up to this much. */
  readonly delayMs: number;
  /** Messages that are held back and released late, up to `holdMs`. */
  readonly holdShare: number;
  readonly holdMs: number;
}

export const CALM: Weather = { lossShare: 0, duplicateShare: 0, delayMs: 0, holdShare: 0, holdMs: 0 };

/** What the charger does with messages from above. */
export interface Receiver {
  limit(connectorId: ConnectorId, limit: LimitMessage): void;
  sync(): void;
}

/** A message on its way: what happens when it has arrived. */
export interface Passenger {
  arrive(): void;
}

/** What was said at one instant: a connection keeps the order of what it carries, so that it arrives at one instant. */
class Flight implements Happening {
  readonly leftAtMs: number;
  readonly #way: Way;
  readonly #passengers: Passenger[];

  constructor(way: Way, passenger: Passenger, leftAtMs: number) {
    this.#way = way;
    this.#passengers = [passenger];
    this.leftAtMs = leftAtMs;
  }

  board(passenger: Passenger): void {
    this.#passengers.push(passenger);
  }

  happen(): void {
    for (const passenger of this.#passengers) if (this.#way.isOpen) passenger.arrive();
  }
}

/** One direction of a wire, with luck of its own. A cut way carries nothing, and what was under way is lost. */
class Way {
  isCut = false;
  readonly #wire: Wire;
  readonly #agenda: Agenda;
  readonly #monotonicMs: () => number;
  readonly #luck: RandomGenerator;
  /** The newest that left in calm weather. */
  #newest: Flight | undefined;

  constructor(wire: Wire, agenda: Agenda, monotonicMs: () => number, seed: number) {
    this.#wire = wire;
    this.#agenda = agenda;
    this.#monotonicMs = monotonicMs;
    this.#luck = xoroshiro128plus(seed);
  }

  get isOpen(): boolean {
    return this.#wire.isUp && !this.isCut;
  }

  /** @returns how many copies are under way. */
  send(passenger: Passenger): number {
    if (!this.isOpen) return 0;
    const nowMs = this.#monotonicMs();
    const { weather } = this.#wire;
    if (weather === CALM) {
      if (this.#newest?.leftAtMs === nowMs) this.#newest.board(passenger);
      else this.#newest = this.#leave(passenger, nowMs, this.#wayMs());
      return 1;
    }
    const luck = this.#luck;
    if (uniformFloat64(luck) < weather.lossShare) return 0;
    const isHeld = uniformFloat64(luck) < weather.holdShare;
    const heldMs = () => Math.floor(weather.holdMs * uniformFloat64(luck));
    this.#leave(passenger, nowMs, isHeld ? heldMs() : this.#wayMs());
    if (uniformFloat64(luck) >= weather.duplicateShare) return 1;
    this.#leave(passenger, nowMs, this.#wayMs());
    return 2;
  }

  #leave(passenger: Passenger, nowMs: number, wayMs: number): Flight {
    const flight = new Flight(this, passenger, nowMs);
    this.#agenda.at(nowMs + wayMs, flight);
    return flight;
  }

  #wayMs(): number {
    return WAY_MS + Math.floor((WAY_VARIES_MS + this.#wire.weather.delayMs) * uniformFloat64(this.#luck));
  }
}

/** A message takes from the first to the sum of both, ms. */
export const WAY_MS = 10;
const WAY_VARIES_MS = 40;

/**
 * Each wire and direction has random numbers of its own, so that no charger changes another's, and whatever carries
 * the bytes, they arrive at the same instants.
 */
export class Wire {
  readonly address: ChargerAddress;
  readonly receiver: Receiver;
  readonly #up: Way;
  readonly #down: Way;
  weather: Weather = CALM;
  /** The charger has a session with the broker. */
  isUp = false;

  constructor(options: {
    readonly address: ChargerAddress;
    readonly receiver: Receiver;
    readonly agenda: Agenda;
    readonly monotonicMs: () => number;
    /** Of the world: a wire's luck is drawn from it for its charger alone. */
    readonly seed: number;
  }) {
    const { address, receiver, agenda, monotonicMs, seed } = options;
    const { controllerUuid } = address;
    this.address = address;
    this.receiver = receiver;
    this.#up = new Way(this, agenda, monotonicMs, seedFor(seed, 'up', controllerUuid));
    this.#down = new Way(this, agenda, monotonicMs, seedFor(seed, 'down', controllerUuid));
  }

  /** A way that is cut carries nothing, and what was under way is lost. */
  set isCutUp(isCut: boolean) {
    this.#up.isCut = isCut;
  }

  set isCutDown(isCut: boolean) {
    this.#down.isCut = isCut;
  }

  /**
   * What the charger says now arrives at the service: never, once or twice, and not within the call.
   * @returns how many copies are under way; who is cut off before they arrive gets fewer.
   */
  travelUp(passenger: Passenger): number {
    return this.#up.send(passenger);
  }

  /** What is said to the charger now arrives there; returns as `travelUp` does. */
  travelDown(passenger: Passenger): number {
    return this.#down.send(passenger);
  }
}
