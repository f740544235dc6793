// Webhooks: requests and answers.
import { z } from 'zod';
import { EVENT_TYPES } from '../../ports/records.js';
import { mustBe, mustBeText } from '../../wire/plain-errors.js';
import { instantSchema } from '../../wire/rest.js';
import { digits } from '../../wire/spans.js';

const LONGEST_URL = 2_000;
const URL_FORM = `https://… without a user, password or fragment, of at most ${LONGEST_URL} characters`;
const URL_RULE = `must be ${URL_FORM}`;
const ID_RULE = 'must be the id of an event: a whole number';
const MOST_ROWS = 1_000;

const urlSchema = z
  .string(mustBeText(URL_FORM))
  .max(LONGEST_URL, URL_RULE)
  .regex(/^https?:\/\/[^\s/?#@]+([/?][^\s#]*)?$/i, { error: URL_RULE, abort: true })
  .refine((text) => URL.canParse(text), URL_RULE)
  .meta({ description: 'Receiver of the events.', example: 'https://example.com/headroom' });

const typesSchema = z
  .array(
    z.enum(EVENT_TYPES, mustBeText(`one of ${EVENT_TYPES.join(', ')}`)),
    mustBe('a list of at least one type of event'),
  )
  .min(1)
  .max(EVENT_TYPES.length)
  .nullish()
  .meta({ description: 'Only events of these types. Left out: all.' });

const locationIdsSchema = z
  .array(z.string(mustBeText('the id of a location')), mustBe('a list of 1 to 1,000 ids of locations'))
  .min(1)
  .max(1_000)
  .nullish()
  .meta({ description: 'Only events of these locations. Left out: all, and those without a location.' });

const eventIdSchema = z.string(ID_RULE).regex(/^\d{1,15}$/, ID_RULE);

const ADDRESSES_AT_MOST = 20;
const ADDRESS_RULE = 'must be one address such as alarms@example.com, of at most 254 characters';

/** Narrower than RFC 5322: no quotes, comments, groups or line breaks, which a header could carry on. */
const addressSchema = z
  .string(ADDRESS_RULE)
  .max(254, ADDRESS_RULE)
  .regex(/^[\w.+=~&'/-]{1,64}@([A-Za-z\d-]{1,63}\.)+[A-Za-z\d-]{2,63}$/, ADDRESS_RULE);

export const mailSubscriptionRequestSchema = z
  .object({
    to: z
      .array(addressSchema, mustBe(`a list of 1 to ${ADDRESSES_AT_MOST} addresses`))
      .min(1)
      .max(ADDRESSES_AT_MOST)
      .meta({ description: 'Receivers of the mails.', example: ['alarms@example.com'] }),
    types: typesSchema,
    locationIds: locationIdsSchema,
  })
  .meta({
    id: 'MailSubscriptionRequest',
    examples: [{ to: ['alarms@example.com'], types: ['alarm.began', 'alarm.ended'] }],
  });

export const webhookRequestSchema = z
  .object({ url: urlSchema, types: typesSchema, locationIds: locationIdsSchema })
  .meta({
    id: 'WebhookRequest',
    examples: [{ url: 'https://example.com/headroom', types: ['alarm.began'] }],
  });

export const createWebhookRequestSchema = webhookRequestSchema
  .extend({
    after: eventIdSchema
      .optional()
      .meta({ description: 'Events after the one with this id. Left out: from now on.' }),
  })
  .meta({ id: 'CreateWebhookRequest', examples: [{ url: 'https://example.com/headroom' }] });

export const webhookSchema = z
  .object({
    webhookId: z.string(),
    url: z.string(),
    types: z.array(z.enum(EVENT_TYPES)).nullable(),
    locationIds: z.array(z.string()).nullable(),
    createdAt: instantSchema,
    createdBy: z.string(),
    updatedAt: instantSchema,
    previousSecretEndsAt: instantSchema
      .nullable()
      .meta({ description: 'The one before signs too until then.' }),
    lastEventId: z.string().meta({ description: 'Events after it are still to be sent.' }),
    waitingLocations: z
      .number()
      .int()
      .meta({ description: 'Locations whose next event is sent again later.' }),
  })
  .meta({ id: 'Webhook' });
export type WebhookView = z.output<typeof webhookSchema>;

export const mailSubscriptionSchema = z
  .object({
    mailSubscriptionId: z.string(),
    to: z.array(z.string()),
    types: z.array(z.enum(EVENT_TYPES)).nullable(),
    locationIds: z.array(z.string()).nullable(),
    createdAt: instantSchema,
    createdBy: z.string(),
    updatedAt: instantSchema,
    lastEventId: z.string().meta({ description: 'Events after it are still to be gathered.' }),
    isWaiting: z.boolean().meta({ description: 'A mail is under way, or is sent again later.' }),
  })
  .meta({ id: 'MailSubscription' });
export type MailSubscriptionView = z.output<typeof mailSubscriptionSchema>;

export const mailSubscriptionListSchema = z
  .object({ mailSubscriptions: z.array(mailSubscriptionSchema) })
  .meta({ id: 'MailSubscriptionList' });
export type MailSubscriptionList = z.output<typeof mailSubscriptionListSchema>;

export const mailSubscriptionDeletedSchema = z
  .object({ mailSubscriptionId: z.string(), deleted: z.literal(true) })
  .meta({ id: 'MailSubscriptionDeleted' });

export const issuedWebhookSchema = webhookSchema
  .extend({ secret: z.string().meta({ description: 'Only this answer has it: `whsec_` and base64.' }) })
  .meta({ id: 'IssuedWebhook' });
export type IssuedWebhook = z.output<typeof issuedWebhookSchema>;

export const webhookListSchema = z.object({ webhooks: z.array(webhookSchema) }).meta({ id: 'WebhookList' });
export type WebhookList = z.output<typeof webhookListSchema>;

export const webhookDeletedSchema = z
  .object({ webhookId: z.string(), deleted: z.literal(true) })
  .meta({ id: 'WebhookDeleted' });

const LONGEST_OVERLAP_S = 7 * 86_400;
const OVERLAP_RULE = `a whole number from 0 to ${LONGEST_OVERLAP_S}, in seconds`;

export const rotateSecretRequestSchema = z
  .object({
    overlapS: z
      .number(mustBe(OVERLAP_RULE))
      .int()
      .min(0)
      .max(LONGEST_OVERLAP_S)
      .default(86_400)
      .meta({ description: 'Seconds in which the secret before signs too.' }),
  })
  .meta({ id: 'RotateWebhookSecretRequest', examples: [{}, { overlapS: 3600 }] });

export const deliveriesQuerySchema = z.object({
  state: z
    .enum(['dead', 'waiting'])
    .default('dead')
    .meta({ description: '`dead`: given up. `waiting`: failed, and sent again later.' }),
  after: eventIdSchema.default('0').meta({ description: 'Of events after the one with this id.' }),
  limit: digits(
    z
      .number(mustBeText(`an integer from 1 to ${MOST_ROWS}`))
      .int()
      .min(1)
      .max(MOST_ROWS),
  )
    .default(MOST_ROWS)
    .meta({ description: 'Highest number of rows.' }),
});

export const deliveryListSchema = z
  .object({
    deliveries: z.array(
      z
        .object({
          eventId: z.string(),
          locationId: z.string().nullable(),
          attempts: z.number().int(),
          error: z.string().meta({ description: 'Of the last attempt.' }),
          to: z
            .array(z.string())
            .nullable()
            .meta({ description: 'Receivers of a mail that do not have it yet. Null for a webhook.' }),
          diedAt: instantSchema
            .nullable()
            .meta({ description: 'Null for an event that was never given up.' }),
          nextAttemptAt: instantSchema.nullable().meta({ description: 'Null for one that is given up.' }),
        })
        .meta({ id: 'WebhookDelivery' }),
    ),
  })
  .meta({ id: 'WebhookDeliveryList' });
export type DeliveryList = z.output<typeof deliveryListSchema>;

export const replayRequestSchema = z
  .object({
    eventIds: z
      .array(eventIdSchema, mustBe('a list of 1 to 1,000 ids of events'))
      .min(1)
      .max(1_000)
      .nullish()
      .meta({ description: 'Dead letters to send again. Left out: all.' }),
  })
  .meta({ id: 'ReplayRequest', examples: [{}, { eventIds: ['1041'] }] });
