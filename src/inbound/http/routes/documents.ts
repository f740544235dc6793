// What describes the service to tools: OpenAPI, AsyncAPI, and the figures for Prometheus.
import type { Metrics } from '../../../metrics.js';
import type { AsyncApiDocument } from '../../../wire/asyncapi.js';
import { toJson } from '../../../wire/json.js';
import type { OpenApiDocument } from '../../../wire/openapi.js';
import type { Handler } from '../endpoint.js';
import { sendJson } from '../exchange.js';

export const OPENAPI_PATH = '/v1/openapi.json';
export const ASYNCAPI_PATH = '/v1/asyncapi.json';
export const METRICS_PATH = '/metrics';

/** @param create is asked once, when somebody asks for it first: no start waits for what few read. */
export function createDescriptionHandler(create: () => OpenApiDocument | AsyncApiDocument): Handler {
  let text: string | undefined;
  return (_request, response) => {
    text ??= toJson(create());
    sendJson(response, 200, text);
  };
}

export function createMetricsHandler({ registry }: Metrics): Handler {
  return async (_request, response) => {
    const text = await registry.metrics();
    response.set({ 'content-type': registry.contentType, 'x-request-id': response.locals.requestId });
    response.end(text);
  };
}
