// What the commands beside a running service share: flags for the database, an open administration, words for scopes.
import { Command, InvalidArgumentError, Option } from 'commander';
import type { TenantUuid } from '../machines/values/ids.js';
import { asId } from '../machines/values/ids.js';
import { NAMED_SCOPES, SCOPES, type Scope, USUAL_SCOPES } from '../machines/values/scopes.js';
import type { EpochMs } from '../machines/values/time.js';
import { systemClock } from '../src/clock.js';
import { databaseUrlOf } from '../src/config.js';
import type { Administration, CredentialOrigin } from '../src/ports/administration.js';
import type { CredentialKind } from '../src/ports/credentials.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { CREDENTIAL_NAME_RULE, credentialNameSchema } from '../src/wire/credentials.js';
import { fromInstant, toInstant } from '../src/wire/instants.js';
import { instantSchema } from '../src/wire/rest.js';
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
  const named = NAMED_SCOPES.join(', ').replace(/, (?=[^,]*$)/, ' and ');
  return new Option('--scope <scope...>', `what it may do (default: everything but ${named})`).choices(
    SCOPES,
  );
}

/** The flags of a command that creates a credential. */
export interface NewCredentialFlags {
  readonly scope?: readonly Scope[];
  readonly expires?: EpochMs;
  readonly name?: string;
}

export function expiryOption(): Option {
  const about = 'when it ends, such as 2027-01-01T00:00:00Z (default: never)';
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
  return new Option('--name <name>', 'what lists show it by').argParser((text) => {
    const parsed = credentialNameSchema.safeParse(text);
    if (!parsed.success) throw new InvalidArgumentError(`It must be ${CREDENTIAL_NAME_RULE}.`);
    return parsed.data;
  });
}

export function originOf({ name }: NewCredentialFlags): CredentialOrigin {
  return { name: name ?? null, createdAtMs: systemClock.nowMs() };
}

/** The credentials of one kind as lists show them, of one tenant or of all. */
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
