// Copies, moves and exchanges the files of an SQLite database, so that a crash between two steps loses nothing.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { flushDirectoryOf } from './commit-mark.js';

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
