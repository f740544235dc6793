// Divides a scenario into parts that have nothing to do with each other, so that each runs by itself, on any thread.
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
 * The cells of `scenario`, in its order of locations: always the same, however many threads there are. One, where its calls
 * concern more than single locations, such as clusters, or logins speak for chargers of several.
 */
export function cellsOf(scenario: Scenario, visits: readonly Visit[]): readonly Cell[] {
  const homes = new Homes(scenario);
  const groups = isDivisible(scenario, homes) ? groupsOf(scenario) : [];
  if (groups.length <= 1) return [undivided(scenario, visits)];
  return groups.map((group, i) => cellOf(scenario, visits, homes, { group, isFirst: i === 0 }));
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

/** At which location of a scenario something is. */
export class Homes {
  /** Of each location and charger, by id. */
  readonly #homes = new Map<string, string>();
  readonly #first: string;

  constructor({ provision }: Scenario) {
    for (const { locations } of provision.tenants)
      for (const { locationId, chargers } of locations) {
        this.#homes.set(locationId, locationId);
        for (const { controllerUuid } of chargers) this.#homes.set(controllerUuid, locationId);
      }
    this.#first = this.#homes.values().next().value ?? '';
  }

  /** Where it is about one location that is known beforehand. */
  ofAction({ path, params }: Action): string | undefined {
    if (path.includes('/clusters')) return undefined;
    return this.#homes.get(params.locationId ?? '') ?? this.#homes.get(params.controllerUuid ?? '');
  }

  /**
   * Of a request to `path`, which begins after `/v1`; undefined where it is about more than one: a cluster, an organization, a
   * list. What is unknown everywhere is as unknown at the first location.
   */
  ofPath(path: string): string | undefined {
    const [, kind = '', id = ''] = path.split(/[/?#]/);
    if (COUPLING.has(kind) || (kind === 'locations' && id === '')) return undefined;
    return this.#homes.get(decoded(id)) ?? this.#first;
  }
}

/** What of the interface concerns several locations. */
const COUPLING: ReadonlySet<string> = new Set(['clusters', 'organizations', 'alarms']);

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function isDivisible({ provision, actions }: Scenario, homes: Homes): boolean {
  const hasGateways = provision.tenants.some(({ gateways }) => gateways.length > 0);
  return !hasGateways && actions.every((action) => homes.ofAction(action) !== undefined);
}

/** Neighbours in the order of the file; what one line of the grid feeds stays together. */
function groupsOf(scenario: Scenario): readonly ReadonlySet<string>[] {
  const groups: Set<string>[] = [];
  let connectors = Number.POSITIVE_INFINITY;
  for (const { locationIds, own } of neighboursOf(scenario)) {
    if (connectors + own > MOST_CONNECTORS) {
      groups.push(new Set());
      connectors = 0;
    }
    for (const locationId of locationIds) groups.at(-1)?.add(locationId);
    connectors += own;
  }
  return groups;
}

/** Locations that share a line of the grid, or one alone, with the number of their connectors. */
function neighboursOf({ provision, grid, connectors }: Scenario) {
  const lineOf = new Map(grid.flatMap((line) => line.locationIds.map((id) => [id, line.name])));
  const neighbours = new Map<string, { readonly locationIds: string[]; own: number }>();
  const ofLocation = new Map<string, { own: number }>();
  for (const { locations } of provision.tenants)
    for (const { locationId } of locations) {
      const line = lineOf.get(locationId);
      const key = line === undefined ? `location ${locationId}` : `line ${line}`;
      const found = neighbours.get(key) ?? { locationIds: [], own: 0 };
      neighbours.set(key, found);
      ofLocation.set(locationId, found);
      found.locationIds.push(locationId);
    }
  for (const { locationId } of connectors) {
    const found = ofLocation.get(locationId);
    if (found !== undefined) found.own++;
  }
  return neighbours.values();
}

function cellOf(
  scenario: Scenario,
  visits: readonly Visit[],
  homes: Homes,
  { group, isFirst }: { readonly group: ReadonlySet<string>; readonly isFirst: boolean },
): Cell {
  const { provision, connectors, grid, buildings, actions, faults, expectations } = scenario;
  const tenants = provision.tenants.flatMap((tenant) => {
    const locations = tenant.locations.filter(({ locationId }) => group.has(locationId));
    return locations.length === 0 ? [] : [{ ...tenant, locations }];
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
      actions: actions.filter((action) => group.has(homes.ofAction(action) ?? '')),
      // Each keeps its place: what is drawn for a fault is drawn by that.
      faults: faults.map((fault) => ({
        ...fault,
        chargers: fault.chargers.filter(({ locationId }) => group.has(locationId)),
      })),
      expectations: expectations.filter(({ locationId }) => group.has(locationId ?? '')),
    },
  };
}
