// `GET /health`: for probes, without a credential.
import { type Health, healthSchema } from '../../../wire/health.js';
import type { EndpointDescription } from '../../../wire/openapi.js';
import type { Handler } from '../endpoint-handler.js';
import { sendJson, toJson } from '../exchange.js';

export const HEALTH_ENDPOINT = {
  operationId: 'getHealth',
  method: 'get',
  path: '/v1/health',
  tag: 'service',
  summary: 'Read the health of the service',
  scope: undefined,
  status: 200,
  responseSchema: healthSchema,
  unavailableSchema: healthSchema,
  errors: [],
} as const satisfies EndpointDescription;

/** 200 while all is well, otherwise 503 with the same body. */
export function createHealthHandler(health: () => Health | Promise<Health>): Handler {
  return async (exchange) => {
    const report = await health();
    sendJson(exchange, report.status === 'ok' ? 200 : 503, toJson(report));
  };
}
