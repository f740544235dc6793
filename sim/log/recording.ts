// A recording: the event log of a service. Each start is a section, with the initial state as its head. An entry is a
// line of JSON: an input or a decision.
import { z } from 'zod';
import { LIMIT_REASONS } from '../../machines/ledger/grant.js';
import type { TenantUuid } from '../../machines/values/ids.js';
import { SCOPES } from '../../machines/values/scopes.js';
import type { Operation } from '../../src/actors/core.js';
import { ENDPOINTS } from '../../src/features/endpoints.js';
import { OperatorError } from '../../src/ports/operator-error.js';
import { LogFile, type LogPart, partsOf } from './log-file.js';

/** Methods of the store that actors call during a life. */
export const STORE_METHODS = [
  'isOwner',
  'append',
  'revisionSince',
  'loadCredentials',
  'loadTenant',
  'forgetPowerBefore',
  'forgetEnergyBefore',
  'forgetConnectorPowerBefore',
] as const;
export type StoreMethod = (typeof STORE_METHODS)[number];

const idOf = ({ operationId }: Operation) => operationId;
const isRead = ({ method }: Operation) => method === 'get';
/** Operations that change something. */
const WRITES = ENDPOINTS.filter((operation) => !isRead(operation)).map(idOf);
/** Operations that only read. A replay answers them again, because a read expires old readings. */
const READS = ENDPOINTS.filter(isRead).map(idOf);

const count = z.number().int().min(0);
/** Wall clock and monotonic clock, ms: with both, a step of the wall clock is visible. */
const instant = { at: z.number().int(), mono: z.number().min(0) };

/** The input of an operation. */
const asked = {
  tenantUuid: z.string().transform((text) => text as TenantUuid),
  requestId: z.string(),
  by: z.string(),
  scopes: z.array(z.enum(SCOPES)).readonly(),
  path: z.record(z.string(), z.string()),
  body: z.unknown().optional(),
  query: z.unknown().optional(),
  ifMatch: z.string().optional(),
};

const lifeSchema = z.object({
  kind: z.literal('life'),
  version: z.string(),
  /** Settings of `serve`, without the ones that may hold a password. */
  settings: z.record(z.string(), z.unknown()),
  epoch: count,
  timing: z.object({ heartbeatMs: count, ttlMs: count, settleMs: count }),
  powerRetentionDays: z.number(),
  energyRetentionDays: z.number(),
  connectorPowerRetentionDays: z.number(),
  chargerOfflineMs: z.number(),
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
    ...asked,
  }),
  z.object({
    kind: z.literal('read'),
    ...instant,
    call: z.enum(READS),
    ...asked,
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

const outcomeSchemas = { id: idSchema, limit: limitSchema };
export type Line = Input | z.output<typeof idSchema> | z.output<typeof limitSchema>;

/** @throws RangeError for a line of another release */
function parseLine(text: string): Line {
  const value: unknown = JSON.parse(text);
  const kind: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'kind') : undefined;
  // A union of all kinds would try every schema for each of a million lines.
  const schema = kind === 'id' || kind === 'limit' ? outcomeSchemas[kind] : inputSchema;
  const line = schema.safeParse(value).data;
  if (line === undefined)
    throw new RangeError(`this release does not know ${text.slice(0, SHOWN_CHARACTERS)}`);
  return line;
}

const SHOWN_CHARACTERS = 80;

/** One input of the service, and the results of this input. */
export interface RecordedTurn {
  readonly input: Input;
  /** Generated identifiers and sent limits, in order. */
  readonly ids: readonly string[];
  readonly limits: readonly DecidedLimit[];
  /** False for the last turn of a life: its results may be missing from the file. */
  readonly isWhole: boolean;
}

/** `life` begins a life of the service. `cut`: the rest of the life is missing, from the line with this number on. */
export type RecordingPart =
  | { readonly kind: 'life'; readonly life: Life }
  | { readonly kind: 'turn'; readonly turn: RecordedTurn }
  | { readonly kind: 'cut'; readonly line: number };

/** @throws OperatorError if there is no usable recording at `path`, or at its first damaged place. */
export function* readRecording(path: string): Generator<RecordingPart> {
  const file = LogFile.open(path, 'recording');
  try {
    yield* turnsOf(partsOf(file));
  } catch (error) {
    throw new OperatorError(`${path} is damaged (${error instanceof Error ? error.message : error})`);
  } finally {
    file.close();
  }
}

function* turnsOf(parts: Iterable<LogPart>): Generator<RecordingPart> {
  let open: { readonly input: Input; readonly ids: string[]; readonly limits: DecidedLimit[] } | undefined;
  let lines = 0;

  function* finishTurn(isWhole: boolean): Generator<RecordingPart> {
    if (open !== undefined) yield { kind: 'turn', turn: { ...open, isWhole } };
    open = undefined;
  }

  function* take(line: Line): Generator<RecordingPart> {
    if (line.kind === 'id') open?.ids.push(line.id);
    else if (line.kind === 'limit') open?.limits.push(withoutKind(line));
    else {
      yield* finishTurn(true);
      open = { input: line, ids: [], limits: [] };
    }
  }

  for (const { kind, content } of parts) {
    const texts = content.toString().split('\n').slice(0, -1);
    if (kind === 'entries') for (const text of texts) yield* take(parseLine(text));
    else yield* finishTurn(false);
    if (kind === 'head') yield { kind: 'life', life: lifeSchema.parse(JSON.parse(texts.join())) };
    if (kind === 'cut') yield { kind, line: lines + 1 };
    lines += texts.length;
  }
  yield* finishTurn(false);
}

function withoutKind({ kind: _, ...limit }: DecidedLimit & { readonly kind: 'limit' }): DecidedLimit {
  return limit;
}
