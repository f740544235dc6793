// An operator in a world: sends what the contract offers, and tells the oracle what was accepted.
import type { LimitOracle, NewProfile } from './limit-oracle.js';
import type { RestAnswer } from './rest-client.js';
import type { World } from './world.js';

/** Every function resolves to what the service answered, and has the oracle know of it where it was accepted. */
export interface Operator {
  scheduleLocation(locationId: string, profile: NewProfile): Promise<RestAnswer>;
  setPermanentLimit(locationId: string, limitKw: number): Promise<RestAnswer>;
  scheduleConnector(controllerUuid: string, connectorId: string, profile: NewProfile): Promise<RestAnswer>;
  createCluster(locationIds: readonly string[], limitKw: number): Promise<RestAnswer>;
}

const STEP_MS = 1_000;

/** @param horizonMs the longest that a limit given before may still be in force (rule 10). */
export function createOperator(world: World, horizonMs: number): Operator {
  const { oracle, watch } = world;

  function highestAhead(locationId: string): number {
    let highestW = 0;
    for (let ms = 0; ms <= horizonMs; ms += STEP_MS) {
      highestW = Math.max(highestW, oracle.limitW(locationId, world.nowMs() + ms));
    }
    return highestW;
  }

  /** Who was told a higher limit before may keep to it until that has run out; never above the connection. */
  async function limiting(
    locationId: string,
    request: () => Promise<RestAnswer>,
    learn: (oracle: LimitOracle, atMs: number) => void,
  ): Promise<RestAnswer> {
    const beforeW = highestAhead(locationId);
    const answer = await request();
    if (answer.status === 200) learn(oracle, world.nowMs());
    // Unanswered, it may have been written all the same: both are allowed for as long as either may be in force.
    if (answer.status !== 400) watch.grant(locationId, beforeW, world.nowMs() + horizonMs);
    return answer;
  }

  return {
    scheduleLocation: (locationId, profile) =>
      limiting(
        locationId,
        () => world.call('POST', `/locations/${locationId}/schedules`, profile),
        (known, atMs) => known.submit(locationId, profile, atMs),
      ),
    setPermanentLimit: (locationId, limitKw) =>
      limiting(
        locationId,
        () => world.call('PUT', `/locations/${locationId}/limit`, { limitKw }),
        (known, atMs) => known.setPermanent(locationId, limitKw, atMs),
      ),
    async scheduleConnector(controllerUuid, connectorId, profile) {
      const path = `/chargers/${controllerUuid}/connectors/${connectorId}/schedules`;
      const answer = await world.call('POST', path, profile);
      if (answer.status === 200) oracle.lock(`${controllerUuid}/${connectorId}`, profile, world.nowMs());
      return answer;
    },
    async createCluster(locationIds, limitKw) {
      const answer = await world.call('POST', '/clusters', { name: 'cluster', locationIds, limitKw });
      const created = answer.body;
      if (
        answer.status !== 201 ||
        typeof created !== 'object' ||
        created === null ||
        !('clusterId' in created)
      ) {
        return answer;
      }
      const clusterId = String(created.clusterId);
      const beforeW = locationIds.reduce((sum, locationId) => sum + highestAhead(locationId), 0);
      oracle.clusters.set(clusterId, { limitKw, isActive: true, locationIds });
      watch.grant(clusterId, beforeW, world.nowMs() + horizonMs);
      return answer;
    },
  };
}
