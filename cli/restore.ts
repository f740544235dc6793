// `headroom restore FILE`: a backup takes the database's place, and the chargers follow it.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../src/clock.js';
import { databaseUrlOf } from '../src/config.js';
import type { Restored } from '../src/outbound/knex/restore.js';
import { toInstant } from '../src/wire/rest.js';
import { type AdministrationFlags, administrationCommand } from './administration-command.js';
import { OperatorError } from './operator-error.js';
import { printJson, printLine, printNote } from './print.js';
import { configOf } from './settings-flags.js';

type RestoreFlags = AdministrationFlags & { readonly asIs?: true; readonly dryRun?: true };

function tell(backup: string | undefined, restored: Restored, isDryRun: boolean): void {
  const { replaced, epoch, tenants, connectors, profiles } = restored;
  const source = backup === undefined ? 'The database as it is' : backup;
  printLine(`${source} is whole: tenants ${tenants}, connectors ${connectors}, profiles ${profiles}.`);
  if (isDryRun) {
    printNote('Dry run: nothing was changed.');
    return;
  }
  if (replaced !== null) printLine(`The database that was there is kept: ${replaced}`);
  printLine(
    `The epoch went from ${epoch.before} to ${epoch.after}: chargers take what the next service tells them.`,
  );
  printLine(
    `The maximum of ${connectors} connectors is reserved until old promises are over (72 s from the start with default settings).`,
  );
  printLine('You may start the service now.');
  if (backup !== undefined)
    printNote(
      'What was written since the backup is gone: limits, profiles, keys and revocations. Write it again before you let clients in.',
    );
}

async function restore(
  file: string | undefined,
  { asIs, dryRun, json, ...flags }: RestoreFlags,
): Promise<void> {
  if ((file === undefined) === (asIs === undefined))
    throw new OperatorError('name either the backup to restore or --as-is');
  const { restoreDatabase } = await import('../src/outbound/knex/restore.js');
  const backup = file === undefined ? undefined : resolve(file);
  const isDryRun = dryRun === true;
  const stamp = toInstant(systemClock.nowMs()).replaceAll(/[-:]/g, '');
  const restored = await restoreDatabase(databaseUrlOf(configOf(flags)), { backup, isDryRun, stamp });
  if (json) printJson({ dryRun: isDryRun, backup: backup ?? null, ...restored });
  else tell(file, restored, isDryRun);
}

export function restoreCommand(): Command {
  return administrationCommand(
    'restore',
    'put a backup in the place of the database; the service must be stopped',
  )
    .argument('[file]', 'a file that "headroom backup" wrote')
    .option('--as-is', 'keep the database as it is: after pg_restore, or without what was lost')
    .option('--dry-run', 'check the backup and change nothing')
    .action(restore);
}
