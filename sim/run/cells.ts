// Divides a scenario into parts that have nothing to do with each other, so that each runs by itself, on any thread.
import type { Action, Scenario } from '../scenario/scenario.js';
import type { Visit } from '../sessions/visit.js';

/** Some locations of a scenario, with all that befalls them, as a scenario of its own. Plain data. */
export interface Cell {
  readonly scenario: Scenario;
  readonly visits: readonly Visit[];
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
  const homes = homesOf(scenario);
  const groups = isDivisible(scenario, homes) ? groupsOf(scenario) : [];
  if (groups.length <= 1) return [{ scenario, visits, isFirst: true }];
  return groups.map((group, i) => cellOf(scenario, visits, homes, { group, isFirst: i === 0 }));
}

/** Whether an action is about one location that is known beforehand. */
export function locationOf({ path, params }: Action, homes: ReadonlyMap<string, string>): string | undefined {
  if (path.includes('/clusters')) return undefined;
  return homes.get(params.locationId ?? '') ?? homes.get(params.controllerUuid ?? '');
}

/** The location of each location and charger, by id. */
function homesOf({ provision }: Scenario): ReadonlyMap<string, string> {
  const homes = new Map<string, string>();
  for (const { locations } of provision.tenants)
    for (const { locationId, chargers } of locations) {
      homes.set(locationId, locationId);
      for (const { controllerUuid } of chargers) homes.set(controllerUuid, locationId);
    }
  return homes;
}

function isDivisible({ provision, actions }: Scenario, homes: ReadonlyMap<string, string>): boolean {
  const hasGateways = provision.tenants.some(({ gateways }) => gateways.length > 0);
  return !hasGateways && actions.every((action) => locationOf(action, homes) !== undefined);
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
  homes: ReadonlyMap<string, string>,
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
    visits: visits.filter(({ connectorKey }) => keys.has(connectorKey)),
    scenario: {
      ...scenario,
      provision: { ...provision, tenants },
      connectors: own,
      grid: grid.filter(({ locationIds }) => locationIds.some((locationId) => group.has(locationId))),
      buildings: buildings.filter(({ locationId }) => group.has(locationId)),
      sessions: { kind: 'visits', visits: [] },
      actions: actions.filter((action) => group.has(locationOf(action, homes) ?? '')),
      // Each keeps its place: what is drawn for a fault is drawn by that.
      faults: faults.map((fault) => ({
        ...fault,
        chargers: fault.chargers.filter(({ locationId }) => group.has(locationId)),
      })),
      expectations: expectations.filter(({ locationId }) => group.has(locationId ?? '')),
    },
  };
}
