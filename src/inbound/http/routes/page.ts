// Pages for browsers. Express negotiates encodings, and compares a file with the one that a browser holds.
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Handler } from '../endpoint-handler.js';
import type { Exchange } from '../exchange.js';

interface PageLocals {
  readonly exchange: Exchange;
  readonly fail: (error: unknown) => void;
}

export type PageResponse = Response<unknown, PageLocals & Record<string, unknown>>;

/** A handler that has Express's view of the exchange. */
export function onExpress(show: (request: Request, response: PageResponse) => void): Handler {
  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', false);
  app.use((request: Request, response: PageResponse) => show(request, response));
  // Express recognizes an error handler by its four parameters.
  app.use((error: unknown, _request: Request, response: PageResponse, _next: NextFunction) =>
    response.locals.fail(error),
  );
  return (exchange) =>
    new Promise((_resolve, fail) => {
      app(exchange.request, Object.assign(exchange.response, { locals: { exchange, fail } }));
    });
}
