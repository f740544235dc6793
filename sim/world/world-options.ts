// What a world is to be: its sites and chargers, who comes to them, what carries their messages, and who listens.
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Seams } from '../../src/service.js';
import type { ChargerTraits } from '../charger/traits.js';
import type { Visitors } from '../charger/virtual-connector.js';
import type { Building, GridLine } from '../scenario/scenario.js';
import type { TraceEvent } from '../trace/trace-event.js';
import type { OcppOf } from './world-chargers.js';

export interface WorldOptions {
  readonly tenants: readonly TenantEntry[];
  readonly seed: number;
  readonly startMs: EpochMs;
  /** Who comes to the charger's connectors; times of cars are ms since the start of the world. */
  readonly visitorsOf: (charger: ChargerAddress) => Visitors;
  /** Of each charger, drawn or given; what is not given is honest. */
  readonly traitsOf?: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;
  /** Of each charger that speaks OCPP through the gateway; undefined of one that speaks MQTT itself. */
  readonly ocppOf?: OcppOf;
  /** What feeds its locations; those on no line have the voltage of their rating. */
  readonly grid?: readonly GridLine[];
  /** What else draws at its locations, with a meter at the connection. */
  readonly buildings?: readonly Building[];
  /** Settings of the service as environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * What carries the messages: the objects themselves within the process, or their bytes through the production's broker.
   * The same seed goes the same way with both.
   */
  readonly transport?: 'inProcess' | 'mqtt';
  /** Told of everything that happens, in order. */
  readonly onEvent?: (event: TraceEvent) => void;
  /** So many nodes stand by for each other, in process and beside a broker that none of them has. */
  readonly nodes?: number;
  /** They share the tenants instead. */
  readonly isSharded?: boolean;
  /** For `checks.probes.tellAgain`. */
  readonly keepsMessages?: boolean;
  /** Listens to the service from within. Its errors are violations, whether anybody listens or not. */
  readonly seams?: Pick<Seams, 'log' | 'createActors'>;
}
