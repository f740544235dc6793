// The chargers of a world: made from what is provisioned, found by their address, started again.
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { Clock } from '../../src/ports/clock.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { topicsFor } from '../charger/charger-inbox.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { CarNote } from '../charger/outlet.js';
import type { ChargerTraits } from '../charger/traits.js';
import { VirtualCharger } from '../charger/virtual-charger.js';
import type { Visitors } from '../charger/virtual-connector.js';
import type { Agenda } from './agenda.js';
import { ChargerRun } from './charger-run.js';
import type { Wire } from './wire.js';

type Connectors = TenantEntry['locations'][number]['chargers'][number]['connectors'];

/** What chargers do that others have to know. */
export interface ChargerEvents {
  said(run: ChargerRun, message: ChargerMessage): void;
  /** Its draw, limit, state or link may be another. */
  changed(run: ChargerRun): void;
  visited(charger: ChargerAddress, connectorId: ConnectorId, note: CarNote): void;
}

export class WorldChargers {
  readonly runs: ChargerRun[] = [];
  readonly #runOf = new Map<string, ChargerRun>();
  readonly #agenda: Agenda;
  readonly #clock: Clock;
  readonly #seed: number;
  readonly #random: RandomGenerator;
  readonly #visitorsOf: (charger: ChargerAddress) => Visitors;
  readonly #traitsOf: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;
  #boots = 0;

  constructor(options: {
    readonly agenda: Agenda;
    readonly clock: Clock;
    readonly seed: number;
    readonly random: RandomGenerator;
    readonly visitorsOf: (charger: ChargerAddress) => Visitors;
    readonly traitsOf:
      | ((charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>)
      | undefined;
  }) {
    this.#agenda = options.agenda;
    this.#clock = options.clock;
    this.#seed = options.seed;
    this.#random = options.random;
    this.#visitorsOf = options.visitorsOf;
    this.#traitsOf = options.traitsOf ?? (() => ({}));
  }

  add(address: ChargerAddress, connectors: Connectors, events: ChargerEvents): void {
    const number = this.runs.length;
    const charger = new VirtualCharger({
      address,
      connectors,
      boot: this.nextBoot(),
      seed: this.#seed + number,
      startsAtMs: 0,
      traffic: this.#visitorsOf(address),
      traits: this.#traitsOf(address, this.#random),
      onCar: (connectorId, note) => events.visited(address, connectorId, note),
    });
    const run = new ChargerRun({
      charger,
      agenda: this.#agenda,
      seed: 2 * (this.#seed * 1_000_003 + number),
      monotonicMs: () => this.#clock.monotonicMs(),
      wallMs: () => this.#clock.nowMs(),
      say: events.said,
      onChange: events.changed,
    });
    this.runs.push(run);
    this.#runOf.set(address.controllerUuid, run);
  }

  /** The name of the next start of a charger. */
  nextBoot(): string {
    return `boot-${++this.#boots}`;
  }

  find({ controllerUuid }: ChargerAddress): ChargerRun | undefined {
    return this.#runOf.get(controllerUuid);
  }

  wireOf(address: ChargerAddress): Wire | undefined {
    return this.find(address)?.wire;
  }

  /** What it subscribes to. */
  topicsOf(address: ChargerAddress): readonly string[] {
    const run = this.find(address);
    return run === undefined ? [] : topicsFor(run.charger);
  }
}
