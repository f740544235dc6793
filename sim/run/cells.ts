// Divides a scenario into parts that have nothing to do with each other, so that each runs by itself, on any thread.
import { z } from 'zod';
import { parseKept } from '../scenario/action-schema.js';
import { type Action, type Scenario, SERVICE_FAULTS } from '../scenario/scenario.js';
import type { Visit } from '../sessions/visit.js';

/** Some locations of a scenario, with all that befalls them, as a scenario of its own. Plain data. */
export interface Cell {
  readonly scenario: Scenario;
  readonly visits: readonly Visit[];
  readonly locationIds: ReadonlySet<string>;
  /** What befalls the service befalls it in every cell; the first tells of it. */
  readonly isFirst: boolean;
}

/** Enough for what a world costs by itself to count little, and few enough for a processor's cache. */
const MOST_CONNECTORS = 100;

/**
 * The cells of `scenario`, in its order of locations: always the same, however many threads there are. What calls couple, such as
 * the members of a cluster, is in one cell.
 */
export function cellsOf(scenario: Scenario, visits: readonly Visit[]): readonly Cell[] {
  return cellsAround(scenario, visits, groupsOf(scenario));
}

/** The cells of a scenario whose locations were together in `groups`, which never part: calls that were added may join them. */
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

/** Whether more happens in `cell` than in `before`, which is the same cell before calls and faults were added to its scenario. */
export function hasMore({ scenario: { actions, faults } }: Cell, { scenario: before }: Cell): boolean {
  const added = faults.slice(before.faults.length);
  return (
    actions.length > before.actions.length ||
    added.some(({ kind, chargers }) => SERVICE_FAULTS.includes(kind) || chargers.length > 0)
  );
}

/** Which locations of a scenario a call concerns: it has to find them in one world. */
export class Homes {
  readonly #tenants: Scenario['provision']['tenants'];
  /** Of each location and charger, by id. */
  readonly #homes = new Map<string, string>();
  readonly #tenantOf = new Map<string, string>();
  readonly #ofTenant = new Map<string, readonly string[]>();
  /** Of each cluster that is known, by id or by the name that its answer is kept under. */
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

  /** For each of `actions`, which are in the order of time. */
  ofActions(actions: readonly Action[]): readonly (readonly string[])[] {
    return actions.map(({ path, params, body, tenantUuid, keepAs }) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
      const locationIds = this.ofCall(filled.slice(API_ROOT.length), body, tenantUuid);
      if (keepAs !== undefined) this.#clusters.set(keepAs, locationIds);
      return locationIds;
    });
  }

  /**
   * Of a request of the tenant, the first unless it is said, to `path`, which begins after `/v1`: one or several. What is unknown
   * everywhere is as unknown at the tenant's first location.
   */
  ofCall(
    path: string,
    body: unknown,
    tenantUuid: string = this.#tenants[0]?.tenantUuid ?? '',
  ): readonly string[] {
    const own = this.#ofTenant.get(tenantUuid) ?? [];
    const named = this.#named(path, body)?.filter((id) => this.#homes.has(id)) ?? own;
    const isOwn = named.some((id) => this.#tenantOf.get(id) === tenantUuid);
    // Who asks has to be known there, too.
    const all = isOwn ? named : [...named, ...own.slice(0, 1)];
    return all.length > 0 ? all : [...this.#homes.values()].slice(0, 1);
  }

  /** What was answered tells which clusters there are now. */
  learn(answer: unknown): void {
    const { clusterId, locationIds } = clusterSchema.safeParse(answer).data ?? {};
    if (clusterId !== undefined && locationIds !== undefined) this.#clusters.set(clusterId, locationIds);
    for (const each of listSchema.safeParse(answer).data?.clusters ?? [])
      this.#clusters.set(each.clusterId, each.locationIds);
  }

  /** `groups` of all locations, where those are one that have some of `together` in common; in the order of the locations. */
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

  /** Undefined where it may be about all locations of the tenant. */
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
/** What of the interface concerns all locations of a tenant. */
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
 * Neighbours in the order of the file. What one line of the grid feeds stays together, all of a tenant whose gateways speak for
 * chargers of several locations, and what the calls of the file couple; those that a branch adds count for nothing here, so that
 * its cells are those of its scenario.
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

/** @param scenario with the calls of the cell alone. */
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
      // Each keeps its place: what is drawn for a fault is drawn by that.
      faults: faults.map((fault) => ({
        ...fault,
        chargers: fault.chargers.filter(({ locationId }) => group.has(locationId)),
      })),
      expectations: expectations.filter(({ locationId }) => group.has(locationId ?? '')),
    },
  };
}
