// The migrations for knex's own command line: a rollback drops data, so it needs a confirmation and the database alone.
import { rmSync } from 'node:fs';
import type { Knex } from 'knex';
import { markFileOf } from './database-files.js';
import { DatabaseLock } from './database-lock.js';
import { databaseFileOf } from './engine.js';
import { MIGRATIONS } from './migrations.js';

/**
 * The migrations of the service, under their recorded names. `down` refuses without
 * `isRollbackConfirmed`, and while a service uses an SQLite database.
 */
export function guardedMigrations(
  databaseUrl: string,
  isRollbackConfirmed: boolean,
): Knex.MigrationSource<Knex.Migration & { readonly name: string }> {
  const file = databaseFileOf(databaseUrl);
  // Held until the command ends.
  let lock: Promise<DatabaseLock> | undefined;

  async function prepareRollback(): Promise<void> {
    if (!isRollbackConfirmed)
      throw new Error(
        'a rollback drops tables with their rows: make a backup, stop the service, and set HEADROOM_ROLLBACK=drop-data',
      );
    if (file === undefined) return;
    lock ??= DatabaseLock.alone(file);
    await lock;
    // The commit mark is dropped too: the next start must not treat the dropped data as a loss.
    rmSync(markFileOf(file), { force: true });
  }

  return {
    ...MIGRATIONS,
    // `migrate:list` prints a pending migration by its file.
    getMigrations: async (extensions) =>
      (await MIGRATIONS.getMigrations(extensions)).map((migration) => ({
        ...migration,
        file: migration.name,
      })),
    getMigration: async (migration) => ({
      ...migration,
      async down(knex) {
        await prepareRollback();
        await migration.down?.(knex);
      },
    }),
  };
}
