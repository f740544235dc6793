// The HTTP side of `GET /v1/stream`: events of the caller's locations as server-sent events, until the caller loses the right.

import { once } from 'node:events';
import type { z } from 'zod';
import { DomainError } from '../../../../machines/values/errors.js';
import { keepNothing } from '../../../actors/core.js';
import type { Application } from '../../../features/application.js';
import { eventPageSchema, eventsQuerySchema } from '../../../features/events/contract.js';
import { CREDENTIALS_SCOPE, listEvents } from '../../../features/events/events.js';
import type { StreamEvent } from '../../../features/stream-contract.js';
import { followEvents } from '../../../features/stream-views.js';
import { pause } from '../../../pause.js';
import type { Cancel, Clock } from '../../../ports/clock.js';
import type { Log } from '../../../ports/log.js';
import type { Scope } from '../../../ports/records.js';
import { credentialRef } from '../../../secrets.js';
import { wrongParameter } from '../../../wire/plain-errors.js';
import type { Access, Caller } from '../access.js';
import { type Handler, parseBody, parseQuery, type WithApplication } from '../endpoint-handler.js';
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
      const query = parseQuery(querySchema, exchange.query);
      const cursor = cursorOf(query, exchange);
      const { request, response, requestId } = exchange;
      if (request.method === 'HEAD') {
        response.writeHead(200, { ...HEADERS, ...exchange.rateLimit, 'x-request-id': requestId }).end();
        return;
      }
      const stream = { ...parts, application };
      if (query.events === 'live') {
        const { locationId } = query;
        openStream(stream, caller, [SCOPE], exchange, (send) =>
          application.subscribe(caller.tenantUuid, locationId, (event) => send(textOf(event))),
        );
        return;
      }
      return followLog(stream, caller, exchange, { ...query, after: cursor });
    });
  };
}

type StreamQuery = z.output<typeof querySchema>;

/**
 * The id after which the log is read: a client that comes back repeats its first `after`, and has read on since.
 * @throws DomainError INVALID_REQUEST_BODY
 */
function cursorOf({ events, after, type }: StreamQuery, { request }: Exchange): string | undefined {
  if (events === 'live') {
    const name = after !== undefined ? 'after' : type !== undefined ? 'type' : undefined;
    if (name !== undefined) throw wrongParameter(name, 'is for the event log: add events=logged');
    return undefined;
  }
  const lastId = request.headers['last-event-id'];
  if (lastId === undefined || lastId === '') return after;
  return parseBody(eventsQuerySchema.shape.after, lastId, (_, rule) => `Last-Event-ID: ${rule}`);
}

/** No id of an event is as high, so the answer has the newest id and no event. */
const BEYOND_ALL = '9'.repeat(15);
const EVENTS_AT_ONCE = 100;
const WAIT_S = 5;
/** Too many requests of the tenant wait already: their number is bounded. */
const ASK_AGAIN_AFTER_MS = 1_000;

/** Sends the log page by page, each when the client has read the one before. */
async function followLog(
  parts: StreamParts & { readonly application: Application },
  caller: Caller,
  exchange: Exchange,
  { after, type, locationId }: Pick<StreamQuery, 'after' | 'type' | 'locationId'>,
): Promise<void> {
  const { application, clock, log } = parts;
  const { response, requestId } = exchange;
  const { tenantUuid } = caller;
  const left = new AbortController();
  const read = async (query: z.output<typeof eventsQuerySchema>) => {
    const { scopes } = caller;
    const by = credentialRef(caller);
    const asked = {
      tenantUuid,
      requestId,
      by,
      scopes,
      path: {},
      body: undefined,
      query,
      warn: () => {},
      keep: keepNothing,
    };
    return eventPageSchema.parse(await application.answer(listEvents, asked));
  };
  const filter = { type, locationId, limit: EVENTS_AT_ONCE };
  let last = after ?? (await read({ ...filter, after: BEYOND_ALL, waitS: 0 })).last;
  let page = await read({ ...filter, after: last, waitS: 0 });
  if (response.destroyed) return;
  // A client that comes back has the events of its present scopes.
  const scopes = [SCOPE, CREDENTIALS_SCOPE].filter((scope) => caller.scopes.includes(scope));
  const send = openStream(parts, caller, scopes, exchange, () => () => left.abort());
  if (after === undefined) send(`id: ${last}\n\n`);
  try {
    while (!left.signal.aborted) {
      if (!page.isGapless) send(`event: gap\ndata: ${toJson({ after: last })}\n\n`);
      for (const event of page.events) send(`id: ${event.id}\nevent: logged\ndata: ${toJson(event)}\n\n`);
      // An id alone: events that the filter leaves out need not be looked at again.
      if (page.last !== (page.events.at(-1)?.id ?? last)) send(`id: ${page.last}\n\n`);
      last = page.last;
      if (response.writableNeedDrain) await once(response, 'drain', { signal: left.signal });
      const askedAtMs = clock.monotonicMs();
      page = await read({ ...filter, after: last, waitS: WAIT_S });
      if (page.events.length === 0 && clock.monotonicMs() - askedAtMs < ASK_AGAIN_AFTER_MS)
        await pause(clock, ASK_AGAIN_AFTER_MS, left.signal);
    }
  } catch (error) {
    if (left.signal.aborted) return;
    log.info({ err: error, requestId, tenantUuid }, 'a stream of the event log ended: it could not be read');
    response.destroy();
  }
}

/**
 * Begins the answer, and ends it once the caller loses one of the scopes.
 * @throws Refusal RATE_LIMITED, DomainError LOCATION_NOT_FOUND, before anything was sent.
 * @param begin is called with the function that sends; the returned one is called at the end
 */
function openStream(
  { access, openStreams, clock, log }: StreamParts,
  caller: Caller,
  scopes: readonly Scope[],
  { response, requestId, rateLimit }: Exchange,
  begin: (send: (text: string) => void) => () => void,
): (text: string) => void {
  const { tenantUuid } = caller;
  openStreams.requireRoom(tenantUuid);
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
    const [refusal] = scopes.flatMap((scope) => access.refusalNow(caller, scope) ?? []);
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

  const unsubscribe = begin(send);
  const takeOff = openStreams.add(tenantUuid, () => end(stopping()));
  response.on('close', () => {
    unsubscribe();
    takeOff();
    cancelLook();
  });
  response.writeHead(200, { ...HEADERS, ...rateLimit, 'x-request-id': requestId });
  send(`retry: ${COME_AGAIN_AFTER_MS}\n: listening\n\n`);
  cancelLook = clock.after(LOOK_EVERY_MS, look);
  return send;
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
