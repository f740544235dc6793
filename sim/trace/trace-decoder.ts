// Decodes canonical bytes to events; the reverse of `TraceEncoder`.
import type { EpochMs } from '../../machines/values/time.js';
import { type FieldCoding, LAYOUTS } from './event-fields.js';
import type { TraceEvent } from './trace-event.js';

/** State of the decoder at the first byte of a range. */
export interface StretchStart {
  /** Instant of the event before the first one of the range; 0 at the start of a trace. */
  readonly lastAtMs: EpochMs;
  /** Names by their number. The list must hold at least the names to which events of the range refer. */
  readonly names: readonly string[];
}

/** The events in `bytes`, in order. @throws RangeError if `bytes` do not end at the end of an event. */
export function decodeEvents(bytes: Uint8Array, start: StretchStart): TraceEvent[] {
  const decoder = new Decoder(bytes, start);
  const events: TraceEvent[] = [];
  while (decoder.place < bytes.length) events.push(decoder.next());
  return events;
}

/** Number of bytes that the first `count` events take. */
export function sizeOfEvents(bytes: Uint8Array, start: StretchStart, count: number): number {
  const decoder = new Decoder(bytes, start);
  for (let i = 0; i < count; i++) decoder.next();
  return decoder.place;
}

class Decoder {
  readonly #bytes: Uint8Array;
  readonly #names: readonly string[];
  readonly #text = new TextDecoder();
  #place = 0;
  #atMs: EpochMs;

  constructor(bytes: Uint8Array, { lastAtMs, names }: StretchStart) {
    this.#bytes = bytes;
    this.#names = names;
    this.#atMs = lastAtMs;
  }

  /** Number of bytes read so far. */
  get place(): number {
    return this.#place;
  }

  next(): TraceEvent {
    const number = this.#readInteger();
    const layout = LAYOUTS[number];
    if (layout === undefined) throw new RangeError(`No event has number ${number}`);
    this.#atMs += this.#readInteger();
    const event: Record<string, string | number | boolean> = { atMs: this.#atMs, kind: layout.kind };
    for (const [field, coding] of layout.fields) event[field] = this.#readField(coding);
    // `satisfies` checks the table of fields against the types of the events.
    return event as unknown as TraceEvent;
  }

  #readInteger(): number {
    let value = 0;
    let weight = 1;
    for (;;) {
      const byte = this.#bytes[this.#place++];
      if (byte === undefined) throw new RangeError('A trace ends inside an event');
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) return value;
      weight *= 0x80;
    }
  }

  #readText(): string {
    const length = this.#readInteger();
    this.#place += length;
    return this.#text.decode(this.#bytes.subarray(this.#place - length, this.#place));
  }

  #readField(coding: FieldCoding): string | number | boolean {
    if (coding === 'integer') return this.#readInteger();
    if (coding === 'text') return this.#readText();
    const number = this.#readInteger();
    if (coding === 'name' && number === 0) return this.#readText();
    const value = coding === 'name' ? this.#names[number - 1] : coding[number];
    if (value === undefined)
      throw new RangeError(`A trace speaks of number ${number} without having told it`);
    return value;
  }
}
