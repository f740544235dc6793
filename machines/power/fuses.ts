// Fuses of a location as circuit phases: the phases that a connector may load, and the capacity of each.
import { tenthsAOf } from '../values/units.js';

/** Phases of the grid. OCPP names them R, S and T. */
export const GRID_PHASES = ['L1', 'L2', 'L3'] as const;
export type GridPhase = (typeof GRID_PHASES)[number];

/**
 * Phase rotation of a connector (OCPP 1.6, ConnectorPhaseRotation). The nth letter names the grid phase of the
 * connector's nth phase. A connector of one phase has one letter.
 */
export const PHASE_ROTATIONS = ['RST', 'RTS', 'SRT', 'STR', 'TRS', 'TSR', 'R', 'S', 'T'] as const;
export type PhaseRotation = (typeof PHASE_ROTATIONS)[number];

/** A of L1, L2 and L3. */
export type PhaseCurrents = readonly [number, number, number];

/** Connection of a location to the grid. `voltageV` is phase to neutral. */
export interface Connection {
  readonly currentA: PhaseCurrents;
  readonly voltageV: number;
}

/** Fuse inside a location. `parent` is the feeder above; null means the connection. */
export interface Feeder {
  readonly name: string;
  readonly currentA: PhaseCurrents;
  readonly parent: string | null;
}

/** Wiring of a connector to the fuses. An omitted or null field is unknown. */
export interface Wiring {
  readonly phases: 1 | 3;
  readonly rotation?: PhaseRotation | null;
  /** Feeder of the charger; the connection if omitted or null. */
  readonly feeder?: string | null;
}

/** One phase of one fuse. */
export interface CircuitPhase {
  /** Name of the feeder; undefined for the connection. */
  readonly feeder: string | undefined;
  readonly phase: GridPhase;
  /** Capacity, tenths of an ampere. */
  readonly capacityTenthsA: number;
}

const LETTERS: readonly string[] = ['R', 'S', 'T'];

/**
 * Grid phases, as indices of `GRID_PHASES`, that a connector may load with its full limit. A three-phase connector may
 * load each phase, because the car decides how many it uses. A single-phase connector with unknown rotation counts on
 * all phases, as the worst case (OCPP 1.6 "Unknown").
 */
export function phasesOf({ phases, rotation }: Pick<Wiring, 'phases' | 'rotation'>): readonly number[] {
  const place = phases === 1 ? LETTERS.indexOf(rotation ?? '') : -1;
  return place < 0 ? [0, 1, 2] : [place];
}

/** Index in `GRID_PHASES` of the grid phase that feeds the connector's phase `own`, from 0; undefined if unknown. */
export function gridPhaseOf(rotation: PhaseRotation | null | undefined, own: number): number | undefined {
  const place = LETTERS.indexOf(rotation?.charAt(own) || '-');
  return place < 0 ? undefined : place;
}

/** Circuit phases of a connector without a known fuse, by its number of phases. */
const NO_POLES = { 1: [[]], 3: [[], [], []] } as const;
const NO_FEEDERS: readonly number[] = [];

/** The connection and the feeders of one location. */
export class Fuses {
  /** Other modules refer to a circuit phase by its index here. */
  readonly circuitPhases: readonly CircuitPhase[];
  readonly #connection: Connection | null;
  readonly #feeders: readonly Feeder[];
  /** For each feeder name: the indices of its own L1 and of each L1 above it. L2 and L3 follow directly. */
  readonly #pathOf = new Map<string, readonly number[]>();
  readonly #root: readonly number[];
  readonly feederNames: readonly string[];
  /** For each feeder name: its index in `feederNames` and the indices of the feeders above it. */
  readonly #feedersAbove = new Map<string, readonly number[]>();

  /** @param feeders a tree: each parent is in the list, and no feeder is its own ancestor */
  constructor(connection: Connection | null, feeders: readonly Feeder[]) {
    this.#connection = connection;
    this.#feeders = feeders;
    const circuitPhases: CircuitPhase[] = [];
    const add = (feeder: string | undefined, currentA: PhaseCurrents) => {
      const place = circuitPhases.length;
      for (const [i, phase] of GRID_PHASES.entries())
        circuitPhases.push({ feeder, phase, capacityTenthsA: tenthsAOf(currentA[i] ?? 0) });
      return place;
    };
    this.#root = connection === null ? [] : [add(undefined, connection.currentA)];
    const placeOf = new Map(feeders.map(({ name, currentA }) => [name, add(name, currentA)]));
    const byName = new Map(feeders.map((feeder) => [feeder.name, feeder]));
    for (const { name } of feeders) {
      const path = [...this.#root];
      let above = byName.get(name);
      // At most one step per feeder, so that a cycle of parents cannot loop forever.
      for (let i = 0; above !== undefined && i < feeders.length; i++) {
        path.push(placeOf.get(above.name) ?? 0);
        above = above.parent === null ? undefined : byName.get(above.parent);
      }
      this.#pathOf.set(name, path);
      const own = path.slice(this.#root.length);
      this.#feedersAbove.set(
        name,
        own.map((circuitPhase) => circuitPhase / GRID_PHASES.length - this.#root.length),
      );
    }
    this.circuitPhases = circuitPhases;
    this.feederNames = feeders.map(({ name }) => name);
  }

  /**
   * Copy of these fuses with a reduced connection: the load beside the chargers is deducted, tenths of an ampere per
   * phase.
   */
  beside([l1 = 0, l2 = 0, l3 = 0]: readonly number[]): Fuses {
    if (this.#connection === null) return this;
    const left = (i: number, takenTenthsA: number) =>
      Math.max(0, (this.circuitPhases[i]?.capacityTenthsA ?? 0) - takenTenthsA) / 10;
    return new Fuses(
      { ...this.#connection, currentA: [left(0, l1), left(1, l2), left(2, l3)] },
      this.#feeders,
    );
  }

  get capacitiesTenthsA(): readonly number[] {
    return this.circuitPhases.map(({ capacityTenthsA }) => capacityTenthsA);
  }

  /** Indices of the circuit phases that a connector may load. */
  circuitPhasesOf(wiring: Wiring): readonly number[] {
    const phases = phasesOf(wiring);
    return this.#pathTo(wiring.feeder).flatMap((place) => phases.map((phase) => place + phase));
  }

  /** Indices for each of the connector's own phases, in order; all three phases if the rotation is unknown (R26). */
  circuitPhasesOfEachPhase({ phases, rotation, feeder }: Wiring): readonly (readonly number[])[] {
    const path = this.#pathTo(feeder);
    if (path.length === 0) return NO_POLES[phases];
    return [0, 1, 2].slice(0, phases).map((own) => {
      const place = gridPhaseOf(rotation, own);
      const of = place === undefined ? [0, 1, 2] : [place];
      return path.flatMap((circuitPhase) => of.map((phase) => circuitPhase + phase));
    });
  }

  /** Indices in `feederNames` of `feeder` and the feeders above it; empty for the connection. */
  feedersAbove(feeder: string | null | undefined): readonly number[] {
    return (feeder == null ? undefined : this.#feedersAbove.get(feeder)) ?? NO_FEEDERS;
  }

  #pathTo(feeder: string | null | undefined): readonly number[] {
    return (feeder == null ? undefined : this.#pathOf.get(feeder)) ?? this.#root;
  }
}

/** Fuses of a location without any known fuse. */
export const NO_FUSES = new Fuses(null, []);

/** Fuses of a location. Locations without known fuses share one object. */
export function fusesOf(connection: Connection | null, feeders: readonly Feeder[]): Fuses {
  return connection === null && feeders.length === 0 ? NO_FUSES : new Fuses(connection, feeders);
}

/** Returns, for example, `phase L2 of the connection` or `phase L1 of feeder "hall"`. */
export function nameOfCircuitPhase({ feeder, phase }: CircuitPhase): string {
  return `phase ${phase} of ${feeder === undefined ? 'the connection' : `feeder "${feeder}"`}`;
}
