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

export interface SourceReading {
  readonly limitW: number;
  /** A person, the grid operator or a cluster decides the limit, so it changes seldom. */
  readonly isDecided: boolean;
}

/** All sources but the location's own, by their names. */
export type SourceReadings = ReadonlyMap<string, SourceReading>;

export const UNLIMITED_W = Number.MAX_SAFE_INTEGER;

type OnLimits = (limits: Limits, sources: SourceReadings) => void;

export class LimitReadings {
  readonly #tenants: readonly TenantEntry[];
  readonly #onLimits: OnLimits;
  #actors: ActorSystem | undefined;

  /** @param onLimits called with the limits of a location, also if they are the same as before */
  constructor(tenants: readonly TenantEntry[], onLimits: OnLimits) {
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
            if (isOfLocation(fields)) this.#read(fields.tenantUuid, fields.locationId);
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
    if (location !== undefined) this.#onLimits(limitsOf(location), sourcesOf(location));
  }
}

/** After any effect of a location, its limits may differ. */
interface LocationEffect {
  readonly tenantUuid: TenantUuid;
  readonly locationId: LocationId;
}

function isOfLocation(fields: object): fields is LocationEffect {
  return 'type' in fields && 'locationId' in fields;
}

function limitsOf({ record, actor }: LocationEntity): Limits {
  const { limit, operator, building } = actor.getSnapshot().context;
  const { cause, source } = limit;
  return {
    locationId: record.locationId,
    limitW: wattsOfLimit(limit.limitKw),
    cause: cause.kind,
    rule: cause.kind === 'profile' ? String(cause.profile.priority) : idIn(source.name),
    effectiveW: wattsOfLimit(limit.effectiveLimitKw),
    operator: operator === undefined ? 'none' : operatorStandingOf(operator).state,
    buildingW: Math.round(building?.buildingW ?? 0),
    reserveW: Math.round(building?.reserveW ?? 0),
  };
}

/** Id of one of several sources of a kind; empty for the only one of its kind. */
function idIn(name: string): string {
  const place = name.indexOf(':');
  return place === -1 ? '' : name.slice(place + 1);
}

function sourcesOf({ actor }: LocationEntity): SourceReadings {
  const [, ...others] = actor.getSnapshot().context.sources;
  return new Map(
    others.map(({ name, current, isOrdered = false, share }) => {
      const limitW = current === undefined ? UNLIMITED_W : wattsOfLimit(current.limitKw);
      return [name, { limitW, isDecided: isOrdered || share !== undefined }];
    }),
  );
}
