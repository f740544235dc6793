// HTTP answers of a front: its own health and metrics. The nodes serve everything else.
import type { RequestListener } from 'node:http';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Health } from '../../wire/health.js';
import type { Exchanges } from './exchange.js';
import { createListener } from './listener.js';
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

export function createFrontApp(parts: FrontParts): RequestListener {
  const health = createHealthHandler(parts.health);
  return createListener({
    ...parts,
    routes: [
      ['get', '/health', health],
      ['get', HEALTH_ENDPOINT.path, health],
      ['get', METRICS_PATH, createMetricsHandler(parts.metrics, parts.metricsToken)],
    ],
    nothingAt: (path) =>
      `There is nothing at ${path}: this is a front, for chargers over MQTT. The API is at the nodes.`,
  });
}
