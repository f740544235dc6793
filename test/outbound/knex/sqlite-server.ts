// Real SQLite files in a directory that is removed after the tests.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import createKnex from 'knex';
import { markFileOf } from '../../../src/outbound/knex/database-files.js';
import type { DatabaseServer } from './database-server.js';

/** Creates SQLite files; `takeAway` locks one as another process would. */
export function createSqliteServer(): DatabaseServer & { readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-store-'));
  let databases = 0;
  function nextFile(): string {
    databases += 1;
    return join(directory, `store-${databases}.sqlite`);
  }
  return {
    engine: 'SQLite',
    directory,
    createDatabase: async () => `sqlite:${nextFile()}`,
    async copyDatabase(databaseUrl) {
      const [from, to] = [databaseUrl.slice('sqlite:'.length), nextFile()];
      copyFileSync(from, to);
      copyFileSync(markFileOf(from), markFileOf(to));
      return `sqlite:${to}`;
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
