// Byte layout of each kind of event: one table for the encoder and the decoder.
import { ALARM_KINDS, LIMIT_REASONS } from '../../machines/power/grant.js';
import { CHARGING_STATUSES } from '../../machines/power/meter-ledger.js';
import { FAULT_KINDS, type TraceEvent } from './trace-event.js';

/**
 * `integer`: 0 or more. `name`: a frequent word, written once and then referenced by its number. `text`: written in
 * full each time. A list: one of its values, encoded as its index.
 */
export type FieldCoding = 'integer' | 'name' | 'text' | readonly (string | boolean)[];

type EventKind = TraceEvent['kind'];
type FieldsOf<K extends EventKind> = Exclude<keyof Extract<TraceEvent, { kind: K }>, 'kind' | 'atMs'>;

const FLAG = [false, true] as const;
const CONNECTOR = { locationId: 'name', controllerUuid: 'name', connectorId: 'name' } as const;

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
  // A new kind comes last: an encoded event holds the index of its kind, and older traces must stay readable.
  answer: { name: 'name', digest: 'text' },
  lock: { target: 'name', limitW: 'integer', isOn: FLAG },
} as const satisfies { readonly [K in EventKind]: Readonly<Record<FieldsOf<K>, FieldCoding>> };

export interface EventLayout {
  readonly kind: EventKind;
  readonly fields: readonly (readonly [field: string, coding: FieldCoding])[];
}

/** Fields of an event by name, without the types of its kind. */
export type FieldValues = Readonly<Record<string, string | number | boolean>>;

/**
 * An encoded event begins with the index of its kind in this list and the ms since the previous event; then its fields
 * follow in this order.
 */
export const LAYOUTS: readonly EventLayout[] = Object.entries(FIELDS).map(([kind, fields]) => ({
  // The type of Object.entries loses the literal types of the keys.
  kind: kind as EventKind,
  fields: Object.entries(fields),
}));
