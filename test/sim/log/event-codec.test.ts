// Bytes of events: each is decoded as it was, and the same events give the same hash.
import { describe, expect, it } from 'vitest';
import { createTraceHash, EventDecoder, EventEncoder, LAYOUTS } from '../../../sim/log/event-codec.js';
import type { TraceEvent } from '../../../sim/log/trace-event.js';
import { DAY_START_MS, HOUR_MS, madeUpWorld, UNKNOWN_SOURCE } from './made-up-world.js';

const SMALL = { seed: 7, locations: 2, connectorsPerLocation: 3, durationMs: 13 * HOUR_MS, isBroken: true };

/** All events in `bytes`. */
function decoded(bytes: Uint8Array, previousAtMs: number, names: readonly string[]): readonly TraceEvent[] {
  const decoder = new EventDecoder(bytes, previousAtMs, names);
  const events: TraceEvent[] = [];
  while (decoder.place < bytes.length) events.push(decoder.next());
  return events;
}

function hashOf(events: Iterable<TraceEvent>): string {
  const hash = createTraceHash();
  for (const event of events) hash.add(event);
  return hash.digest();
}

const limit = (limitW: number, atMs = DAY_START_MS): TraceEvent => ({
  atMs,
  kind: 'limit',
  locationId: 'depot',
  limitW,
});

describe('The codec of trace events', () => {
  it('encodes every kind of event, and decodes the same events', () => {
    const events = [...madeUpWorld(SMALL)];
    expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(LAYOUTS.map(({ kind }) => kind)));
    const encoder = new EventEncoder();
    for (const event of events) encoder.add(event);
    expect(decoded(encoder.take(), 0, encoder.names)).toEqual(events);
  });

  it('encodes limits that mean unlimited, empty names, and texts of any length and script', () => {
    const violation = (detail: string): TraceEvent => ({
      atMs: DAY_START_MS,
      kind: 'violation',
      invariant: 'P1',
      target: '',
      detail,
    });
    const events = [
      limit(Number.MAX_SAFE_INTEGER),
      limit(0),
      violation('Ladesäule 充电'.repeat(100_000)),
      violation(''),
    ];
    const encoder = new EventEncoder();
    for (const event of events) encoder.add(event);
    expect(decoded(encoder.take(), 0, encoder.names)).toEqual(events);
  });

  it('encodes the limit of a source by any name', () => {
    const events = ['clusterShare:a:b', UNKNOWN_SOURCE, UNKNOWN_SOURCE].map(
      (source, i): TraceEvent => ({
        atMs: DAY_START_MS,
        kind: 'limitSource',
        locationId: 'depot',
        source,
        limitW: i === 0 ? Number.MAX_SAFE_INTEGER : i,
      }),
    );
    const encoder = new EventEncoder();
    for (const event of events) encoder.add(event);
    expect(decoded(encoder.take(), 0, encoder.names)).toEqual(events);
  });

  it('encodes events in pieces that decode one after another', () => {
    const events = [...madeUpWorld(SMALL)];
    const encoder = new EventEncoder();
    let lastAtMs = 0;
    const back: TraceEvent[] = [];
    for (let i = 0; i < events.length; i += 997) {
      for (const event of events.slice(i, i + 997)) encoder.add(event);
      back.push(...decoded(encoder.take(), lastAtMs, encoder.names));
      lastAtMs = back.at(-1)?.atMs ?? 0;
    }
    expect(back).toEqual(events);
  });

  it.each([0.5, -1, Number.NaN, 2 ** 53])('refuses a limit of %d W', (limitW) => {
    expect(() => new EventEncoder().add(limit(limitW))).toThrow(RangeError);
  });

  it('refuses an event that is earlier than the last one', () => {
    const encoder = new EventEncoder();
    encoder.add(limit(1, DAY_START_MS));
    expect(() => encoder.add(limit(1, DAY_START_MS - 1))).toThrow(RangeError);
  });

  it('refuses to decode a truncated event', () => {
    const encoder = new EventEncoder();
    encoder.add(limit(300_000));
    const bytes = encoder.take();
    expect(() => decoded(bytes.slice(0, -1), 0, ['depot'])).toThrow(RangeError);
  });
});

describe('The hash of a trace', () => {
  it('is the same for the same events with fields in any order', () => {
    const shuffled = [...madeUpWorld(SMALL)].map(
      (event) => Object.fromEntries(Object.entries(event).reverse()) as unknown as TraceEvent,
    );
    expect(hashOf(shuffled)).toBe(hashOf(madeUpWorld(SMALL)));
  });

  it('changes with one watt, one millisecond, one event, or the order of two events', () => {
    const events = [limit(1), limit(2)];
    const others = [
      [limit(1), limit(3)],
      [limit(1), limit(2, DAY_START_MS + 1)],
      [limit(1)],
      [limit(2), limit(1)],
      [limit(1), limit(2), limit(2)],
    ];
    for (const other of others) expect(hashOf(other)).not.toBe(hashOf(events));
  });

  it('can be read before the end without a change to the final hash', () => {
    const asked = createTraceHash();
    asked.add(limit(1));
    const before = asked.digest();
    asked.add(limit(2));
    expect(before).toBe(hashOf([limit(1)]));
    expect(asked.digest()).toBe(hashOf([limit(1), limit(2)]));
  });
});
