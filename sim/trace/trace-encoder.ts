// Encodes events as canonical bytes: equal events give equal bytes, for the hash and the trace file.
import type { EpochMs } from '../../machines/values/time.js';
import { type FieldCoding, type FieldValues, LAYOUTS } from './event-fields.js';
import type { TraceEvent } from './trace-event.js';

const FIRST_CAPACITY_BYTES = 1 << 17;
/** Upper bound of the bytes of an event without its strings, and of the bytes that follow any of its strings. */
const ROOM_BYTES = 256;
const MAX_BYTES_PER_UNIT = 3;

const PLACE_BY_KIND = new Map(LAYOUTS.map(({ kind }, place) => [kind, place]));
const PLACES_BY_LIST = new Map<FieldCoding, ReadonlyMap<unknown, number>>(
  LAYOUTS.flatMap(({ fields }) => fields).flatMap(([, coding]) =>
    typeof coding === 'string' ? [] : [[coding, new Map(coding.map((value, place) => [value, place]))]],
  ),
);

export class TraceEncoder {
  readonly #text = new TextEncoder();
  /** All names so far; the index is the number of the name. */
  readonly names: string[] = [];
  readonly #numberByName = new Map<string, number>();
  #bytes = new Uint8Array(FIRST_CAPACITY_BYTES);
  #size = 0;
  #lastAtMs: EpochMs = 0;

  /**
   * Appends `event`.
   * @throws RangeError if its instant precedes that of the previous event, or a number is not an integer of 0 or more.
   */
  add(event: TraceEvent): void {
    const place = PLACE_BY_KIND.get(event.kind);
    const layout = place === undefined ? undefined : LAYOUTS[place];
    if (place === undefined || layout === undefined) throw new RangeError(`No such event: ${event.kind}`);
    if (event.atMs < this.#lastAtMs) throw new RangeError(`${event.atMs} comes before ${this.#lastAtMs}`);
    const values: FieldValues = event;
    this.#makeRoom(ROOM_BYTES);
    this.#bytes[this.#size++] = place;
    this.#putInteger(event.atMs - this.#lastAtMs);
    for (const [field, coding] of layout.fields) this.#putField(coding, values[field]);
    this.#lastAtMs = event.atMs;
  }

  /** Number of bytes appended since the last `take`. */
  get sizeBytes(): number {
    return this.#size;
  }

  /** Returns a copy of the bytes appended since the last call, and empties the buffer. */
  take(): Uint8Array {
    const taken = this.#bytes.slice(0, this.#size);
    this.#size = 0;
    return taken;
  }

  #putInteger(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(`A trace holds integers of 0 or more, not ${value}`);
    }
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#size++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#size++] = rest;
  }

  #makeRoom(roomBytes: number): void {
    if (this.#size + roomBytes <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#size + roomBytes));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }

  #putText(value: string): void {
    this.#makeRoom(value.length * MAX_BYTES_PER_UNIT + ROOM_BYTES);
    const encoded = this.#text.encode(value);
    this.#putInteger(encoded.length);
    this.#bytes.set(encoded, this.#size);
    this.#size += encoded.length;
  }

  /** Writes the number of a known name plus 1. A new name gets the next number and is written as 0 and its text. */
  #putName(name: string): void {
    const number = this.#numberByName.get(name);
    if (number !== undefined) {
      this.#putInteger(number + 1);
      return;
    }
    this.#numberByName.set(name, this.names.length);
    this.names.push(name);
    this.#putInteger(0);
    this.#putText(name);
  }

  #putField(coding: FieldCoding, value: string | number | boolean | undefined): void {
    if (coding === 'integer') this.#putInteger(Number(value));
    else if (coding === 'name') this.#putName(String(value));
    else if (coding === 'text') this.#putText(String(value));
    else this.#putInteger(PLACES_BY_LIST.get(coding)?.get(value) ?? -1);
  }
}
