// The service of a world, through all its lives: what starts it, asks it and ends it.

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

/** Who signed the certificate of a service that speaks TLS, as PEM: clients in a world trust its own certificate. */
export function authorityOf({ tlsCert }: Config): string | undefined {
  return tlsCert === undefined ? undefined : readCertificates(variableOf('tlsCert'), tlsCert);
}

/** What runs the production service in a world. */
export interface ServiceHost {
  /** While true, nothing can be written. */
  isDatabaseBusy: boolean;
  /** Its broker is its own: chargers lose it with the service. */
  readonly hasBroker: boolean;
  /** What may become of it in the middle of a commit. */
  readonly fates: readonly CommitFate[];
  /** It can be asked. */
  readonly isUp: boolean;
  /** It hears chargers. */
  readonly isListening: boolean;
  readonly ids: ServiceIds;
  /** Of what can be asked now. */
  readonly metrics: Metrics | undefined;
  /** Begins its next life, on what is stored. */
  start(carrier: Carrier, events: LifeEvents): Promise<void>;
  /** It is gone at once. @returns what closes its sockets and files; undefined where it was gone already. */
  die(): (() => Promise<void>) | undefined;
  /** For good. */
  stop(): Promise<void>;
  /** If the service died meanwhile, its answer is lost. */
  ask(question: Question, tenantUuid: string, who?: 'client' | 'watch'): Promise<RestAnswer>;
}

/** Ids that a service gives. What a call makes has an id of that call's, whatever else happens in its world. */
export class ServiceIds {
  /** The name of the call that is made now, where it has one. */
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

  /** @param options.keys the API key of each tenant. */
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

  /** As an operator stops it. */
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
