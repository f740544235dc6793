// Real SQLite files in a directory that goes away with the tests.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import createKnex from 'knex';
import type { DatabaseServer } from './database-server.js';

/** A maker of SQLite files; `takeAway` locks one as another process would. */
export function createSqliteServer(): DatabaseServer & { readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-store-'));
  let databases = 0;
  return {
    engine: 'SQLite',
    directory,
    async createDatabase() {
      databases += 1;
      return `sqlite:${join(directory, `store-${databases}.sqlite`)}`;
    },
    async takeAway(databaseUrl) {
      const other = createKnex({
        client: 'sqlite3',
        connection: { filename: databaseUrl.slice('sqlite:'.length) },
        useNullAsDefault: true,
      });
      await other.raw('begin exclusive');
      return async () => {
        await other.raw('rollback');
        await other.destroy();
      };
    },
    async stop() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
