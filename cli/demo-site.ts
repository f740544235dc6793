// The demo's tenant through the API: a cluster over all locations, and the power of each.
import type { z } from 'zod';
import { countReasons, type FleetConnector, formatReasons } from '../sim/charger/fleet.js';
import { clusterDetailSchema, clusterListSchema, clusterSchema } from '../src/wire/rest.js';

const CLUSTER_NAME = 'Harbour front';
const CLUSTER_LIMIT_KW = 100;

export interface DemoSite {
  readonly clusterId: string;
  /**
   * A line for each location: power and limit in kW, and the reasons of its connectors' limits. The last line is the
   * total.
   */
  liveLines(connectors: readonly FleetConnector[]): Promise<readonly string[]>;
}

/** Finds or creates the demo's cluster over REST. */
export async function openDemoSite(options: {
  readonly httpUrl: string;
  readonly apiKey: string;
  readonly locationIds: readonly string[];
}): Promise<DemoSite> {
  async function call<S extends z.ZodType>(schema: S, path: string, body?: object): Promise<z.output<S>> {
    const response = await fetch(`${options.httpUrl}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': options.apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return schema.parse(await response.json());
  }

  const { clusters } = await call(clusterListSchema, '/clusters');
  const { clusterId } =
    clusters.find(({ name }) => name === CLUSTER_NAME) ??
    (await call(clusterSchema, '/clusters', {
      name: CLUSTER_NAME,
      locationIds: options.locationIds,
      limitKw: CLUSTER_LIMIT_KW,
    }));
  return {
    clusterId,
    async liveLines(connectors) {
      const { liveStatus } = await call(clusterDetailSchema, `/clusters/${clusterId}`);
      const { locations, actualTotalKw, clusterLimitKw } = liveStatus;
      const lines = locations.map(({ locationId, actualKw, effectiveLimitKw }) => {
        const reasons = countReasons(connectors.filter((connector) => connector.locationId === locationId));
        return `${formatDraw(locationId, actualKw, effectiveLimitKw)}   ${formatReasons(reasons)}`;
      });
      return [...lines, formatDraw('together', actualTotalKw, clusterLimitKw)];
    },
  };
}

function formatDraw(name: string, actualKw: number, limitKw: number | null): string {
  const limit = limitKw === null ? '' : ` of ${limitKw.toFixed(1).padStart(5)}`;
  return `${name.padEnd(16)}${actualKw.toFixed(1).padStart(6)}${limit} kW`;
}
