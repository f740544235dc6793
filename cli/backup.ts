// `headroom backup FILE`: a complete copy of a live SQLite database, without a stop of the service.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { databaseUrlOf } from '../src/config.js';
import { type AdministrationFlags, administrationCommand } from './administration-command.js';
import { printJson, printNote } from './print.js';
import { configOf } from './settings-flags.js';

export function backupCommand(): Command {
  return administrationCommand('backup', 'copy a live SQLite database')
    .argument('<file>', 'file of the copy; it must not exist yet')
    .action(async (file: string, flags: AdministrationFlags) => {
      const { backupDatabase } = await import('../src/outbound/knex/backup.js');
      await backupDatabase(databaseUrlOf(configOf(flags)), resolve(file));
      if (flags.json) printJson({ file: resolve(file) });
      else printNote(`Backed up to ${resolve(file)}.`);
    });
}
