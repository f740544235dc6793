// `headroom migrate`: updates the schema of the database before a start; `serve` does this on its own, too.
import type { Command } from 'commander';
import { databaseUrlOf } from '../src/config.js';
import { type AdministrationFlags, administrationCommand } from './administration-command.js';
import { printJson, printNote } from './print.js';
import { configOf } from './settings-flags.js';

export function migrateCommand(): Command {
  return administrationCommand('migrate', "bring the database's schema up to date").action(
    async (flags: AdministrationFlags) => {
      const { migrate } = await import('../src/outbound/knex/database.js');
      const migrations = await migrate(databaseUrlOf(configOf(flags)));
      if (flags.json) printJson({ migrations });
      else if (migrations.length === 0) printNote('The database is up to date.');
      else printNote(`Ran ${migrations.join(', ')}.`);
    },
  );
}
