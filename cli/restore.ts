// `headroom restore FILE`: a backup replaces the database; chargers follow it afterwards.

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { horizonMsOf } from '../machines/ledger/grant.js';
import { counted } from '../machines/values/counted.js';
import { systemClock } from '../src/clock.js';
import { type Config, databaseUrlOf } from '../src/config.js';
import type { Restored } from '../src/outbound/knex/restore.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { toInstant } from '../src/wire/instants.js';
import { type AdministrationFlags, administrationCommand } from './administration-command.js';
import { printJson, printLine, printNote } from './print.js';
import { addSettingsFlags, configOf, type SettingKey } from './settings-flags.js';

/** These settings determine how long chargers may follow older limits. */
const TIMING_SETTINGS: readonly SettingKey[] = ['heartbeatS', 'leaseTtlS', 'settleS'];

type RestoreFlags = AdministrationFlags & { readonly asIs?: true; readonly dryRun?: true };

/** Longest time that outstanding grants may last, s, rounded up. */
function reservedSecondsOf({ leaseTtlS, settleS }: Config, { longestTtlMs }: Restored): number {
  const ttlMs = Math.max(1000 * leaseTtlS, longestTtlMs ?? 0);
  return Math.ceil(horizonMsOf({ ttlMs, settleMs: 1000 * settleS }) / 1000);
}

function tell(backup: string | undefined, restored: Restored, isDryRun: boolean, reservedS: number): void {
  const { replaced, epoch, tenants, connectors, profiles } = restored;
  const source = backup === undefined ? 'The database as it is' : backup;
  printLine(`${source} is whole: tenants ${tenants}, connectors ${connectors}, profiles ${profiles}.`);
  if (isDryRun) {
    printNote('Dry run: nothing was changed.');
    return;
  }
  if (replaced !== null)
    printLine(
      backup === undefined
        ? `A copy of it as it was before is kept: ${replaced}`
        : `The database that was there is kept: ${replaced}`,
    );
  printLine(
    `The epoch rose from ${epoch.before} to ${epoch.after}: chargers accept the limits of the next service.`,
  );
  printLine(
    `The maximum of ${counted(connectors, 'connector')} is reserved until earlier grants have ended: ${reservedS} s from the start, with this lease and settling time.`,
  );
  printLine('You may start the service now.');
  if (backup !== undefined)
    printNote(
      'Writes since the backup are lost: limits, profiles, keys and revocations. Repeat them before you admit clients.',
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
  const config = configOf(flags);
  const isDryRun = dryRun === true;
  const stamp = toInstant(systemClock.nowMs()).replaceAll(/[-:]/g, '');
  const restored = await restoreDatabase(databaseUrlOf(config), { backup, isDryRun, stamp });
  if (json) printJson({ dryRun: isDryRun, backup: backup ?? null, ...restored });
  else tell(file, restored, isDryRun, reservedSecondsOf(config, restored));
}

export function restoreCommand(): Command {
  const command = administrationCommand(
    'restore',
    'replace the database by a backup; the service must be stopped',
  );
  return addSettingsFlags(command, TIMING_SETTINGS)
    .argument('[file]', 'a file that "headroom backup" wrote')
    .option('--as-is', 'take the present database: after pg_restore, or to go on without lost writes')
    .option('--dry-run', 'check the backup and change nothing')
    .action(restore);
}
