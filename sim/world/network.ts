// The wires between chargers and service: slow, and on request lossy, doubling, holding back, cut in either direction.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { MessageBus } from '../../src/ports/telemetry.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Agenda } from './agenda.js';

/** How badly a charger's wire behaves. Shares from 0 to 1, times in ms. */
export interface Weather {
  readonly lossShare: number;
  readonly duplicateShare: number;
  /** Added to a message's way, up to this much. */
  readonly delayMs: number;
  /** Messages that are held back and released together after `holdMs`. */
  readonly holdShare: number;
  readonly holdMs: number;
}

export const CALM: Weather = { lossShare: 0, duplicateShare: 0, delayMs: 0, holdShare: 0, holdMs: 0 };

/** One charger's wire. Cut, it carries nothing that way, and what was under way is lost. */
export interface Wire {
  weather: Weather;
  isCutUp: boolean;
  isCutDown: boolean;
  /** What the charger does with a message from above. */
  readonly receive: (topic: string, payload: string) => void;
}

export interface Network {
  /** A charger says something; it reaches whichever service listens when it arrives. */
  send(wire: Wire, message: ChargerMessage): void;
  /** Joins a charger's topics to its wire. */
  connect(prefix: string, wire: Wire): void;
  /** A bus for one life of the service; messages arrive until it ends. */
  createBus(onPublish: (topic: string, payload: string) => void): MessageBus & { end(): void };
}

/** A message takes from the first to the sum of both. */
const WAY_MS = 10;
const WAY_VARIES_MS = 40;
const PREFIX_LEVELS = 5;

export function createNetwork(options: {
  readonly agenda: Agenda;
  readonly random: RandomGenerator;
  readonly monotonicMs: () => number;
}): Network {
  const { agenda, random, monotonicMs } = options;
  const wires = new Map<string, Wire>();
  let listen: ((topic: string, payload: Buffer) => void) | undefined;

  function arrivals({ weather }: Wire): readonly number[] {
    const nowMs = monotonicMs();
    const wayMs = () =>
      nowMs + WAY_MS + Math.floor((WAY_VARIES_MS + weather.delayMs) * uniformFloat64(random));
    if (weather === CALM) return [wayMs()];
    if (uniformFloat64(random) < weather.lossShare) return [];
    const isHeld = uniformFloat64(random) < weather.holdShare;
    const times = [isHeld ? nowMs + Math.floor(weather.holdMs * uniformFloat64(random)) : wayMs()];
    if (uniformFloat64(random) < weather.duplicateShare) times.push(wayMs());
    return times;
  }

  function prefixOf(topic: string): string {
    let end = -1;
    for (let level = 0; level < PREFIX_LEVELS; level++) end = topic.indexOf('/', end + 1);
    return topic.slice(0, end);
  }

  return {
    send(wire, { topic, payload }) {
      if (wire.isCutUp) return;
      const bytes = Buffer.from(payload);
      for (const atMs of arrivals(wire)) agenda.at(atMs, () => void (wire.isCutUp || listen?.(topic, bytes)));
    },
    connect: (prefix, wire) => void wires.set(prefix, wire),
    createBus(onPublish) {
      let isLiving = true;
      const own =
        (onMessage: (topic: string, payload: Buffer) => void) => (topic: string, payload: Buffer) => {
          if (isLiving) onMessage(topic, payload);
        };
      return {
        async start(onMessage) {
          listen = own(onMessage);
          return { url: 'mqtt://in-process' };
        },
        publish(topic, payload) {
          if (!isLiving) return;
          onPublish(topic, payload);
          const wire = wires.get(prefixOf(topic));
          if (wire === undefined || wire.isCutDown) return;
          // A message on its way belongs to the wire: it arrives whether or not its sender still lives.
          for (const atMs of arrivals(wire)) {
            agenda.at(atMs, () => void (wire.isCutDown || wire.receive(topic, payload)));
          }
        },
        isHealthy: () => isLiving,
        async stop() {
          isLiving = false;
        },
        end() {
          isLiving = false;
        },
      };
    },
  };
}
