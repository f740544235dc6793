// The files of an SQLite database and its commit mark: a crash between two steps loses nothing.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { Position } from './ownership.js';

// Records the last acknowledged commit outside an SQLite database, so that the next start notices a loss.

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
function flushDirectoryOf(file: string): void {
  const descriptor = openSync(dirname(file), 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** SQLite leaves an empty file in place of a database to which nothing was ever written. */
export function isThere(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

/** Endings of the files that SQLite keeps for an open database. */
const OPEN_FILES = ['', '-wal', '-shm'];

/**
 * The files of a database that this process has open. SQLite goes on with a file that was deleted
 * or replaced, and its writes there are lost at the close. The check opens no file: closing one
 * would release the locks that this process holds.
 */
export class OpenDatabaseFiles {
  readonly #identities: ReadonlyMap<string, string | undefined>;

  /** @param file of a database that is open and was read */
  constructor(file: string) {
    this.#identities = new Map(
      OPEN_FILES.map((end) => `${file}${end}`).map((path) => [path, identityOf(path)]),
    );
  }

  /** The first file that was deleted or replaced since. */
  missing(): string | undefined {
    for (const [path, identity] of this.#identities) if (identityOf(path) !== identity) return path;
    return undefined;
  }
}

/** No other file has the same identity while a process has this one open. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

/** Copies a database with the content of its -wal file, readable by its owner only. */
export function copyDatabaseFile(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  if (isThere(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`);
}

/** Removes an unused database, with all files that SQLite puts beside it. */
export function removeDatabaseFile(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
}

/**
 * Puts `prepared`, which has no -wal file, in the place of `file`, and keeps the old file as `aside`. At every moment
 * there is a database named `file`; it never meets the -wal file of the other.
 * @returns `aside`, or null if there was no old file.
 */
export function exchangeDatabaseFile(file: string, prepared: string, aside: string): string | null {
  const descriptor = openSync(prepared, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
  const isReplacing = isThere(file);
  // A database that cannot be opened stays as it is: other tools may still read a part of it.
  if (isThere(`${file}-wal`)) renameSync(`${file}-wal`, `${aside}-wal`);
  rmSync(`${file}-shm`, { force: true });
  if (isReplacing) linkSync(file, aside);
  renameSync(prepared, file);
  flushDirectoryOf(file);
  return isReplacing ? aside : null;
}
