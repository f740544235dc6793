// The files of a gateway: proven leases and fail-safes of its chargers, and the files of their protocols.

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Proofs } from '../../machines/session/charger-session.js';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { Log } from '../ports/log.js';
import { OperatorError } from '../ports/operator-error.js';

// Values for each charger that outlast a restart of the gateway, in files. They
// change rarely, and are on disk when `set` returns.

/** A file that cannot be used; the message is for the operator. */
class KeptFileError extends OperatorError {}

/** Logs the first failed write and the first one that works again: each charger tries every few seconds. */
class Disk {
  readonly #log: Log | undefined;
  /** The last write failed. */
  #isFailing = false;

  constructor(log: Log | undefined) {
    this.#log = log;
  }

  write(path: string, write: () => void): void {
    try {
      write();
    } catch (error) {
      if (!this.#isFailing)
        this.#log?.error({ path, why: String(error) }, 'facts about chargers cannot be written to the disk');
      this.#isFailing = true;
      throw error;
    }
    if (this.#isFailing) this.#log?.info({ path }, 'facts about chargers are written to the disk again');
    this.#isFailing = false;
  }
}

/** One small value for each charger, all in one file. */
export class KeptFile<T> {
  readonly #path: string | undefined;
  readonly #disk: Disk;
  #values: ReadonlyMap<string, T>;

  /**
   * @param path undefined: the values last as long as this process
   * @param whereDamaged `startEmpty` replaces an unreadable file, for values whose loss costs little
   * @throws KeptFileError
   */
  constructor(
    path: string | undefined,
    schema: z.ZodType<T>,
    log?: Log,
    whereDamaged: 'stop' | 'startEmpty' = 'stop',
  ) {
    this.#path = path;
    this.#disk = new Disk(log);
    let kept: Record<string, T> | undefined;
    try {
      kept = path === undefined ? undefined : readKept(path, z.record(z.string(), schema));
    } catch (error) {
      if (!(error instanceof KeptFileError) || whereDamaged === 'stop') throw error;
      log?.warn({ path }, 'a file of the gateway cannot be read: it is replaced by an empty one');
    }
    this.#values = new Map(Object.entries(kept ?? {}));
  }

  get(charger: ChargerAddress): T | undefined {
    return this.#values.get(keyOf(charger));
  }

  /**
   * Returns after the value is on disk; there it outlasts a power failure.
   * @throws if the write fails: the old value stays, and the next call writes again
   */
  set(charger: ChargerAddress, value: T | undefined): void {
    const key = keyOf(charger);
    if (this.#values.get(key) === value) return;
    const values = new Map(this.#values);
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    const path = this.#path;
    if (path !== undefined) this.#disk.write(path, () => writeKept(path, Object.fromEntries(values)));
    this.#values = values;
  }
}

/** One value for each charger, which may be large, in a file of its own. */
export class KeptFolder<T> {
  readonly #path: string | undefined;
  readonly #schema: z.ZodType<T>;
  readonly #disk: Disk;
  /** Values that were read or set so far. */
  readonly #values = new Map<string, T | undefined>();

  /** @param path undefined: the values last as long as this process */
  constructor(path: string | undefined, schema: z.ZodType<T>, log?: Log) {
    this.#path = path;
    this.#schema = schema;
    this.#disk = new Disk(log);
  }

  /** @throws KeptFileError */
  get(charger: ChargerAddress): T | undefined {
    const key = keyOf(charger);
    if (!this.#values.has(key)) {
      const path = this.#pathOf(charger);
      this.#values.set(key, path === undefined ? undefined : readKept(path, this.#schema));
    }
    return this.#values.get(key);
  }

  /** Same guarantees as `KeptFile.set`. */
  set(charger: ChargerAddress, value: T | undefined): void {
    if (this.get(charger) === value) return;
    const path = this.#pathOf(charger);
    if (path !== undefined)
      this.#disk.write(path, () => (value === undefined ? removeKept(path) : writeKept(path, value)));
    this.#values.set(keyOf(charger), value);
  }

  #pathOf({ tenantUuid, controllerUuid }: ChargerAddress): string | undefined {
    if (this.#path === undefined) return undefined;
    return join(this.#path, tenantUuid, `${encodeURIComponent(controllerUuid)}.json`);
  }
}

/** Atomic: after a crash the file holds either the old value or the new one. */
function writeKept(path: string, value: unknown): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(value, null, 1)}\n`, { flush: true });
  renameSync(`${path}.new`, path);
  flush(folder);
}

function removeKept(path: string): void {
  rmSync(path, { force: true });
  flush(dirname(path));
}

/** Makes renames and removals in the folder outlast a power failure. */
function flush(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A charger keeps its key if it moves to another location. */
export function keyOf({ tenantUuid, controllerUuid }: ChargerAddress): string {
  return `${tenantUuid}/${controllerUuid}`;
}

/** @returns undefined if the file does not exist. @throws KeptFileError */
function readKept<T>(path: string, schema: z.ZodType<T>): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new KeptFileError(`${path} cannot be read: move it away, and the gateway collects its facts anew`);
  }
}

/** Older files hold one firmware for all connectors of a charger, whichever of them had a proven lease. */
type KeptProofs = Proofs | string;

export interface GatewayMemory {
  /** Limit at the start of each connector by its fail-safe profile, by connectorId, A per phase. */
  readonly fallbacksA: KeptFile<Fallbacks>;
  /** Connectors with a lease that was proven before. Some chargers show limits only while they charge. */
  readonly provenFirmware: KeptFile<KeptProofs>;
}

/**
 * @param folder undefined: the values last as long as this process
 * @param log receives failed writes
 * @throws KeptFileError
 */
export function openGatewayMemory(folder: string | undefined, log?: Log): GatewayMemory {
  const pathOf = (name: string) => (folder === undefined ? undefined : join(folder, name));
  return {
    fallbacksA: new KeptFile(pathOf('ocpp-fail-safes.json'), z.record(z.string(), z.number()), log),
    provenFirmware: new KeptFile<KeptProofs>(
      pathOf('ocpp-proven-chargers.json'),
      z.union([z.string(), z.record(z.string(), z.string())]),
      log,
    ),
  };
}

/**
 * Proofs by connector. One firmware for several connectors shows that the charger is
 * known, but not which connector had proven its lease.
 */
export function proofsOf(
  kept: KeptProofs | undefined,
  connectors: readonly { readonly connectorId: string }[],
): Proofs | undefined {
  if (typeof kept !== 'string') return kept;
  const [only, ...others] = connectors;
  return only === undefined || others.length > 0 ? {} : { [only.connectorId]: kept };
}
