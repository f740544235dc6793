// The wire between one charger and the service: slow, and on request lossy, doubling, delaying, or cut in either
// direction.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import { seedFor } from '../scenario/draw.js';
import type { Agenda, Happening } from './agenda.js';

/** Faults of a charger's wire. Shares from 0 to 1, times in ms. */
export interface Weather {
  readonly lossShare: number;
  readonly duplicateShare: number;
  /** Longest extra travel time of a message. */
  readonly delayMs: number;
  /** Share of messages that are held and released late, up to `holdMs`. */
  readonly holdShare: number;
  readonly holdMs: number;
}

export const CALM: Weather = { lossShare: 0, duplicateShare: 0, delayMs: 0, holdShare: 0, holdMs: 0 };

/** The charger's handling of messages from the service. */
export interface Receiver {
  limit(connectorId: ConnectorId, limit: LimitMessage): void;
  sync(): void;
  /** No further message arrives at this instant. */
  answer(): void;
}

/** A message on its way, with the effect of its arrival. */
export interface Passenger {
  arrive(): void;
}

/** The messages of one instant: a connection keeps their order, so they arrive at one instant. */
class Flight implements Happening {
  readonly leftAtMs: number;
  readonly #way: LooseWay;
  readonly #passengers: Passenger[];

  constructor(way: LooseWay, passenger: Passenger, leftAtMs: number) {
    this.#way = way;
    this.#passengers = [passenger];
    this.leftAtMs = leftAtMs;
  }

  board(passenger: Passenger): void {
    this.#passengers.push(passenger);
  }

  happen(): void {
    for (const passenger of this.#passengers) if (this.#way.isOpen) passenger.arrive();
    if (this.#way.isOpen) this.#way.onLanded();
  }
}

/** One direction of a wire. */
interface Way {
  isCut: boolean;
  /** Ends all faults of this direction. */
  mend(): void;
  /** @returns the number of copies under way */
  send(passenger: Passenger): number;
}

interface WayOptions {
  readonly agenda: Agenda;
  readonly seed: number;
  /** All messages that arrive at this instant have arrived. */
  readonly onLanded: () => void;
}

/**
 * A direction with random numbers of its own, on which each message travels by itself. While it is cut, it carries
 * nothing, and messages under way are lost.
 */
class LooseWay implements Way {
  isCut = false;
  readonly onLanded: () => void;
  readonly #wire: Wire;
  readonly #agenda: Agenda;
  readonly #luck: RandomGenerator;
  /** Newest flight that left without faults of the wire. */
  #newest: Flight | undefined;

  constructor(wire: Wire, { agenda, seed, onLanded }: WayOptions) {
    this.#wire = wire;
    this.#agenda = agenda;
    this.#luck = xoroshiro128plus(seed);
    this.onLanded = onLanded;
  }

  get isOpen(): boolean {
    return this.#wire.isUp && !this.isCut;
  }

  /** A held message still comes late: no message waits behind it. */
  mend(): void {
    this.isCut = false;
  }

  send(passenger: Passenger): number {
    if (!this.isOpen) return 0;
    const nowMs = this.#agenda.monotonicMs();
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

/** A lost message is sent again after this time, or at most twice that. */
const SENT_AGAIN_MS = 1_000;
/** Messages that wait at a cut are tried again at this interval. */
const TRIED_EVERY_MS = 500;

/**
 * One direction of a connection that keeps the order of its messages, and loses none while it lasts. A lost or held
 * message comes late, and so does every message behind it. Messages under way when the connection breaks are lost.
 */
class OrderedWay implements Way {
  isCut = false;
  readonly #wire: Wire;
  readonly #agenda: Agenda;
  readonly #luck: RandomGenerator;
  #queue: { readonly passenger: Passenger; readonly atMs: number; readonly connection: number }[] = [];
  readonly #onLanded: () => void;
  /** Instant of the next look for arrivals; infinite if no message is under way. */
  #plannedMs = Number.POSITIVE_INFINITY;

  constructor(wire: Wire, { agenda, seed, onLanded }: WayOptions) {
    this.#wire = wire;
    this.#agenda = agenda;
    this.#luck = xoroshiro128plus(seed);
    this.#onLanded = onLanded;
  }

  send(passenger: Passenger): number {
    if (!this.#wire.isUp) return 0;
    const { connection } = this.#wire;
    const nowMs = this.#agenda.monotonicMs();
    const before = this.#queue.at(-1);
    const earliestMs = before?.connection === connection ? before.atMs : nowMs;
    const atMs = Math.max(nowMs + this.#wayMs(), earliestMs);
    const { weather } = this.#wire;
    const isDoubled = weather !== CALM && uniformFloat64(this.#luck) < weather.duplicateShare;
    const copies = isDoubled ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) this.#queue.push({ passenger, atMs, connection });
    this.#plan();
    return copies;
  }

  /** Held messages go on now, in their order: new messages would wait behind them for minutes. */
  mend(): void {
    this.isCut = false;
    const byMs = this.#agenda.monotonicMs() + WAY_MS;
    this.#queue = this.#queue.map((each) => ({ ...each, atMs: Math.min(each.atMs, byMs) }));
    if (this.#queue.length > 0 && byMs < this.#plannedMs) this.#planAt(byMs);
  }

  #wayMs(): number {
    const { weather } = this.#wire;
    const usualMs = WAY_MS + Math.floor(WAY_VARIES_MS * uniformFloat64(this.#luck));
    if (weather === CALM) return usualMs;
    const isLost = uniformFloat64(this.#luck) < weather.lossShare;
    const isHeld = uniformFloat64(this.#luck) < weather.holdShare;
    const lateMs = Math.floor(weather.delayMs * uniformFloat64(this.#luck));
    const againMs = isLost ? Math.floor(SENT_AGAIN_MS * (1 + uniformFloat64(this.#luck))) : 0;
    return (
      usualMs + lateMs + againMs + (isHeld ? Math.floor(weather.holdMs * uniformFloat64(this.#luck)) : 0)
    );
  }

  #plan(): void {
    const [next] = this.#queue;
    const isPlanned = this.#plannedMs < Number.POSITIVE_INFINITY;
    if (next !== undefined && !isPlanned) this.#planAt(Math.max(next.atMs, this.#agenda.monotonicMs()));
  }

  #planAt(atMs: number): void {
    this.#plannedMs = atMs;
    this.#agenda.at(atMs, () => {
      // The plan has changed since.
      if (this.#plannedMs !== atMs) return;
      this.#plannedMs = Number.POSITIVE_INFINITY;
      this.#deliver();
    });
  }

  #deliver(): void {
    const hasLanded = this.#land(this.#agenda.monotonicMs());
    if (hasLanded) this.#onLanded();
    this.#plan();
  }

  /** Delivers the due messages. True if there was one. */
  #land(nowMs: number): boolean {
    let hasLanded = false;
    for (let [next] = this.#queue; next !== undefined && next.atMs <= nowMs; [next] = this.#queue) {
      const isThere = this.#wire.isUp && next.connection === this.#wire.connection;
      if (isThere && this.isCut) {
        this.#planAt(nowMs + TRIED_EVERY_MS);
        break;
      }
      this.#queue.shift();
      if (isThere) next.passenger.arrive();
      hasLanded ||= isThere;
    }
    return hasLanded;
  }
}

/** A message takes from the first to the sum of both, ms. */
export const WAY_MS = 10;
const WAY_VARIES_MS = 40;

/**
 * Each wire and direction has random numbers of its own, so no charger affects another. With every carrier the
 * messages arrive at the same instants.
 */
export class Wire {
  readonly address: ChargerAddress;
  readonly receiver: Receiver;
  readonly #up: Way;
  readonly #down: Way;
  weather: Weather = CALM;
  #isUp = false;
  #connections = 0;

  constructor(options: {
    readonly address: ChargerAddress;
    readonly receiver: Receiver;
    readonly agenda: Agenda;
    /** Seed of the world; a wire derives random numbers for its charger alone. */
    readonly seed: number;
    /** The wire is a connection that loses nothing while it lasts. */
    readonly isOrdered?: boolean;
  }) {
    const { address, receiver, agenda, seed, isOrdered = false } = options;
    const { controllerUuid } = address;
    this.address = address;
    this.receiver = receiver;
    const Way = isOrdered ? OrderedWay : LooseWay;
    const way = (name: 'up' | 'down', onLanded: () => void) =>
      new Way(this, { agenda, seed: seedFor(seed, name, controllerUuid), onLanded });
    this.#up = way('up', () => {});
    this.#down = way('down', () => receiver.answer());
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  set isUp(isUp: boolean) {
    if (isUp && !this.#isUp) this.#connections++;
    this.#isUp = isUp;
  }

  /** Number of the present connection, or of the last one. */
  get connection(): number {
    return this.#connections;
  }

  /** Ends all faults of the wire. */
  mend(): void {
    this.weather = CALM;
    this.#up.mend();
    this.#down.mend();
  }

  /** A cut direction carries nothing. Messages under way are lost, unless the wire is ordered. */
  set isCutUp(isCut: boolean) {
    this.#up.isCut = isCut;
  }

  set isCutDown(isCut: boolean) {
    this.#down.isCut = isCut;
  }

  /**
   * Sends a charger's message to the service: it arrives never, once or twice, and not within the call.
   * @returns the number of copies under way; after a cut before their arrival, fewer arrive
   */
  travelUp(passenger: Passenger): number {
    return this.#up.send(passenger);
  }

  /** Sends a message to the charger; returns as `travelUp` does. */
  travelDown(passenger: Passenger): number {
    return this.#down.send(passenger);
  }
}
