// Serves the OpenAPI and AsyncAPI documents, and the metrics for Prometheus.

import type { Metrics } from '../../../metrics.js';
import { createBearerCheck } from '../../../secrets.js';
import type { AsyncApiDocument } from '../../../wire/asyncapi.js';
import type { OpenApiDocument } from '../../../wire/openapi.js';
import type { Handler } from '../endpoint-handler.js';
import { sendJson, toJson } from '../exchange.js';
import { Refusal } from '../refusal.js';

export const OPENAPI_PATH = '/v1/openapi.json';
export const ASYNCAPI_PATH = '/v1/asyncapi.json';
export const METRICS_PATH = '/metrics';

/** @param create is called once, at the first request: a start does not wait for it */
export function createDescriptionHandler(create: () => OpenApiDocument | AsyncApiDocument): Handler {
  let text: string | undefined;
  return (exchange) => {
    text ??= toJson(create());
    sendJson(exchange, 200, text);
  };
}

/** @param token that a caller has to send; undefined: none is needed */
export function createMetricsHandler({ registry }: Metrics, token: string | undefined): Handler {
  const isAllowed = createBearerCheck(token);
  return async ({ request, response, requestId }) => {
    if (!isAllowed(request.headers.authorization))
      throw new Refusal(
        'UNAUTHORIZED',
        'The figures need their own token: send Authorization: Bearer with the value of HEADROOM_METRICS_TOKEN.',
        { 'www-authenticate': 'Bearer realm="headroom metrics"' },
      );
    const text = await registry.metrics();
    response.setHeader('content-type', registry.contentType);
    response.setHeader('x-request-id', requestId);
    response.end(text);
  };
}
