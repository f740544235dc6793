// The OCPP gateway of a world through all its lives: the production sessions on the virtual clock, without sockets.
import type { ChargerAddress } from '../../machines/values/ids.js';
import { bridgesOf } from '../../src/gateway/bridged-chargers.js';
import { openGatewayMemory } from '../../src/gateway/gateway-memory.js';
import { createGatewayMetrics } from '../../src/gateway/gateway-metrics.js';
import { type OcppBridge, OcppState, openOcppMemory, speaking } from '../../src/gateway/ocpp/ocpp-charger.js';
import type { Call, OcppDialect } from '../../src/gateway/ocpp/ocpp-dialect.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { OcppProtocol } from '../charger/traits.js';
import { mortal } from './pace.js';

/** One life of the gateway. */
interface GatewayLife {
  isLiving: boolean;
  readonly clock: Clock;
  readonly bridges: ReadonlyMap<string, OcppBridge>;
}

interface WorldGatewayOptions {
  readonly tenants: readonly TenantEntry[];
  readonly heartbeatMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export class WorldGateway {
  readonly #options: WorldGatewayOptions;
  /** Content of the gateway's disk. */
  readonly #memory = openGatewayMemory(undefined);
  readonly #ocppMemory = openOcppMemory(undefined);
  readonly #metrics = createGatewayMetrics({ processMetrics: false });
  #boots = 0;
  #life: GatewayLife | undefined;

  constructor(options: WorldGatewayOptions) {
    this.#options = options;
  }

  /** The charger's bridge in the gateway's present life. */
  bridgeOf({ controllerUuid }: ChargerAddress): OcppBridge | undefined {
    return this.#life?.bridges.get(controllerUuid);
  }

  /** Clock of the present life: none of its timers fires after that life. */
  get clock(): Clock | undefined {
    return this.#life?.clock;
  }

  dialectOf(bridge: OcppBridge, protocol: OcppProtocol, call: Call): OcppDialect {
    const { log } = this.#options;
    const clock = this.#life?.clock ?? this.#options.clock;
    return speaking(protocol, bridge, call, { clock, log, idTags: { kind: 'all' } });
  }

  /** Does nothing if the gateway runs: after two crashes it is back after the shorter outage. */
  start(): void {
    if (this.#life !== undefined) return;
    const { tenants, heartbeatMs, log } = this.#options;
    const life = { isLiving: true };
    const clock = mortal(this.#options.clock, life);
    const bridges = bridgesOf(
      { tenants: [...tenants] },
      {
        heartbeatMs,
        clock,
        log,
        memory: this.#memory,
        stateOf: (address) => new OcppState(address, this.#ocppMemory),
        metrics: this.#metrics,
        newBoot: () => `gateway-boot-${++this.#boots}`,
      },
    );
    const byCharger = new Map(bridges.map((bridge) => [bridge.address.controllerUuid as string, bridge]));
    this.#life = Object.assign(life, { clock, bridges: byCharger });
  }

  die(): void {
    if (this.#life !== undefined) this.#life.isLiving = false;
    this.#life = undefined;
  }
}
