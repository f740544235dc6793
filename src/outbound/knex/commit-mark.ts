// Records the last acknowledged commit outside an SQLite database, so that the next start notices a loss.
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { Position } from './ownership.js';

// A constant length, so that a write stays in place, inside one sector.
const LENGTH = 200;

const markSchema = z
  .object({ databaseId: z.string(), epoch: z.number(), commits: z.number() })
  .transform(({ epoch, ...mark }) => ({ ...mark, ownerTerm: epoch }));

/** The file that `CommitMark` keeps for a database file. Its name does not begin like the database's. */
export function markFileOf(databaseFile: string): string {
  return join(dirname(databaseFile), `last-commit-${basename(databaseFile)}.json`);
}

/**
 * The last acknowledged commit, in a small file beside the database. It is written between the commit and
 * the result for the caller, without a flush of its own. So it is exact after `kill -9`. After a loss of
 * power it may be behind the database, never ahead.
 */
export class CommitMark {
  readonly file: string;
  #descriptor: number | undefined;

  constructor(databaseFile: string) {
    this.file = markFileOf(databaseFile);
  }

  /** undefined if the file is missing or unreadable: then no loss can be noticed. */
  read(): Position | undefined {
    try {
      return markSchema.parse(JSON.parse(readFileSync(this.file, 'utf8')));
    } catch {
      return undefined;
    }
  }

  /** @throws the system's error if the file cannot be written. */
  note({ databaseId, ownerTerm, commits }: Position): void {
    this.#descriptor ??= this.#open();
    const text = `${JSON.stringify({ databaseId, epoch: ownerTerm, commits }).padEnd(LENGTH - 1)}\n`;
    writeSync(this.#descriptor, text, 0);
  }

  /** Flushes the mark to disk. */
  flush(): void {
    if (this.#descriptor !== undefined) fsyncSync(this.#descriptor);
  }

  close(): void {
    if (this.#descriptor === undefined) return;
    this.flush();
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #open(): number {
    try {
      return openSync(this.file, 'r+');
    } catch {
      const descriptor = openSync(this.file, 'w', 0o600);
      flushDirectoryOf(this.file);
      return descriptor;
    }
  }
}

/** Flushes the directory entry of a file that was created or renamed. */
export function flushDirectoryOf(file: string): void {
  const descriptor = openSync(dirname(file), 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
