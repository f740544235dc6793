// Builds the actors of what another node runs, and drops them: done for the first time, in the term of this node, it takes twice as
// much of the processor, and whoever asks waits for that.
import type { GrantTiming } from '../../machines/power/grant.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { LocationRecord, TenantState } from '../ports/records.js';
import type { Store } from '../ports/store.js';
import { Assembly } from './assembly.js';
import { Directory } from './directory.js';
import { createRecovery } from './recovery.js';
import { Scheduler } from './scheduler.js';

interface RehearsalOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'loadCredentials' | 'glanceAtTenant'>;
  readonly timing: GrantTiming;
}

/** What was compiled for it is forgotten while a node stands by for days. */
const AGAIN_AFTER_MS = 900_000;
/** As often as makes it faster. */
const ROUNDS = 3;
/** In one round; larger sites take no longer each. */
const ENOUGH_CONNECTORS = 1_000;
const COULD_NOT = 'this node could not rehearse what it would run; trying again later';

/** Lets out nothing: no timer runs, nothing is written, no charger hears of it. */
export class Rehearsal {
  readonly #options: RehearsalOptions;
  /** What was built last: what is compiled for it is kept for as long as that is. */
  #kept: Directory | undefined;
  #cancel: Cancel = () => {};
  /** Of those begun and not ended: one that ended under way does not go on. */
  #current: object | undefined;

  constructor(options: RehearsalOptions) {
    this.#options = options;
  }

  /** Built last and not dropped yet. */
  get connectors(): number {
    return [...(this.#kept?.tenants.values() ?? [])].reduce(
      (sum, { connectors }) => sum + connectors.size,
      0,
    );
  }

  /** Resolves after the first rehearsal, whatever came of it; from then on it rehearses now and then, until `end`. */
  async start(): Promise<void> {
    this.end();
    const current = {};
    this.#current = current;
    await this.#rehearse(current);
  }

  end(): void {
    this.#current = undefined;
    this.#cancel();
    this.#kept = undefined;
  }

  async #rehearse(current: object): Promise<void> {
    const { clock, log } = this.#options;
    try {
      for (let round = 0; round < ROUNDS; round++) await this.#playRound(() => this.#current === current);
    } catch (error) {
      log.warn({ err: error }, COULD_NOT);
    }
    if (this.#current === current)
      this.#cancel = clock.after(AGAIN_AFTER_MS, () => void this.#rehearse(current));
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
    const directory = new Directory(clock, new Scheduler(clock));
    const assembly = new Assembly({
      clock,
      directory,
      timing,
      // What it decides never leaves.
      ownerTerm: 0,
      onDefect: (_tenantUuid, error) => log.warn({ err: error, tenantUuid }, COULD_NOT),
    });
    const instant = { now: clock.nowMs(), nowMs: clock.monotonicMs() };
    createRecovery(directory, assembly).reconcile(tenantUuid, state, instant.now);
    for (const { actor } of directory.tenant(tenantUuid)?.locations.values() ?? [])
      actor.send({ type: 'decision.due', ...instant });
    this.#kept = directory;
  }
}

/** As many of them as have so many connectors, and one at least. */
function firstOf(locations: readonly LocationRecord[], connectors: number): readonly LocationRecord[] {
  let found = 0;
  return locations.filter(({ connectors: own }) => {
    const isTaken = found < connectors;
    found += own.length;
    return isTaken;
  });
}
