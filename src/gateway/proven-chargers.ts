// Which chargers were seen to keep leases, over restarts of the gateway: those that show limits only while they charge could
// not prove themselves anew before their next transaction.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { ChargerAddress } from '../../machines/values/ids.js';

const fileSchema = z.record(z.string(), z.string());

/** Told of a file that cannot be used. */
export class ProvenChargersError extends Error {}

export class ProvenChargers {
  readonly #path: string | undefined;
  readonly #firmwares: Map<string, string>;

  /** @param path undefined: only as long as this process lives. @throws ProvenChargersError */
  constructor(path: string | undefined) {
    this.#path = path;
    this.#firmwares = new Map(Object.entries(path === undefined ? {} : read(path)));
  }

  /** With which firmware it was seen to keep leases; undefined where it was not. */
  firmwareOf(charger: ChargerAddress): string | undefined {
    return this.#firmwares.get(keyOf(charger));
  }

  /** What is known now; it is on disk when this returns. */
  set(charger: ChargerAddress, firmware: string | undefined): void {
    const key = keyOf(charger);
    if (this.#firmwares.get(key) === firmware) return;
    if (firmware === undefined) this.#firmwares.delete(key);
    else this.#firmwares.set(key, firmware);
    if (this.#path === undefined) return;
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(`${this.#path}.new`, `${JSON.stringify(Object.fromEntries(this.#firmwares), null, 1)}\n`);
    renameSync(`${this.#path}.new`, this.#path);
  }
}

function keyOf({ tenantUuid, controllerUuid }: ChargerAddress): string {
  return `${tenantUuid}/${controllerUuid}`;
}

function read(path: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch {
    throw new ProvenChargersError(`${path} cannot be read: move it away, and chargers prove themselves anew`);
  }
}
