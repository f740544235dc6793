// The fuses of provisioned sites, read without the service's code: which circuit phases each connector loads.
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';

type Location = TenantEntry['locations'][number];
type Charger = Location['chargers'][number];
type Connector = Charger['connectors'][number];

/** For example `L2 of the connection` or `L1 of hall`. */
export type CircuitPhaseName = string;

const PHASES = ['L1', 'L2', 'L3'] as const;
const LETTERS = 'RST';

/** Rating of each circuit phase of the location, A; empty if no fuse is known. */
export function capacitiesOf({ connection, feeders }: Location): ReadonlyMap<CircuitPhaseName, number> {
  const capacities = new Map<CircuitPhaseName, number>();
  const fuses = [
    ...(connection === undefined ? [] : [{ name: undefined, currentA: connection.currentA }]),
    ...feeders,
  ];
  for (const { name, currentA } of fuses)
    for (const [i, phase] of PHASES.entries())
      capacities.set(circuitPhaseName(phase, name), currentA[i] ?? 0);
  return capacities;
}

/** Circuit phases that a charger loads by its grid phase `place`, up to the connection. */
export function circuitPhasesAbove(
  location: Location,
  charger: Charger,
  place: number,
): readonly CircuitPhaseName[] {
  const phase = PHASES[place] ?? 'L1';
  const names: (string | undefined)[] = location.connection === undefined ? [] : [undefined];
  for (let name = charger.feeder; name !== undefined; name = parentOf(location, name)) names.push(name);
  return names.map((name) => circuitPhaseName(phase, name));
}

/** True grid phase of each of its own phases; without a provisioned rotation the charger's name decides. */
export function wiredTo(charger: Charger, { rotation, phases }: Connector): readonly number[] {
  if (rotation !== undefined) return [...rotation].map((letter) => LETTERS.indexOf(letter));
  const turned = [...charger.controllerUuid].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  return [0, 1, 2].slice(0, phases).map((own) => (own + turned) % 3);
}

/** Grid phases on which a reservation counts: all three if the phase is unknown, or if there are three. */
export function countedOn({ rotation, phases }: Connector): readonly number[] {
  return phases === 1 && rotation !== undefined ? [LETTERS.indexOf(rotation)] : [0, 1, 2];
}

/** Possible grid phases of its own phase number `own`: all three without a provisioned rotation. */
export function placesOf({ rotation }: Connector, own: number): readonly number[] {
  const place = LETTERS.indexOf(rotation?.charAt(own) || '?');
  return place < 0 ? [0, 1, 2] : [place];
}

function parentOf({ feeders }: Location, name: string): string | undefined {
  return feeders.find((feeder) => feeder.name === name)?.parent;
}

function circuitPhaseName(phase: string, feeder: string | undefined): CircuitPhaseName {
  return `${phase} of ${feeder ?? 'the connection'}`;
}
