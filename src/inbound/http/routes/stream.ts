// The HTTP side of `GET /v1/stream`: events of the caller's locations as server-sent events, until the caller loses the right.

import { DomainError } from '../../../../machines/values/errors.js';
import type { Application } from '../../../features/application.js';
import type { StreamEvent } from '../../../features/stream-contract.js';
import { followEvents } from '../../../features/stream-views.js';
import type { Cancel, Clock } from '../../../ports/clock.js';
import type { Log } from '../../../ports/log.js';
import type { Access, Caller } from '../access.js';
import { type Handler, parseQuery, type WithApplication } from '../endpoint-handler.js';
import { type Exchange, toJson } from '../exchange.js';
import type { OpenStreams } from '../open-streams.js';
import { API_SECURITY_HEADERS } from '../security-headers.js';

const { scope: SCOPE, querySchema } = followEvents;

/** A client with more than this unread is too slow: it is disconnected, and may connect again. */
const UNREAD_AT_MOST_BYTES = 4 * 1024 * 1024;
const LOOK_EVERY_MS = 1_000;
const LOOKS_PER_HEARTBEAT = 15;
const COME_AGAIN_AFTER_MS = 3_000;

const HEADERS = {
  ...API_SECURITY_HEADERS,
  'cache-control': 'no-store',
  'content-type': 'text/event-stream; charset=utf-8',
  // Asks proxies not to buffer the answer.
  'x-accel-buffering': 'no',
  // A stream is the last answer of its connection.
  connection: 'close',
};

export interface StreamParts {
  readonly withApplication: WithApplication;
  readonly access: Access;
  readonly openStreams: OpenStreams;
  readonly clock: Clock;
  readonly log: Log;
}

export function createStreamHandler(parts: StreamParts): Handler {
  return (exchange) => {
    const caller = parts.access.admit(exchange, SCOPE);
    return parts.withApplication(caller.tenantUuid, exchange, (application) => {
      const { locationId } = parseQuery(querySchema, exchange.query);
      const { request, response, requestId } = exchange;
      if (request.method === 'HEAD') {
        response.writeHead(200, { ...HEADERS, 'x-request-id': requestId }).end();
        return;
      }
      parts.openStreams.requireRoom(caller.tenantUuid);
      openStream({ ...parts, application }, caller, locationId, exchange);
    });
  };
}

/** @throws DomainError LOCATION_NOT_FOUND, before anything was sent. */
function openStream(
  { application, access, openStreams, clock, log }: StreamParts & { readonly application: Application },
  caller: Caller,
  locationId: string | undefined,
  { response, requestId }: Exchange,
): void {
  const { tenantUuid } = caller;
  let looksLeft = LOOKS_PER_HEARTBEAT;
  let cancelLook: Cancel = () => {};

  function send(text: string): void {
    if (response.writableEnded || response.destroyed) return;
    if (response.writableLength > UNREAD_AT_MOST_BYTES) {
      log.info({ requestId, tenantUuid }, 'a stream was cut: its client reads too slowly');
      response.destroy();
      return;
    }
    response.write(text);
  }

  function end({ code, message }: DomainError): void {
    send(`event: closed\ndata: ${toJson({ code, message, requestId })}\n\n`);
    response.end();
  }

  function look(): void {
    const refusal = access.refusalNow(caller, SCOPE);
    if (refusal !== undefined) {
      end(refusal);
      return;
    }
    if (--looksLeft === 0) {
      looksLeft = LOOKS_PER_HEARTBEAT;
      send(': heartbeat\n\n');
    }
    cancelLook = clock.after(LOOK_EVERY_MS, look);
  }

  const unsubscribe = application.subscribe(tenantUuid, locationId, (event) => send(textOf(event)));
  const takeOff = openStreams.add(tenantUuid, () => end(stopping()));
  response.on('close', () => {
    unsubscribe();
    takeOff();
    cancelLook();
  });
  response.writeHead(200, { ...HEADERS, 'x-request-id': requestId });
  send(`retry: ${COME_AGAIN_AFTER_MS}\n: listening\n\n`);
  cancelLook = clock.after(LOOK_EVERY_MS, look);
}

// All listeners get the same event object, so it is serialized once.
const texts = new WeakMap<StreamEvent, string>();

function textOf(event: StreamEvent): string {
  const held = texts.get(event);
  if (held !== undefined) return held;
  const text = `id: ${event.id}\nevent: ${event.event}\ndata: ${toJson(event.data)}\n\n`;
  texts.set(event, text);
  return text;
}

function stopping(): DomainError {
  return new DomainError('SERVICE_UNAVAILABLE', 'The service is shutting down: connect again shortly.');
}
