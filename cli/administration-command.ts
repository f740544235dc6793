// Shared parts of the commands that work on the database next to a running service: flags, access, text of scopes.
import { Command, InvalidArgumentError, Option } from 'commander';
import type { TenantUuid } from '../machines/values/ids.js';
import { asId } from '../machines/values/ids.js';
import { NAMED_SCOPES, SCOPES, type Scope, USUAL_SCOPES } from '../machines/values/scopes.js';
import type { EpochMs } from '../machines/values/time.js';
import { systemClock } from '../src/clock.js';
import { databaseUrlOf } from '../src/config.js';
import { CREDENTIAL_NAME_RULE, credentialNameSchema } from '../src/features/credentials/contract.js';
import type { Administration } from '../src/ports/administration.js';
import type { CredentialKind } from '../src/ports/credentials.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { fromInstant, toInstant } from '../src/wire/instants.js';
import { instantSchema } from '../src/wire/rest.js';
import { addSettingsFlags, configOf, DATABASE_SETTINGS, type SettingsFlags } from './settings-flags.js';

export interface AdministrationFlags extends SettingsFlags {
  readonly json?: true;
}

/** A sub-command with the settings of the database and `--json`. */
export function administrationCommand(name: string, description: string): Command {
  const command = new Command(name).description(description).option('--json', 'print JSON for scripts');
  return addSettingsFlags(command, DATABASE_SETTINGS);
}

/** Opens the database of `flags` for `use`, and closes it in any case. */
export async function withAdministration<T>(
  flags: SettingsFlags,
  use: (administration: Administration) => Promise<T>,
): Promise<T> {
  // Loaded only after a command opens the database, so that the help starts fast.
  const { createAdministration } = await import('../src/outbound/knex/administration.js');
  const administration = await createAdministration({ databaseUrl: databaseUrlOf(configOf(flags)) });
  try {
    return await use(administration);
  } finally {
    await administration.close();
  }
}

/** @throws OperatorError if there is no tenant with this id. */
export async function existingTenant(administration: Administration, text: string): Promise<TenantUuid> {
  const tenantUuid = asId<TenantUuid>(text);
  const tenants = await administration.listTenants();
  if (tenantUuid === undefined || !tenants.some((tenant) => tenant.tenantUuid === tenantUuid)) {
    throw new OperatorError(`there is no tenant "${text}"; "headroom tenant list" lists all`);
  }
  return tenantUuid;
}

export function scopeOption(): Option {
  const named = NAMED_SCOPES.join(', ').replace(/, (?=[^,]*$)/, ' and ');
  return new Option(
    '--scope <scope...>',
    `a scope of the credential (default: everything but ${named})`,
  ).choices(SCOPES);
}

export interface NewCredentialFlags {
  readonly scope?: readonly Scope[];
  readonly expires?: EpochMs;
  readonly name?: string;
}

export function expiryOption(): Option {
  const about = 'end of its validity, such as 2027-01-01T00:00:00Z (default: never)';
  return new Option('--expires <instant>', about).argParser(parseExpiry);
}

function parseExpiry(text: string): EpochMs {
  const parsed = instantSchema.safeParse(text);
  if (!parsed.success) {
    throw new InvalidArgumentError('It must be an RFC 3339 date-time in UTC, such as 2027-01-01T00:00:00Z.');
  }
  const expiresAtMs = fromInstant(parsed.data);
  if (expiresAtMs <= systemClock.nowMs()) throw new InvalidArgumentError('It must be in the future.');
  return expiresAtMs;
}

export function nameOption(): Option {
  return new Option('--name <name>', 'its name in lists').argParser((text) => {
    const parsed = credentialNameSchema.safeParse(text);
    if (!parsed.success) throw new InvalidArgumentError(`It must be ${CREDENTIAL_NAME_RULE}.`);
    return parsed.data;
  });
}

export function originOf({ name }: NewCredentialFlags) {
  return { name: name ?? null, createdAtMs: systemClock.nowMs() };
}

/** The credentials of one kind, of one tenant or of all tenants, in the form of a list. */
export async function listedCredentials(
  kind: CredentialKind,
  tenant: string | undefined,
  flags: AdministrationFlags,
) {
  const credentials = await withAdministration(flags, async (administration) =>
    administration.listCredentials(
      kind,
      tenant === undefined ? undefined : await existingTenant(administration, tenant),
    ),
  );
  const now = systemClock.nowMs();
  const instantOf = (epochMs: EpochMs | null) => (epochMs === null ? null : toInstant(epochMs));
  return credentials.map((credential) => ({
    id: credential.id,
    name: credential.name,
    tenantUuid: credential.tenantUuid,
    scopes: credential.scopes,
    createdAt: instantOf(credential.createdAtMs),
    createdBy: credential.createdBy,
    expiresAt: instantOf(credential.expiresAtMs),
    lastUsedAt: instantOf(credential.lastUsedAtMs),
    hasExpired: credential.expiresAtMs !== null && credential.expiresAtMs <= now,
    isEnded: credential.endedAtMs !== null,
  }));
}

/** The scopes in their usual order, without duplicates; all scopes if `named` is undefined. */
export function scopesOf(named: readonly Scope[] | undefined): readonly Scope[] {
  return named === undefined ? USUAL_SCOPES : SCOPES.filter((scope) => named.includes(scope));
}

export function formatScopes(scopes: readonly Scope[]): string {
  return SCOPES.every((scope) => scopes.includes(scope)) ? 'all' : scopes.join(' ');
}

export function formatInstant(epochMs: number | null): string {
  return epochMs === null ? 'never' : toInstant(epochMs);
}
