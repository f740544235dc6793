// Bytes of the events of a trace. Equal events give equal bytes, so the same bytes serve the hash and the event log.
import { createHash } from 'node:crypto';
import { ALARM_KINDS, LIMIT_REASONS } from '../../machines/ledger/grant.js';
import { OPERATOR_STATES } from '../../machines/limits/lpc.machine.js';
import { CHARGING_STATUSES } from '../../machines/values/charging-status.js';
import type { EpochMs } from '../../machines/values/time.js';
import { FAULT_KINDS, type TraceEvent } from './trace-event.js';

/**
 * `integer`: 0 or more. `signed`: any integer. `name`: a frequent word, written once and then referenced by its number. `text`: written in
 * full each time. A list: one of its values, encoded as its index.
 */
type FieldCoding = 'integer' | 'signed' | 'name' | 'text' | readonly (string | boolean)[];

type EventKind = TraceEvent['kind'];
type FieldsOf<K extends EventKind> = Exclude<keyof Extract<TraceEvent, { kind: K }>, 'kind' | 'atMs'>;

const FLAG = [false, true] as const;
const CONNECTOR = { locationId: 'name', controllerUuid: 'name', connectorId: 'name' } as const;

/** Byte layout of each kind of event: one table for the encoder and the decoder. */
const FIELDS = {
  limit: { locationId: 'name', limitW: 'integer' },
  power: { locationId: 'name', powerW: 'integer' },
  connector: {
    ...CONNECTOR,
    status: CHARGING_STATUSES,
    powerW: 'integer',
    limitTenthsA: 'integer',
    reason: LIMIT_REASONS,
    isLeased: FLAG,
    isOnline: FLAG,
  },
  grant: { ...CONNECTOR, epoch: 'integer', seq: 'integer', limitTenthsA: 'integer', reason: LIMIT_REASONS },
  session: {
    ...CONNECTOR,
    what: ['arrived', 'left'],
    sessionId: 'name',
    requestedWh: 'integer',
    deliveredWh: 'integer',
  },
  profile: {
    target: 'name',
    priority: 'integer',
    limitW: 'integer',
    startsAtMs: 'integer',
    endsAtMs: 'integer',
  },
  action: { name: 'name', status: 'integer' },
  fault: { fault: FAULT_KINDS, target: 'name', isOn: FLAG },
  alarm: { alarm: ALARM_KINDS, target: 'name', isOn: FLAG },
  violation: { invariant: 'name', target: 'name', detail: 'text' },
  voltage: { line: 'name', l1TenthsV: 'integer', l2TenthsV: 'integer', l3TenthsV: 'integer' },
  answer: { name: 'name', digest: 'text' },
  lock: { target: 'name', limitW: 'integer', isOn: FLAG },
  limits: {
    locationId: 'name',
    limitW: 'integer',
    cause: 'name',
    rule: 'name',
    effectiveW: 'integer',
    operator: ['none', ...OPERATOR_STATES],
    buildingW: 'signed',
    reserveW: 'integer',
  },
  limitSource: { locationId: 'name', source: 'name', limitW: 'integer' },
} as const satisfies { readonly [K in EventKind]: Readonly<Record<FieldsOf<K>, FieldCoding>> };

interface EventLayout {
  readonly kind: EventKind;
  readonly fields: readonly (readonly [field: string, coding: FieldCoding])[];
}

/** Fields of an event by name, without the types of its kind. */
type FieldValues = Readonly<Record<string, string | number | boolean>>;

/**
 * An encoded event begins with the index of its kind in this list and the ms since the previous event; then its fields
 * follow in this order.
 */
export const LAYOUTS: readonly EventLayout[] = Object.entries(FIELDS).map(([kind, fields]) => ({
  // The type of Object.entries loses the literal types of the keys.
  kind: kind as EventKind,
  fields: Object.entries(fields),
}));

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

export class EventEncoder {
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
    // Twice the size, and the sign as the lowest bit.
    else if (coding === 'signed') this.#putInteger(2 * Math.abs(Number(value)) + (Number(value) < 0 ? 1 : 0));
    else if (coding === 'name') this.#putName(String(value));
    else if (coding === 'text') this.#putText(String(value));
    else this.#putInteger(PLACES_BY_LIST.get(coding)?.get(value) ?? -1);
  }
}

/** Decodes the bytes of `EventEncoder`, from the begin of any event. */
export class EventDecoder {
  readonly #bytes: Uint8Array;
  readonly #names: readonly string[];
  readonly #text = new TextDecoder();
  #place = 0;
  #atMs: EpochMs;

  /**
   * @param previousAtMs instant of the event before the first one of `bytes`; 0 at the start of a trace.
   * @param names names by their number, at least the ones to which events of `bytes` refer.
   */
  constructor(bytes: Uint8Array, previousAtMs: EpochMs, names: readonly string[]) {
    this.#bytes = bytes;
    this.#names = names;
    this.#atMs = previousAtMs;
  }

  /** Number of decoded bytes. */
  get place(): number {
    return this.#place;
  }

  /** @throws RangeError if the bytes end inside an event. */
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
    if (coding === 'signed') {
      const doubled = this.#readInteger();
      return doubled % 2 === 0 ? doubled / 2 : -(doubled - 1) / 2;
    }
    if (coding === 'text') return this.#readText();
    const number = this.#readInteger();
    if (coding === 'name' && number === 0) return this.#readText();
    const value = coding === 'name' ? this.#names[number - 1] : coding[number];
    if (value === undefined) throw new RangeError(`A trace refers to number ${number}, which it lacks`);
    return value;
  }
}

/** Fingerprint of a run: two runs with the same hash had the same events in the same order. */
export interface TraceHash {
  /** @throws RangeError for an event that a trace cannot hold, see `EventEncoder`. */
  add(event: TraceEvent): void;
  /** SHA-256 of the events so far, in hex. More events may follow. */
  digest(): string;
}

const BATCH_BYTES = 1 << 16;

export function createTraceHash(): TraceHash {
  const encoder = new EventEncoder();
  const hash = createHash('sha256');
  return {
    add(event) {
      encoder.add(event);
      if (encoder.sizeBytes >= BATCH_BYTES) hash.update(encoder.take());
    },
    digest() {
      hash.update(encoder.take());
      return hash.copy().digest('hex');
    },
  };
}
