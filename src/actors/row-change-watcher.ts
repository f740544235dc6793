// Row change watcher: reads rows again that others changed (the command line, another node).
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { CredentialSet } from '../ports/credentials.js';
import type { Log } from '../ports/log.js';
import type { TenantState } from '../ports/records.js';
import { type Store, StoreUnavailableError } from '../ports/store.js';

type FollowedStore = Pick<Store, 'isOwner' | 'revisionSince' | 'loadCredentials' | 'loadTenant'>;

export interface RowChangeListener {
  /** Another service claimed the database, so the state held here is outdated. Called once. */
  onTakenOver(): void;
  onCredentials(credentials: CredentialSet): void;
  /** Left out by callers that need credentials only. */
  onTenant?(tenantUuid: TenantUuid, state: TenantState): void;
}

const LOOK_EVERY_MS = 1_000;
/** A start waits for locks of an earlier owner; a database server releases them within 10 s. */
const FIRST_READING_WITHIN_MS = 20_000;
const READ_AGAIN_AFTER_MS = 250;

export class RowChangeWatcher {
  readonly #clock: Clock;
  readonly #store: FollowedStore;
  readonly #log: Log;
  readonly #behind = new Set<TenantUuid>();
  #revision = 0;
  #cancel: Cancel | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isStopped = false;
  #listener: RowChangeListener | undefined;
  #catchingUp: Promise<void> | undefined;

  constructor({ clock, store, log }: { clock: Clock; store: FollowedStore; log: Log }) {
    this.#clock = clock;
    this.#store = store;
    this.#log = log;
  }

  /**
   * Reads everything, then looks for changes every second. If the database fails, the first reading is repeated for a
   * while. Rejects if it still fails then.
   */
  async start(listener: RowChangeListener): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + FIRST_READING_WITHIN_MS;
    for (;;) {
      try {
        await this.#readAll(listener);
        break;
      } catch (error) {
        const isPassing = error instanceof StoreUnavailableError && !this.#isStopped;
        if (!isPassing || this.#clock.monotonicMs() >= untilMs) throw error;
        this.#log.warn({ err: error }, 'the database could not be read; trying again');
      }
      await new Promise<void>((resolve) => this.#clock.after(READ_AGAIN_AFTER_MS, resolve));
    }
    this.#listener = listener;
    this.#lookLater(listener);
  }

  /** Looks at once. After it resolves, changes committed before the call have been read. Rejects as the store does. */
  catchUp(): Promise<void> {
    // Calls that come before the look begins share it.
    if (this.#catchingUp === undefined) {
      this.#catchingUp = this.#looking.then(() => {
        this.#catchingUp = undefined;
        return this.#listener && this.#look(this.#listener);
      });
      this.#looking = this.#catchingUp.catch(() => {});
    }
    return this.#catchingUp;
  }

  async #readAll(listener: RowChangeListener): Promise<void> {
    // The revision is read before the rows, so that a change in between is read twice rather than never.
    this.#revision = (await this.#store.revisionSince(undefined)).revision;
    const credentials = await this.#store.loadCredentials();
    listener.onCredentials(credentials);
    for (const { tenantUuid } of credentials.tenants) this.#behind.add(tenantUuid);
    await this.#readTenants(listener);
  }

  /** Reads the tenant's rows again at the next look. */
  readAgain(tenantUuid: TenantUuid): void {
    this.#behind.add(tenantUuid);
  }

  /** Resolves after a look under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#looking;
  }

  async #readTenants({ onTenant }: RowChangeListener): Promise<void> {
    if (onTenant === undefined) this.#behind.clear();
    // A copy: without it, a tenant whose actor fails at every build would be read without end.
    for (const tenantUuid of [...this.#behind]) {
      // Removed first: a tenant that changes during the reading is read once more, at the next look.
      this.#behind.delete(tenantUuid);
      try {
        onTenant?.(tenantUuid, await this.#store.loadTenant(tenantUuid));
      } catch (error) {
        this.#behind.add(tenantUuid);
        throw error;
      }
    }
  }

  async #look(listener: RowChangeListener): Promise<void> {
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

  #lookLater(listener: RowChangeListener): void {
    if (this.#isStopped) return;
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => {
      this.#looking = this.#looking
        .then(() => this.#look(listener))
        .catch((error) => {
          const isExpected = error instanceof StoreUnavailableError;
          this.#log[isExpected ? 'warn' : 'error'](
            { err: error },
            'changes in the database could not be read; trying again',
          );
        })
        .finally(() => this.#lookLater(listener));
    });
  }
}
