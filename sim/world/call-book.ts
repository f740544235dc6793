// Keeps book of the calls a service accepted, for the oracle: what must hold from then on, and what may still be held to.
import type { EpochMs } from '../../machines/values/time.js';
import type { LimitOracle, NewProfile } from './limit-oracle.js';
import type { PowerWatch } from './power-watch.js';
import type { RestAnswer } from './rest-client.js';

/** A call of the interface; `path` begins after `/v1`. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export interface CallBook {
  /** To be called before the call is made: remembers what applies without it. */
  before(call: Call): void;
  /** What the service answered to the call of the last `before`. */
  after(call: Call, answer: RestAnswer): void;
}

export interface BookEvents {
  /** A profile counts from now on. */
  profile(target: string, profile: NewProfile): void;
  /** What was submitted there counts no more. */
  cancelled(target: string, priority: number): void;
  /** The limits of these locations may be others from now on. */
  changed(locationIds: readonly string[]): void;
}

type Params = Readonly<Record<string, string>>;

interface Entry {
  readonly method: string;
  readonly path: RegExp;
  /** Locations whose limit the call may lower. */
  readonly concerned: (params: Params, body: unknown) => readonly string[];
  readonly learn: (params: Params, body: unknown, answer: unknown) => void;
}

const STEP_MS = 1_000;

/** @param options.horizonMs the longest that a limit given before may still be in force (rule 10). */
export function createCallBook(options: {
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  readonly horizonMs: number;
  readonly nowMs: () => EpochMs;
  readonly events: BookEvents;
}): CallBook {
  const { oracle, watch, horizonMs, nowMs, events } = options;
  const { clusters } = oracle;
  let before: ReadonlyMap<string, number> = new Map();

  function highestAheadW(locationId: string): number {
    let highestW = 0;
    for (let ms = 0; ms <= horizonMs; ms += STEP_MS) {
      highestW = Math.max(highestW, oracle.limitW(locationId, nowMs() + ms));
    }
    return highestW;
  }

  function submit(locationId: string, profile: NewProfile): void {
    oracle.submit(locationId, profile, nowMs());
    events.profile(locationId, profile);
  }

  function cancel(target: string, priority: string): void {
    oracle.cancel(target, Number(priority), nowMs());
    events.cancelled(target, Number(priority));
  }

  function changeCluster(
    clusterId: string,
    change: { limitKw?: number | null; status?: string; locationIds?: readonly string[] },
  ): void {
    const known = clusters.get(clusterId);
    const locationIds = [...new Set(change.locationIds ?? known?.locationIds ?? [])];
    const limitKw = change.limitKw === undefined ? (known?.limitKw ?? null) : change.limitKw;
    const isActive = change.status === undefined ? (known?.isActive ?? true) : change.status === 'ACTIVE';
    // What its members were allowed together before it bound them.
    const uncappedW = locationIds.reduce((sum, locationId) => sum + highestAheadW(locationId), 0);
    const cappedW =
      known?.isActive === true && known.limitKw !== null && known.locationIds.length >= locationIds.length
        ? 1000 * known.limitKw
        : uncappedW;
    clusters.set(clusterId, { limitKw, isActive, locationIds });
    if (limitKw !== null && isActive)
      watch.grant(clusterId, Math.max(cappedW, 1000 * limitKw), nowMs() + horizonMs);
  }

  const entries: readonly Entry[] = [
    {
      method: 'POST',
      path: /^\/locations\/(?<locationId>[^/]+)\/schedules$/,
      concerned: ({ locationId = '' }) => [locationId],
      learn: ({ locationId = '' }, body) => submit(locationId, body as NewProfile),
    },
    {
      method: 'PUT',
      path: /^\/locations\/(?<locationId>[^/]+)\/limit$/,
      concerned: ({ locationId = '' }) => [locationId],
      learn: ({ locationId = '' }, body) =>
        oracle.setPermanent(locationId, (body as { limitKw: number }).limitKw, nowMs()),
    },
    {
      method: 'POST',
      path: /^\/chargers\/(?<controllerUuid>[^/]+)\/connectors\/(?<connectorId>[^/]+)\/schedules$/,
      concerned: () => [],
      learn({ controllerUuid, connectorId }, body) {
        const key = `${controllerUuid}/${connectorId}`;
        oracle.lock(key, body as NewProfile, nowMs());
        events.profile(key, body as NewProfile);
      },
    },
    {
      method: 'DELETE',
      path: /^\/locations\/(?<locationId>[^/]+)\/schedules\/(?<priority>\d+)$/,
      concerned: ({ locationId = '' }) => [locationId],
      learn: ({ locationId = '', priority = '' }) => cancel(locationId, priority),
    },
    {
      method: 'DELETE',
      path: /^\/chargers\/(?<controllerUuid>[^/]+)\/connectors\/(?<connectorId>[^/]+)\/schedules\/(?<priority>\d+)$/,
      concerned: () => [],
      learn: ({ controllerUuid, connectorId, priority = '' }) =>
        cancel(`${controllerUuid}/${connectorId}`, priority),
    },
    {
      method: 'POST',
      path: /^\/clusters$/,
      concerned: () => [],
      learn: (_, body, answer) =>
        changeCluster((answer as { clusterId: string }).clusterId, body as { limitKw?: number }),
    },
    {
      method: 'PATCH',
      path: /^\/clusters\/(?<clusterId>[^/]+)$/,
      concerned: () => [],
      learn: ({ clusterId = '' }, body) => changeCluster(clusterId, body as { limitKw?: number }),
    },
    {
      method: 'DELETE',
      path: /^\/clusters\/(?<clusterId>[^/]+)$/,
      concerned: () => [],
      learn: ({ clusterId = '' }) => void clusters.delete(clusterId),
    },
    {
      method: 'DELETE',
      path: /^\/clusters\/(?<clusterId>[^/]+)\/locations\/(?<locationId>[^/]+)$/,
      concerned: () => [],
      learn({ clusterId = '', locationId }) {
        const members = clusters.get(clusterId)?.locationIds ?? [];
        changeCluster(clusterId, { locationIds: members.filter((member) => member !== locationId) });
      },
    },
    {
      method: 'POST',
      path: /^\/clusters\/(?<clusterId>[^/]+)\/schedules$/,
      concerned: ({ clusterId = '' }) => clusters.get(clusterId)?.locationIds ?? [],
      learn(_, body, answer) {
        const { applied } = answer as { applied: readonly { locationId: string }[] };
        for (const { locationId } of applied) submit(locationId, body as NewProfile);
      },
    },
  ];

  function entryOf({ method, path }: Call): { entry: Entry; params: Params } | undefined {
    for (const entry of entries) {
      const match = entry.method === method ? entry.path.exec(path) : null;
      if (match === null) continue;
      const params = Object.entries(match.groups ?? {}).map(([name, value]) => [
        name,
        decodeURIComponent(value),
      ]);
      return { entry, params: Object.fromEntries(params) };
    }
    return undefined;
  }

  return {
    before(call) {
      const found = entryOf(call);
      const locationIds = found?.entry.concerned(found.params, call.body) ?? [];
      const known = locationIds.filter((locationId) => oracle.locationIds.includes(locationId));
      before = new Map(known.map((locationId) => [locationId, highestAheadW(locationId)]));
    },
    after(call, { status, body }) {
      const found = entryOf(call);
      if (found === undefined) return;
      if (status === 200 || status === 201) found.entry.learn(found.params, call.body, body);
      // Unanswered, it may have been written all the same: both are allowed for as long as either may be in force.
      const isRefused = status >= 400 && status < 500;
      if (!isRefused) for (const [id, beforeW] of before) watch.grant(id, beforeW, nowMs() + horizonMs);
      events.changed([...before.keys()]);
    },
  };
}
