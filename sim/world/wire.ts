// The wire between one charger and the service: slow, and on request lossy, doubling, holding back, cut in either direction.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { Agenda } from './agenda.js';

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

/** A message takes from the first to the sum of both, ms. */
export const WAY_MS = 10;
const WAY_VARIES_MS = 40;

/**
 * Each wire and direction has its own luck, so that what one charger says changes nothing for another, and whatever carries
 * the bytes, they arrive at the same instants.
 */
export class Wire {
  readonly address: ChargerAddress;
  readonly receiver: Receiver;
  readonly #agenda: Agenda;
  readonly #monotonicMs: () => number;
  readonly #upLuck: RandomGenerator;
  readonly #downLuck: RandomGenerator;
  weather: Weather = CALM;
  /** A cut way carries nothing, and what was under way is lost. */
  isCutUp = false;
  isCutDown = false;
  /** The charger has a session with the broker. */
  isUp = false;

  constructor(options: {
    readonly address: ChargerAddress;
    readonly receiver: Receiver;
    readonly agenda: Agenda;
    readonly monotonicMs: () => number;
    readonly seed: number;
  }) {
    this.address = options.address;
    this.receiver = options.receiver;
    this.#agenda = options.agenda;
    this.#monotonicMs = options.monotonicMs;
    this.#upLuck = mersenne(options.seed);
    this.#downLuck = mersenne(options.seed + 1);
  }

  /**
   * Calls `arrive` whenever what the charger says now reaches the service: never, once or twice, and not within the call.
   * @returns how many copies are under way; who is cut off before they arrive gets fewer.
   */
  travelUp(arrive: () => void): number {
    if (this.isCutUp || !this.isUp) return 0;
    const land = () => {
      if (this.isUp && !this.isCutUp) arrive();
    };
    return this.#travel(this.#upLuck, land);
  }

  /** Calls `arrive` whenever what is said to the charger now reaches it; returns as `travelUp` does. */
  travelDown(arrive: () => void): number {
    if (this.isCutDown || !this.isUp) return 0;
    const land = () => {
      if (this.isUp && !this.isCutDown) arrive();
    };
    return this.#travel(this.#downLuck, land);
  }

  #travel(luck: RandomGenerator, land: () => void): number {
    const nowMs = this.#monotonicMs();
    const { weather } = this;
    if (weather === CALM) {
      this.#agenda.at(nowMs + this.#wayMs(luck), land);
      return 1;
    }
    if (uniformFloat64(luck) < weather.lossShare) return 0;
    const isHeld = uniformFloat64(luck) < weather.holdShare;
    const heldMs = () => Math.floor(weather.holdMs * uniformFloat64(luck));
    this.#agenda.at(nowMs + (isHeld ? heldMs() : this.#wayMs(luck)), land);
    if (uniformFloat64(luck) >= weather.duplicateShare) return 1;
    this.#agenda.at(nowMs + this.#wayMs(luck), land);
    return 2;
  }

  #wayMs(luck: RandomGenerator): number {
    return WAY_MS + Math.floor((WAY_VARIES_MS + this.weather.delayMs) * uniformFloat64(luck));
  }
}
