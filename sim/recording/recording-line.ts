// What a recording consists of, a line of JSON each: what a service began with, what reached it, and what it decided.
import { z } from 'zod';
import { LIMIT_REASONS } from '../../machines/power/grant.js';
import { COMMANDS, QUERIES } from '../../src/application/application.js';

/** The number of this way of writing; a file of another is not read. */
export const FORMAT = 1;

/** What a life of the service may ask of its store, as the actors do. */
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
/** Calls of the interface that change something; they are made again when a recording is replayed. */
export const WRITES = Object.keys(COMMANDS) as WriteCall[];

export type ReadCall = keyof typeof QUERIES;
/** And those that only look: they are written down, and not made again. */
export const READS = Object.keys(QUERIES) as ReadCall[];

const count = z.number().int().min(0);
/** When it happened, by the wall clock and by the clock that never jumps: two, so that a step of the first can be seen. */
const instant = { at: z.number().int(), mono: z.number().min(0) };

const lifeSchema = z.object({
  kind: z.literal('life'),
  format: z.literal(FORMAT),
  version: z.string(),
  /** Settings of `serve`; those that may hold a password are left out. */
  settings: z.record(z.string(), z.unknown()),
  epoch: count,
  timing: z.object({ heartbeatMs: count, ttlMs: count, settleMs: count }),
  powerRetentionDays: z.number(),
});
export type Life = z.output<typeof lifeSchema>;

const inputSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start'), ...instant }),
  z.object({ kind: z.literal('stop'), ...instant }),
  /** Chargers can be reached from now on. */
  z.object({ kind: z.literal('sync'), ...instant }),
  /** The `n`th timer that was set, fired. */
  z.object({ kind: z.literal('timer'), ...instant, n: count }),
  /** The `n`th call of the store was answered: the rows a life begins with, and what others change later, among them. */
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
  /** Of a charger; `base64` where it is no text. */
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
  /** Somebody began to listen to the stream of events, or stopped: the service samples power while anybody does. */
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

/** An identifier the service made, for an alarm or a cluster. */
const idSchema = z.object({ kind: z.literal('id'), id: z.string() });
/** A limit that left for a charger: what the service decided. */
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

/** The line in `text`; undefined where there is none. */
export function parseLine(text: string): Line | undefined {
  const value = parseJson(text);
  const kind: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'kind') : undefined;
  // A union of all would try every one of them, for each of a million lines.
  const schema = kind === 'life' || kind === 'id' || kind === 'limit' ? schemas[kind] : inputSchema;
  return schema.safeParse(value).data;
}

/** Whether a file that begins with `text` is a recording. */
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
