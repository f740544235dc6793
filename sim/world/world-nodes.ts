// Several nodes of the production service in one world, on one database: one is active and the others stand by, or
// all share the tenants.

import type { TenantUuid } from '../../machines/values/ids.js';
import { SHARDS, type Shard, shardOf } from '../../machines/values/shards.js';
import type { Config } from '../../src/config.js';
import type { Hop } from '../../src/inbound/http/forwarding.js';
import { createMetrics, type Metrics } from '../../src/metrics.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import { ClockDifferenceError, type Ownership } from '../../src/ports/ownership.js';
import type { SharedDatabase } from '../../src/ports/shared-database.js';
import { type Change, type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { Service } from '../../src/service.js';
import { WriterWatch } from '../checks/writer-watch.js';
import type { Carrier, CarrierLife } from './carrier.js';
import { NodeHost } from './node-host.js';
import type { Outstanding } from './pace.js';
import type { Question } from './rest-client.js';
import { callService, type RestAnswer } from './rest-client.js';
import type { Report } from './world-record.js';
import {
  type CommitFate,
  type LifeEvents,
  NO_ANSWER,
  type ServiceHost,
  ServiceIds,
} from './world-service.js';

// The database as one node of a world reaches it: not while the node is cut off, and without an answer while it is
// frozen.

/** A driver gives up on a silent database after this time. */
const SILENT_MS = 5_000;

interface NodeReach {
  readonly name: string;
  /** Resource that the node must own for writing: the database, or a shard. */
  readonly owned: string;
  readonly host: NodeHost;
  readonly clock: Clock;
  readonly outstanding: Outstanding;
  readonly writers: WriterWatch;
  readonly isDatabaseBusy: () => boolean;
  readonly onWritten: (changes: readonly Change[]) => void;
  /** Called before every commit; the implementation kills or freezes the node itself. */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
}

/** The only shard of a database that is not divided is shard 0. */
function ownedName(shard: Shard): string {
  return `shard ${shard}`;
}

/** The database and its shards, as the node reaches them. */
function asReached(database: SharedDatabase, at: Omit<NodeReach, 'owned'>): SharedDatabase {
  const { membership, common } = database;
  const storeOf = (store: Store, owned: string) => new NodeStore(store, { ...at, owned });
  const { reach } = reachOf(at);
  const shards = new Map<Shard, Store>();
  return {
    ...database,
    membership: {
      join: (declined) => reach(() => membership.join(declined)),
      renew: (declined) => reach(() => membership.renew(declined)),
      leave: () => reach(() => membership.leave()),
      view: () => reach(() => membership.view()),
    },
    common: {
      loadCredentials: () => reach(() => common.loadCredentials()),
      revisionSince: (since) => reach(() => common.revisionSince(since)),
      glanceAtTenant: (tenantUuid) => reach(() => common.glanceAtTenant(tenantUuid)),
      ping: () => reach(() => common.ping()),
      // No rule of a world depends on the uses of credentials, and each would be a commit.
      noteCredentialUses: async () => {},
    },
    shard(shard) {
      const known = shards.get(shard) ?? storeOf(database.shard(shard), ownedName(shard)).asStore();
      shards.set(shard, known);
      return known;
    },
  };
}

/** A node that freezes during a request receives the answer once it thaws. */
function reachOf({ host, outstanding }: Pick<NodeReach, 'host' | 'outstanding'>) {
  async function reach<T>(work: () => Promise<T>): Promise<T> {
    await host.moving();
    if (host.isCutFromDatabase) {
      await host.pass(SILENT_MS);
      throw new StoreUnavailableError('the database does not answer');
    }
    try {
      return await outstanding.during(work);
    } finally {
      await host.moving();
    }
  }
  return { reach };
}

class NodeStore {
  readonly #store: Store;
  readonly #at: NodeReach;
  readonly #reach: ReturnType<typeof reachOf>['reach'];

  constructor(store: Store, at: NodeReach) {
    this.#store = store;
    this.#at = at;
    this.#reach = reachOf(at).reach;
  }

  /** Only the nodes write to a world's database, so changes by others need no query. */
  asStore(): Store {
    const store = this.#store;
    const reach = <T>(work: () => Promise<T>) => this.#reach(work);
    return {
      ...store,
      ownership: this.#ownership(),
      isOwner: () => reach(() => store.isOwner()),
      append: (tenantUuid, changes, by) => this.#append(() => store.append(tenantUuid, changes, by), changes),
      loadTenant: (tenantUuid) => reach(() => store.loadTenant(tenantUuid)),
      glanceAtTenant: (tenantUuid) => reach(() => store.glanceAtTenant(tenantUuid)),
      loadCredentials: () => reach(() => store.loadCredentials()),
      revisionSince: (since) => reach(() => store.revisionSince(since)),
      read: (question) => reach(() => store.read(question)),
      forgetPowerBefore: (beforeMs) => reach(() => store.forgetPowerBefore(beforeMs)),
      // No request of a world has an `Idempotency-Key`.
      forgetAnswersBefore: async () => {},
      forgetEventsBefore: async () => {},
      forgetEnergyBefore: (day) => reach(() => store.forgetEnergyBefore(day)),
      forgetConnectorPowerBefore: (day) => reach(() => store.forgetConnectorPowerBefore(day)),
      ping: () => reach(() => store.ping()),
      tenantCredentials: (tenantUuid) => reach(() => store.tenantCredentials(tenantUuid)),
      changeCredentials: (...asked) => reach(() => store.changeCredentials(...asked)),
      noteCredentialUses: async () => {},
    };
  }

  async #append(write: () => Promise<void>, changes: readonly Change[]): Promise<void> {
    const { host, name, owned, outstanding, writers, isDatabaseBusy, onWritten, fateOf } = this.#at;
    await host.moving();
    if (isDatabaseBusy()) throw new StoreUnavailableError('the database is busy');
    const fate = host.isCutFromDatabase ? 'survived' : fateOf(changes);
    if (fate === 'diedBefore') throw new StoreUnavailableError('the node is dead');
    const written = async () => {
      await write();
      writers.wrote(name, owned);
      onWritten(changes);
    };
    // A commit under way when the node froze succeeds; one that had not left is sent once the node thaws.
    if (fate !== 'frozenAfter' && fate !== 'diedAfter') return this.#reach(written);
    await outstanding.during(written);
    await host.moving();
  }

  #ownership(): Ownership {
    const { ownership } = this.#store;
    const { host, name, owned, writers } = this.#at;
    return {
      claim: () =>
        this.#reach(async () => {
          const term = await ownership.claim();
          writers.claimed(name, term, host.aheadMs, owned);
          return term;
        }),
      announce: () => this.#reach(() => ownership.announce()),
      renew: () => this.#reach(() => ownership.renew()),
      release: () => this.#reach(() => ownership.release()),
      holder: () => this.#reach(() => ownership.holder()),
    };
  }
}

// The path from one node of a world to the others. While it is cut, either requests or answers are lost.

class NodeHop implements Hop {
  readonly #host: Pick<NodeHost, 'cutFromNodes'>;
  readonly #onWaiting = new Set<() => void>();
  #onLeft: (() => void)[] = [];
  /** Number of requests for other nodes whose clients are still connected. */
  #open = 0;

  constructor(host: Pick<NodeHost, 'cutFromNodes'>) {
    this.#host = host;
  }

  /** Calls `tell` whenever a request to this node waits for another node. Returns the function that ends this. */
  whenWaiting(tell: () => void): () => void {
    this.#onWaiting.add(tell);
    return () => this.#onWaiting.delete(tell);
  }

  /** Resolves once the next client has left, or at once without a client: its request may have an answer by now. */
  clientLeft(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onLeft.push(resolve));
  }

  cut(): 'requests' | 'answers' | undefined {
    return this.#host.cutFromNodes;
  }

  came(): void {
    this.#open++;
  }

  waits(): void {
    for (const tell of this.#onWaiting) tell();
  }

  left(): void {
    this.#open--;
    for (const tell of this.#onLeft.splice(0)) tell();
  }
}

/** Faults of one node. */
export type NodeFault =
  | 'nodeFrozen'
  | 'nodeCutFromDatabase'
  | 'nodeCutFromBroker'
  | 'nodeCutFromNodes'
  | 'nodeClockOff';

const OWNER_TTL_S = 5;
const CLOCK_OFF_MS = 5_000;

/** One life of a node. */
interface Node {
  readonly name: string;
  readonly host: NodeHost;
  readonly metrics: Metrics;
  readonly carried: CarrierLife;
  readonly hop: NodeHop;
  readonly service: Service;
  httpUrl: string;
}

interface WorldNodesOptions {
  readonly count: number;
  /** The nodes share the tenants; otherwise one node is active at a time. */
  readonly isSharded: boolean;
  readonly config: Config;
  readonly keys: ReadonlyMap<string, string>;
  readonly clock: Clock;
  readonly log: Log;
  readonly outstanding: Outstanding;
  readonly report: Report;
  /** Runs `task` before virtual time goes on. */
  readonly soon: (task: () => Promise<void>) => void;
}

export class WorldNodes implements ServiceHost {
  isDatabaseBusy = false;
  /** Chargers stay with the broker, whichever node is lost. */
  readonly hasBroker = false;
  readonly fates = ['diedBefore', 'diedAfter', 'frozenBefore', 'frozenAfter'] as const;
  readonly writers: WriterWatch;
  readonly #options: WorldNodesOptions;
  readonly #config: Config;
  /** By place; undefined for a dead node. */
  readonly #nodes: (Node | undefined)[];
  /** The node that runs each tenant, by the node's own report. */
  readonly #owners = new Map<string, Node>();
  /** The node that wrote last. */
  #writing: Node | undefined;
  #whenActive = () => {};
  readonly ids = new ServiceIds();
  #lives = 0;
  #asked = 0;

  constructor(options: WorldNodesOptions) {
    this.#options = options;
    // The fields are set directly: the settings refuse SQLite for several hosts. The world's own database has the
    // true clock.
    const { isSharded } = options;
    this.#config = { ...options.config, standby: !isSharded, sharded: isSharded, ownerTtlS: OWNER_TTL_S };
    this.#nodes = Array.from({ length: options.count });
    this.writers = new WriterWatch(options.report);
  }

  /** True if every tenant has a node that can answer. */
  get isUp(): boolean {
    return this.#tenants.every((tenantUuid) => isWell(this.#owners.get(tenantUuid)));
  }

  /** A replaced node still receives messages until it notices that. */
  get isListening(): boolean {
    return true;
  }

  get metrics(): Metrics | undefined {
    return this.isUp ? this.#active?.metrics : undefined;
  }

  /** True if an active node was frozen at some time. */
  get stoodStill(): boolean {
    return [...this.#owners.values()].some(({ host }) => host.wasFrozen);
  }

  get #tenants(): readonly string[] {
    return [...this.#options.keys.keys()];
  }

  /** An active node: the last writer, if that node is still active. */
  get #active(): Node | undefined {
    const running = [...this.#owners.values()];
    return running.find((node) => node === this.#writing) ?? running[0];
  }

  /** Number of shards on all nodes together; 0 if the nodes do not share the tenants. */
  get shards(): number {
    return this.#options.isSharded ? SHARDS * this.count : 0;
  }

  get count(): number {
    return this.#nodes.length;
  }

  /** Starts the dead nodes. The first call resolves once a node is active. */
  async start(carrier: Carrier, events: LifeEvents): Promise<void> {
    const isFirst = this.#lives === 0;
    const active = new Promise<void>((resolve) => {
      this.#whenActive = resolve;
    });
    for (const [place, node] of this.#nodes.entries())
      if (node === undefined) await this.#boot(place, carrier, events);
    if (isFirst) await active;
  }

  die(): (() => Promise<void>) | undefined {
    const dying = this.#active;
    if (dying === undefined) return undefined;
    this.#nodes[this.#nodes.indexOf(dying)] = undefined;
    this.#disown(dying);
    return this.#kill(dying);
  }

  /** Kills all nodes at once, without a goodbye: no time passes in which they could hand over. */
  async stop(): Promise<void> {
    const living = this.#nodes.filter((node) => node !== undefined);
    this.#nodes.fill(undefined);
    this.#owners.clear();
    for (const bury of living.map((node) => this.#kill(node))) await bury();
  }

  /** A client asks any node, as through a balancer; a watch asks the node that runs the tenant. */
  async ask(question: Question, tenantUuid: string, who: 'client' | 'watch' = 'watch'): Promise<RestAnswer> {
    const asked = this.#owners.get(tenantUuid);
    if (asked === undefined || !isWell(asked)) return NO_ANSWER;
    const via = who === 'client' ? (this.#anyWell() ?? asked) : asked;
    const leaving = new AbortController();
    const key = this.#options.keys.get(tenantUuid) ?? '';
    const answered = callService(via.httpUrl, key, question, { signal: leaving.signal }).catch(
      () => NO_ANSWER,
    );
    let stopListening = () => {};
    const waiting = new Promise<'waits'>((resolve) => {
      stopListening = via.hop.whenWaiting(() => resolve('waits'));
    });
    // A client gives up on a node that freezes or dies during the answer, or that waits for another.
    const still = Promise.race([asked.host.still(), via.host.still()]).then(() => NO_ANSWER);
    const answer = await Promise.race([answered, still, waiting]);
    stopListening();
    if (answer === 'waits') {
      const left = via.hop.clientLeft();
      leaving.abort();
      await left;
      return NO_ANSWER;
    }
    return isWell(asked) && this.#owners.get(tenantUuid) === asked ? answer : NO_ANSWER;
  }

  /** Chooses as a balancer does: each healthy node in its turn. */
  #anyWell(): Node | undefined {
    const first = this.#asked++ % this.count;
    const inTurn = [...this.#nodes.slice(first), ...this.#nodes.slice(0, first)];
    return inTurn.find((node) => isWell(node) && node?.httpUrl !== '');
  }

  /**
   * Starts a fault of the node at `place`; the returned function ends the fault. Only the clock of a node without
   * tenants goes wrong, because limits apply by the clock of their owner. `ahead` selects the sign of the clock's
   * error, or the half of the path to other nodes that is cut.
   */
  strike(fault: NodeFault, place: number | 'active', ahead: 1 | -1): () => void {
    const node = place === 'active' ? this.#active : this.#nodes[place];
    const isOwner = [...this.#owners.values()].some((owner) => owner === node);
    if (node === undefined || (fault === 'nodeClockOff' && isOwner)) return () => {};
    const { host } = node;
    if (fault === 'nodeClockOff') host.aheadMs = ahead * CLOCK_OFF_MS;
    else if (fault === 'nodeFrozen') host.freeze();
    else if (fault === 'nodeCutFromNodes') host.cutFromNodes = ahead > 0 ? 'requests' : 'answers';
    else this.#setCut(host, fault, true);
    return () => {
      if (fault === 'nodeClockOff') host.aheadMs = 0;
      else if (fault === 'nodeFrozen') host.thaw();
      else if (fault === 'nodeCutFromNodes') host.cutFromNodes = undefined;
      else this.#setCut(host, fault, false);
    };
  }

  /** Ends all faults of all nodes. */
  endFaults(): void {
    for (const { host } of this.#nodes.filter((node) => node !== undefined)) {
      Object.assign(host, {
        aheadMs: 0,
        isCutFromDatabase: false,
        isCutFromBroker: false,
        cutFromNodes: undefined,
      });
      host.thaw();
    }
  }

  /** Freezes the active node in the middle of its work. */
  freezeActive(): (() => void) | undefined {
    const host = this.#active?.host;
    host?.freeze();
    return host && (() => host.thaw());
  }

  #setCut(host: NodeHost, from: 'nodeCutFromDatabase' | 'nodeCutFromBroker', isCut: boolean): void {
    if (from === 'nodeCutFromDatabase') host.isCutFromDatabase = isCut;
    else host.isCutFromBroker = isCut;
  }

  #kill({ host, carried, service }: Node): () => Promise<void> {
    host.die();
    carried.end();
    return () => service.stop();
  }

  async #boot(place: number, carrier: Carrier, events: LifeEvents): Promise<void> {
    const { clock, log, outstanding } = this.#options;
    const host = new NodeHost(clock);
    const name = `node ${place + 1}, life ${++this.#lives}`;
    const metrics = createMetrics();
    const hop = new NodeHop(host);
    const granted = (tenantUuid: TenantUuid) => this.writers.granted(name, this.#ownedOf(tenantUuid));
    const carried = carrier.open({ host, granted });
    const at: Omit<NodeReach, 'owned'> = {
      name,
      host,
      clock,
      outstanding,
      writers: this.writers,
      onWritten: events.onWritten,
      fateOf: (changes) => {
        this.#writing = node;
        return events.fateOf(changes);
      },
      isDatabaseBusy: () => this.isDatabaseBusy,
    };
    const service = new Service(this.#config, {
      clock: host.clock,
      databaseClock: clock,
      log: withoutExpected(log, host),
      metrics,
      newId: () => this.ids.next(),
      ...carried.seams,
      hop,
      wrapDatabase: (database) => asReached(database, at),
      onRole: (role, { httpUrl }) => {
        node.httpUrl = httpUrl;
        this.#tell(node, () => role === 'active', events);
      },
      onShards: (held) => this.#tell(node, (shard) => held.includes(shard), events),
    });
    const node: Node = { name, host, metrics, carried, hop, service, httpUrl: '' };
    this.#nodes[place] = node;
    const { httpUrl } = await service.start();
    node.httpUrl = httpUrl;
  }

  #ownedOf(tenantUuid: TenantUuid): string {
    return ownedName(this.#options.isSharded ? shardOf(tenantUuid) : 0);
  }

  /** The node reports the shards whose tenants it runs from now on. */
  #tell(node: Node, isRunning: (shard: Shard) => boolean, events: LifeEvents): void {
    if (!node.host.isLiving) return;
    const before = [...this.#owners].filter(([, owner]) => owner === node).length;
    this.#disown(node);
    for (const tenantUuid of this.#tenants)
      if (isRunning(shardOf(tenantUuid as TenantUuid))) this.#owners.set(tenantUuid, node);
    const now = [...this.#owners].filter(([, owner]) => owner === node).length;
    if (this.#owners.size === this.#tenants.length) this.#whenActive();
    if (now > before) this.#options.soon(() => events.onBegan());
  }

  #disown(node: Node): void {
    for (const [tenantUuid, owner] of this.#owners) if (owner === node) this.#owners.delete(tenantUuid);
  }
}

function isWell(node: Node | undefined): boolean {
  return node !== undefined && !node.host.isFrozen && !node.host.isCutFromDatabase;
}

/**
 * A node with a wrong clock, or without a database, must not take over, so these errors are expected. A dead node
 * logs nothing.
 */
function withoutExpected(log: Log, host: NodeHost): Log {
  return {
    ...log,
    error(fields, message) {
      const error = 'err' in fields ? fields.err : undefined;
      const isExpected = error instanceof ClockDifferenceError || error instanceof StoreUnavailableError;
      if (host.isLiving && !isExpected) log.error(fields, message);
    },
  };
}
