// Builds the OpenAPI 3.1 document from the schemas that check the requests.
import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiResponsesObject } from 'zod-openapi';
import type { ErrorCode } from '../../machines/values/errors.js';
import { errorEnvelopeSchema, HTTP_STATUS } from './error-envelope.js';
import { prioritySchema } from './rest.js';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** One endpoint from its caller's point of view. */
export interface EndpointDescription {
  readonly operationId: string;
  readonly method: Method;
  /** From the root, parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** Undefined if no credential is needed. */
  readonly scope: string | undefined;
  readonly requestSchema?: z.ZodType | undefined;
  readonly querySchema?: z.ZodObject | undefined;
  /** An addition of this service beyond the contract. */
  readonly isExtension?: boolean;
  /** Media types of the request body; JSON by default. */
  readonly consumes?: readonly string[];
  readonly status: 200 | 201;
  readonly responseSchema: z.ZodType;
  /** Media type of the answer; JSON by default. */
  readonly produces?: string;
  /** The answer is also there as CSV, with these columns. */
  readonly csv?: { readonly columns: readonly string[] };
  /** A success has an `ETag`. */
  readonly entityTagOf?: unknown;
  /** A PUT that takes an `Idempotency-Key`, as each POST does: a late repetition would undo a later request. */
  readonly isKeyed?: boolean;
  /** A success may carry a `Warning` header. */
  readonly mayWarn?: boolean;
  /** Codes of this endpoint alone; those of credentials, bodies and faults are added. */
  readonly errors: readonly ErrorCode[];
  /** By default the error envelope. */
  readonly errorSchema?: z.ZodType;
  /** Body of a 503 that is no error. */
  readonly unavailableSchema?: z.ZodType;
}

/** Path parameters that are no identifiers. */
const PATH_PARAMETERS: Readonly<Record<string, z.ZodType>> = { priority: prioritySchema };

export type OpenApiDocument = ReturnType<typeof createDocument>;

const JSON_TYPE = 'application/json';

const OF_CREDENTIALS = ['UNAUTHORIZED', 'FEATURE_NOT_ENABLED', 'INSUFFICIENT_SCOPE', 'RATE_LIMITED'] as const;
const OF_BODIES = ['INVALID_REQUEST_BODY', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const;
const OF_HEADERS = ['INVALID_REQUEST_BODY'] as const;
const OF_QUERIES = ['INVALID_REQUEST_BODY'] as const;
const OF_KEYS = ['REQUEST_IN_PROGRESS', 'IDEMPOTENCY_KEY_REUSED'] as const;
const OF_FAULTS = ['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'] as const;

const REQUEST_ID = z.uuid().meta({
  description: 'Id of the request, as in the log and in error.requestId.',
  header: { id: 'RequestId' },
});
const WAIT = z.string().meta({
  description: 'Seconds to wait before trying again.',
  header: { id: 'RetryAfter' },
});
const WARNING = z
  .string()
  .optional()
  .meta({
    description: 'The written limit does not fit: `199 headroom "..."` (RFC 7234 section 5.5).',
    header: { id: 'Warning' },
  });
const NEXT_PAGE = z
  .string()
  .optional()
  .meta({
    description: 'Of CSV alone: the address of the next page, with `rel="next"` (RFC 8288).',
    header: { id: 'NextPage' },
  });
const IDEMPOTENCY_KEY = z
  .string()
  .optional()
  .meta({
    description:
      'A new random text for each new request, in quotes. A repeated request gets the first answer for 24 hours (draft-ietf-httpapi-idempotency-key-header).',
    examples: ['"8e03978e-40d5-43e8-bc93-6894a57f9324"'],
  });
const REPLAYED = z
  .string()
  .optional()
  .meta({
    description: '`true`: the recorded answer to the first request with this Idempotency-Key.',
    header: { id: 'IdempotentReplayed' },
  });
const RATE_LIMITS = {
  'RateLimit-Policy': z.string().meta({
    description:
      'Requests of the tenant in a window of seconds: `"tenant";q=20000;w=2` (draft-ietf-httpapi-ratelimit-headers).',
    header: { id: 'RateLimitPolicy' },
  }),
  RateLimit: z.string().meta({
    description: 'Requests left, and seconds until there are more: `"tenant";r=19999;t=1`.',
    header: { id: 'RateLimit' },
  }),
};
const IF_MATCH = z
  .string()
  .optional()
  .meta({ description: 'The ETag that was read: a change since then is answered with 412 (RFC 9110).' });
const ENTITY_TAG = z.string().meta({
  description: 'For If-Match of a change. Live figures do not count.',
  header: { id: 'ETag' },
});
const HEADERS_OF: Readonly<Record<number, Record<string, z.ZodType>>> = {
  401: { 'WWW-Authenticate': z.string().meta({ description: 'Ways to sign in.' }) },
  429: { 'Retry-After': WAIT },
  503: { 'Retry-After': WAIT },
};

/** The document of `endpoints`; `version` is the software's, the interface is version 1. */
export function createOpenApiDocument(
  endpoints: readonly EndpointDescription[],
  version: string,
): OpenApiDocument {
  const paths: Record<string, Partial<Record<Method, ZodOpenApiOperationObject>>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Headroom',
        version,
        description:
          'Charging power limits in kW over time, for locations, connectors, organizations and clusters of locations.',
      },
      servers: [{ url: '/' }],
      paths,
      components: { securitySchemes: securitySchemesOf(endpoints) },
    },
    { override: ({ jsonSchema, io }) => shorten(jsonSchema, io) },
  );
}

/**
 * Removes additions of zod that a reader does not need: the pattern of a
 * UUID, and in answers the bounds of the number type.
 */
function shorten(
  schema: { format?: unknown; pattern?: unknown; minimum?: unknown; maximum?: unknown },
  io: 'input' | 'output',
): void {
  if (schema.format === 'uuid') delete schema.pattern;
  // In requests the bounds are rules.
  if (io === 'input') return;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

function securitySchemesOf(endpoints: readonly EndpointDescription[]) {
  const scopes: Record<string, string> = {};
  for (const { scope, summary } of endpoints) {
    if (scope !== undefined) scopes[scope] = scopes[scope] ? `${scopes[scope]}; ${summary}` : summary;
  }
  return {
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    oauth2: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/v1/oauth/token', scopes } } },
  } as const;
}

function operationOf(endpoint: EndpointDescription): ZodOpenApiOperationObject {
  const { operationId, summary, tag, scope, requestSchema, consumes = [JSON_TYPE] } = endpoint;
  return {
    operationId,
    summary,
    tags: [tag],
    security: scope === undefined ? [] : [{ apiKey: [scope] }, { oauth2: [scope] }],
    ...(scope !== undefined && { description: `Needs the scope \`${scope}\`.` }),
    ...(endpoint.isExtension === true && { 'x-headroom-extension': true }),
    ...parametersOf(endpoint),
    ...(requestSchema && {
      requestBody: {
        required: true,
        content: Object.fromEntries(consumes.map((type) => [type, { schema: requestSchema }])),
      },
    }),
    responses: responsesOf(endpoint),
  };
}

/** A token changes nothing, so its requests are repeated without a key. */
export function takesKey({ method, scope, isKeyed = method === 'post' }: EndpointDescription): boolean {
  return isKeyed && scope !== undefined;
}

function takesIfMatch({ errors }: EndpointDescription): boolean {
  return errors.includes('PRECONDITION_FAILED');
}

function parametersOf(endpoint: EndpointDescription): Pick<ZodOpenApiOperationObject, 'requestParams'> {
  const { path, querySchema } = endpoint;
  const headers = {
    ...(takesKey(endpoint) && { 'Idempotency-Key': IDEMPOTENCY_KEY }),
    ...(takesIfMatch(endpoint) && { 'If-Match': IF_MATCH }),
  };
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [
    name,
    PATH_PARAMETERS[name] ?? z.string(),
  ]);
  const hasHeaders = Object.keys(headers).length > 0;
  if (names.length === 0 && querySchema === undefined && !hasHeaders) return {};
  return {
    requestParams: {
      ...(names.length > 0 && { path: z.object(Object.fromEntries(names)) }),
      ...(querySchema && { query: querySchema }),
      ...(hasHeaders && { header: z.object(headers) }),
    },
  };
}

function responsesOf(endpoint: EndpointDescription): ZodOpenApiResponsesObject {
  const { status, responseSchema, produces, errorSchema = errorEnvelopeSchema } = endpoint;
  const responses: ZodOpenApiResponsesObject = {
    [`${status}`]: responseOf(
      status,
      endpoint.summary,
      responseSchema,
      produces,
      {
        ...(endpoint.mayWarn === true && { Warning: WARNING }),
        ...(endpoint.csv && { Link: NEXT_PAGE }),
        ...(takesKey(endpoint) && { 'Idempotent-Replayed': REPLAYED }),
        ...(endpoint.entityTagOf !== undefined && { ETag: ENTITY_TAG }),
        ...(endpoint.scope !== undefined && RATE_LIMITS),
      },
      endpoint.csv,
    ),
  };
  for (const [failure, codes] of failuresOf(endpoint)) {
    const schema = failure === HTTP_STATUS.SERVICE_UNAVAILABLE ? endpoint.unavailableSchema : undefined;
    responses[`${failure}`] = responseOf(failure, codes.join(', '), schema ?? errorSchema);
  }
  return responses;
}

type FailureStatus = (typeof HTTP_STATUS)[ErrorCode];

function failuresOf(endpoint: EndpointDescription): ReadonlyMap<FailureStatus, readonly ErrorCode[]> {
  const failures = new Map<FailureStatus, readonly ErrorCode[]>();
  const codes = new Set<ErrorCode>([
    ...(endpoint.requestSchema ? OF_BODIES : []),
    ...(endpoint.querySchema ? OF_QUERIES : []),
    ...(endpoint.scope === undefined ? [] : OF_CREDENTIALS),
    ...(takesKey(endpoint) ? OF_KEYS : []),
    ...(takesIfMatch(endpoint) ? OF_HEADERS : []),
    ...endpoint.errors,
    ...OF_FAULTS,
  ]);
  for (const code of codes)
    failures.set(HTTP_STATUS[code], [...(failures.get(HTTP_STATUS[code]) ?? []), code]);
  return failures;
}

function responseOf(
  status: number,
  description: string,
  schema: z.ZodType,
  type = JSON_TYPE,
  headers?: Record<string, z.ZodType>,
  csv?: EndpointDescription['csv'],
) {
  return {
    description,
    headers: z.object({ 'x-request-id': REQUEST_ID, ...HEADERS_OF[status], ...headers }),
    content: {
      [type]: { schema },
      ...(csv && { 'text/csv': { schema: csvSchema(schema, csv) } }),
    },
  };
}

function csvSchema(schema: z.ZodType, { columns }: NonNullable<EndpointDescription['csv']>): z.ZodType {
  return z.string().meta({ id: `${schema.meta()?.id}Csv`, description: `Columns: ${columns.join(', ')}.` });
}
