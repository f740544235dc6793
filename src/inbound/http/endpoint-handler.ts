// The HTTP handler of an endpoint. It checks credential, feature, scope, query and body, in this order.
import type { IncomingMessage } from 'node:http';
import { stringify } from 'csv-stringify/sync';
import express from 'express';
import type { z } from 'zod';
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { type Asked, type Keep, keepNothing, type Operation } from '../../actors/core.js';
import type { Application } from '../../features/application.js';
import type { Grantor } from '../../ports/credentials.js';
import type { Scope } from '../../ports/records.js';
import { credentialRef } from '../../secrets.js';
import { takesKey } from '../../wire/openapi.js';
import { parameterMessage, plainRule, wrongParameter } from '../../wire/plain-errors.js';
import type { Access } from './access.js';
import type { CsvForm, Endpoint } from './endpoint.js';
import { type Exchange, sendCsv, sendJson, toJson, UNREADABLE_BODY, wholeBody } from './exchange.js';
import { type Idempotency, idempotencyKeyOf } from './idempotency.js';
import { type Headers, NO_HEADERS } from './refusal.js';

// Reads and checks a body. A refusal names the field and the rule.
const JSON_TYPES = ['application/json', '+json'];
const FORM_TYPE = 'application/x-www-form-urlencoded';
const ISSUES_SHOWN = 5;

/** Reads a request's body as plain data; a request without one gives an empty object. */
export type BodyReader = (exchange: Exchange) => Promise<unknown>;

/** A reader of JSON, and with `form` of forms too. @throws DomainError UNSUPPORTED_MEDIA_TYPE */
export function createBodyReader(options: {
  readonly limitBytes: number;
  readonly form: boolean;
}): BodyReader {
  const limit = options.limitBytes;
  const readJson = express.json({
    limit,
    strict: false,
    type: JSON_TYPES,
    verify(_request, _response, bytes, charset) {
      if (charset === 'utf-8') textOf(bytes);
    },
  });
  const readForm = express.urlencoded({ limit, extended: false, type: FORM_TYPE });

  const readers = options.form ? [readForm, readJson] : [readJson];

  return async (exchange) => {
    const { headers } = exchange.request;
    const { 'content-length': length, 'transfer-encoding': encoding } = headers;
    const hasBody = encoding !== undefined || (length !== undefined && Number(length) > 0);
    if (!hasBody) return {};
    if (PLAIN_JSON.test(headers['content-type'] ?? '') && headers['content-encoding'] === undefined)
      return plainJson(await wholeBody(exchange, limit));
    for (const read of readers) {
      const body = await bodyBy(read, exchange);
      if (body !== undefined) return body;
    }
    const accepted = options.form ? `${FORM_TYPE} or application/json` : 'application/json';
    throw new DomainError('UNSUPPORTED_MEDIA_TYPE', `Content-Type must be ${accepted}.`);
  };
}

/** Nearly every body has this type and no encoding: body-parser's checks of both cost more than the rest of its work. */
const PLAIN_JSON = /^application\/json(?:; ?charset=utf-8)?$/i;

/** @throws DomainError INVALID_REQUEST_BODY */
function plainJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined) return {};
  const text = textOf(bytes);
  try {
    return JSON.parse(text);
  } catch {
    throw new DomainError('INVALID_REQUEST_BODY', UNREADABLE_BODY);
  }
}

/** It drops a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** RFC 8259 section 8.1. Without this check a name in another encoding would be stored with replaced characters. */
function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new DomainError('INVALID_REQUEST_BODY', 'body: must be encoded in UTF-8');
  }
}

/** The body by a reader of body-parser; undefined if the reader does not read its type. */
function bodyBy(read: ReturnType<typeof express.json>, { request, response }: Exchange): Promise<unknown> {
  const parsed: IncomingMessage & { body?: unknown } = request;
  return new Promise((resolve, reject) => {
    read(parsed, response, (error?: unknown) => (error === undefined ? resolve(parsed.body) : reject(error)));
  });
}

/**
 * `data` by `schema`, unknown fields left out. `describe` makes the message of one issue; its place is empty for the
 * whole. @throws DomainError INVALID_REQUEST_BODY naming each field.
 */
export function parseBody<S extends z.ZodType>(
  schema: S,
  data: unknown,
  describe = (place: string, rule: string) => `${place === '' ? 'body' : place}: ${rule}`,
): z.output<S> {
  const result = schema.safeParse(data, { error: plainRule });
  if (result.success) return result.data;
  const shown = result.error.issues
    .slice(0, ISSUES_SHOWN)
    .map((issue) => describe(issue.path.join('.'), issue.message));
  throw new DomainError('INVALID_REQUEST_BODY', shown.join('; '));
}

// Reads and checks the parameters of a query. A refusal names the parameter.

/** The parameters of `schema`; others are ignored. @throws DomainError INVALID_REQUEST_BODY naming each. */
export function parseQuery<S extends z.ZodObject>(schema: S, text: string): z.output<S> {
  const given = new URLSearchParams(text);
  const known: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const values = given.getAll(name);
    if (values.length > 1) {
      throw wrongParameter(name, 'given more than once; give it once');
    }
    for (const value of values) known[name] = value;
  }
  return parseBody(schema, known, (name, rule) =>
    parameterMessage(name, known[name]?.includes(' ') ? `${rule}; write + as %2B` : rule),
  );
}

export type Handler = (exchange: Exchange) => void | Promise<void>;

/** Answers for a tenant: calls `handle` with this node's application, or forwards to the node that owns the tenant. */
export type WithApplication = (
  tenantUuid: TenantUuid,
  exchange: Exchange,
  handle: (application: Application) => void | Promise<void>,
) => void | Promise<void>;

export interface EndpointParts {
  readonly withApplication: WithApplication;
  readonly access: Access;
  readonly readBody: BodyReader;
  readonly idempotency: Idempotency;
}

/** @param operation of the application, or a function for an endpoint that the node answers */
export function createEndpointHandler<Context>(
  endpoint: Endpoint<Context>,
  operation: Operation | ((asked: Asked, caller: Grantor) => object | Promise<object>),
  { withApplication, access, readBody, idempotency }: EndpointParts,
): Handler {
  const { method, requestSchema, querySchema } = endpoint;
  const unasked = querySchema?.parse({});
  const isKeyed = takesKey(endpoint);
  const serialize = endpoint.isAnswerStable ? createStableSerializer() : toJson;
  return (exchange) => {
    const caller = access.admit(exchange, endpoint.scope);
    const { tenantUuid } = caller;
    const by = credentialRef(caller);
    const key = isKeyed ? idempotencyKeyOf(exchange) : undefined;
    return withApplication(tenantUuid, exchange, (application) => {
      let warning: string | undefined;
      const answerTo = (body: unknown, keep: Keep) => {
        const text = querySchema === undefined ? '' : exchange.query;
        const asked = {
          tenantUuid,
          requestId: exchange.requestId,
          by,
          scopes: caller.scopes,
          path: exchange.parameters,
          body,
          query: querySchema === undefined || text === '' ? unasked : parseQuery(querySchema, text),
          ifMatch: exchange.request.headers['if-match'],
          warn(advice: string) {
            warning = advice;
          },
          keep,
        };
        return typeof operation === 'function'
          ? operation(asked, caller)
          : application.answer(operation, asked);
      };
      const send = (view: object) =>
        endpoint.csv !== undefined && acceptsCsv(exchange)
          ? sendTable(exchange, endpoint.csv, view)
          : sendJson(
              exchange,
              endpoint.status,
              serialize(view),
              headersOf(endpoint, exchange, view, warning),
            );
      if (requestSchema !== undefined && key !== undefined) {
        const answerOf = (view: object) => ({
          status: endpoint.status,
          body: serialize(view),
          headers: headersOf(endpoint, exchange, view, warning),
        });
        return readBody(exchange).then((data) => {
          const body = parseBody(requestSchema, data);
          return idempotency.answer({
            exchange,
            tenantUuid,
            key,
            // An answer with a new secret is for the same credential alone.
            sameness: [method, exchange.path, data, ...(endpoint.scope === SECRETS ? [by] : [])],
            answerOf,
            execute: async (keep) => answerOf(await answerTo(body, keep)),
          });
        });
      }
      const view =
        requestSchema === undefined
          ? answerTo(undefined, keepNothing)
          : readBody(exchange).then((body) => answerTo(parseBody(requestSchema, body), keepNothing));
      return view instanceof Promise ? view.then(send) : send(view);
    });
  };
}

const SECRETS: Scope = 'credentials:write';

function acceptsCsv({ request }: Exchange): boolean {
  return /(^|[\s,])text\/csv\b/i.test(request.headers.accept ?? '');
}

/** A page as a table. `Link` names the next page (RFC 8288), and is left out on the last one. */
function sendTable(exchange: Exchange, { columns, rows }: CsvForm, view: object): void {
  // A spreadsheet would compute a text such as "=1+1", which a charger may have sent.
  const options = { header: true, columns: [...columns], escape_formulas: true, cast: { boolean: String } };
  const { nextCursor } = view as { readonly nextCursor?: string | null };
  sendCsv(
    exchange,
    stringify([...rows(view as never)], options),
    nextCursor == null ? NO_HEADERS : { link: `<${pageAfter(exchange, nextCursor)}>; rel="next"` },
  );
}

function pageAfter({ path, query }: Exchange, cursor: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `${path}?${parameters}`;
}

/** `Location` of a created resource, `ETag`, and the `Warning` of a success. */
function headersOf(
  { status, path, entityTagOf }: Pick<Endpoint, 'status' | 'path' | 'entityTagOf'>,
  { parameters }: Exchange,
  answer: object,
  warning: string | undefined,
): Headers {
  if (status !== 201 && warning === undefined && entityTagOf === undefined) return NO_HEADERS;
  return {
    ...(entityTagOf !== undefined && { etag: entityTagOf(answer as never) }),
    ...(status === 201 && {
      location: `${path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? ''))}/${idOf(answer)}`,
    }),
    ...(warning !== undefined && { warning: warningOf(warning) }),
  };
}

const ID_FIELDS = ['clusterId', 'keyId', 'clientId', 'webhookId', 'muteId', 'mailSubscriptionId'];

/** The id of a created resource. */
function idOf(answer: object): string {
  const [, id] = Object.entries(answer).find(([field]) => ID_FIELDS.includes(field)) ?? [];
  return String(id);
}

/** A longer warning would not fit the headers of some proxies. */
const LONGEST_WARNING = 600;

/** RFC 7234 section 5.5: `Warning: 199 headroom "text"`, in printable ASCII, cut if it is too long. */
function warningOf(text: string): string {
  const printable = text.replace(/[^ -~]/g, '?');
  const isTooLong = printable.length > LONGEST_WARNING;
  const cut = isTooLong ? `${printable.slice(0, LONGEST_WARNING - 3)}...` : printable;
  return `199 headroom "${cut.replace(/["\\]/g, '\\$&')}"`;
}

/** Serializes each object once, and keeps the text for as long as the object exists. */
function createStableSerializer(): (view: object) => string {
  const texts = new WeakMap<object, string>();
  return (view) => {
    const held = texts.get(view);
    if (held !== undefined) return held;
    const text = toJson(view);
    texts.set(view, text);
    return text;
  };
}
