// HTTP answers of a front: its own health and metrics. The nodes serve everything else.
import express, { type Express } from 'express';
import { DomainError } from '../../../machines/values/errors.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Health } from '../../wire/health.js';
import { createErrorHandler } from './error-handler.js';
import { createReception, type Exchanges } from './exchange.js';
import { createMetricsHandler, METRICS_PATH } from './routes/documents.js';
import { createHealthHandler, HEALTH_ENDPOINT } from './routes/health.js';

interface FrontParts extends Exchanges {
  readonly trustProxy: number;
  readonly metricsToken: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: () => Health;
}

export function createFrontApp(parts: FrontParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', parts.trustProxy);
  app.set('query parser', false);
  app.use(createReception(parts));
  app.get(['/health', HEALTH_ENDPOINT.path], createHealthHandler(parts.health));
  app.get(METRICS_PATH, createMetricsHandler(parts.metrics, parts.metricsToken));
  app.use((request) => {
    throw new DomainError(
      'NOT_FOUND',
      `There is nothing at ${request.path}: this is a front, for chargers over MQTT. The API is at the nodes.`,
    );
  });
  app.use(createErrorHandler(parts.log));
  return app;
}
