// What the commands beside a running service share: flags for the database, an open administration, words for scopes.
import { Command, Option } from 'commander';
import type { TenantUuid } from '../machines/values/ids.js';
import { asId } from '../machines/values/ids.js';
import { databaseUrlOf } from '../src/config.js';
import type { Administration } from '../src/ports/administration.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { SCOPES, type Scope, USUAL_SCOPES } from '../src/ports/records.js';
import { toInstant } from '../src/wire/instants.js';
import { addSettingsFlags, configOf, DATABASE_SETTINGS, type SettingsFlags } from './settings-flags.js';

export interface AdministrationFlags extends SettingsFlags {
  readonly json?: true;
}

/** A sub-command that takes the database's settings and `--json`. */
export function administrationCommand(name: string, description: string): Command {
  const command = new Command(name).description(description).option('--json', 'print JSON for scripts');
  return addSettingsFlags(command, DATABASE_SETTINGS);
}

/** Opens the database of `flags`, lets `use` work on it, and always closes it. */
export async function withAdministration<T>(
  flags: SettingsFlags,
  use: (administration: Administration) => Promise<T>,
): Promise<T> {
  // Loaded when a command opens the database, and not for a page of help.
  const { createAdministration } = await import('../src/outbound/knex/administration.js');
  const administration = await createAdministration({ databaseUrl: databaseUrlOf(configOf(flags)) });
  try {
    return await use(administration);
  } finally {
    await administration.close();
  }
}

/** @throws OperatorError where no tenant has that id. */
export async function existingTenant(administration: Administration, text: string): Promise<TenantUuid> {
  const tenantUuid = asId<TenantUuid>(text);
  const tenants = await administration.listTenants();
  if (tenantUuid === undefined || !tenants.some((tenant) => tenant.tenantUuid === tenantUuid)) {
    throw new OperatorError(`there is no tenant "${text}"; "headroom tenant list" shows those there are`);
  }
  return tenantUuid;
}

export function scopeOption(): Option {
  return new Option(
    '--scope <scope...>',
    'what it may do (default: everything but operator:write and meter:write)',
  ).choices(SCOPES);
}

/** The scopes in their usual order, each once; all of them where none is named. */
export function scopesOf(named: readonly Scope[] | undefined): readonly Scope[] {
  return named === undefined ? USUAL_SCOPES : SCOPES.filter((scope) => named.includes(scope));
}

export function formatScopes(scopes: readonly Scope[]): string {
  return SCOPES.every((scope) => scopes.includes(scope)) ? 'all' : scopes.join(' ');
}

export function formatInstant(epochMs: number | null): string {
  return epochMs === null ? 'never' : toInstant(epochMs);
}
