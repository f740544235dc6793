// Follows the rows that others change (the command line, another node) and reads again what this process may have wrong.
import type { TenantUuid } from '../../machines/ids.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { CredentialSet } from '../ports/credentials.js';
import type { Log } from '../ports/log.js';
import type { TenantState } from '../ports/records.js';
import { type Store, StoreUnavailableError } from '../ports/store.js';

export interface Follower {
  /** Reads everything, then looks for changes every second. Rejects when the first reading fails. */
  start(): Promise<void>;
  /** Reads the tenant's rows again at the next look. */
  readAgain(tenantUuid: TenantUuid): void;
  /** Ends the looking; resolves when a look under way is over. */
  stop(): Promise<void>;
}

interface FollowerOptions {
  readonly clock: Clock;
  readonly store: Pick<Store, 'isOwner' | 'revisionSince' | 'loadCredentials' | 'loadTenant'>;
  readonly log: Log;
  /** Another service claimed the database: what is held here is no longer the truth. Told once. */
  onTakenOver(): void;
  onCredentials(credentials: CredentialSet): void;
  onTenant(tenantUuid: TenantUuid, state: TenantState): void;
}

const LOOK_EVERY_MS = 1_000;

export function createFollower({
  clock,
  store,
  log,
  onTakenOver,
  onCredentials,
  onTenant,
}: FollowerOptions): Follower {
  const behind = new Set<TenantUuid>();
  let revision = 0;
  let cancel: Cancel | undefined;
  let looking: Promise<void> = Promise.resolve();
  let stopped = false;

  async function readTenants(): Promise<void> {
    // Of now: a tenant that an actor fails for whenever it is built would be read without end.
    for (const tenantUuid of [...behind]) {
      // Taken off first: what falls behind while it is read is read once more, at the next look.
      behind.delete(tenantUuid);
      try {
        onTenant(tenantUuid, await store.loadTenant(tenantUuid));
      } catch (error) {
        behind.add(tenantUuid);
        throw error;
      }
    }
  }

  async function look(): Promise<void> {
    if (!(await store.isOwner())) {
      stopped = true;
      onTakenOver();
      return;
    }
    const changes = await store.revisionSince(revision);
    for (const tenantUuid of changes.tenants) behind.add(tenantUuid);
    if (changes.credentialsChanged) onCredentials(await store.loadCredentials());
    revision = changes.revision;
    await readTenants();
  }

  function lookLater(): void {
    if (stopped) return;
    cancel = clock.after(LOOK_EVERY_MS, () => {
      looking = look()
        .catch((error) => {
          const isExpected = error instanceof StoreUnavailableError;
          log[isExpected ? 'warn' : 'error'](
            { err: error },
            'could not look for changes in the database; trying again',
          );
        })
        .finally(lookLater);
    });
  }

  return {
    async start() {
      // The revision before the rows: a change in between is read twice rather than never.
      revision = (await store.revisionSince(undefined)).revision;
      const credentials = await store.loadCredentials();
      onCredentials(credentials);
      for (const { tenantUuid } of credentials.tenants) behind.add(tenantUuid);
      await readTenants();
      lookLater();
    },
    readAgain: (tenantUuid) => void behind.add(tenantUuid),
    async stop() {
      stopped = true;
      cancel?.();
      await looking;
    },
  };
}
