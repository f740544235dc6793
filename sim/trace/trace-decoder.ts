// The way back from canonical bytes to events.
import type { EpochMs } from '../../machines/values/time.js';
import { type FieldCoding, LAYOUTS } from './event-fields.js';
import type { TraceEvent } from './trace-event.js';

/** Where a stretch of bytes begins. */
export interface StretchStart {
  /** Instant of the event before its first, 0 where there is none. */
  readonly lastAtMs: EpochMs;
  /** Names by their number, at least those that events of the stretch speak of. */
  readonly names: readonly string[];
}

/** The events in `bytes`, in order. Throws a RangeError where the bytes are no whole events. */
export function decodeEvents(bytes: Uint8Array, start: StretchStart): TraceEvent[] {
  const text = new TextDecoder();
  const events: TraceEvent[] = [];
  let at = 0;
  let atMs = start.lastAtMs;

  function takeInteger(): number {
    let value = 0;
    let weight = 1;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError('A trace ends inside an event');
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) return value;
      weight *= 0x80;
    }
  }

  function takeText(): string {
    const length = takeInteger();
    at += length;
    return text.decode(bytes.subarray(at - length, at));
  }

  function takeField(coding: FieldCoding): string | number | boolean {
    if (coding === 'integer') return takeInteger();
    if (coding === 'text') return takeText();
    const number = takeInteger();
    if (coding === 'name' && number === 0) return takeText();
    const value = coding === 'name' ? start.names[number - 1] : coding[number];
    if (value === undefined)
      throw new RangeError(`A trace speaks of number ${number} without having told it`);
    return value;
  }

  while (at < bytes.length) {
    const place = takeInteger();
    const layout = LAYOUTS[place];
    if (layout === undefined) throw new RangeError(`No event has number ${place}`);
    atMs += takeInteger();
    const event: Record<string, string | number | boolean> = { atMs, kind: layout.kind };
    for (const [field, coding] of layout.fields) event[field] = takeField(coding);
    // The table of fields is checked against the events' types where it is written.
    events.push(event as unknown as TraceEvent);
  }
  return events;
}
