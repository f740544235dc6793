// The grid operator's limit of a location: messages of its side, by REST or MQTT, answers about it, and its provisioning.
import { z } from 'zod';
import { OPERATOR_STATES, type OperatorState } from '../../../machines/limits/lpc.machine.js';
import {
  GROUP_RULE,
  idSchema,
  numberSchema,
  secretSchema,
  wholeSchema,
} from '../../provisioning/field-schemas.js';
import type { SiteTraffic } from '../../wire/asyncapi.js';
import { fromInstant } from '../../wire/instants.js';
import { mustBe } from '../../wire/plain-errors.js';
import { instantSchema, MOST_LIMIT_KW, textSchema } from '../../wire/rest.js';

const OPERATOR_LIMIT_RULE = `a number from 0 to ${MOST_LIMIT_KW}, in kW`;
const LONGEST_S = 366 * 86_400;
const DURATION_RULE = `a whole number of seconds from 1 to ${LONGEST_S}`;

/** A heartbeat has neither limit nor `isActive`: it shows that the operator is alive. */
export const operatorMessageSchema = z
  .object({
    source: textSchema(128).meta({
      description: 'Sender, in the words of the operator: recorded and shown.',
      example: 'DSO control box 17',
    }),
    isActive: z
      .boolean(mustBe('true or false'))
      .optional()
      .meta({ description: 'false ends the limit. Left out: a heartbeat, which changes no limit.' }),
    limitKw: z.number(mustBe(OPERATOR_LIMIT_RULE)).min(0).max(MOST_LIMIT_KW).optional().meta({
      description: 'Highest power of the location, kW; required if isActive is true.',
      example: 4.2,
    }),
    durationS: z
      .number(mustBe(DURATION_RULE))
      .int()
      .min(1)
      .max(LONGEST_S)
      .optional()
      .meta({ description: 'Validity from `sentAt` on, s. Left out: until the operator ends it.' }),
    sentAt: instantSchema.meta({
      description: "By the sender's clock. An order that is not newer than the last one is ignored.",
    }),
  })
  .refine(({ isActive, limitKw }) => isActive !== true || limitKw !== undefined, {
    path: ['limitKw'],
    message: `must be ${OPERATOR_LIMIT_RULE}, if isActive is true`,
  })
  .refine(({ isActive, limitKw }) => isActive !== undefined || limitKw === undefined, {
    path: ['isActive'],
    message: 'must be true or false, if limitKw is given',
  })
  .meta({
    examples: [
      {
        source: 'DSO control box 17',
        isActive: true,
        limitKw: 8.4,
        durationS: 3600,
        sentAt: '2026-06-01T12:00:00Z',
      },
      { source: 'DSO control box 17', isActive: false, sentAt: '2026-06-01T12:30:00Z' },
      { source: 'DSO control box 17', sentAt: '2026-06-01T12:31:00Z' },
    ],
  })
  .transform(({ sentAt, ...message }) => ({ ...message, sentAtMs: fromInstant(sentAt) }))
  .meta({
    id: 'OperatorLimitRequest',
    // The two rules above in JSON Schema, for readers of the OpenAPI document.
    allOf: [
      { anyOf: [{ required: ['limitKw'] }, { properties: { isActive: { const: false } } }] },
      { anyOf: [{ required: ['isActive'] }, { properties: { limitKw: { not: {} } } }] },
    ],
  });
export type OperatorMessage = z.output<typeof operatorMessageSchema>;

/** Over MQTT. */
export const operatorTraffic: SiteTraffic<typeof operatorMessageSchema> = {
  kind: 'operator',
  title: 'Order or heartbeat of the grid operator',
  summary:
    'Limits a location, ends the limit, or shows that the operator is alive. An order that is not newer than the last one is ignored.',
  sender:
    'User name {tenantUuid}/{operatorUuid} with the password of the operator; the client id is the operatorUuid.',
  schema: operatorMessageSchema,
  qos: 1,
  retain: false,
  examples: [
    {
      name: 'limit',
      summary: '8.4 kW for an hour from sentAt on.',
      payload: {
        source: 'DSO control box 17',
        isActive: true,
        limitKw: 8.4,
        durationS: 3600,
        sentAt: '2026-06-01T12:00:00Z',
      },
    },
    {
      name: 'free',
      summary: 'The limit is taken back.',
      payload: { source: 'DSO control box 17', isActive: false, sentAt: '2026-06-01T12:30:00Z' },
    },
    {
      name: 'heartbeat',
      summary: 'The operator is alive; no limit changes.',
      payload: { source: 'DSO control box 17', sentAt: '2026-06-01T12:31:00Z' },
    },
  ],
};

/** The states of EEBUS LPC, as answers write them. */
export const OPERATOR_STATE_NAMES: Readonly<Record<OperatorState, string>> = {
  init: 'INIT',
  unlimitedControlled: 'UNLIMITED_CONTROLLED',
  limited: 'LIMITED',
  failsafe: 'FAILSAFE',
  unlimitedAutonomous: 'UNLIMITED_AUTONOMOUS',
};

const standingShape = {
  state: z.enum(OPERATOR_STATES.map((state) => OPERATOR_STATE_NAMES[state])).meta({
    description:
      "INIT: no order yet, the fail-safe limit holds. LIMITED: an order holds. UNLIMITED_CONTROLLED: the operator sends heartbeats and does not limit. FAILSAFE: its heartbeats are missing, the fail-safe limit holds. UNLIMITED_AUTONOMOUS: they stayed missing, the location's own limits apply.",
  }),
  since: instantSchema,
  limitKw: z
    .number()
    .nullable()
    .meta({ description: "The operator's limit for the location, kW; null without one." }),
  source: z.string().nullable().meta({ description: 'Sender of the last order; null if none counts.' }),
  sentAt: instantSchema.nullable(),
  endsAt: instantSchema.nullable().meta({ description: 'End of the order; null if it has none.' }),
};

export const operatorLimitSchema = z
  .object({
    locationId: z.string(),
    operatorUuid: z.string(),
    ...standingShape,
    lastHeardAt: instantSchema
      .nullable()
      .meta({ description: 'Null if nothing was received since the heartbeats went missing.' }),
    nextChangeAt: instantSchema
      .nullable()
      .meta({ description: 'Instant of the next change of state if nothing is received until then.' }),
    failsafeKw: z.number(),
    failsafeMinS: z.number().int(),
    heartbeatS: z
      .number()
      .meta({ description: 'Expected interval of its heartbeats, s; they are missing after twice as long.' }),
  })
  .meta({ id: 'OperatorLimit' });
export type OperatorLimitView = z.output<typeof operatorLimitSchema>;

/** Fields of the stream event for a new state or order. */
export const operatorChangeShape = standingShape;

export const operatorHistorySchema = z
  .object({
    locationId: z.string(),
    from: instantSchema,
    to: instantSchema,
    events: z.array(z.object({ recordedAt: instantSchema, ...standingShape })).meta({
      description:
        'The state at `from`, and every change until `to`, in order; the first of all is INIT. None is ever deleted.',
    }),
    nextCursor: z.string().nullable().meta({ description: 'Null on the last page.' }),
  })
  .meta({ id: 'OperatorHistory' });
export type OperatorHistory = z.output<typeof operatorHistorySchema>;

// The operator in the provisioning file.

// EEBUS LPC-022.
const FAILSAFE_LEAST_S = 2 * 3600;
const FAILSAFE_MOST_S = 24 * 3600;

/** The grid operator's side of a location; silence of two heartbeats means that it is lost (EEBUS LPC-911: 120 s). */
export const provisionedOperatorSchema = z
  .strictObject(
    {
      operatorUuid: idSchema<string>(),
      mqttPassword: secretSchema().optional(),
      failsafeKw: numberSchema(0, MOST_LIMIT_KW, 'kW').optional(),
      failsafeMinS: wholeSchema(FAILSAFE_LEAST_S, FAILSAFE_MOST_S).default(FAILSAFE_LEAST_S),
      heartbeatS: wholeSchema(1, 3600).default(60),
    },
    GROUP_RULE,
  )
  .transform(({ failsafeMinS, heartbeatS, ...operator }) => ({
    ...operator,
    failsafeMinMs: failsafeMinS * 1000,
    missingAfterMs: 2 * heartbeatS * 1000,
  }));
