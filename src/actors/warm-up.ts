// Warm-up: builds the actors of another node's tenants, and drops them. A first build in this node's own ownership term
// would take twice the processor time, and requests would wait for it.
import type { GrantTiming } from '../../machines/ledger/grant.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { LocationRecord, TenantState } from '../ports/records.js';
import type { Store } from '../ports/store.js';
import { Assembly } from './assembly.js';
import { Directory } from './directory.js';
import { createRecovery } from './recovery.js';
import { Scheduler } from './scheduler.js';

interface WarmUpOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'loadCredentials' | 'glanceAtTenant'>;
  readonly timing: GrantTiming;
}

/** Compiled code is dropped while a node stands by for days, so the warm-up repeats. */
const AGAIN_AFTER_MS = 900_000;
/** More rounds make a start no faster. */
const ROUNDS = 3;
/** In one round: connectors of larger sites take no longer each. */
const ENOUGH_CONNECTORS = 1_000;
const COULD_NOT = 'the warm-up of this node failed; trying again later';

/** Has no effect outside: no timer runs, nothing is written, and no charger receives a message. */
export class WarmUp {
  readonly #options: WarmUpOptions;
  /** The last build: its compiled code stays as long as the build does. */
  #kept: Directory | undefined;
  #cancel: Cancel = () => {};
  /** The warm-up under way. One that ended in between does not continue. */
  #current: object | undefined;

  constructor(options: WarmUpOptions) {
    this.#options = options;
  }

  /** Connectors of the last build. */
  get connectors(): number {
    return [...(this.#kept?.tenants.values() ?? [])].reduce(
      (sum, { connectors }) => sum + connectors.size,
      0,
    );
  }

  /** Resolves after the first warm-up, successful or not. It then repeats now and then, until `end`. */
  async start(): Promise<void> {
    this.end();
    const current = {};
    this.#current = current;
    await this.#startWarmUp(current);
  }

  end(): void {
    this.#current = undefined;
    this.#cancel();
    this.#kept = undefined;
  }

  async #startWarmUp(current: object): Promise<void> {
    const { clock, log } = this.#options;
    try {
      for (let round = 0; round < ROUNDS; round++) await this.#playRound(() => this.#current === current);
    } catch (error) {
      log.warn({ err: error }, COULD_NOT);
    }
    if (this.#current === current)
      this.#cancel = clock.after(AGAIN_AFTER_MS, () => void this.#startWarmUp(current));
  }

  async #playRound(isWanted: () => boolean): Promise<void> {
    const { store } = this.#options;
    const { tenants } = await store.loadCredentials();
    let built = 0;
    for (const { tenantUuid } of tenants) {
      if (built >= ENOUGH_CONNECTORS || !isWanted()) return;
      const state = await store.glanceAtTenant(tenantUuid);
      if (!isWanted()) return;
      const locations = firstOf(state.locations, ENOUGH_CONNECTORS - built);
      this.#build(tenantUuid, { ...state, locations });
      for (const { connectors } of locations) built += connectors.length;
    }
  }

  #build(tenantUuid: Parameters<Store['glanceAtTenant']>[0], state: TenantState): void {
    const { clock, log, timing } = this.#options;
    const directory = new Directory(clock, new Scheduler(clock, 'wall'));
    const assembly = new Assembly({
      clock,
      directory,
      timing,
      // Its decisions never leave.
      ownerTerm: 0,
      onDefect: (_tenantUuid, error) => log.warn({ err: error, tenantUuid }, COULD_NOT),
    });
    const instant = { now: clock.nowMs(), nowMs: clock.monotonicMs() };
    createRecovery(directory, assembly).reconcile(tenantUuid, state, instant.now);
    for (const { actor } of directory.tenants.get(tenantUuid)?.locations.values() ?? [])
      actor.send({ type: 'decision.due', ...instant });
    this.#kept = directory;
  }
}

/** The first locations that reach this number of connectors; at least one. */
function firstOf(locations: readonly LocationRecord[], connectors: number): readonly LocationRecord[] {
  let found = 0;
  return locations.filter(({ connectors: own }) => {
    const isTaken = found < connectors;
    found += own.length;
    return isTaken;
  });
}
