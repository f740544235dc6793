// The files of an SQLite database as files: copied, put aside and exchanged so that a crash between two steps loses nothing.
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

/** Whether there is something in `file`; an empty one is what SQLite leaves where nothing was ever written. */
export function isThere(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

/** A database that is open, with the files that SQLite keeps beside it for as long. */
const OPEN_FILES = ['', '-wal', '-shm'];

/**
 * The files of a database that this process has open. SQLite goes on with a file that was deleted or replaced, and what it writes there
 * is gone once it is closed. Nothing is opened to find out: closing it would release the locks that this process holds.
 */
export class OpenDatabaseFiles {
  readonly #identities: ReadonlyMap<string, string | undefined>;

  /** Of the database in `file`, which is open and was read. */
  constructor(file: string) {
    this.#identities = new Map(
      OPEN_FILES.map((end) => `${file}${end}`).map((path) => [path, identityOf(path)]),
    );
  }

  /** The first that was deleted or replaced since. */
  missing(): string | undefined {
    for (const [path, identity] of this.#identities) if (identityOf(path) !== identity) return path;
    return undefined;
  }
}

/** No other file has the same one while somebody has this one open. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

/** Copies a database with what lies in its -wal file, readable by the owner only. */
export function copyDatabaseFile(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  if (isThere(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`);
}

/** Removes a database that nobody needs, and what SQLite puts beside it. */
export function removeDatabaseFile(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
}

/**
 * Puts `prepared`, which stands alone, in the place of `file`, and keeps what was there as `aside`. There is a database
 * under the name `file` at every moment; it never meets the -wal file of the other.
 * @returns `aside`, or null where nothing was there.
 */
export function exchangeDatabaseFile(file: string, prepared: string, aside: string): string | null {
  const descriptor = openSync(prepared, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
  const isReplacing = isThere(file);
  // A database that cannot be opened stays as it is: other tools may still read something from it.
  if (isThere(`${file}-wal`)) renameSync(`${file}-wal`, `${aside}-wal`);
  rmSync(`${file}-shm`, { force: true });
  if (isReplacing) linkSync(file, aside);
  renameSync(prepared, file);
  flushDirectoryOf(file);
  return isReplacing ? aside : null;
}
