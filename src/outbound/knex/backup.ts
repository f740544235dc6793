// A copy of a live SQLite database as of one instant; the service goes on writing meanwhile.
import { randomUUID } from 'node:crypto';
import { link, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AdministrationError } from '../../ports/administration.js';
import { openDatabase } from './connection.js';
import { sqliteFileOf } from './engine.js';
import { orUnavailable } from './unavailable.js';

/**
 * Writes a copy of the database to `file`. The copy appears complete and on
 * disk, or not at all; only its owner can read it.
 * @throws AdministrationError if `file` exists, or there is no database, or it is PostgreSQL's.
 * @throws StoreUnavailableError if the database is locked or the disk is full.
 */
export async function backupDatabase(databaseUrl: string, file: string): Promise<void> {
  const source = sqliteFileOf(databaseUrl);
  if (source === undefined) throw new AdministrationError('a PostgreSQL database is backed up with pg_dump');
  if (source === ':memory:' || !(await isThere(source))) {
    throw new AdministrationError(`there is no database file ${source}`);
  }
  if (await isThere(file)) throw new AdministrationError(`${file} exists already`);
  const unfinished = `${file}.${randomUUID()}.unfinished`;
  try {
    // SQLite fills an existing empty file, and so keeps its permissions.
    await (await open(unfinished, 'wx', 0o600)).close();
    await copy(databaseUrl, unfinished);
    await flush(unfinished);
    await publish(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
  await flush(dirname(file));
}

async function copy(databaseUrl: string, file: string): Promise<void> {
  const knex = openDatabase(databaseUrl);
  try {
    await orUnavailable(() => knex.raw('vacuum into ?', [file]));
  } finally {
    await knex.destroy();
  }
}

/** Unlike a rename, a link fails if another backup took the name meanwhile. */
async function publish(unfinished: string, file: string): Promise<void> {
  try {
    await link(unfinished, file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw new AdministrationError(`${file} exists already`);
    }
    throw error;
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
