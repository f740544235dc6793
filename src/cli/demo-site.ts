// The demo's tenant as its own API client sees it: a cluster over all locations, and what it draws.
import type { z } from 'zod';
import { clusterDetailSchema, clusterListSchema, clusterSchema } from '../wire/rest.js';

const CLUSTER_NAME = 'Harbour front';
const CLUSTER_LIMIT_KW = 100;

export interface DemoSite {
  readonly clusterId: string;
  /** Each location with its draw and limit, kW, in one line. */
  liveLine(): Promise<string>;
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
    async liveLine() {
      const { liveStatus } = await call(clusterDetailSchema, `/clusters/${clusterId}`);
      const parts = liveStatus.locations.map(
        ({ locationId, actualKw, setLimitKw }) =>
          `${locationId} ${actualKw.toFixed(1)} kW (limit ${setLimitKw})`,
      );
      return [...parts, `together ${liveStatus.actualTotalKw.toFixed(1)} kW`].join('   ');
    },
  };
}
