// What describes the service to people and tools: OpenAPI and its page, AsyncAPI, and the figures for Prometheus.
import type { RequestHandler } from 'express';
import { serveFiles, setup } from 'swagger-ui-express';
import type { Metrics } from '../../../metrics.js';
import type { AsyncApiDocument } from '../../../wire/asyncapi.js';
import type { OpenApiDocument } from '../../../wire/openapi.js';
import { sendJson } from '../exchange.js';
import { DOCS_SECURITY_HEADERS } from '../security-headers.js';
import type { Handler } from './endpoint.js';

export const OPENAPI_PATH = '/v1/openapi.json';
export const ASYNCAPI_PATH = '/v1/asyncapi.json';
export const DOCS_PATH = '/docs';
export const METRICS_PATH = '/metrics';

export function createDescriptionHandler(document: OpenApiDocument | AsyncApiDocument): Handler {
  const text = JSON.stringify(document);
  return (_request, response) => sendJson(response, 200, text);
}

/** Swagger UI from this server's own files. `validatorUrl: null` keeps it from showing the document to others. */
export function createDocsHandlers(): RequestHandler[] {
  const options = {
    swaggerUrl: OPENAPI_PATH,
    swaggerOptions: { validatorUrl: null },
    customSiteTitle: 'Headroom API',
  };
  const withHeaders: RequestHandler = (_request, response, next) => {
    response.locals.route = DOCS_PATH;
    response.set({ ...DOCS_SECURITY_HEADERS, 'x-request-id': response.locals.requestId });
    next();
  };
  return [withHeaders, ...serveFiles(undefined, options), setup(undefined, options)];
}

export function createMetricsHandler({ registry }: Metrics): Handler {
  return async (_request, response) => {
    const text = await registry.metrics();
    response.set({ 'content-type': registry.contentType, 'x-request-id': response.locals.requestId });
    response.end(text);
  };
}
