// The files of a gateway: proven leases, fail-safes, CSMS profiles, transaction ids and the EVSEs of transactions.

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
import type { BegunTransaction, CsmsProfile, KeptProfiles } from '../../machines/session/csms-profiles.js';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { Log } from '../ports/log.js';
import { OperatorError } from '../ports/operator-error.js';
import type { TransactionPlace } from './transaction-places.js';

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

const transactionRef = z.union([z.number(), z.string()]);
const begunSchema: z.ZodType<BegunTransaction> = z.object({
  evse: z.number(),
  transaction: transactionRef,
  atMs: z.number(),
});
const profileSchema: z.ZodType<CsmsProfile> = z.object({
  id: z.number(),
  evse: z.number(),
  stackLevel: z.number(),
  purpose: z.enum(['default', 'transaction']),
  transaction: transactionRef.optional(),
  waitsUntilMs: z.number().optional(),
  kind: z.enum(['absolute', 'daily', 'weekly', 'relative']),
  startsAtMs: z.number(),
  validFromMs: z.number().optional(),
  validToMs: z.number().optional(),
  durationS: z.number().optional(),
  unit: z.enum(['A', 'W']),
  periods: z.array(z.object({ startS: z.number(), limit: z.number(), phases: z.number().optional() })),
});
const keptProfilesSchema: z.ZodType<KeptProfiles> = z.object({
  profiles: z.array(profileSchema),
  transactions: z.array(begunSchema),
});

const placeSchema: z.ZodType<TransactionPlace> = z.object({
  transaction: z.string(),
  evse: z.number().int(),
});

/** Older files hold one firmware for all connectors of a charger, whichever of them had a proven lease. */
type KeptProofs = Proofs | string;

export interface GatewayMemory {
  /** Limit at the start of each connector by its fail-safe profile, by connectorId, A per phase. */
  readonly fallbacksA: KeptFile<Fallbacks>;
  /** Connectors with a lease that was proven before. Some chargers show limits only while they charge. */
  readonly provenFirmware: KeptFile<KeptProofs>;
  /**
   * No charger holds these: the gateway is the only place. They are large,
   * and a CSMS sets them for many chargers at once.
   */
  readonly csmsProfiles: KeptFolder<KeptProfiles>;
  /** The last id that each charger was given, in OCPP 1.6. */
  readonly transactionIds: KeptFile<number>;
  /**
   * The EVSE of each running transaction, in OCPP 2.0.1 and 2.1. A lost file costs leases until those transactions end.
   */
  readonly transactionPlaces: KeptFile<readonly TransactionPlace[]>;
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
    csmsProfiles: new KeptFolder(pathOf('ocpp-csms-profiles'), keptProfilesSchema, log),
    transactionIds: new KeptFile(pathOf('ocpp-transaction-ids.json'), z.number().int(), log),
    transactionPlaces: new KeptFile<readonly TransactionPlace[]>(
      pathOf('ocpp-transaction-evses.json'),
      z.array(placeSchema),
      log,
      'startEmpty',
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
