// Applies accepted calls to the oracle: limits that apply from then on, and earlier limits that may still apply.
import type { EpochMs } from '../../machines/values/time.js';
import type { LimitOracle, NewProfile } from './limit-oracle.js';
import type { PowerWatch } from './power-watch.js';
import type { Question, RestAnswer } from './rest-client.js';

export interface BookEvents {
  /** The profile applies from now on. */
  profile(target: string, profile: NewProfile): void;
  /** The submission of that priority no longer applies. */
  cancelled(target: string, priority: number): void;
  /** The limits of these locations may have changed. */
  changed(locationIds: readonly string[]): void;
}

const STEP_MS = 1_000;

interface BookOptions {
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  /** Longest time for which an earlier limit may still be in force (R10). */
  readonly horizonMs: number;
  readonly nowMs: () => EpochMs;
  readonly events: BookEvents;
}

/** Changes that an accepted call makes to the oracle. */
class AcceptedCalls {
  readonly #oracle: LimitOracle;
  readonly #watch: PowerWatch;
  readonly #horizonMs: number;
  readonly #nowMs: () => EpochMs;
  readonly #events: BookEvents;

  constructor(options: BookOptions) {
    this.#oracle = options.oracle;
    this.#watch = options.watch;
    this.#horizonMs = options.horizonMs;
    this.#nowMs = options.nowMs;
    this.#events = options.events;
  }

  /** Highest limit of the location from now until earlier limits have ended, in W. */
  highestAheadW(locationId: string): number {
    let highestW = 0;
    for (let ms = 0; ms <= this.#horizonMs; ms += STEP_MS) {
      highestW = Math.max(highestW, this.#oracle.limitW(locationId, this.#nowMs() + ms));
    }
    return highestW;
  }

  submit(locationId: string, profile: NewProfile): void {
    this.#oracle.submit(locationId, profile, this.#nowMs());
    this.#events.profile(locationId, profile);
  }

  lock(connectorKey: string, profile: NewProfile): void {
    this.#oracle.lock(connectorKey, profile, this.#nowMs());
    this.#events.profile(connectorKey, profile);
  }

  cancel(target: string, priority: string): void {
    this.#oracle.cancel(target, Number(priority), this.#nowMs());
    this.#events.cancelled(target, Number(priority));
  }

  setPermanentLimit(locationId: string, limitKw: number): void {
    this.#oracle.setPermanent(locationId, limitKw, this.#nowMs());
  }

  membersOf(clusterId: string): readonly string[] {
    return this.#oracle.clusters.get(clusterId)?.locationIds ?? [];
  }

  changeCluster(
    clusterId: string,
    change: { limitKw?: number | null; status?: string; locationIds?: readonly string[] },
  ): void {
    const known = this.#oracle.clusters.get(clusterId);
    const locationIds = [...new Set(change.locationIds ?? known?.locationIds ?? [])];
    const limitKw = change.limitKw === undefined ? (known?.limitKw ?? null) : change.limitKw;
    const isActive = change.status === undefined ? (known?.isActive ?? true) : change.status === 'ACTIVE';
    // Sum of the members' limits before the cluster bound them.
    const uncappedW = locationIds.reduce((sum, locationId) => sum + this.highestAheadW(locationId), 0);
    const cappedW =
      known?.isActive === true && known.limitKw !== null && known.locationIds.length >= locationIds.length
        ? 1000 * known.limitKw
        : uncappedW;
    this.#oracle.clusters.set(clusterId, { limitKw, isActive, locationIds });
    if (limitKw !== null && isActive)
      this.#watch.grant(clusterId, Math.max(cappedW, 1000 * limitKw), this.#nowMs() + this.#horizonMs);
  }

  deleteCluster(clusterId: string): void {
    this.#oracle.clusters.delete(clusterId);
  }
}

type Params = Readonly<Record<string, string>>;

interface CallKind {
  readonly method: string;
  readonly path: RegExp;
  /** Locations whose limit the call may lower; none if left out. */
  readonly mayLower?: (params: Params, accepted: AcceptedCalls) => readonly string[];
  readonly learn: (accepted: AcceptedCalls, params: Params, body: unknown, answer: unknown) => void;
}

/** Every call that changes a checked limit. */
const CALL_KINDS: readonly CallKind[] = [
  {
    method: 'POST',
    path: /^\/locations\/(?<locationId>[^/]+)\/schedules$/,
    mayLower: ({ locationId = '' }) => [locationId],
    learn: (accepted, { locationId = '' }, body) => accepted.submit(locationId, body as NewProfile),
  },
  {
    method: 'PUT',
    path: /^\/locations\/(?<locationId>[^/]+)\/limit$/,
    mayLower: ({ locationId = '' }) => [locationId],
    learn: (accepted, { locationId = '' }, body) =>
      accepted.setPermanentLimit(locationId, (body as { limitKw: number }).limitKw),
  },
  {
    method: 'POST',
    path: /^\/chargers\/(?<controllerUuid>[^/]+)\/connectors\/(?<connectorId>[^/]+)\/schedules$/,
    learn: (accepted, { controllerUuid, connectorId }, body) =>
      accepted.lock(`${controllerUuid}/${connectorId}`, body as NewProfile),
  },
  {
    method: 'DELETE',
    path: /^\/locations\/(?<locationId>[^/]+)\/schedules\/(?<priority>\d+)$/,
    mayLower: ({ locationId = '' }) => [locationId],
    learn: (accepted, { locationId = '', priority = '' }) => accepted.cancel(locationId, priority),
  },
  {
    method: 'DELETE',
    path: /^\/chargers\/(?<controllerUuid>[^/]+)\/connectors\/(?<connectorId>[^/]+)\/schedules\/(?<priority>\d+)$/,
    learn: (accepted, { controllerUuid, connectorId, priority = '' }) =>
      accepted.cancel(`${controllerUuid}/${connectorId}`, priority),
  },
  {
    method: 'POST',
    path: /^\/clusters$/,
    learn: (accepted, _, body, answer) =>
      accepted.changeCluster((answer as { clusterId: string }).clusterId, body as { limitKw?: number }),
  },
  {
    method: 'PATCH',
    path: /^\/clusters\/(?<clusterId>[^/]+)$/,
    learn: (accepted, { clusterId = '' }, body) =>
      accepted.changeCluster(clusterId, body as { limitKw?: number }),
  },
  {
    method: 'DELETE',
    path: /^\/clusters\/(?<clusterId>[^/]+)$/,
    learn: (accepted, { clusterId = '' }) => accepted.deleteCluster(clusterId),
  },
  {
    method: 'DELETE',
    path: /^\/clusters\/(?<clusterId>[^/]+)\/locations\/(?<locationId>[^/]+)$/,
    learn(accepted, { clusterId = '', locationId }) {
      const locationIds = accepted.membersOf(clusterId).filter((member) => member !== locationId);
      accepted.changeCluster(clusterId, { locationIds });
    },
  },
  {
    method: 'POST',
    path: /^\/clusters\/(?<clusterId>[^/]+)\/schedules$/,
    mayLower: ({ clusterId = '' }, accepted) => accepted.membersOf(clusterId),
    learn(accepted, _, body, answer) {
      const { applied } = answer as { applied: readonly { locationId: string }[] };
      for (const { locationId } of applied) accepted.submit(locationId, body as NewProfile);
    },
  },
];

export class CallBook {
  readonly #accepted: AcceptedCalls;
  readonly #oracle: LimitOracle;
  readonly #watch: PowerWatch;
  readonly #horizonMs: number;
  readonly #nowMs: () => EpochMs;
  readonly #events: BookEvents;
  /** By location, the highest limit that applies without the call, in W. */
  #withoutCallW: ReadonlyMap<string, number> = new Map();

  constructor(options: BookOptions) {
    this.#accepted = new AcceptedCalls(options);
    this.#oracle = options.oracle;
    this.#watch = options.watch;
    this.#horizonMs = options.horizonMs;
    this.#nowMs = options.nowMs;
    this.#events = options.events;
  }

  /** Must precede the call: records the limits that apply without that call. */
  before(call: Question): void {
    const found = kindOf(call);
    const locationIds = found?.kind.mayLower?.(found.params, this.#accepted) ?? [];
    const known = locationIds.filter((locationId) => this.#oracle.locationIds.includes(locationId));
    this.#withoutCallW = new Map(
      known.map((locationId) => [locationId, this.#accepted.highestAheadW(locationId)]),
    );
  }

  /** Handles the service's answer to the call of the last `before`. */
  after(call: Question, { status, body }: RestAnswer): void {
    const found = kindOf(call);
    if (found === undefined) return;
    if (status === 200 || status === 201) found.kind.learn(this.#accepted, found.params, call.body, body);
    // A call without an answer may be stored or not. Both limits are allowed as long as either may be in force.
    const isRefused = status >= 400 && status < 500;
    if (!isRefused)
      for (const [id, limitW] of this.#withoutCallW)
        this.#watch.grant(id, limitW, this.#nowMs() + this.#horizonMs);
    this.#events.changed([...this.#withoutCallW.keys()]);
  }
}

function kindOf({ method, path }: Question): { kind: CallKind; params: Params } | undefined {
  for (const kind of CALL_KINDS) {
    const match = kind.method === method ? kind.path.exec(path) : null;
    if (match === null) continue;
    const params = Object.entries(match.groups ?? {}).map(([name, value]) => [
      name,
      decodeURIComponent(value),
    ]);
    return { kind, params: Object.fromEntries(params) };
  }
  return undefined;
}
