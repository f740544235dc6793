// Reads the limits of locations from the running service, so that the trace has every limit in force with its cause.
import { operatorStandingOf } from '../../machines/limits/lpc.machine.js';
import type { LocationId, TenantUuid } from '../../machines/values/ids.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import { type ActorSystem, createActorSystem } from '../../src/actor-system.js';
import type { LocationEntity } from '../../src/actors/directory.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Seams } from '../../src/service.js';
import type { EventOf } from '../log/trace-state.js';

export type Limits = Omit<EventOf<'limits'>, 'atMs' | 'kind'>;

const UNLIMITED_W = Number.MAX_SAFE_INTEGER;

/** Effects of a location after which its limits may differ. */
const EFFECTS: ReadonlySet<unknown> = new Set([
  'effectiveLimit.changed',
  'limitInForce.changed',
  'operator.changed',
  'siteMeter.changed',
  'peakShaving.changed',
]);

export class LimitReadings {
  readonly #tenants: readonly TenantEntry[];
  readonly #onLimits: (limits: Limits) => void;
  #actors: ActorSystem | undefined;

  /** @param onLimits called with the limits of a location, also if they are the same as before */
  constructor(tenants: readonly TenantEntry[], onLimits: (limits: Limits) => void) {
    this.#tenants = tenants;
    this.#onLimits = onLimits;
  }

  /** Follows each life of the service. At level debug, the service logs every effect of an actor. */
  following(createActors: typeof createActorSystem = createActorSystem): NonNullable<Seams['createActors']> {
    return (options) => {
      const { log } = options;
      const actors = createActors({
        ...options,
        log: {
          ...log,
          debug: (fields, message) => {
            log.debug(fields, message);
            if (isOfLimits(fields)) this.#read(fields.tenantUuid, fields.locationId);
          },
        },
      });
      this.#actors = actors;
      return actors;
    };
  }

  /** A service has started: no effect precedes its first limits. */
  readAll(): void {
    for (const { tenantUuid, locations } of this.#tenants)
      for (const { locationId } of locations) this.#read(tenantUuid as TenantUuid, locationId as LocationId);
  }

  #read(tenantUuid: TenantUuid, locationId: LocationId): void {
    const location = this.#actors?.location(tenantUuid, locationId);
    if (location !== undefined) this.#onLimits(limitsOf(location));
  }
}

interface LimitEffect {
  readonly tenantUuid: TenantUuid;
  readonly locationId: LocationId;
}

function isOfLimits(fields: object): fields is LimitEffect {
  return 'type' in fields && 'locationId' in fields && EFFECTS.has(fields.type);
}

function limitsOf({ record, actor }: LocationEntity): Limits {
  const { context } = actor.getSnapshot();
  const { limit, sources, operator, building } = context;
  const { cause } = limit;
  const leastW = (...names: readonly string[]) => {
    const named = sources.filter(({ name }) => names.includes(name.split(':')[0] ?? ''));
    return Math.min(
      UNLIMITED_W,
      ...named.flatMap(({ current }) => (current ? wattsOfLimit(current.limitKw) : [])),
    );
  };
  return {
    locationId: record.locationId,
    limitW: wattsOfLimit(limit.limitKw),
    cause: cause.kind,
    rule:
      cause.kind === 'profile'
        ? String(cause.profile.priority)
        : cause.kind === 'clusterShare'
          ? cause.clusterId
          : '',
    effectiveW: wattsOfLimit(limit.effectiveLimitKw),
    shareW: leastW('clusterShare'),
    operatorW: leastW('operatorLimit'),
    operator: operator === undefined ? 'none' : operatorStandingOf(operator).state,
    peakShavingW: leastW('peakShaving'),
    connectionW: leastW('building', 'physicalConnection'),
    buildingW: Math.round(building?.buildingW ?? 0),
    reserveW: Math.round(building?.reserveW ?? 0),
  };
}
