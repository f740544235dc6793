// The chargers of a world: created from the provisioned sites, and found by their address.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { LeaseTiming } from '../../machines/power/grant.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { Clock } from '../../src/ports/clock.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { CarNote } from '../charger/car.js';
import { topicsFor } from '../charger/charger-inbox.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { OcppTraits } from '../charger/ocpp-traits.js';
import type { ChargerTraits } from '../charger/traits.js';
import { VirtualCharger } from '../charger/virtual-charger.js';
import type { Visitors } from '../charger/virtual-connector.js';
import { seedFor } from '../scenario/draw.js';
import type { Agenda } from './agenda.js';
import { BridgedCharger } from './bridged-charger.js';
import { ChargerRun } from './charger-run.js';
import type { BrokerSide } from './connections.js';
import type { Wire } from './wire.js';
import type { WorldGateway } from './world-gateway.js';

type Connectors = TenantEntry['locations'][number]['chargers'][number]['connectors'];

export interface ChargerEvents {
  said(run: ChargerRun, message: ChargerMessage): void;
  /** Its draw, limit, state or connection may have changed. */
  changed(run: ChargerRun): void;
  visited(charger: ChargerAddress, connectorId: ConnectorId, note: CarNote): void;
  /** Access to the broker for a charger behind the gateway. */
  brokerSideOf(run: ChargerRun): BrokerSide;
  /** Completes all pending promises before virtual time goes on. */
  settle(): void;
}

/** OCPP traits of a charger; undefined for a charger with MQTT. */
export type OcppOf = (charger: ChargerAddress, random: RandomGenerator) => Partial<OcppTraits> | undefined;

const FIRST_BOOT = 'boot-1';
const CLOCK_OFF_MS = 86_400_000;

export class WorldChargers {
  readonly runs: ChargerRun[] = [];
  readonly #runOf = new Map<string, ChargerRun>();
  readonly #agenda: Agenda;
  readonly #clock: Clock;
  readonly #seed: number;
  readonly #visitorsOf: (charger: ChargerAddress) => Visitors;
  readonly #gateway: WorldGateway;
  readonly #ocppOf: OcppOf;
  readonly #traitsOf: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;

  constructor(options: {
    readonly agenda: Agenda;
    readonly clock: Clock;
    readonly seed: number;
    readonly visitorsOf: (charger: ChargerAddress) => Visitors;
    readonly traitsOf:
      | ((charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>)
      | undefined;
    readonly gateway: WorldGateway;
    readonly ocppOf: OcppOf | undefined;
  }) {
    this.#gateway = options.gateway;
    this.#ocppOf = options.ocppOf ?? (() => undefined);
    this.#agenda = options.agenda;
    this.#clock = options.clock;
    this.#seed = options.seed;
    this.#visitorsOf = options.visitorsOf;
    this.#traitsOf = options.traitsOf ?? (() => ({}));
  }

  /** @param timing the charger's own timing, if there is one */
  add(
    address: ChargerAddress,
    connectors: Connectors,
    events: ChargerEvents,
    timing: LeaseTiming | undefined,
  ): void {
    const { controllerUuid } = address;
    const charger =
      this.#bridged(address, connectors, events) ?? this.#native(address, connectors, events, timing);
    const run = new ChargerRun({
      charger,
      agenda: this.#agenda,
      seed: this.#seed,
      monotonicMs: () => this.#clock.monotonicMs(),
      wallMs: () => this.#clock.nowMs(),
      say: events.said,
      onChange: events.changed,
    });
    if (charger instanceof BridgedCharger) charger.joins(events.brokerSideOf(run));
    this.runs.push(run);
    this.#runOf.set(controllerUuid, run);
  }

  #native(
    address: ChargerAddress,
    connectors: Connectors,
    events: ChargerEvents,
    timing: LeaseTiming | undefined,
  ): VirtualCharger {
    const { controllerUuid } = address;
    return new VirtualCharger({
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
  }

  /** Undefined for a charger with MQTT. */
  #bridged(
    address: ChargerAddress,
    connectors: Connectors,
    events: ChargerEvents,
  ): BridgedCharger | undefined {
    const { controllerUuid } = address;
    const random = mersenne(seedFor(this.#seed, 'ocpp', controllerUuid));
    const traits = this.#ocppOf(address, random);
    const evses = this.#gateway.bridgeOf(address)?.connectors;
    if (traits === undefined || evses === undefined) return undefined;
    const visitors = this.#visitorsOf(address);
    return new BridgedCharger({
      address,
      traits,
      device: {
        connectors: evses.map((evse) => ({
          ...evse,
          ...connectors.find(({ connectorId }) => connectorId === evse.connectorId),
        })),
        visitors,
        seed: seedFor(this.#seed, 'cars', controllerUuid),
        startsAtMs: 0,
        // No clock of a charger has to be right.
        ownMs: this.#clock.nowMs() + uniformInt(random, -CLOCK_OFF_MS, CLOCK_OFF_MS),
        isInstalled: true,
        onCar: (connectorId, note) => events.visited(address, connectorId, note),
      },
      gateway: this.#gateway,
      agenda: this.#agenda,
      luck: xoroshiro128plus(seedFor(this.#seed, 'line', controllerUuid)),
      seed: this.#seed,
      monotonicMs: () => this.#clock.monotonicMs(),
      settle: events.settle,
    });
  }

  find({ controllerUuid }: ChargerAddress): ChargerRun | undefined {
    return this.#runOf.get(controllerUuid);
  }

  wireOf(address: ChargerAddress): Wire | undefined {
    return this.find(address)?.wire;
  }

  topicsOf(address: ChargerAddress): readonly string[] {
    const run = this.find(address);
    return run === undefined ? [] : topicsFor(run.charger);
  }
}
