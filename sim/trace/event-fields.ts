// How each kind of event is written as bytes, field by field: one table for writing and reading.
import { ALARM_KINDS, LIMIT_REASONS } from '../../machines/power/grant.js';
import { CHARGING_STATUSES } from '../../machines/power/meter-ledger.js';
import { FAULT_KINDS, type TraceEvent } from './trace-event.js';

/**
 * `integer`: 0 or more. `name`: a word that comes often, written once and then told by its number. `text`: written out
 * each time. A list: one of its values, told by its place.
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
  // A new kind comes last, so that those of older traces keep their places.
  answer: { name: 'name', digest: 'text' },
  lock: { target: 'name', limitW: 'integer', isOn: FLAG },
} as const satisfies { readonly [K in EventKind]: Readonly<Record<FieldsOf<K>, FieldCoding>> };

export interface EventLayout {
  readonly kind: EventKind;
  readonly fields: readonly (readonly [field: string, coding: FieldCoding])[];
}

/** An event's fields by name, as the table sees them. */
export type FieldValues = Readonly<Record<string, string | number | boolean>>;

/** An event begins with the place of its kind here and the ms since the event before it; then its fields in this order. */
export const LAYOUTS: readonly EventLayout[] = Object.entries(FIELDS).map(([kind, fields]) => ({
  // Object.entries forgets that the keys are the kinds.
  kind: kind as EventKind,
  fields: Object.entries(fields),
}));
