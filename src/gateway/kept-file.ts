// What a gateway has to know of chargers over its own restarts, as a file: small, rarely changed, on disk when it is said to be.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { Log } from '../ports/log.js';
import { OperatorError } from '../ports/operator-error.js';

/** Told of a file that cannot be used. */
class KeptFileError extends OperatorError {}

/** One value for each charger; those without one are left out. */
export class KeptFile<T> {
  readonly #path: string | undefined;
  readonly #log: Log | undefined;
  #values: ReadonlyMap<string, T>;
  /** The disk did not take what was written last. */
  #isFailing = false;

  /** @param path undefined: only as long as this process lives. @throws KeptFileError */
  constructor(path: string | undefined, schema: z.ZodType<T>, log?: Log) {
    this.#path = path;
    this.#log = log;
    this.#values = new Map(Object.entries(path === undefined ? {} : readKept(path, schema)));
  }

  get(charger: ChargerAddress): T | undefined {
    return this.#values.get(keyOf(charger));
  }

  /**
   * What is known now. It is on disk when this returns, and stays there when the power fails.
   * @throws where the disk does not take it: then it is not known either, and the next one is written again
   */
  set(charger: ChargerAddress, value: T | undefined): void {
    const key = keyOf(charger);
    if (this.#values.get(key) === value) return;
    const values = new Map(this.#values);
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    if (this.#path !== undefined) this.#write(this.#path, values);
    this.#values = values;
  }

  /** Logs once that the disk takes nothing, and that it does again: each charger tries every few seconds. */
  #write(path: string, values: ReadonlyMap<string, T>): void {
    try {
      writeKept(path, Object.fromEntries(values));
    } catch (error) {
      if (!this.#isFailing)
        this.#log?.error({ path, why: String(error) }, 'the disk does not take what is known of chargers');
      this.#isFailing = true;
      throw error;
    }
    if (this.#isFailing) this.#log?.info({ path }, 'the disk takes what is known of chargers again');
    this.#isFailing = false;
  }
}

/** All or nothing: a gateway that starts finds what was there before, or what is written now. */
function writeKept(path: string, values: object): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(values, null, 1)}\n`, { flush: true });
  renameSync(`${path}.new`, path);
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
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
