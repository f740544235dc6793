// HTTP answers of a standby node: its own health and metrics. Everything else is forwarded to the active node.
import express, { type Express } from 'express';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Holder, Ownership } from '../../ports/ownership.js';
import type { Health } from '../../wire/health.js';
import { createErrorHandler } from './error-handler.js';
import { type Answer, createReception, type Exchanges } from './exchange.js';
import type { Forwarding } from './forwarding.js';
import { createMetricsHandler, METRICS_PATH } from './routes/documents.js';
import { createHealthHandler, HEALTH_ENDPOINT } from './routes/health.js';

interface StandbyParts extends Exchanges {
  readonly trustProxy: number;
  readonly metricsToken: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly ownership: Pick<Ownership, 'holder'>;
  readonly forwarding: Forwarding;
  readonly health: () => Health | Promise<Health>;
}

const HOLDER_KNOWN_FOR_MS = 250;
/** Shorter, because requests wait for a holder. */
const VACANCY_KNOWN_FOR_MS = 50;

export function createStandbyApp(parts: StandbyParts): Express {
  const { log, metrics, health, forwarding, isStopping } = parts;
  const findHolder = holderOf(parts);
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', parts.trustProxy);
  app.set('query parser', false);
  app.use(createReception(parts));
  const ownHealth = createHealthHandler(health);
  const ownMetrics = createMetricsHandler(metrics, parts.metricsToken);
  app.use((request, response: Answer) => {
    response.locals.route = 'forwarded';
    if (request.path === '/health' || request.path === HEALTH_ENDPOINT.path)
      return ownHealth(request, response);
    if (request.path === METRICS_PATH) return ownMetrics(request, response);
    return forwarding.forward(request, response, { findHolder, isWorthWaiting: () => !isStopping() });
  });
  app.use(createErrorHandler(log));
  return app;
}

/** One look-up of the holder serves all requests for a moment. */
function holderOf({
  clock,
  ownership,
}: Pick<StandbyParts, 'clock' | 'ownership'>): () => Promise<Holder | undefined> {
  let knownUntilMs = 0;
  let found: Promise<Holder | undefined> = Promise.resolve(undefined);
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs < knownUntilMs) return found;
    knownUntilMs = nowMs + HOLDER_KNOWN_FOR_MS;
    found = ownership
      .holder()
      .catch(() => undefined)
      .then((holder) => {
        if (holder?.url === undefined) knownUntilMs = clock.monotonicMs() + VACANCY_KNOWN_FOR_MS;
        return holder;
      });
    return found;
  };
}
