// Follows the rows that others change (the command line, another node) and reads again what this process may have wrong.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { CredentialSet } from '../ports/credentials.js';
import type { Log } from '../ports/log.js';
import type { TenantState } from '../ports/records.js';
import { type Store, StoreUnavailableError } from '../ports/store.js';

type FollowedStore = Pick<Store, 'isOwner' | 'revisionSince' | 'loadCredentials' | 'loadTenant'>;

/** Who is told what the follower read. */
export interface FollowerListener {
  /** Another service claimed the database: what is held here is no longer the truth. Told once. */
  onTakenOver(): void;
  onCredentials(credentials: CredentialSet): void;
  onTenant(tenantUuid: TenantUuid, state: TenantState): void;
}

const LOOK_EVERY_MS = 1_000;

export class Follower {
  readonly #clock: Clock;
  readonly #store: FollowedStore;
  readonly #log: Log;
  readonly #behind = new Set<TenantUuid>();
  #revision = 0;
  #cancel: Cancel | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor({ clock, store, log }: { clock: Clock; store: FollowedStore; log: Log }) {
    this.#clock = clock;
    this.#store = store;
    this.#log = log;
  }

  /** Reads everything, then looks for changes every second. Rejects when the first reading fails. */
  async start(listener: FollowerListener): Promise<void> {
    // The revision before the rows: a change in between is read twice rather than never.
    this.#revision = (await this.#store.revisionSince(undefined)).revision;
    const credentials = await this.#store.loadCredentials();
    listener.onCredentials(credentials);
    for (const { tenantUuid } of credentials.tenants) this.#behind.add(tenantUuid);
    await this.#readTenants(listener);
    this.#lookLater(listener);
  }

  /** Reads the tenant's rows again at the next look. */
  readAgain(tenantUuid: TenantUuid): void {
    this.#behind.add(tenantUuid);
  }

  /** Ends the looking; resolves when a look under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#looking;
  }

  async #readTenants(listener: FollowerListener): Promise<void> {
    // A copy: a tenant whose actor fails every time it is built would be read without end.
    for (const tenantUuid of [...this.#behind]) {
      // Taken off first: what falls behind while it is read is read once more, at the next look.
      this.#behind.delete(tenantUuid);
      try {
        listener.onTenant(tenantUuid, await this.#store.loadTenant(tenantUuid));
      } catch (error) {
        this.#behind.add(tenantUuid);
        throw error;
      }
    }
  }

  async #look(listener: FollowerListener): Promise<void> {
    if (!(await this.#store.isOwner())) {
      this.#isStopped = true;
      listener.onTakenOver();
      return;
    }
    const changes = await this.#store.revisionSince(this.#revision);
    for (const tenantUuid of changes.tenants) this.#behind.add(tenantUuid);
    if (changes.credentialsChanged) listener.onCredentials(await this.#store.loadCredentials());
    this.#revision = changes.revision;
    await this.#readTenants(listener);
  }

  #lookLater(listener: FollowerListener): void {
    if (this.#isStopped) return;
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => {
      this.#looking = this.#look(listener)
        .catch((error) => {
          const isExpected = error instanceof StoreUnavailableError;
          this.#log[isExpected ? 'warn' : 'error'](
            { err: error },
            'could not look for changes in the database; trying again',
          );
        })
        .finally(() => this.#lookLater(listener));
    });
  }
}
