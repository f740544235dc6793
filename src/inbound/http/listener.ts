// Answers requests: begins the exchange, finds the route by path and method, and answers every error.
import type { RequestListener } from 'node:http';
import { DomainError } from '../../../machines/values/errors.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Handler } from './endpoint-handler.js';
import { createErrorHandler } from './error-handler.js';
import {
  createReception,
  type Exchange,
  type Exchanges,
  type Parameters,
  requireOneReading,
} from './exchange.js';
import { Refusal } from './refusal.js';

/** Method in any case, path with parameters in braces, and handler. */
export type Route = readonly [method: string, path: string, handler: Handler];

interface ListenerParts extends Exchanges {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Number of reverse proxies in front. */
  readonly trustProxy: number;
  readonly routes: readonly Route[];
  /** Answer to a path without a route. */
  readonly nothingAt: (path: string) => string;
  /** Advice to a refused DELETE, by the pattern of its path. */
  readonly insteadOfDelete?: ReadonlyMap<string, string>;
  /** Runs before the route. It may refuse the request, or answer it: then it returns a promise. */
  readonly enter?: (exchange: Exchange) => Promise<void> | undefined;
}

export function createListener(parts: ListenerParts): RequestListener {
  const { routes, nothingAt, insteadOfDelete, enter } = parts;
  const receive = createReception(parts);
  const fail = createErrorHandler(parts.log);
  const places = new Places(routes);

  function answer(exchange: Exchange): void | Promise<void> {
    requireOneReading(exchange);
    return enter?.(exchange) ?? answerAtPlace(exchange);
  }

  function answerAtPlace(exchange: Exchange): void | Promise<void> {
    const { path, request } = exchange;
    const found = places.find(path);
    if (found === undefined) throw new DomainError('NOT_FOUND', nothingAt(path));
    const { pattern, handlers, allow } = found.place;
    exchange.route = pattern;
    exchange.parameters = found.parameters;
    const { method = '' } = request;
    const handler = handlers.get(method);
    if (handler !== undefined) return handler(exchange);
    const advice = (method === 'DELETE' && insteadOfDelete?.get(pattern)) || `use ${allow}.`;
    throw new Refusal('METHOD_NOT_ALLOWED', `${method} is not possible here: ${advice}`, { allow });
  }

  return (request, response) => {
    const exchange = receive(request, response);
    try {
      const answered = answer(exchange);
      if (answered instanceof Promise) answered.catch((error: unknown) => fail(error, exchange));
    } catch (error) {
      fail(error, exchange);
    }
  };
}

/** A path with its methods, and `HEAD` with `GET`. */
class Place {
  readonly pattern: string;
  readonly handlers = new Map<string, Handler>();
  /** Literal segments, and undefined in place of a parameter. */
  readonly #literals: readonly (string | undefined)[];
  readonly #names: readonly string[];

  constructor(pattern: string) {
    this.pattern = pattern;
    const segments = pattern.split('/');
    this.#literals = segments.map((segment) => (segment.startsWith('{') ? undefined : segment));
    this.#names = segments.map((segment) => segment.slice(1, -1));
  }

  get allow(): string {
    return [...this.handlers.keys()].join(', ');
  }

  /** The parameters of a path with as many segments; undefined if it is another path. */
  parametersOf(segments: readonly string[]): Parameters | undefined {
    const parameters: Record<string, string> = {};
    for (let i = 0; i < segments.length; i++) {
      const segment = segments[i] ?? '';
      const literal = this.#literals[i];
      if (literal === undefined ? segment === '' : segment !== literal) return undefined;
      if (literal === undefined) parameters[this.#names[i] ?? ''] = decodeURIComponent(segment);
    }
    return parameters;
  }
}

/** All paths, by their number of segments. */
class Places {
  readonly #bySize = new Map<number, Place[]>();

  constructor(routes: readonly Route[]) {
    const byPattern = new Map<string, Place>();
    for (const [method, pattern, handler] of routes) {
      const place = byPattern.get(pattern) ?? new Place(pattern);
      byPattern.set(pattern, place);
      place.handlers.set(method.toUpperCase(), handler);
    }
    for (const place of byPattern.values()) {
      const handler = place.handlers.get('GET');
      if (handler !== undefined) place.handlers.set('HEAD', handler);
      const size = place.pattern.split('/').length;
      this.#bySize.set(size, [...(this.#bySize.get(size) ?? []), place]);
    }
  }

  find(path: string): { readonly place: Place; readonly parameters: Parameters } | undefined {
    const segments = path.split('/');
    for (const place of this.#bySize.get(segments.length) ?? []) {
      const parameters = place.parametersOf(segments);
      if (parameters !== undefined) return { place, parameters };
    }
    return undefined;
  }
}
