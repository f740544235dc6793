// The fuses of a location, each with a pole on every phase: which poles a connector may load, and what each can carry.
import { tenthsAOf } from '../values/units.js';

/** The phases of the grid. OCPP calls them R, S and T. */
export const GRID_PHASES = ['L1', 'L2', 'L3'] as const;
export type GridPhase = (typeof GRID_PHASES)[number];

/**
 * How a connector is wired to the grid, in OCPP's words (OCPP 1.6, ConnectorPhaseRotation): the nth letter is the phase
 * of the grid that feeds its nth phase. One letter for a connector of one phase.
 */
export const ROTATIONS = ['RST', 'RTS', 'SRT', 'STR', 'TRS', 'TSR', 'R', 'S', 'T'] as const;
export type Rotation = (typeof ROTATIONS)[number];

/** A of L1, L2 and L3. */
export type PhaseCurrents = readonly [number, number, number];

/** Where a location is joined to the grid. `voltageV` is phase to neutral. */
export interface Connection {
  readonly currentA: PhaseCurrents;
  readonly voltageV: number;
}

/** A fuse inside a location. `parent` is the feeder it hangs on; null where that is the connection. */
export interface Feeder {
  readonly name: string;
  readonly currentA: PhaseCurrents;
  readonly parent: string | null;
}

/** How a connector hangs on the fuses; what is left out or null is not known. */
export interface Wiring {
  readonly phases: 1 | 3;
  readonly rotation?: Rotation | null;
  /** The feeder its charger hangs on; else that is the connection. */
  readonly feeder?: string | null;
}

/** One phase of one fuse. */
export interface Pole {
  /** The feeder's name; undefined for the connection. */
  readonly feeder: string | undefined;
  readonly phase: GridPhase;
  /** What it can carry, tenths of an ampere. */
  readonly capacityTenthsA: number;
}

const LETTERS: readonly string[] = ['R', 'S', 'T'];

/**
 * The phases of the grid, as places in `GRID_PHASES`, that a connector may load with all of its limit. One with three
 * phases may load each, whatever its rotation: a car decides how many it uses. One with a single phase that nobody told
 * of may be on any, so it counts on all: the worst case, as in OCPP "Unknown" promises nothing.
 */
export function phasesOf({ phases, rotation }: Pick<Wiring, 'phases' | 'rotation'>): readonly number[] {
  const place = phases === 1 ? LETTERS.indexOf(rotation ?? '') : -1;
  return place < 0 ? [0, 1, 2] : [place];
}

/** The phase of the grid, as a place in `GRID_PHASES`, that feeds the nth phase of a connector, from 0; undefined where nobody said it. */
export function gridPhaseOf(rotation: Rotation | null | undefined, own: number): number | undefined {
  const place = LETTERS.indexOf(rotation?.charAt(own) || '-');
  return place < 0 ? undefined : place;
}

/** On no fuse that is known, by the number of phases. */
const NO_POLES = { 1: [[]], 3: [[], [], []] } as const;
const NO_FEEDERS: readonly number[] = [];

/** The connection and the feeders of one location. */
export class Fuses {
  /** Named by their place here everywhere else. */
  readonly poles: readonly Pole[];
  readonly #connection: Connection | null;
  readonly #feeders: readonly Feeder[];
  /** Of each feeder, by name: the places of its own poles and of those above it; of phase L1, the others follow. */
  readonly #pathOf = new Map<string, readonly number[]>();
  readonly #root: readonly number[];
  readonly feederNames: readonly string[];
  /** By feeder: its place in `feederNames`, and those of the feeders above it. */
  readonly #feedersAbove = new Map<string, readonly number[]>();

  /** @param feeders a tree: each parent is one of them, and none is above itself. */
  constructor(connection: Connection | null, feeders: readonly Feeder[]) {
    this.#connection = connection;
    this.#feeders = feeders;
    const poles: Pole[] = [];
    const add = (feeder: string | undefined, currentA: PhaseCurrents) => {
      const place = poles.length;
      for (const [i, phase] of GRID_PHASES.entries())
        poles.push({ feeder, phase, capacityTenthsA: tenthsAOf(currentA[i] ?? 0) });
      return place;
    };
    this.#root = connection === null ? [] : [add(undefined, connection.currentA)];
    const placeOf = new Map(feeders.map(({ name, currentA }) => [name, add(name, currentA)]));
    const byName = new Map(feeders.map((feeder) => [feeder.name, feeder]));
    for (const { name } of feeders) {
      const path = [...this.#root];
      let above = byName.get(name);
      // As many steps as there are feeders: one that is above itself would otherwise never end.
      for (let i = 0; above !== undefined && i < feeders.length; i++) {
        path.push(placeOf.get(above.name) ?? 0);
        above = above.parent === null ? undefined : byName.get(above.parent);
      }
      this.#pathOf.set(name, path);
      const own = path.slice(this.#root.length);
      this.#feedersAbove.set(
        name,
        own.map((pole) => pole / GRID_PHASES.length - this.#root.length),
      );
    }
    this.poles = poles;
    this.feederNames = feeders.map(({ name }) => name);
  }

  /** The same fuses with less on the connection's phases: what something beside the chargers takes, tenths of an ampere. */
  beside([l1 = 0, l2 = 0, l3 = 0]: readonly number[]): Fuses {
    if (this.#connection === null) return this;
    const left = (i: number, takenTenthsA: number) =>
      Math.max(0, (this.poles[i]?.capacityTenthsA ?? 0) - takenTenthsA) / 10;
    return new Fuses(
      { ...this.#connection, currentA: [left(0, l1), left(1, l2), left(2, l3)] },
      this.#feeders,
    );
  }

  get capacitiesTenthsA(): readonly number[] {
    return this.poles.map(({ capacityTenthsA }) => capacityTenthsA);
  }

  /** The places of the poles that a connector may load. */
  polesOf(wiring: Wiring): readonly number[] {
    const phases = phasesOf(wiring);
    return this.#pathTo(wiring.feeder).flatMap((place) => phases.map((phase) => place + phase));
  }

  /** The same of each of its own phases, in their order: all three where nobody said how it is wired. */
  polesOfEachPhase({ phases, rotation, feeder }: Wiring): readonly (readonly number[])[] {
    const path = this.#pathTo(feeder);
    if (path.length === 0) return NO_POLES[phases];
    return [0, 1, 2].slice(0, phases).map((own) => {
      const place = gridPhaseOf(rotation, own);
      const of = place === undefined ? [0, 1, 2] : [place];
      return path.flatMap((pole) => of.map((phase) => pole + phase));
    });
  }

  /** The places in `feederNames` of the feeders whose fuses carry what hangs on `feeder`; none where that is the connection. */
  feedersAbove(feeder: string | null | undefined): readonly number[] {
    return (feeder == null ? undefined : this.#feedersAbove.get(feeder)) ?? NO_FEEDERS;
  }

  #pathTo(feeder: string | null | undefined): readonly number[] {
    return (feeder == null ? undefined : this.#pathOf.get(feeder)) ?? this.#root;
  }
}

/** A location of which no fuse is known. */
export const NO_FUSES = new Fuses(null, []);

/** The fuses of a location; most have none that are known, and share one object. */
export function fusesOf(connection: Connection | null, feeders: readonly Feeder[]): Fuses {
  return connection === null && feeders.length === 0 ? NO_FUSES : new Fuses(connection, feeders);
}

/** `phase L2 of the connection`, `phase L1 of feeder "hall"`. */
export function nameOfPole({ feeder, phase }: Pole): string {
  return `phase ${phase} of ${feeder === undefined ? 'the connection' : `feeder "${feeder}"`}`;
}
