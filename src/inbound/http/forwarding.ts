// Forwards a request unchanged to the node that owns its target, over one hop.
// Without such a node the request waits a moment.
import { readFileSync } from 'node:fs';
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { rootCertificates } from 'node:tls';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Holder } from '../../ports/ownership.js';
import { type Exchange, wholeBody } from './exchange.js';
import { FORWARDED_HEADER, type NodeTokens } from './node-tokens.js';
import { Refusal, retryAfter, STANDS_BY, vacant } from './refusal.js';

/** Test seam: a simulator cuts connections between nodes, and advances time while a request waits. */
export interface Hop {
  /** The part of an exchange that is lost on the way to other nodes now; undefined if nothing is. */
  cut(): 'requests' | 'answers' | undefined;
  /** A request arrived that another node has to answer. */
  came(): void;
  /** A request waits for a node that answers it. */
  waits(): void;
  /** The client of a request is gone, with its answer or without. */
  left(): void;
}

interface ForwardingParts {
  readonly seams?: { readonly hop?: Hop };
  readonly config: {
    readonly httpBodyLimitBytes: number;
    /** Nodes may share a self-signed certificate. */
    readonly tlsCert: string | undefined;
  };
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly nodeTokens: NodeTokens;
  /** Milliseconds of silence of the other node before its answer begins, and during it; 15 s and 40 s by default. */
  readonly patience?: { readonly beginMs: number; readonly goOnMs: number };
}

/** The node that has to answer. */
export interface Destination {
  /** The present node; undefined if there is none, or none is known. */
  findHolder(): Promise<Holder | undefined>;
  /** A node may still appear for a request that has waited so long. */
  isWorthWaiting(waitedMs: number): boolean;
}

/**
 * A request waits this long for an active node: longer than a handover takes, and than the lease of a node that died.
 */
const WAIT_AT_MOST_MS = 10_000;
const LOOK_EVERY_MS = 50;
const CONNECT_WITHIN_MS = 1_000;
/**
 * Interval of the check that the asked node is still the holder. That many checks without a holder end the exchange.
 */
const WATCH_EVERY_MS = 250;
const VACANT_AT_MOST = 4;
const COME_AGAIN_AFTER_MS = 1_000;
/**
 * Longer than a node waits for its database before it answers (see transaction.ts and journal.ts), and than a stream is
 * silent. A connection that stays silent for longer is dead, even if neither side closed it.
 */
const PATIENCE = { beginMs: 15_000, goOnMs: 40_000 };

/** After these errors no byte of the request has left this node. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CONNECT_TIMEOUT',
]);
/** RFC 9110 section 7.6.1, and headers that this node writes itself. */
const OF_ONE_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'content-length', FORWARDED_HEADER],
]);

type Outcome = 'answered' | 'refused' | 'lost';

export class Forwarding {
  readonly #parts: ForwardingParts;
  /** Connections are kept for later requests. */
  readonly #plain = new PlainAgent({ keepAlive: true });
  readonly #tls: TlsAgent;
  readonly #hop: Hop | undefined;

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
    this.#hop = parts.seams?.hop;
    const { tlsCert } = parts.config;
    this.#tls = new TlsAgent({
      keepAlive: true,
      ...(tlsCert && { ca: [...rootCertificates, readFileSync(tlsCert, 'utf8')] }),
    });
  }

  close(): void {
    this.#plain.destroy();
    this.#tls.destroy();
  }

  /** @throws Refusal if no node answers in time, or the node was lost with the request. */
  async forward(exchange: Exchange, to: Destination): Promise<void> {
    const { clock, config, metrics } = this.#parts;
    const { request, response } = exchange;
    // One hop: the node that forwarded the request has newer knowledge, or asks again.
    if (request.headers[FORWARDED_HEADER] !== undefined) throw vacant();
    // The client is gone, and `close` would not come any more.
    if (response.destroyed) return;
    // Several listeners wait for its end: the connection, the log, the count of due answers, this and the pipeline.
    response.setMaxListeners(20);
    const leaving = new AbortController();
    this.#hop?.came();
    response.on('close', () => {
      leaving.abort();
      this.#hop?.left();
    });
    const body = await wholeBody(exchange, config.httpBodyLimitBytes);
    const fromMs = clock.monotonicMs();
    while (!leaving.signal.aborted) {
      const holder = await to.findHolder();
      const outcome =
        holder?.url === undefined
          ? 'refused'
          : await this.#ask(holder, holder.url, { exchange, body, leaving, to });
      if (outcome !== 'refused') metrics.forwardedRequests.inc({ outcome });
      if (outcome === 'answered') return;
      if (outcome === 'lost' && request.method !== 'GET' && request.method !== 'HEAD') throw lost();
      const waitedMs = clock.monotonicMs() - fromMs;
      if (waitedMs >= WAIT_AT_MOST_MS || !to.isWorthWaiting(waitedMs)) {
        metrics.forwardedRequests.inc({ outcome: 'vacant' });
        throw outcome === 'lost' ? unreached() : vacant();
      }
      this.#hop?.waits();
      await new Promise<void>((resolve) => clock.after(LOOK_EVERY_MS, resolve));
    }
  }

  async #ask(
    holder: Holder,
    url: string,
    asked: {
      readonly exchange: Exchange;
      readonly body: Buffer | undefined;
      readonly leaving: AbortController;
      readonly to: Destination;
    },
  ): Promise<Outcome> {
    const { exchange, body, leaving, to } = asked;
    const { response } = exchange;
    const cut = this.#hop?.cut();
    if (cut === 'requests') return 'refused';
    const gone = new AbortController();
    const unwatch = this.#watch(holder, to, gone);
    const signal = AbortSignal.any([leaving.signal, gone.signal]);
    try {
      if (cut === 'answers') return await this.#loseAnswer(this.#send(url, { exchange, body }), signal);
      const answer = await this.#send(url, { exchange, body, signal });
      if (answer.headers['x-headroom-role'] === STANDS_BY['x-headroom-role']) {
        answer.resume();
        return 'refused';
      }
      response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers, 'content-length'));
      await pipeline(answer, response);
      return 'answered';
    } catch (error) {
      if (response.headersSent) {
        response.destroy();
        return 'answered';
      }
      return NEVER_SENT.has(codeOf(error)) ? 'refused' : 'lost';
    } finally {
      unwatch();
    }
  }

  /** @returns the answer, once its head is there. Rejects if the other node is silent for too long. */
  #send(
    url: string,
    {
      exchange,
      body,
      signal,
    }: {
      readonly exchange: Exchange;
      readonly body: Buffer | undefined;
      readonly signal?: AbortSignal;
    },
  ): Promise<IncomingMessage> {
    const { patience = PATIENCE, nodeTokens } = this.#parts;
    const { request, response } = exchange;
    const { protocol, hostname, port } = new URL(url);
    const isTls = protocol === 'https:';
    return new Promise((resolve, reject) => {
      const asked = (isTls ? tlsRequest : plainRequest)({
        agent: isTls ? this.#tls : this.#plain,
        // The host of a URL has an IPv6 address in brackets.
        hostname: hostname.replace(/^\[|\]$/g, ''),
        port,
        path: exchange.target,
        method: request.method,
        headers: {
          ...endToEnd(request.headers),
          ...(body === undefined ? {} : { 'content-length': body.length }),
          [FORWARDED_HEADER]: nodeTokens.issue(exchange.address),
        },
        ...(signal === undefined ? {} : { signal }),
      });
      asked.once('socket', (socket) => {
        let isConnecting = socket.connecting;
        let silentForMs = isConnecting ? CONNECT_WITHIN_MS : patience.beginMs;
        const awaitFor = (ms: number) => {
          silentForMs = ms;
          socket.setTimeout(ms);
        };
        const giveUp = () => {
          const { bytesRead } = socket;
          // After a pause of this process, its timers come before the bytes that have arrived meanwhile.
          setImmediate(() => {
            // A slow client pauses the other node, whose silence is no fault then.
            if (response.writableNeedDrain || socket.bytesRead > bytesRead) socket.setTimeout(silentForMs);
            else
              asked.destroy(
                Object.assign(new Error('silence'), { code: isConnecting ? 'CONNECT_TIMEOUT' : 'SILENT' }),
              );
          });
        };
        socket.on('timeout', giveUp);
        asked.once('close', () => socket.off('timeout', giveUp));
        awaitFor(silentForMs);
        if (isConnecting)
          socket.once(isTls ? 'secureConnect' : 'connect', () => {
            isConnecting = false;
            awaitFor(patience.beginMs);
          });
        asked.once('response', (answer) => {
          awaitFor(patience.goOnMs);
          resolve(answer);
        });
      });
      asked.on('error', reject);
      asked.end(body);
    });
  }

  /** The other node executes the request, and its answer is lost: this node waits until it gives up. */
  async #loseAnswer(sent: Promise<IncomingMessage>, signal: AbortSignal): Promise<Outcome> {
    const waits = () => this.#hop?.waits();
    sent.then(
      (answer) =>
        answer
          .on('close', waits)
          .on('error', () => {})
          .resume(),
      waits,
    );
    await new Promise((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener('abort', resolve, { once: true });
    });
    return 'lost';
  }

  /** Ends the exchange once another node is active, or none: the asked node may be frozen, and would never answer. */
  #watch(holder: Holder, to: Destination, gone: AbortController): () => void {
    const { clock } = this.#parts;
    let vacancies = 0;
    const look = async () => {
      const found = await to.findHolder();
      vacancies = found === undefined ? vacancies + 1 : 0;
      const isReplaced = found !== undefined && found.nodeId !== holder.nodeId;
      if (isReplaced || vacancies >= VACANT_AT_MOST) gone.abort();
      else if (!isOver) cancel = clock.after(WATCH_EVERY_MS, look);
    };
    let isOver = false;
    let cancel = clock.after(WATCH_EVERY_MS, look);
    return () => {
      isOver = true;
      cancel();
    };
  }
}

function lost(): Refusal {
  return new Refusal(
    'SERVICE_UNAVAILABLE',
    'The node that took this request was lost before it answered: check for the change before you send it again.',
    retryAfter(COME_AGAIN_AFTER_MS),
  );
}

function unreached(): Refusal {
  return new Refusal(
    'SERVICE_UNAVAILABLE',
    'The node that serves this request does not answer: try again shortly, or ask another node.',
    retryAfter(COME_AGAIN_AFTER_MS),
  );
}

/** All headers but those of one connection. */
function endToEnd(headers: IncomingHttpHeaders, kept?: string): Record<string, string | string[]> {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(/\s*,\s*/);
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    const isPassed = name === kept || !(OF_ONE_HOP.has(name) || named.includes(name));
    if (value !== undefined && isPassed) passed[name] = value;
  }
  return passed;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
