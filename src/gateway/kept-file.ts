// What a gateway has to know of chargers over its own restarts, as a file: small, rarely changed, on disk when it is said to be.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { ChargerAddress } from '../../machines/values/ids.js';
import { OperatorError } from '../ports/operator-error.js';

/** Told of a file that cannot be used. */
class KeptFileError extends OperatorError {}

/** One value for each charger; those without one are left out. */
export class KeptFile<T> {
  readonly #path: string | undefined;
  readonly #values: Map<string, T>;

  /** @param path undefined: only as long as this process lives. @throws KeptFileError */
  constructor(path: string | undefined, schema: z.ZodType<T>) {
    this.#path = path;
    this.#values = new Map(Object.entries(path === undefined ? {} : readKept(path, schema)));
  }

  get(charger: ChargerAddress): T | undefined {
    return this.#values.get(keyOf(charger));
  }

  /** What is known now; it is on disk when this returns. */
  set(charger: ChargerAddress, value: T | undefined): void {
    const key = keyOf(charger);
    if (this.#values.get(key) === value) return;
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    if (this.#path === undefined) return;
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(`${this.#path}.new`, `${JSON.stringify(Object.fromEntries(this.#values), null, 1)}\n`);
    renameSync(`${this.#path}.new`, this.#path);
  }
}

function keyOf({ tenantUuid, controllerUuid }: ChargerAddress): string {
  return `${tenantUuid}/${controllerUuid}`;
}

function readKept<T>(path: string, schema: z.ZodType<T>): Record<string, T> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  try {
    return z.record(z.string(), schema).parse(JSON.parse(text));
  } catch {
    throw new KeptFileError(`${path} cannot be read: move it away, and what it says is found out anew`);
  }
}
