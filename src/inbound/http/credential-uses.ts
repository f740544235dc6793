// Records the last use of each credential in memory, and writes it in batches.
import type { EpochMs } from '../../../machines/values/time.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import { type CredentialKind, type CredentialUse, credentialRef } from '../../ports/credentials.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/store.js';

/** A credential in steady use costs one write in this time, however many requests it signs in. */
const WRITE_EVERY_MS = 60_000;

export class CredentialUses {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #write: Store['noteCredentialUses'];
  /** One entry for each credential that signed in since the start. */
  readonly #last = new Map<string, CredentialUse>();
  readonly #unwritten = new Set<string>();
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
    const ref = credentialRef({ kind, id });
    this.#last.set(ref, { kind, id, tenantUuid, usedAtMs: this.#clock.nowMs() });
    this.#unwritten.add(ref);
    this.#writeLater();
  }

  /** Last use in this process; undefined if the credential did not sign in here. */
  lastUsedAtMs(kind: CredentialKind, id: string): EpochMs | undefined {
    return this.#last.get(credentialRef({ kind, id }))?.usedAtMs;
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
    const refs = [...this.#unwritten];
    if (refs.length === 0) return;
    this.#unwritten.clear();
    try {
      await this.#write(refs.flatMap((ref) => this.#last.get(ref) ?? []));
    } catch (error) {
      this.#log.warn({ err: error }, 'the last use of credentials could not be written; trying again');
      for (const ref of refs) this.#unwritten.add(ref);
      this.#writeLater();
    }
  }
}
