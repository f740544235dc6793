// A row of the endpoint tables: what the caller sees of an endpoint, and the one function that answers it.
import type { z } from 'zod';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Application } from '../../application/application.js';
import type { Scope } from '../../ports/records.js';
import type { EndpointDescription } from '../../wire/openapi.js';
import { parseBody } from './read-body.js';
import { parseQuery } from './read-query.js';

/** What a handler is given: the tenant of the credential and the raw text of the path's parameters. */
export interface Call {
  readonly application: Application;
  readonly tenantUuid: TenantUuid;
  readonly requestId: string;
  param(name: string): string;
  /** What follows the `?`, empty where there is none. */
  query(): string;
  /** Lets the success say something in its `Warning` header. */
  warn(text: string): void;
}

export interface Endpoint extends EndpointDescription {
  readonly scope: Scope;
  /** The handler returns the same object until the answer changes, so its serialized form may be cached. */
  readonly isAnswerStable?: boolean;
  /** What to tell a caller who tries to DELETE everything. */
  readonly insteadOfDelete?: string;
  /** `body` is undefined where the endpoint takes none. */
  readonly handle: (call: Call, body: unknown) => object | Promise<object>;
}

type Description = Omit<Endpoint, 'handle' | 'requestSchema' | 'querySchema' | 'status'> & {
  readonly status?: 201;
};

export function withoutBody(
  description: Description,
  handle: (call: Call) => object | Promise<object>,
): Endpoint {
  return { status: 200, ...description, handle };
}

export function withBody<S extends z.ZodType>(
  description: Description,
  requestSchema: S,
  handle: (call: Call, body: z.output<S>) => Promise<object>,
): Endpoint {
  return {
    status: 200,
    ...description,
    requestSchema,
    handle: (call, body) => handle(call, parseBody(requestSchema, body)),
  };
}

/** Every parameter of `querySchema` may be left out. */
export function withQuery<S extends z.ZodObject>(
  description: Description,
  querySchema: S,
  handle: (call: Call, query: z.output<S>) => object | Promise<object>,
): Endpoint {
  const unasked = querySchema.parse({});
  return {
    status: 200,
    ...description,
    querySchema,
    handle(call) {
      const text = call.query();
      return handle(call, text === '' ? unasked : parseQuery(querySchema, text));
    },
  };
}
