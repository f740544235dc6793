// The chargers of a world: made from what is provisioned, found by their address, started again.
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { LeaseTiming } from '../../machines/power/grant.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { Clock } from '../../src/ports/clock.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { topicsFor } from '../charger/charger-inbox.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { CarNote } from '../charger/outlet.js';
import type { ChargerTraits } from '../charger/traits.js';
import { VirtualCharger } from '../charger/virtual-charger.js';
import type { Visitors } from '../charger/virtual-connector.js';
import { seedFor } from '../scenario/draw.js';
import type { Agenda } from './agenda.js';
import { ChargerRun } from './charger-run.js';
import type { Wire } from './wire.js';

type Connectors = TenantEntry['locations'][number]['chargers'][number]['connectors'];

/** What chargers do that others have to know. */
export interface ChargerEvents {
  said(run: ChargerRun, message: ChargerMessage): void;
  /** Its draw, limit, state or link may have changed. */
  changed(run: ChargerRun): void;
  visited(charger: ChargerAddress, connectorId: ConnectorId, note: CarNote): void;
}

const FIRST_BOOT = 'boot-1';

export class WorldChargers {
  readonly runs: ChargerRun[] = [];
  readonly #runOf = new Map<string, ChargerRun>();
  readonly #agenda: Agenda;
  readonly #clock: Clock;
  readonly #seed: number;
  readonly #visitorsOf: (charger: ChargerAddress) => Visitors;
  readonly #traitsOf: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;

  constructor(options: {
    readonly agenda: Agenda;
    readonly clock: Clock;
    readonly seed: number;
    readonly visitorsOf: (charger: ChargerAddress) => Visitors;
    readonly traitsOf:
      | ((charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>)
      | undefined;
  }) {
    this.#agenda = options.agenda;
    this.#clock = options.clock;
    this.#seed = options.seed;
    this.#visitorsOf = options.visitorsOf;
    this.#traitsOf = options.traitsOf ?? (() => ({}));
  }

  /** @param timing of the charger's own, where it has one */
  add(
    address: ChargerAddress,
    connectors: Connectors,
    events: ChargerEvents,
    timing: LeaseTiming | undefined,
  ): void {
    const { controllerUuid } = address;
    const charger = new VirtualCharger({
      address,
      connectors,
      boot: FIRST_BOOT,
      seed: seedFor(this.#seed, 'cars', controllerUuid),
      startsAtMs: 0,
      traffic: this.#visitorsOf(address),
      traits: {
        ...this.#traitsOf(address, mersenne(seedFor(this.#seed, 'traits', controllerUuid))),
        ...(timing === undefined ? {} : { meterPeriodMs: timing.heartbeatMs }),
      },
      onCar: (connectorId, note) => events.visited(address, connectorId, note),
    });
    const run = new ChargerRun({
      charger,
      agenda: this.#agenda,
      seed: this.#seed,
      monotonicMs: () => this.#clock.monotonicMs(),
      wallMs: () => this.#clock.nowMs(),
      say: events.said,
      onChange: events.changed,
    });
    this.runs.push(run);
    this.#runOf.set(address.controllerUuid, run);
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
