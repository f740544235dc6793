// Format of a recording, one line of JSON for each entry: the initial state of a service, its inputs and its decisions.
import { z } from 'zod';
import { LIMIT_REASONS } from '../../machines/power/grant.js';
import { COMMANDS, QUERIES } from '../../src/application/application.js';

/** Version of the format; a file of another version is refused. */
export const FORMAT = 1;

/** Methods of the store that actors call during a life. */
export const STORE_METHODS = [
  'isOwner',
  'append',
  'revisionSince',
  'loadCredentials',
  'loadTenant',
  'forgetPowerBefore',
] as const;
export type StoreMethod = (typeof STORE_METHODS)[number];

export type WriteCall = keyof typeof COMMANDS;
/** Calls of the application interface that change something; a replay makes them again. */
export const WRITES = Object.keys(COMMANDS) as WriteCall[];

export type ReadCall = keyof typeof QUERIES;
/**
 * Calls of the application interface that only read. A replay makes them again, because a read expires old readings.
 */
export const READS = Object.keys(QUERIES) as ReadCall[];

const count = z.number().int().min(0);
/** Wall clock and monotonic clock, ms: with both, a step of the wall clock is visible. */
const instant = { at: z.number().int(), mono: z.number().min(0) };

const lifeSchema = z.object({
  kind: z.literal('life'),
  format: z.literal(FORMAT),
  version: z.string(),
  /** Settings of `serve`, without the ones that may hold a password. */
  settings: z.record(z.string(), z.unknown()),
  epoch: count,
  timing: z.object({ heartbeatMs: count, ttlMs: count, settleMs: count }),
  powerRetentionDays: z.number(),
});
export type Life = z.output<typeof lifeSchema>;

const inputSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start'), ...instant }),
  z.object({ kind: z.literal('stop'), ...instant }),
  /** From this turn on, the service can reach chargers. */
  z.object({ kind: z.literal('sync'), ...instant }),
  /** The timer that was set as number `n` fired. */
  z.object({ kind: z.literal('timer'), ...instant, n: count }),
  /**
   * Answer to the store call with number `n`. Among the answers are the initial rows of a life and later changes by
   * others.
   */
  z.object({
    kind: z.literal('stored'),
    ...instant,
    n: count,
    method: z.enum(STORE_METHODS),
    answer: z.unknown().optional(),
  }),
  z.object({
    kind: z.literal('unstored'),
    ...instant,
    n: count,
    method: z.enum(STORE_METHODS),
    error: z.object({
      message: z.string(),
      isUnavailable: z.boolean(),
      isOutcomeUnknown: z.boolean(),
    }),
  }),
  /** Message from a charger; `base64` if the payload is not valid UTF-8. */
  z.object({
    kind: z.literal('message'),
    ...instant,
    topic: z.string(),
    text: z.string().optional(),
    base64: z.string().optional(),
  }),
  z.object({
    kind: z.literal('call'),
    ...instant,
    call: z.enum(WRITES),
    tenantUuid: z.string(),
    arguments: z.array(z.unknown()),
  }),
  z.object({
    kind: z.literal('read'),
    ...instant,
    call: z.enum(READS),
    tenantUuid: z.string(),
    arguments: z.array(z.unknown()),
  }),
  /** A listener of the event stream came or left: the service samples power while there is a listener. */
  z.object({
    kind: z.literal('listen'),
    ...instant,
    n: count,
    tenantUuid: z.string(),
    locationId: z.string().optional(),
  }),
  z.object({ kind: z.literal('unlisten'), ...instant, n: count }),
]);
export type Input = z.output<typeof inputSchema>;

/** An identifier that the service generated for an alarm or a cluster. */
const idSchema = z.object({ kind: z.literal('id'), id: z.string() });
/** A limit that the service sent to a charger. */
const limitSchema = z.object({
  kind: z.literal('limit'),
  tenantUuid: z.string(),
  locationId: z.string(),
  controllerUuid: z.string(),
  connectorId: z.string(),
  epoch: count,
  seq: count,
  boot: z.string(),
  ref: count,
  ttlS: z.number(),
  limitA: z.number(),
  limitW: z.number(),
  thenA: z.number(),
  reason: z.enum(LIMIT_REASONS),
});
export type DecidedLimit = Omit<z.output<typeof limitSchema>, 'kind'>;

const schemas = { life: lifeSchema, id: idSchema, limit: limitSchema };
export type Line = Life | Input | z.output<typeof idSchema> | z.output<typeof limitSchema>;

/** The line in `text`; undefined if `text` is not a valid line. */
export function parseLine(text: string): Line | undefined {
  const value = parseJson(text);
  const kind: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'kind') : undefined;
  // A union of all kinds would try every schema for each of a million lines.
  const schema = kind === 'life' || kind === 'id' || kind === 'limit' ? schemas[kind] : inputSchema;
  return schema.safeParse(value).data;
}

/** `text` is the beginning of a file. */
export function isRecording(text: string): boolean {
  return /^\{"kind":"life","format":\d+,/.test(text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
