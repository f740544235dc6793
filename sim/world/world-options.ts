// The options of a world: its sites and chargers, their cars, the transport of messages, and the listeners.
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Seams } from '../../src/service.js';
import type { ChargerTraits } from '../charger/traits.js';
import type { Visitors } from '../charger/virtual-connector.js';
import type { TraceEvent } from '../log/trace-event.js';
import type { Building, GridLine } from '../scenario/scenario.js';
import type { OcppOf } from './world-chargers.js';

export interface WorldOptions {
  readonly tenants: readonly TenantEntry[];
  readonly seed: number;
  readonly startMs: EpochMs;
  /** Cars of the charger's connectors; times of cars are ms since the start of the world. */
  readonly visitorsOf: (charger: ChargerAddress) => Visitors;
  /** Traits of each charger, drawn or given; traits that are left out are honest. */
  readonly traitsOf?: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;
  /** OCPP traits of each charger behind the gateway; undefined for a charger with MQTT. */
  readonly ocppOf?: OcppOf;
  /** Lines that feed its locations; a location on no line has the voltage of its rating. */
  readonly grid?: readonly GridLine[];
  /** Other loads at its locations, with a meter at the connection. */
  readonly buildings?: readonly Building[];
  /** Settings of the service as environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Transport of messages: as objects within the process, or as bytes through the production broker. The same seed
   * gives the same run with both.
   */
  readonly transport?: 'inProcess' | 'mqtt';
  /** Receives every event, in order. */
  readonly onEvent?: (event: TraceEvent) => void;
  /** Number of nodes that stand by for each other, in this process. Their broker belongs to none of them. */
  readonly nodes?: number;
  /** The nodes share the tenants instead of standing by. */
  readonly isSharded?: boolean;
  /** Required by `checks.probes.tellAgain`. */
  readonly keepsMessages?: boolean;
  /** Listens to the service from within. Errors of the service are violations with or without a listener. */
  readonly seams?: Pick<Seams, 'log' | 'createActors'>;
}
