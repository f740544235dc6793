// A node: it runs the shards of the database that it owns, and forwards requests for other shards. For a node that
// stands by, and for one without others, the whole database is one shard.
import type { RequestListener } from 'node:http';
import type { TenantUuid } from '../machines/values/ids.js';
import type { Shard } from '../machines/values/shards.js';
import type { ActorSystem } from './actor-system.js';
import { RowChangeWatcher } from './actors/row-change-watcher.js';
import { WarmUp } from './actors/warm-up.js';
import { TenantCredentials } from './features/credentials/credentials.js';
import { createHealth, createStandbyHealth } from './health.js';
import { CredentialUses, createCredentialDirectory } from './inbound/http/credentials.js';
import type { WithApplication } from './inbound/http/endpoint-handler.js';
import { DueAnswers, type Exchange, type Exchanges } from './inbound/http/exchange.js';
import type { Forwarding } from './inbound/http/forwarding.js';
import { createNodeApp } from './inbound/http/node-app.js';
import type { NodeTokens } from './inbound/http/node-tokens.js';
import { vacant } from './inbound/http/refusal.js';
import type { Tokens } from './inbound/http/tokens.js';
import { ShardMembership } from './nodes/shard-membership.js';
import { type Running, Standby } from './nodes/standby.js';
import { within } from './nodes/within.js';
import type { SharedDatabase } from './ports/shared-database.js';
import { type Store, StoreUnavailableError } from './ports/store.js';
import { loadBus, Term, type TermOptions, timingOf } from './term.js';
import { VERSION } from './version.js';

interface ServiceNodeOptions
  extends Pick<TermOptions, 'config' | 'clock' | 'log' | 'metrics' | 'seams' | 'tlsFiles'> {
  readonly tokens: Tokens;
  readonly nodeTokens: NodeTokens;
  readonly database: SharedDatabase;
  readonly nodeId: string;
  /** Left out by a node without others. */
  readonly forwarding: Forwarding | undefined;
  /**
   * Called with all owned shards after each change.
   * @param mqttUrl address of the broker of a shard that has begun
   */
  readonly onShards: (held: readonly Shard[], mqttUrl?: string) => void;
}

/** During a stop, shards move to other nodes one after another for this long, and then all at once. */
const MOVE_WITHIN_MS = 5_000;

/** Longest warm-up of a started node before it gets shards. */
const WARM_UP_WITHIN_MS = 3_000;

/** Longest wait of a request at a node without a view of the database: its client should ask another node. */
const ASKED_AGAIN_WITHIN_MS = 1_000;

/** Time for the answers to all requests from before the end of a shard's term. */
const FINISH_WITHIN_MS = 3_000;

/** A shard that this node owns and runs. */
interface HeldShard {
  readonly term: Term;
  readonly actors: ActorSystem;
  readonly lease: TermOptions['ownershipLease'];
  readonly due: DueAnswers;
}

export class ServiceNode {
  readonly #options: ServiceNodeOptions;
  /** The only shard, if the database is not divided. */
  readonly #whole: Shard | undefined;
  readonly #held = new Map<Shard, HeldShard>();
  readonly #membership: ShardMembership;
  readonly #standbys: readonly Standby[];
  readonly #warmUp: WarmUp;
  readonly #credentials = createCredentialDirectory();
  readonly #uses: CredentialUses;
  readonly #tenantCredentials: TenantCredentials;
  /** The rows of a shard hold no secrets; those of the whole database do. */
  readonly #credentialWatcher: RowChangeWatcher;
  #running: Running | undefined;
  #health: ReturnType<typeof createHealth>;
  #exchanges: Exchanges | undefined;
  #isLeaving = false;

  constructor(options: ServiceNodeOptions) {
    this.#options = options;
    const { config, clock, log, database, nodeId } = options;
    const { membership, common, shards } = database;
    const leaseMs = 1000 * config.ownerTtlS;
    this.#whole = shards.length === 1 ? shards[0] : undefined;
    this.#uses = new CredentialUses({ clock, log, store: common });
    this.#tenantCredentials = new TenantCredentials({
      clock,
      log,
      storeOf: this.#storeOf,
      apply: (change) => this.#credentials.apply(change),
      lastUsedAtMs: (kind, id) => this.#uses.lastUsedAtMs(kind, id),
    });
    this.#membership = new ShardMembership({ clock, log, membership, shards, nodeId, leaseMs });
    this.#standbys = shards.map((shard) => this.#createStandby(shard));
    this.#warmUp = new WarmUp({ clock, log, store: common, timing: timingOf(config) });
    const never = () => Promise.reject(new Error('no tenant is read to sign callers in'));
    this.#credentialWatcher = new RowChangeWatcher({
      clock,
      log,
      store: { ...common, isOwner: async () => true, loadTenant: never },
    });
    this.#health = this.#newHealth();
  }

  /**
   * Runs the whole database, without other nodes, until another service claims it. Resolves when chargers may connect.
   * @returns address of the broker
   */
  async runAlone(onTakenOver: () => void): Promise<string> {
    const shard = this.#whole ?? 0;
    const ownerTerm = await this.#options.database.shard(shard).ownership.claim();
    const ownershipLease = { isHeld: () => true, mayAnswer: () => true };
    const { mqttUrl, ...running } = await this.#begin(shard, { ownerTerm, ownershipLease, onTakenOver });
    this.#running = running;
    return mqttUrl;
  }

  /** Prepares to run beside other nodes: resolves once callers may sign in. Rejects if credentials cannot be loaded. */
  async start(): Promise<void> {
    await loadBus(this.#options.config);
    if (this.#whole !== undefined) return;
    await this.#credentialWatcher.start({
      onTakenOver: () => {},
      onCredentials: (set) => this.#credentials.replace(set),
    });
    // No request waits for this node yet: its first shards then begin as fast as later ones.
    await within(this.#options.clock, WARM_UP_WITHIN_MS, this.#warmUp.start());
    this.#warmUp.end();
  }

  /** Takes its share of the shards from now on. Other nodes can reach this one already. */
  async join(): Promise<void> {
    for (const standby of this.#standbys) standby.start();
    const joined = this.#membership.start();
    this.#standBy();
    await joined;
  }

  /** Hands every shard over; requests are forwarded meanwhile. */
  async handOver(): Promise<void> {
    this.#isLeaving = true;
    this.#warmUp.end();
    // No node is assigned the only shard before it is vacant.
    if (this.#whole === undefined) await this.#moveAll();
    await Promise.all(this.#standbys.map((standby) => standby.stop()));
  }

  /** Requests that wait for an event are answered at once, so that they delay no stop. */
  endWaits(): void {
    for (const { actors } of this.#held.values()) actors.endWaits();
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    await this.#membership.close();
    await this.#credentialWatcher.stop();
    await this.#uses.stop();
    this.#options.forwarding?.close();
  }

  /** The listener for requests of all tenants. */
  answering(exchanges: Exchanges): RequestListener {
    const { config, clock, log, metrics, tokens, nodeTokens, forwarding } = this.#options;
    this.#exchanges = exchanges;
    return createNodeApp(config, {
      clock,
      log,
      metrics,
      tokens,
      nodeTokens,
      health: () => this.#health(),
      withApplication: this.#withApplication,
      ...(this.#standsBy && { forwardElsewhere: this.#forwardElsewhere }),
      credentials: this.#credentials,
      tenantCredentials: this.#tenantCredentials,
      storeOf: this.#storeOf,
      credentialUses: this.#uses,
      areReadsRefused: this.#areReadsRefused,
      version: VERSION,
      ...exchanges,
      // Requests that arrive during a stop are forwarded to the nodes that follow.
      ...(forwarding !== undefined && { isStopping: () => false }),
    });
  }

  readonly #storeOf = (tenantUuid: TenantUuid): Store => {
    const { database } = this.#options;
    return database.shard(database.shardOf(tenantUuid));
  };

  readonly #areReadsRefused = (): boolean => {
    for (const { actors } of this.#held.values()) if (actors.areReadsRefused()) return true;
    return false;
  };

  /** One of several nodes, of which one at a time runs the whole database. */
  get #standsBy(): boolean {
    return this.#whole !== undefined && this.#options.forwarding !== undefined;
  }

  /** All requests belong to the only shard: a node that does not run it needs no tenant to forward them. */
  readonly #forwardElsewhere = (exchange: Exchange): Promise<void> | undefined => {
    const shard = this.#whole ?? 0;
    const running = this.#runningHere(shard);
    if (running === undefined) return this.#forward(shard, exchange);
    running.due.take(exchange.response);
    return undefined;
  };

  readonly #withApplication: WithApplication = (tenantUuid, exchange, handle) => {
    const shard = this.#whole ?? this.#options.database.shardOf(tenantUuid);
    const running = this.#runningHere(shard);
    if (running === undefined) return this.#forward(shard, exchange);
    if (this.#whole === undefined) running.due.take(exchange.response);
    return handle(running.actors.application);
  };

  #runningHere(shard: Shard): HeldShard | undefined {
    const held = this.#held.get(shard);
    return held?.lease.mayAnswer() ? held : undefined;
  }

  #forward(shard: Shard, exchange: Exchange): Promise<void> {
    const { nodeId, forwarding } = this.#options;
    if (forwarding === undefined) throw vacant();
    return forwarding.forward(exchange, {
      // It may be this node, if the shard comes here while the request waits.
      findHolder: async () => {
        const holder = this.#membership.holderOf(shard);
        return holder?.nodeId === nodeId && this.#runningHere(shard) === undefined ? undefined : holder;
      },
      isWorthWaiting: (waitedMs) =>
        this.#exchanges?.isStopping() !== true &&
        (this.#standsBy || this.#membership.isInformed || waitedMs < ASKED_AGAIN_WITHIN_MS),
    });
  }

  #createStandby(shard: Shard): Standby {
    const { config, clock, log, database } = this.#options;
    return new Standby({
      clock,
      log,
      owned: this.#whole === undefined ? `shard ${shard}` : 'the database',
      leaseMs: 1000 * config.ownerTtlS,
      ownership: database.shard(shard).ownership,
      awaitVacancy: (signal) => this.#membership.awaitVacancy(shard, signal),
      awaitMove: (signal) => this.#membership.awaitMove(shard, signal),
      onClockOff: () => this.#membership.distrustClock(),
      begin: (ownerTerm, ownershipLease, onTakenOver) =>
        this.#begin(shard, { ownerTerm, ownershipLease, onTakenOver }),
    });
  }

  async #begin(
    shard: Shard,
    owned: Pick<TermOptions, 'ownerTerm' | 'ownershipLease' | 'onTakenOver'>,
  ): Promise<Running & { readonly mqttUrl: string }> {
    const { database, clock, onShards, ...parts } = this.#options;
    const store = database.shard(shard);
    const isShard = this.#whole === undefined;
    this.#warmUp.end();
    const term = new Term({
      ...parts,
      ...owned,
      clock,
      // The ownership lease of a shard decides that; a query would cost a commit each time.
      store: isShard ? { ...store, isOwner: async () => true } : store,
      isShard,
      onCredentials: (set) => isShard || this.#credentials.replace(set),
    });
    let mqttUrl: string;
    try {
      mqttUrl = (await term.start()).mqttUrl;
      // The owner before may have ended a credential a moment ago, and its next request may come here.
      if (isShard) await this.#credentialWatcher.catchUp();
    } catch (error) {
      await term.stop();
      // An unreachable database is no failure of the shard.
      if (isShard && !(error instanceof StoreUnavailableError)) this.#couldNotBegin(shard, error);
      this.#standBy();
      throw error;
    }
    this.#membership.began(shard);
    const due = new DueAnswers();
    const { actors } = term;
    this.#held.set(shard, { term, actors, lease: owned.ownershipLease, due });
    this.#health = this.#newHealth();
    onShards(this.#heldShards(), mqttUrl);
    return {
      mqttUrl,
      stop: async () => {
        this.#held.delete(shard);
        this.#health = this.#newHealth();
        actors.endWaits();
        this.#exchanges?.openStreams.endAll((tenantUuid) => database.shardOf(tenantUuid) === shard);
        await within(clock, FINISH_WITHIN_MS, due.end());
        if (!isShard) this.#credentials.clear();
        await term.stop();
        this.#standBy();
        onShards(this.#heldShards());
      },
    };
  }

  /** A node that runs nothing keeps ready to run the whole database. */
  #standBy(): void {
    if (this.#standsBy && !this.#isLeaving) void this.#warmUp.start();
  }

  #couldNotBegin(shard: Shard, error: unknown): void {
    const { metrics, log } = this.#options;
    metrics.shardFailures.inc();
    if (this.#membership.couldNotBegin(shard))
      log.error({ err: error, shard }, 'a shard could not be started here: other nodes may take it');
  }

  async #moveAll(): Promise<void> {
    await this.#membership.leave();
    const moving = new AbortController();
    await within(
      this.#options.clock,
      MOVE_WITHIN_MS,
      this.#membership.moved(moving.signal).catch(() => {}),
    );
    moving.abort();
  }

  /** After each change of role, because its uptime counts from there. */
  #newHealth(): ReturnType<typeof createHealth> {
    const { clock, database, forwarding } = this.#options;
    const { common, membership } = database;
    if (this.#standsBy && this.#held.size === 0)
      return createStandbyHealth({
        clock,
        version: VERSION,
        look: () => membership.view(),
        isClockOff: () => this.#standbys.some(({ isClockOff }) => isClockOff),
        isStopping: () => this.#isLeaving,
      });
    return createHealth({
      clock,
      store: common,
      version: VERSION,
      broker: { isHealthy: () => this.#terms().every(({ isBrokerHealthy }) => isBrokerHealthy) },
      overdueMs: () => Math.max(0, ...this.#terms().map(({ actors }) => actors.overdueMs())),
      ...(forwarding !== undefined && { role: 'active' }),
      ...(this.#whole === undefined && {
        sharing: { isClockOff: () => this.#membership.isClockOff, held: () => this.#heldShards() },
      }),
    });
  }

  #terms(): readonly Term[] {
    return [...this.#held.values()].map(({ term }) => term);
  }

  #heldShards(): readonly Shard[] {
    return [...this.#held.keys()].sort((a, b) => a - b);
  }
}
