// A node of several that stand by for each other: it forwards requests until it owns the database, and then runs it.
import { WarmUp } from './actors/warm-up.js';
import type { Config } from './config.js';
import { createStandbyHealth } from './health.js';
import type { Exchanges } from './inbound/http/exchange.js';
import { Forwarding } from './inbound/http/forwarding.js';
import type { HttpServer } from './inbound/http/server.js';
import { createStandbyApp } from './inbound/http/standby-app.js';
import type { Metrics } from './metrics.js';
import { type Running, Standby } from './nodes/standby.js';
import { within } from './nodes/within.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import type { Store } from './ports/store.js';
import { FINISH_WITHIN_MS, loadBus, Term, timingOf } from './term.js';
import { VERSION } from './version.js';

interface StandbyNodeOptions
  extends Pick<ConstructorParameters<typeof Term>[0], 'seams' | 'tokens' | 'nodeTokens' | 'tlsFiles'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly store: Store;
  readonly http: HttpServer;
  /** The node will soon stop forwarding, and will not become active. */
  readonly isStopping: () => boolean;
  /** @param mqttUrl address of an active node's broker */
  readonly onRole: (role: 'active' | 'standby', mqttUrl?: string) => void;
}

export class StandbyNode {
  readonly #options: StandbyNodeOptions;
  readonly #forwarding: Forwarding;
  readonly #standby: Standby;
  readonly #warmUp: WarmUp;

  constructor(options: StandbyNodeOptions) {
    this.#options = options;
    const { config, clock, log, store } = options;
    this.#forwarding = new Forwarding(options);
    this.#warmUp = new WarmUp({ clock, log, store, timing: timingOf(config) });
    this.#standby = new Standby({
      clock,
      log,
      ownership: store.ownership,
      owned: 'the database',
      leaseMs: 1000 * config.ownerTtlS,
      begin: (ownerTerm, ownershipLease, onTakenOver) =>
        this.#begin(new Term({ ...options, ownerTerm, ownershipLease, onTakenOver })),
    });
  }

  async start(): Promise<void> {
    await loadBus(this.#options.config);
    this.#standby.start();
    void this.#warmUp.start();
  }

  /** Ends a term under way, so that another node may begin the next at once. */
  handOver(): Promise<void> {
    this.#warmUp.end();
    return this.#standby.stop();
  }

  async stop(): Promise<void> {
    this.#forwarding.close();
  }

  /** The listener for requests while the node stands by. */
  answering(exchanges: Exchanges): ReturnType<typeof createStandbyApp> {
    const { config, clock, log, metrics, store, isStopping } = this.#options;
    const isClockOff = () => this.#standby.isClockOff;
    return createStandbyApp({
      trustProxy: config.trustProxy,
      metricsToken: config.metricsToken,
      clock,
      log,
      metrics,
      ownership: store.ownership,
      forwarding: this.#forwarding,
      health: createStandbyHealth({ clock, store, isClockOff, isStopping, version: VERSION }),
      ...exchanges,
    });
  }

  async #begin(term: Term): Promise<Running> {
    const { http, clock, onRole } = this.#options;
    this.#warmUp.end();
    try {
      const { mqttUrl } = await term.start();
      void http.answerWith((exchanges) => term.answering(exchanges));
      onRole('active', mqttUrl);
    } catch (error) {
      await term.stop();
      this.#standByAgain();
      throw error;
    }
    return {
      stop: async () => {
        await within(
          clock,
          FINISH_WITHIN_MS,
          http.answerWith((exchanges) => this.answering(exchanges)),
        );
        await term.stop();
        this.#standByAgain();
        onRole('standby');
      },
    };
  }

  #standByAgain(): void {
    if (!this.#options.isStopping()) void this.#warmUp.start();
  }
}
