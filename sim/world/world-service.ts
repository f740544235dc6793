// The service of a world through all its lives: its starts, its answers and its ends.

import type { Config } from '../../src/config.js';
import { variableOf } from '../../src/config.js';
import type { Metrics } from '../../src/metrics.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { Seams } from '../../src/service.js';
import { readCertificates } from '../../src/tls-files.js';
import type { Question } from '../checks/inquiry.js';
import type { Carrier } from './carrier.js';
import type { Outstanding } from './outstanding.js';
import { callService, type RestAnswer } from './rest-client.js';
import { type CommitFate, type LifeEvents, type ServiceLife, startService } from './service-life.js';

export const NO_ANSWER: RestAnswer = { status: 0, body: undefined };

/**
 * Certificate that signed the certificate of a service with TLS, as PEM: clients in a world trust its own
 * certificate.
 */
export function authorityOf({ tlsCert }: Config): string | undefined {
  return tlsCert === undefined ? undefined : readCertificates(variableOf('tlsCert'), tlsCert);
}

/** Runs the production service in a world. */
export interface ServiceHost {
  /** While true, every write fails. */
  isDatabaseBusy: boolean;
  /** The service has a broker of its own: chargers lose the broker with the service. */
  readonly hasBroker: boolean;
  /** Possible outcomes of a commit during which the service dies or freezes. */
  readonly fates: readonly CommitFate[];
  /** True if the service can answer. */
  readonly isUp: boolean;
  /** True if the service receives messages of chargers. */
  readonly isListening: boolean;
  readonly ids: ServiceIds;
  /** Metrics of the service that can answer now. */
  readonly metrics: Metrics | undefined;
  /** Begins the next life of the service, on the stored state. */
  start(carrier: Carrier, events: LifeEvents): Promise<void>;
  /**
   * Kills the service at once.
   * @returns a function that closes its sockets and files; undefined if the service was dead already
   */
  die(): (() => Promise<void>) | undefined;
  /** Ends the service for good. */
  stop(): Promise<void>;
  /** If the service dies meanwhile, its answer is lost. */
  ask(question: Question, tenantUuid: string, who?: 'client' | 'watch'): Promise<RestAnswer>;
}

/**
 * Ids that the service assigns. The id of an object that a call creates depends on that call alone, and not on
 * other events.
 */
export class ServiceIds {
  /** Name of the present call, if it has one. */
  #call: string | undefined;
  readonly #given = new Map<string | undefined, number>();

  next(): string {
    const nth = 1 + (this.#given.get(this.#call) ?? 0);
    this.#given.set(this.#call, nth);
    return this.#call === undefined ? `id-${nth}` : `id-${this.#call}-${nth}`;
  }

  async during<T>(call: string | undefined, task: () => Promise<T>): Promise<T> {
    this.#call = call;
    try {
      return await task();
    } finally {
      this.#call = undefined;
    }
  }
}

export class WorldService implements ServiceHost {
  isDatabaseBusy = false;
  readonly hasBroker = true;
  readonly fates = ['diedBefore', 'diedAfter'] as const;
  readonly ids = new ServiceIds();
  readonly #config: Config;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #outstanding: Outstanding;
  readonly #createActors: Seams['createActors'] | undefined;
  readonly #ca: string | undefined;
  #life: ServiceLife | undefined;

  /** @param options.keys the API key of each tenant */
  constructor(options: {
    readonly config: Config;
    readonly keys: ReadonlyMap<string, string>;
    readonly clock: Clock;
    readonly log: Log;
    readonly outstanding: Outstanding;
    readonly createActors: Seams['createActors'] | undefined;
  }) {
    this.#config = options.config;
    this.#keys = options.keys;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#outstanding = options.outstanding;
    this.#createActors = options.createActors;
    this.#ca = authorityOf(options.config);
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  get isListening(): boolean {
    return this.isUp;
  }

  get metrics(): Metrics | undefined {
    return this.#life?.metrics;
  }

  async start(carrier: Carrier, events: LifeEvents): Promise<void> {
    const opened = carrier.open();
    this.#life = await startService({
      config: this.#config,
      clock: this.#clock,
      log: this.#log,
      outstanding: this.#outstanding,
      carrier: opened,
      createActors: this.#createActors,
      newId: () => this.ids.next(),
      isDatabaseBusy: () => this.isDatabaseBusy,
      onWritten: events.onWritten,
      fateOf: events.fateOf,
    });
    await events.onBegan();
  }

  die(): (() => Promise<void>) | undefined {
    const dying = this.#life;
    this.#life = undefined;
    return dying && (() => dying.kill());
  }

  /** Stops the service as an operator does. */
  async stop(): Promise<void> {
    await this.#life?.stop();
  }

  async ask(question: Question, tenantUuid: string): Promise<RestAnswer> {
    const asked = this.#life;
    if (asked === undefined) return NO_ANSWER;
    const answer = await callService(asked.httpUrl, this.#keys.get(tenantUuid) ?? '', question, {
      ca: this.#ca,
    });
    return this.#life === asked ? answer : NO_ANSWER;
  }
}
