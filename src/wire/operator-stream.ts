// What the event stream carries: one name and one shape an event. An extension of the contract.
import { z } from 'zod';
import { LIMIT_REASONS } from '../../machines/power/grant.js';
import { errorEnvelopeSchema } from './error-envelope.js';
import { operatorChangeShape } from './grid-operator.js';
import { alarmSchema } from './operator-history.js';
import { fuseLiveSchema } from './operator-locations.js';
import { drawnPowerShape } from './operator-power.js';
import { peakShavingShape } from './peak-shaving.js';
import { instantSchema, profileViewSchema } from './rest.js';
import { buildingShape } from './site-meter.js';

const ofLocation = { locationId: z.string(), at: instantSchema };
const ofConnector = { ...ofLocation, controllerUuid: z.string(), connectorId: z.string() };

/** By name of the event. */
export const streamEventSchemas = {
  effectiveLimit: z.object({ ...ofLocation, effectiveLimitKw: z.number() }),
  gridLimit: z.object({ ...ofLocation, gridLimitKw: z.number() }),
  operatorLimit: z.object({ ...ofLocation, ...operatorChangeShape }),
  building: z.object({ ...ofLocation, ...buildingShape }),
  peakShaving: z.object({ ...ofLocation, ...peakShavingShape }),
  profile: z.object({ ...ofLocation, ...profileViewSchema.shape }),
  profileCancelled: z.object({ ...ofLocation, ...profileViewSchema.shape }),
  lock: z.object({ ...ofConnector, limitKw: z.number().nullable() }),
  connectorLimit: z.object({
    ...ofConnector,
    limitA: z.number(),
    limitKw: z.number(),
    reason: z.enum(LIMIT_REASONS),
  }),
  alarm: alarmSchema,
  power: z.object({ ...ofLocation, ...drawnPowerShape }),
  fuses: z.object({ ...ofLocation, fuses: z.array(fuseLiveSchema) }),
} as const;

export type StreamEventName = keyof typeof streamEventSchemas;

/** What an event says. */
export type StreamEventBody = {
  readonly [Name in StreamEventName]: {
    readonly name: Name;
    readonly data: z.output<(typeof streamEventSchemas)[Name]>;
  };
}[StreamEventName];

/** One event; `id` rises by one from event to event of its tenant, for as long as the process runs. */
export type StreamEvent = StreamEventBody & { readonly id: number };

/** The last event of a stream that the service ends: why, in the words of the error envelope. */
const streamClosedSchema = errorEnvelopeSchema.shape.error;

/** One event of any name, as `data:` carries it. */
export const streamDataSchema = z
  .union([...Object.values(streamEventSchemas), streamClosedSchema])
  .meta({ id: 'StreamData' });
