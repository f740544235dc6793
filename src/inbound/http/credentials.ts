// The credentials in force and their last use, in memory: a change applies from the next request on.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type {
  CredentialChange,
  CredentialKind,
  CredentialRecord,
  CredentialSet,
  CredentialUse,
} from '../../ports/credentials.js';
import type { Log } from '../../ports/log.js';
import { ENERGY_MANAGEMENT } from '../../ports/records.js';
import type { Store } from '../../ports/store.js';
import { credentialRef } from '../../secrets.js';

export interface CredentialDirectory {
  /**
   * Replaces everything but applied changes that `set` does not show yet:
   * it may have been read before they were written.
   */
  replace(set: CredentialSet): void;
  /** Applies a change that is already on disk. */
  apply(change: CredentialChange): void;
  /** Forgets everything: another node changes the credentials from now on. */
  clear(): void;
  find(kind: CredentialKind, id: string): CredentialRecord | undefined;
  /** The tenant has the Energy Management feature (contract section 5, rule 5). */
  isFeatureEnabled(tenantUuid: TenantUuid): boolean;
}

const NONE: CredentialSet = { tenants: [], credentials: [], mqttLogins: [] };

export function createCredentialDirectory(): CredentialDirectory {
  let current = indexOf(NONE);
  /** Changes that were applied here and are in no set that was read since. */
  const unseen = new Map<string, CredentialRecord>();

  function put(credential: CredentialRecord): void {
    current[credential.kind].set(credential.id, credential);
  }

  function isSeen({ kind, id, endedAtMs }: CredentialRecord): boolean {
    const read = current[kind].get(id)?.endedAtMs;
    // Undefined: there is no such row. Null: it has not ended.
    return endedAtMs === null ? read !== undefined : typeof read === 'number';
  }

  return {
    replace(set) {
      current = indexOf(set);
      for (const [ref, credential] of unseen) {
        if (isSeen(credential)) unseen.delete(ref);
        else put(credential);
      }
    },
    apply({ type, credential }) {
      const ref = credentialRef(credential);
      if (type === 'forget') {
        // The credential had ended: an older set that still shows it grants nothing.
        unseen.delete(ref);
        return;
      }
      unseen.set(ref, credential);
      put(credential);
    },
    clear() {
      current = indexOf(NONE);
      unseen.clear();
    },
    find: (kind, id) => current[kind].get(id),
    isFeatureEnabled: (tenantUuid) => current.enabledTenants.has(tenantUuid),
  };
}

function indexOf({ tenants, credentials }: CredentialSet) {
  const ofKind = (kind: CredentialKind) =>
    new Map(credentials.filter((each) => each.kind === kind).map((each) => [each.id, each]));
  const enabled = tenants.filter(({ features }) => features.includes(ENERGY_MANAGEMENT));
  return {
    apiKey: ofKind('apiKey'),
    client: ofKind('client'),
    enabledTenants: new Set(enabled.map(({ tenantUuid }) => tenantUuid)),
  };
}

/** It has neither ended nor expired. */
export function isInForce(
  { endedAtMs, expiresAtMs }: Pick<CredentialRecord, 'endedAtMs' | 'expiresAtMs'>,
  now: EpochMs,
): boolean {
  return endedAtMs === null && (expiresAtMs === null || now < expiresAtMs);
}

// Records the last use of each credential in memory, and writes it in batches.

/** A credential in steady use costs one write in this time, however many requests it signs in. */
const WRITE_EVERY_MS = 60_000;

type NotedUse = CredentialUse & { usedAtMs: EpochMs };

export class CredentialUses {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #write: Store['noteCredentialUses'];
  /** One entry for each credential that signed in since the start, by its id. */
  readonly #last: Readonly<Record<CredentialKind, Map<string, NotedUse>>> = {
    apiKey: new Map(),
    client: new Map(),
  };
  readonly #unwritten = new Set<NotedUse>();
  #cancel: Cancel | undefined;
  #isStopped = false;

  constructor(parts: {
    readonly clock: Clock;
    readonly log: Log;
    readonly store: Pick<Store, 'noteCredentialUses'>;
  }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#write = (uses) => parts.store.noteCredentialUses(uses);
  }

  /** Fast, and never fails. */
  note({ kind, id, tenantUuid }: Omit<CredentialUse, 'usedAtMs'>): void {
    const usedAtMs = this.#clock.nowMs();
    let use = this.#last[kind].get(id);
    if (use === undefined) {
      use = { kind, id, tenantUuid, usedAtMs };
      this.#last[kind].set(id, use);
    }
    use.usedAtMs = usedAtMs;
    this.#unwritten.add(use);
    if (this.#cancel === undefined) this.#writeLater();
  }

  /** Last use in this process; undefined if the credential did not sign in here. */
  lastUsedAtMs(kind: CredentialKind, id: string): EpochMs | undefined {
    return this.#last[kind].get(id)?.usedAtMs;
  }

  /** Writes the rest. A database that takes no writes does not delay a stop. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#writeAll();
  }

  #writeLater(): void {
    if (this.#isStopped) return;
    this.#cancel ??= this.#clock.after(WRITE_EVERY_MS, () => {
      this.#cancel = undefined;
      void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    const uses = [...this.#unwritten];
    if (uses.length === 0) return;
    this.#unwritten.clear();
    try {
      await this.#write(uses);
    } catch (error) {
      this.#log.warn({ err: error }, 'the last use of credentials could not be written; trying again');
      for (const use of uses) this.#unwritten.add(use);
      this.#writeLater();
    }
  }
}
