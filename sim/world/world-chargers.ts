// The chargers of a world: created from the provisioned sites, and found by their address.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { LeaseTiming } from '../../machines/ledger/grant.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { CarNote } from '../charger/car.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { ChargerTraits, OcppTraits } from '../charger/traits.js';
import { topicsFor, VirtualCharger } from '../charger/virtual-charger.js';
import type { Visitors } from '../charger/virtual-connector.js';
import { seedFor } from '../scenario/draw.js';
import type { Agenda } from './agenda.js';
import { BridgedCharger } from './bridged-charger.js';
import { ChargerRun } from './charger-run.js';
import type { BrokerSide } from './connections.js';
import type { WorldGateway } from './world-gateway.js';

type Connectors = TenantEntry['locations'][number]['chargers'][number]['connectors'];

/** OCPP traits of a charger; undefined for a charger with MQTT. */
export type OcppOf = (charger: ChargerAddress, random: RandomGenerator) => Partial<OcppTraits> | undefined;

const FIRST_BOOT = 'boot-1';
const CLOCK_OFF_MS = 86_400_000;

interface WorldChargersOptions {
  readonly agenda: Agenda;
  readonly seed: number;
  readonly gateway: WorldGateway;
  readonly visitorsOf: (charger: ChargerAddress) => Visitors;
  readonly traitsOf?:
    | ((charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>)
    | undefined;
  readonly ocppOf?: OcppOf | undefined;
  readonly said: (run: ChargerRun, message: ChargerMessage) => void;
  /** Its draw, limit, state or connection may have changed. */
  readonly changed: (run: ChargerRun) => void;
  readonly visited: (charger: ChargerAddress, connectorId: ConnectorId, note: CarNote) => void;
  /** Access to the broker for a charger behind the gateway. */
  readonly brokerSideOf: (run: ChargerRun) => BrokerSide;
  /** Completes all pending promises before virtual time goes on. */
  readonly settle: () => void;
}

export class WorldChargers {
  readonly runs: ChargerRun[] = [];
  readonly #runOf = new Map<string, ChargerRun>();
  readonly #options: WorldChargersOptions;

  constructor(options: WorldChargersOptions) {
    this.#options = options;
  }

  /** @param timing the charger's own timing, if there is one */
  add(address: ChargerAddress, connectors: Connectors, timing: LeaseTiming | undefined): void {
    const charger = this.#bridged(address, connectors) ?? this.#native(address, connectors, timing);
    const run = new ChargerRun({ ...this.#options, charger });
    if (charger instanceof BridgedCharger) charger.joins(this.#options.brokerSideOf(run));
    this.runs.push(run);
    this.#runOf.set(address.controllerUuid, run);
  }

  #native(address: ChargerAddress, connectors: Connectors, timing: LeaseTiming | undefined): VirtualCharger {
    const { seed, visitorsOf, traitsOf, visited } = this.#options;
    const { controllerUuid } = address;
    return new VirtualCharger({
      address,
      connectors,
      boot: FIRST_BOOT,
      seed: seedFor(seed, 'cars', controllerUuid),
      startsAtMs: 0,
      traffic: visitorsOf(address),
      traits: {
        ...traitsOf?.(address, mersenne(seedFor(seed, 'traits', controllerUuid))),
        ...(timing === undefined ? {} : { meterPeriodMs: timing.heartbeatMs }),
      },
      onCar: (connectorId, note) => visited(address, connectorId, note),
    });
  }

  /** Undefined for a charger with MQTT. */
  #bridged(address: ChargerAddress, connectors: Connectors): BridgedCharger | undefined {
    const { seed, agenda, gateway, visitorsOf, ocppOf, visited, settle } = this.#options;
    const { controllerUuid } = address;
    const random = mersenne(seedFor(seed, 'ocpp', controllerUuid));
    const traits = ocppOf?.(address, random);
    const evses = gateway.bridgeOf(address)?.connectors;
    if (traits === undefined || evses === undefined) return undefined;
    return new BridgedCharger({
      address,
      traits,
      device: {
        connectors: evses.flatMap(({ connectorId, evse, failsafeA }) =>
          connectors
            .filter((each) => each.connectorId === connectorId)
            .map((each) => ({ ...each, evse, failsafeA })),
        ),
        visitors: visitorsOf(address),
        seed: seedFor(seed, 'cars', controllerUuid),
        startsAtMs: 0,
        // No clock of a charger has to be right.
        ownMs: agenda.nowMs() + uniformInt(random, -CLOCK_OFF_MS, CLOCK_OFF_MS),
        isInstalled: true,
        onCar: (connectorId, note) => visited(address, connectorId, note),
      },
      gateway,
      agenda,
      luck: xoroshiro128plus(seedFor(seed, 'line', controllerUuid)),
      seed,
      settle,
    });
  }

  find({ controllerUuid }: ChargerAddress): ChargerRun | undefined {
    return this.#runOf.get(controllerUuid);
  }

  /** Topics that the charger subscribes to. */
  topicsOf(address: ChargerAddress): readonly string[] {
    const run = this.find(address);
    return run === undefined ? [] : topicsFor(run.charger);
  }
}
