// Events as canonical bytes: the same events give the same bytes, to be hashed and stored.
import type { EpochMs } from '../../machines/time.js';
import { type FieldCoding, type FieldValues, LAYOUTS } from './event-fields.js';
import type { TraceEvent } from './trace-event.js';

const FIRST_CAPACITY_BYTES = 1 << 17;
/** No event needs more than this beside its strings, nor after any of them. */
const ROOM_BYTES = 256;
const MAX_BYTES_PER_UNIT = 3;

const PLACE_BY_KIND = new Map(LAYOUTS.map(({ kind }, place) => [kind, place]));
const PLACES_BY_LIST = new Map<FieldCoding, ReadonlyMap<unknown, number>>(
  LAYOUTS.flatMap(({ fields }) => fields).flatMap(([, coding]) =>
    typeof coding === 'string' ? [] : [[coding, new Map(coding.map((value, place) => [value, place]))]],
  ),
);

export interface TraceEncoder {
  /**
   * Appends `event`.
   * @throws RangeError if its instant lies before that of the event before it, or a number is no integer of 0 or more.
   */
  add(event: TraceEvent): void;
  /** Bytes appended since they were last taken. */
  readonly sizeBytes: number;
  /** Hands over the bytes appended since the last call, as a copy. */
  take(): Uint8Array;
  /** Every name so far, by its number. */
  readonly names: readonly string[];
}

export function createTraceEncoder(): TraceEncoder {
  const text = new TextEncoder();
  const names: string[] = [];
  const numberByName = new Map<string, number>();
  let bytes = new Uint8Array(FIRST_CAPACITY_BYTES);
  let size = 0;
  let lastAtMs: EpochMs = 0;

  function putInteger(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(`A trace holds integers of 0 or more, not ${value}`);
    }
    let rest = value;
    while (rest > 0x7f) {
      bytes[size++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    bytes[size++] = rest;
  }

  function makeRoom(roomBytes: number): void {
    if (size + roomBytes <= bytes.length) return;
    const larger = new Uint8Array(2 * (size + roomBytes));
    larger.set(bytes.subarray(0, size));
    bytes = larger;
  }

  function putText(value: string): void {
    makeRoom(value.length * MAX_BYTES_PER_UNIT + ROOM_BYTES);
    const encoded = text.encode(value);
    putInteger(encoded.length);
    bytes.set(encoded, size);
    size += encoded.length;
  }

  /** A name's number plus 1; the first time 0 and the name itself, which gets the next number. */
  function putName(name: string): void {
    const number = numberByName.get(name);
    if (number !== undefined) {
      putInteger(number + 1);
      return;
    }
    numberByName.set(name, names.length);
    names.push(name);
    putInteger(0);
    putText(name);
  }

  function putField(coding: FieldCoding, value: string | number | boolean | undefined): void {
    if (coding === 'integer') putInteger(Number(value));
    else if (coding === 'name') putName(String(value));
    else if (coding === 'text') putText(String(value));
    else putInteger(PLACES_BY_LIST.get(coding)?.get(value) ?? -1);
  }

  return {
    add(event) {
      const place = PLACE_BY_KIND.get(event.kind);
      const layout = place === undefined ? undefined : LAYOUTS[place];
      if (place === undefined || layout === undefined) throw new RangeError(`No such event: ${event.kind}`);
      if (event.atMs < lastAtMs) throw new RangeError(`${event.atMs} comes before ${lastAtMs}`);
      const values: FieldValues = event;
      makeRoom(ROOM_BYTES);
      bytes[size++] = place;
      putInteger(event.atMs - lastAtMs);
      for (const [field, coding] of layout.fields) putField(coding, values[field]);
      lastAtMs = event.atMs;
    },
    get sizeBytes() {
      return size;
    },
    take() {
      const taken = bytes.slice(0, size);
      size = 0;
      return taken;
    },
    names,
  };
}
