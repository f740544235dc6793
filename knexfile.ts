// Settings of knex's command line: database and migrations of the service, and a guard against accidental rollbacks.
import { databaseUrlOf, isRollbackConfirmed, loadConfig } from './src/config.js';
import { knexSettings, makeSqliteFile } from './src/outbound/knex/connection.js';
import { databaseFileOf } from './src/outbound/knex/engine.js';
import { guardedMigrations } from './src/outbound/knex/guarded-migrations.js';

const databaseUrl = databaseUrlOf(loadConfig());
const file = databaseFileOf(databaseUrl);
if (file !== undefined) makeSqliteFile(file);

const settings = knexSettings(databaseUrl);
const migrationSource = guardedMigrations(databaseUrl, isRollbackConfirmed());
export default { ...settings, migrations: { ...settings.migrations, migrationSource } };
