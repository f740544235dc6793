// `headroom key issue|list|revoke`: the API keys of tenants; a secret is printed once, at issue.
import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../src/clock.js';
import type { ApiKeyRecord } from '../src/ports/credentials.js';
import type { Scope } from '../src/ports/records.js';
import { formatApiKey, generateKeyId, generateSecret, hashSecret } from '../src/secrets.js';
import { fromInstant } from '../src/wire/instants.js';
import { instantSchema } from '../src/wire/rest.js';
import {
  type AdministrationFlags,
  administrationCommand,
  existingTenant,
  formatInstant,
  formatScopes,
  scopeOption,
  scopesOf,
  withAdministration,
} from './administration-command.js';
import { printJson, printLine, printNote, printTable } from './print.js';

function parseExpiry(text: string): number {
  const parsed = instantSchema.safeParse(text);
  if (!parsed.success) {
    throw new InvalidArgumentError('It must be an RFC 3339 date-time in UTC, such as 2027-01-01T00:00:00Z.');
  }
  const expiresAtMs = fromInstant(parsed.data);
  if (expiresAtMs <= systemClock.nowMs()) throw new InvalidArgumentError('It must be in the future.');
  return expiresAtMs;
}

type IssueFlags = AdministrationFlags & { readonly scope?: readonly Scope[]; readonly expires?: number };

async function issue(tenant: string, flags: IssueFlags): Promise<void> {
  const secret = generateSecret();
  const expiresAtMs = flags.expires ?? null;
  const { keyId, scopes } = await withAdministration(flags, async (administration) => {
    const key: ApiKeyRecord = {
      keyId: generateKeyId(),
      tenantUuid: await existingTenant(administration, tenant),
      secretHash: hashSecret(secret),
      scopes: scopesOf(flags.scope),
      expiresAtMs,
      revokedAtMs: null,
    };
    await administration.addApiKey(key);
    return key;
  });
  const key = formatApiKey(keyId, secret);
  const expiresAt = expiresAtMs === null ? null : formatInstant(expiresAtMs);
  if (flags.json) return printJson({ key, keyId, tenantUuid: tenant, scopes, expiresAt });
  printNote(
    `API key of ${tenant}, shown this once. Scopes: ${formatScopes(scopes)}. Expires: ${expiresAt ?? 'never'}.`,
  );
  printLine(key);
}

function stateOf({ revokedAtMs, expiresAtMs }: ApiKeyRecord): string {
  if (revokedAtMs !== null) return 'revoked';
  return expiresAtMs !== null && expiresAtMs <= systemClock.nowMs() ? 'expired' : 'active';
}

async function list(tenant: string | undefined, flags: AdministrationFlags): Promise<void> {
  const keys = await withAdministration(flags, async (administration) =>
    administration.listApiKeys(
      tenant === undefined ? undefined : await existingTenant(administration, tenant),
    ),
  );
  if (flags.json) {
    return printJson(
      keys.map((key) => ({
        keyId: key.keyId,
        tenantUuid: key.tenantUuid,
        scopes: key.scopes,
        expiresAt: key.expiresAtMs === null ? null : formatInstant(key.expiresAtMs),
        state: stateOf(key),
      })),
    );
  }
  if (keys.length === 0) return printNote('No keys yet: "headroom key issue TENANT" issues one.');
  printTable(
    ['KEY ID', 'TENANT', 'SCOPES', 'EXPIRES', 'STATE'],
    keys.map((key) => [
      key.keyId,
      key.tenantUuid,
      formatScopes(key.scopes),
      formatInstant(key.expiresAtMs),
      stateOf(key),
    ]),
  );
}

async function revoke(keyId: string, flags: AdministrationFlags): Promise<void> {
  await withAdministration(flags, (administration) =>
    administration.revokeApiKey(keyId, systemClock.nowMs()),
  );
  if (flags.json) printJson({ keyId, state: 'revoked' });
  else printNote(`Key ${keyId} is revoked.`);
}

export function keyCommand(): Command {
  return new Command('key')
    .description('API keys')
    .addCommand(
      administrationCommand('issue', 'issue a key; it is printed once')
        .argument('<tenant>', 'tenantUuid')
        .addOption(scopeOption())
        .option(
          '--expires <instant>',
          'when it ends, such as 2027-01-01T00:00:00Z (default: never)',
          parseExpiry,
        )
        .action(issue),
    )
    .addCommand(administrationCommand('list', 'list keys').argument('[tenant]', 'tenantUuid').action(list))
    .addCommand(
      administrationCommand('revoke', 'revoke a key, for good')
        .argument('<key-id>', 'the 8 characters after "hr_"')
        .action(revoke),
    );
}
