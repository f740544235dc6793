// From a row of the endpoint table to an Express handler: credential, feature, scope, body, answer, in this order.
import type { Request } from 'express';
import type { Application } from '../../../application/application.js';
import type { Scope } from '../../../ports/records.js';
import type { Caller } from '../authenticate.js';
import type { Call, Endpoint } from '../endpoint-row.js';
import { type Answer, sendJson } from '../exchange.js';
import type { BodyReader } from '../read-body.js';
import { queryOf } from '../read-query.js';
import { type Headers, NO_HEADERS } from '../refusal.js';

/** A longer warning would not fit the headers of some proxies. */
const LONGEST_WARNING = 600;

export interface EndpointParts {
  readonly application: Application;
  readonly authenticate: (request: Request) => Caller;
  readonly authorize: (caller: Caller, scope: Scope) => void;
  readonly readBody: BodyReader;
}

export type Handler = (request: Request, response: Answer) => void | Promise<void>;

export function createEndpointHandler(endpoint: Endpoint, parts: EndpointParts): Handler {
  const { application, authenticate, authorize, readBody } = parts;
  const serialize = endpoint.isAnswerStable ? createStableSerializer() : JSON.stringify;

  function send(response: Answer, view: object, warnings: Headers): void {
    const headers = headersOf(endpoint, view);
    const all = warnings === NO_HEADERS ? headers : { ...headers, ...warnings };
    sendJson(response, endpoint.status, serialize(view), all);
  }

  return (request, response) => {
    const caller = authenticate(request);
    response.locals.tenantUuid = caller.tenantUuid;
    authorize(caller, endpoint.scope);
    let warnings = NO_HEADERS;
    const call: Call = {
      application,
      tenantUuid: caller.tenantUuid,
      requestId: response.locals.requestId,
      param: (name) => paramOf(request, name),
      query: () => queryOf(request.url),
      warn(text) {
        warnings = warningOf(text);
      },
    };
    if (endpoint.requestSchema !== undefined) {
      return readBody(request, response)
        .then((body) => endpoint.handle(call, body))
        .then((view) => send(response, view, warnings));
    }
    const view = endpoint.handle(call, undefined);
    if (view instanceof Promise) return view.then((answer) => send(response, answer, warnings));
    send(response, view, warnings);
  };
}

function paramOf(request: Request, name: string): string {
  const value = request.params[name];
  return typeof value === 'string' ? value : '';
}

/** A resource that was created says where it is. */
function headersOf(endpoint: Endpoint, view: object): Headers {
  if (endpoint.status !== 201 || !('clusterId' in view)) return NO_HEADERS;
  return { location: `${endpoint.path}/${view.clusterId}` };
}

/**
 * The header of a success that its caller should think about once more (RFC 7234 section 5.5):
 * `Warning: 199 headroom "text"`, in printable ASCII, cut where it is too long.
 */
function warningOf(text: string): Headers {
  const printable = text.replace(/[^ -~]/g, '?');
  const isTooLong = printable.length > LONGEST_WARNING;
  const cut = isTooLong ? `${printable.slice(0, LONGEST_WARNING - 3)}...` : printable;
  return { warning: `199 headroom "${cut.replace(/["\\]/g, '\\$&')}"` };
}

/** Serializes each object once, and keeps the text for as long as the object exists. */
function createStableSerializer(): (view: object) => string {
  const texts = new WeakMap<object, string>();
  return (view) => {
    const held = texts.get(view);
    if (held !== undefined) return held;
    const text = JSON.stringify(view);
    texts.set(view, text);
    return text;
  };
}
