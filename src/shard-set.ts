// A node that shares the tenants with others: it runs its own shards, and forwards requests for other shards.
import type { RequestListener } from 'node:http';
import { ALL_SHARDS, type Shard, shardOf } from '../machines/values/shards.js';
import { RowChangeWatcher } from './actors/row-change-watcher.js';
import { WarmUp } from './actors/warm-up.js';
import { TenantCredentials } from './application/tenant-credentials.js';
import type { Config } from './config.js';
import { createHealth } from './health.js';
import { CredentialUses, createCredentialDirectory } from './inbound/http/credentials.js';
import type { WithApplication } from './inbound/http/endpoint.js';
import type { Exchanges } from './inbound/http/exchange.js';
import { DueAnswers } from './inbound/http/exchange.js';
import { createExpressApp } from './inbound/http/express-app.js';
import { Forwarding } from './inbound/http/forwarding.js';
import type { Metrics } from './metrics.js';
import { ShardMembership } from './nodes/shard-membership.js';
import { type Running, Standby } from './nodes/standby.js';
import { within } from './nodes/within.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import type { SharedDatabase } from './ports/shared-database.js';
import { StoreUnavailableError } from './ports/store.js';
import { FINISH_WITHIN_MS, loadBus, Term, timingOf } from './term.js';
import { VERSION } from './version.js';

interface ShardSetOptions
  extends Pick<ConstructorParameters<typeof Term>[0], 'seams' | 'tokens' | 'nodeTokens' | 'tlsFiles'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly database: SharedDatabase;
  readonly nodeId: string;
  /** Called with all owned shards after each change. */
  readonly onShards: (held: readonly Shard[]) => void;
}

/** During a stop, shards move to other nodes one after another for this long, and then all at once. */
const MOVE_WITHIN_MS = 5_000;

/** Longest warm-up of a started node before it gets shards. */
const WARM_UP_WITHIN_MS = 3_000;

/** Longest wait of a request at a node without a view of the database: its client should ask another node. */
const ASKED_AGAIN_WITHIN_MS = 1_000;

/** A shard that this node owns and runs. */
interface HeldShard {
  readonly term: Term;
  readonly due: DueAnswers;
}

export class ShardSet {
  readonly #options: ShardSetOptions;
  readonly #held = new Map<Shard, HeldShard>();
  readonly #roster: ShardMembership;
  readonly #standbys: readonly Standby[];
  readonly #credentials = createCredentialDirectory({
    tenants: [],
    apiKeys: [],
    oauthClients: [],
    mqttLogins: [],
  });
  readonly #uses: CredentialUses;
  readonly #tenantCredentials: TenantCredentials;
  readonly #follower: RowChangeWatcher;
  readonly #forwarding: Forwarding;
  #exchanges: Exchanges | undefined;

  constructor(options: ShardSetOptions) {
    this.#options = options;
    const { config, clock, log, database, nodeId } = options;
    const { membership, common } = database;
    this.#uses = new CredentialUses({ clock, log, store: common });
    this.#tenantCredentials = new TenantCredentials({
      clock,
      log,
      storeOf: (tenantUuid) => database.shard(shardOf(tenantUuid)),
      apply: (change) => this.#credentials.apply(change),
      lastUsedAtMs: (kind, id) => this.#uses.lastUsedAtMs(kind, id),
    });
    this.#roster = new ShardMembership({ clock, log, membership, nodeId, leaseMs: 1000 * config.ownerTtlS });
    this.#standbys = ALL_SHARDS.map((shard) => this.#createStandby(shard));
    this.#forwarding = new Forwarding(options);
    const never = () => Promise.reject(new Error('no tenant is read to sign callers in'));
    this.#follower = new RowChangeWatcher({
      clock,
      log,
      store: { ...common, isOwner: async () => true, loadTenant: never },
    });
  }

  /** Resolves once callers may sign in; rejects if the credentials cannot be loaded. */
  async start(): Promise<void> {
    await loadBus(this.#options.config);
    await this.#follower.start({
      onTakenOver: () => {},
      onCredentials: (set) => this.#credentials.replace(set),
    });
    await this.#startWarmUp();
  }

  /** Warm-up while no request waits for this node: its first shards then begin as fast as later ones. */
  async #startWarmUp(): Promise<void> {
    const { config, clock, log, database } = this.#options;
    const warmUp = new WarmUp({ clock, log, store: database.common, timing: timingOf(config) });
    await within(clock, WARM_UP_WITHIN_MS, warmUp.start());
    warmUp.end();
  }

  /** Takes its share of the shards from now on. Other nodes can reach this one already. */
  async join(): Promise<void> {
    for (const standby of this.#standbys) standby.start();
    await this.#roster.start();
  }

  /** Hands every shard over; requests are forwarded meanwhile. */
  async handOver(): Promise<void> {
    const { clock } = this.#options;
    await this.#roster.leave();
    const moving = new AbortController();
    await within(
      clock,
      MOVE_WITHIN_MS,
      this.#roster.moved(moving.signal).catch(() => {}),
    );
    moving.abort();
    await Promise.all(this.#standbys.map((standby) => standby.stop()));
  }

  async stop(): Promise<void> {
    await this.#roster.close();
    await this.#follower.stop();
    await this.#uses.stop();
    this.#forwarding.close();
  }

  /** The listener for requests of all tenants. */
  answering(exchanges: Exchanges): RequestListener {
    const { config, clock, log, metrics, database, tokens, nodeTokens } = this.#options;
    this.#exchanges = exchanges;
    const terms = () => [...this.#held.values()].map(({ term }) => term);
    const health = createHealth({
      clock,
      store: database.common,
      version: VERSION,
      role: 'active',
      broker: { isHealthy: () => terms().every(({ isBrokerHealthy }) => isBrokerHealthy) },
      overdueMs: () => Math.max(0, ...terms().map((term) => term.overdueMs())),
      sharing: { isClockOff: () => this.#roster.isClockOff, held: () => this.#heldShards() },
    });
    return createExpressApp(config, {
      clock,
      log,
      metrics,
      tokens,
      nodeTokens,
      health,
      withApplication: this.#withApplication,
      credentials: this.#credentials,
      tenantCredentials: this.#tenantCredentials,
      credentialUses: this.#uses,
      areReadsRefused: () => terms().some((term) => term.areReadsRefused()),
      version: VERSION,
      ...exchanges,
      // Requests that arrive during a stop are forwarded to the nodes that follow.
      isStopping: () => false,
    });
  }

  readonly #withApplication: WithApplication = (tenantUuid, request, response, handle) => {
    const shard = shardOf(tenantUuid);
    const runningHere = () => {
      const held = this.#held.get(shard);
      return held?.term.mayAnswer ? held : undefined;
    };
    const held = runningHere();
    if (held !== undefined) {
      held.due.take(response);
      return handle(held.term.application);
    }
    const { nodeId } = this.#options;
    return this.#forwarding.forward(request, response, {
      // It may be this node, if the shard comes here while the request waits.
      findHolder: async () => {
        const holder = this.#roster.holderOf(shard);
        return holder?.nodeId === nodeId && runningHere() === undefined ? undefined : holder;
      },
      isWorthWaiting: (waitedMs) =>
        this.#exchanges?.isStopping() !== true &&
        (this.#roster.isInformed || waitedMs < ASKED_AGAIN_WITHIN_MS),
    });
  };

  #createStandby(shard: Shard): Standby {
    const { config, clock, log, database } = this.#options;
    const store = database.shard(shard);
    return new Standby({
      clock,
      log,
      owned: `shard ${shard}`,
      leaseMs: 1000 * config.ownerTtlS,
      ownership: {
        awaitVacancy: (signal) => this.#roster.awaitVacancy(shard, signal),
        claim: () => store.ownership.claim(),
        announce: () => store.ownership.announce(),
        renew: () => store.ownership.renew(),
        release: () => store.ownership.release(),
        holder: async () => this.#roster.holderOf(shard),
      },
      awaitMove: (signal) => this.#roster.awaitMove(shard, signal),
      onClockOff: () => this.#roster.distrustClock(),
      begin: (ownerTerm, ownershipLease, onTakenOver) =>
        this.#begin(shard, { ownerTerm, ownershipLease, onTakenOver }),
    });
  }

  async #begin(
    shard: Shard,
    owned: Pick<ConstructorParameters<typeof Term>[0], 'ownerTerm' | 'ownershipLease' | 'onTakenOver'>,
  ): Promise<Running> {
    const { database, ...parts } = this.#options;
    // The ownership lease decides that; a query would cost a commit each time.
    const store = { ...database.shard(shard), isOwner: async () => true };
    const term = new Term({ ...parts, store, ...owned, isShard: true });
    try {
      await term.start();
      // The owner before may have ended a credential a moment ago, and its next request may come here.
      await this.#follower.catchUp();
    } catch (error) {
      await term.stop();
      // An unreachable database is no failure of the shard.
      if (!(error instanceof StoreUnavailableError)) this.#couldNotBegin(shard, error);
      throw error;
    }
    this.#roster.began(shard);
    const due = new DueAnswers();
    this.#held.set(shard, { term, due });
    this.#tell();
    return {
      stop: async () => {
        this.#held.delete(shard);
        this.#exchanges?.openStreams.endAll((tenantUuid) => shardOf(tenantUuid) === shard);
        await within(parts.clock, FINISH_WITHIN_MS, due.end());
        await term.stop();
        this.#tell();
      },
    };
  }

  #couldNotBegin(shard: Shard, error: unknown): void {
    const { metrics, log } = this.#options;
    metrics.shardFailures.inc();
    if (this.#roster.couldNotBegin(shard))
      log.error({ err: error, shard }, 'a shard could not be started here: other nodes may take it');
  }

  #heldShards(): readonly Shard[] {
    return [...this.#held.keys()].sort((a, b) => a - b);
  }

  #tell(): void {
    const { metrics, onShards } = this.#options;
    metrics.shardsHeld.set(this.#held.size);
    metrics.nodeActive.set(this.#held.size > 0 ? 1 : 0);
    onShards(this.#heldShards());
  }
}
