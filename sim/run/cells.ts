// Divides a scenario into cells without influence on each other, so that each cell can run on its own on any thread.
import { z } from 'zod';
import { parseKept } from '../scenario/action-schema.js';
import { type Action, type Scenario, SERVICE_FAULTS } from '../scenario/scenario.js';
import type { Visit } from '../sessions/visit.js';

/** Some locations of a scenario, with all their faults and calls, as a scenario of its own. Plain data but for its policy. */
export interface Cell {
  readonly scenario: Scenario;
  readonly visits: readonly Visit[];
  readonly locationIds: ReadonlySet<string>;
  /** Faults of the service happen in every cell; only the first cell reports them. */
  readonly isFirst: boolean;
}

/** A higher number reduces the share of the fixed cost of a world; a cell must still fit into a processor's cache. */
const MOST_CONNECTORS = 100;

/**
 * The cells of `scenario`, in the order of its locations; the number of threads has no influence. Locations that calls
 * couple, such as the members of a cluster, are in one cell.
 */
export function cellsOf(scenario: Scenario, visits: readonly Visit[]): readonly Cell[] {
  return cellsAround(scenario, visits, groupsOf(scenario));
}

/** The cells of a scenario. Locations of one group in `groups` stay together; added calls may join groups. */
export function cellsAround(
  scenario: Scenario,
  visits: readonly Visit[],
  groups: readonly ReadonlySet<string>[],
): readonly Cell[] {
  const homes = new Homes(scenario);
  const concerned = homes.ofActions(scenario.actions);
  const joined = homes.joined(groups, concerned);
  if (joined.length <= 1) return [undivided(scenario, visits)];
  return joined.map((group, i) => {
    const actions = scenario.actions.filter((_, nth) => group.has(concerned[nth]?.[0] ?? ''));
    return cellOf({ ...scenario, actions }, visits, { group, isFirst: i === 0 });
  });
}

/** All of `scenario` as one cell. */
export function undivided(scenario: Scenario, visits: readonly Visit[]): Cell {
  const { tenants } = scenario.provision;
  const locationIds = new Set(
    tenants.flatMap(({ locations }) => locations.map(({ locationId }): string => locationId)),
  );
  return { scenario, visits, locationIds, isFirst: true };
}

/** `before` is the same cell without the calls and faults that a branch added. True if additions concern this cell. */
export function hasMore({ scenario: { actions, faults } }: Cell, { scenario: before }: Cell): boolean {
  const added = faults.slice(before.faults.length);
  return (
    actions.length > before.actions.length ||
    added.some(({ kind, chargers }) => SERVICE_FAULTS.includes(kind) || chargers.length > 0)
  );
}

/** Finds the locations that a call concerns. These locations must be in one world. */
export class Homes {
  readonly #tenants: Scenario['provision']['tenants'];
  /** Location of each location and charger, by id. */
  readonly #homes = new Map<string, string>();
  readonly #tenantOf = new Map<string, string>();
  readonly #ofTenant = new Map<string, readonly string[]>();
  /** Members of each known cluster, by its id or by the name of the kept answer. */
  readonly #clusters: Map<string, readonly string[]>;

  constructor({ provision }: Pick<Scenario, 'provision'>, known?: Homes) {
    this.#tenants = provision.tenants;
    this.#clusters = new Map(known === undefined ? [] : known.#clusters);
    for (const { tenantUuid, locations } of provision.tenants) {
      this.#ofTenant.set(
        tenantUuid,
        locations.map(({ locationId }) => locationId),
      );
      for (const { locationId, chargers } of locations) {
        this.#homes.set(locationId, locationId);
        this.#tenantOf.set(locationId, tenantUuid);
        for (const { controllerUuid } of chargers) this.#homes.set(controllerUuid, locationId);
      }
    }
  }

  /** The locations for each of `actions`, which must be in order of time. */
  ofActions(actions: readonly Action[]): readonly (readonly string[])[] {
    return actions.map(({ path, params, body, tenantUuid, keepAs }) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
      const locationIds = this.ofCall(filled.slice(API_ROOT.length), body, tenantUuid);
      if (keepAs !== undefined) this.#clusters.set(keepAs, locationIds);
      return locationIds;
    });
  }

  /**
   * Locations that a request concerns, at least one. `path` begins after `/v1`. Without `tenantUuid` the request is of
   * the first tenant. Every location gives the same answer about an unknown id, so the tenant's first location stands
   * for it.
   */
  ofCall(
    path: string,
    body: unknown,
    tenantUuid: string = this.#tenants[0]?.tenantUuid ?? '',
  ): readonly string[] {
    const own = this.#ofTenant.get(tenantUuid) ?? [];
    const named = this.#named(path, body)?.filter((id) => this.#homes.has(id)) ?? own;
    const isOwn = named.some((id) => this.#tenantOf.get(id) === tenantUuid);
    // The cell must have a location of the calling tenant, too.
    const all = isOwn ? named : [...named, ...own.slice(0, 1)];
    return all.length > 0 ? all : [...this.#homes.values()].slice(0, 1);
  }

  /** Updates the known clusters from an answer. */
  learn(answer: unknown): void {
    const { clusterId, locationIds } = clusterSchema.safeParse(answer).data ?? {};
    if (clusterId !== undefined && locationIds !== undefined) this.#clusters.set(clusterId, locationIds);
    for (const each of listSchema.safeParse(answer).data?.clusters ?? [])
      this.#clusters.set(each.clusterId, each.locationIds);
  }

  /**
   * `groups` of all locations; groups with a location in the same list of `together` become one. In the order of the
   * locations.
   */
  joined(
    groups: readonly ReadonlySet<string>[],
    together: readonly (readonly string[])[],
  ): readonly ReadonlySet<string>[] {
    const groupOf = new Map(groups.flatMap((group) => [...group].map((id) => [id, group] as const)));
    for (const locationIds of together) {
      const parts = new Set(locationIds.flatMap((id) => groupOf.get(id) ?? []));
      if (parts.size <= 1) continue;
      const whole = new Set([...parts].flatMap((part) => [...part]));
      for (const id of whole) groupOf.set(id, whole);
    }
    const inOrder = new Map<ReadonlySet<string> | undefined, Set<string>>();
    for (const locationId of this.#tenantOf.keys()) {
      const group = groupOf.get(locationId);
      inOrder.set(group, (inOrder.get(group) ?? new Set()).add(locationId));
    }
    return [...inOrder.values()];
  }

  /** Undefined if the call may concern all locations of the tenant. */
  #named(path: string, body: unknown): readonly string[] | undefined {
    const [plain = ''] = path.split(/[?#]/);
    const [, kind = '', id = '', , member = ''] = plain.split('/').map(decoded);
    const cluster = this.#clusters.get(parseKept(id)?.name ?? id);
    const members = membersSchema.safeParse(body).data?.locationIds ?? [];
    if (kind === 'clusters' && id === '') return members.length > 0 ? members : undefined;
    if (cluster !== undefined) return [...cluster, member, ...members];
    if (COUPLING.has(kind) || id === '') return undefined;
    return [this.#homes.get(id) ?? ''];
  }
}

const API_ROOT = '/v1';
/** Resources of the API that concern all locations of a tenant. */
const COUPLING: ReadonlySet<string> = new Set(['clusters', 'organizations', 'alarms']);

const membersSchema = z.object({ locationIds: z.array(z.string()) });
const clusterSchema = membersSchema.extend({ clusterId: z.string() });
const listSchema = z.object({ clusters: z.array(clusterSchema) });

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/**
 * Groups of neighbours in the order of the file. The locations on one line of the grid stay together. So do locations
 * that calls of the file couple. All locations of a tenant with gateways stay together, because a gateway can speak for
 * chargers of several locations. Calls that a branch adds do not count: the cells of a branch must equal the cells of
 * its scenario.
 */
function groupsOf(scenario: Scenario): readonly ReadonlySet<string>[] {
  const { provision, grid, connectors, actions, planned = actions } = scenario;
  const homes = new Homes(scenario);
  const alone = provision.tenants.flatMap(({ locations }) =>
    locations.map(({ locationId }) => new Set<string>([locationId])),
  );
  const ofGateways = provision.tenants
    .filter(({ gateways }) => gateways.length > 0)
    .map(({ locations }) => locations.map(({ locationId }) => locationId));
  const ofLines = grid.map(({ locationIds }) => [...locationIds]);
  const neighbours = homes.joined(alone, [...ofLines, ...ofGateways, ...homes.ofActions(planned)]);
  const sizes = new Map<string, number>();
  for (const { locationId } of connectors) sizes.set(locationId, 1 + (sizes.get(locationId) ?? 0));
  const groups: Set<string>[] = [];
  let connectorCount = Number.POSITIVE_INFINITY;
  for (const locationIds of neighbours) {
    const own = [...locationIds].reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0);
    if (connectorCount + own > MOST_CONNECTORS) {
      groups.push(new Set());
      connectorCount = 0;
    }
    for (const locationId of locationIds) groups.at(-1)?.add(locationId);
    connectorCount += own;
  }
  return groups;
}

/** @param scenario with only the calls of the cell. */
function cellOf(
  scenario: Scenario,
  visits: readonly Visit[],
  { group, isFirst }: { readonly group: ReadonlySet<string>; readonly isFirst: boolean },
): Cell {
  const { provision, connectors, grid, buildings, faults, expectations } = scenario;
  const tenants = provision.tenants.flatMap((tenant) => {
    const locations = tenant.locations.filter(({ locationId }) => group.has(locationId));
    const isHere = locations.length > 0 || (isFirst && tenant.locations.length === 0);
    return isHere ? [{ ...tenant, locations }] : [];
  });
  const own = connectors.filter(({ locationId }) => group.has(locationId));
  const keys = new Set(own.map(({ key }) => key));
  return {
    isFirst,
    locationIds: group,
    visits: visits.filter(({ connectorKey }) => keys.has(connectorKey)),
    scenario: {
      ...scenario,
      provision: { ...provision, tenants },
      connectors: own,
      grid: grid.filter(({ locationIds }) => locationIds.some((locationId) => group.has(locationId))),
      buildings: buildings.filter(({ locationId }) => group.has(locationId)),
      sessions: { kind: 'visits', visits: [] },
      // Each fault keeps its index, because its random draws depend on the index.
      faults: faults.map((fault) => ({
        ...fault,
        chargers: fault.chargers.filter(({ locationId }) => group.has(locationId)),
      })),
      expectations: expectations.filter(({ locationId }) => group.has(locationId ?? '')),
    },
  };
}
