// `headroom key issue|list|revoke`: the API keys of tenants. A secret is printed once, at issue.
import { Command } from 'commander';
import { systemClock } from '../src/clock.js';
import type { NewCredential } from '../src/ports/administration.js';
import { formatApiKey, generateKeyId, generateSecret, hashSecret } from '../src/secrets.js';
import {
  type AdministrationFlags,
  administrationCommand,
  existingTenant,
  expiryOption,
  formatInstant,
  formatScopes,
  listedCredentials,
  type NewCredentialFlags,
  nameOption,
  originOf,
  scopeOption,
  scopesOf,
  withAdministration,
} from './administration-command.js';
import { printJson, printLine, printNote, printTable } from './print.js';

type IssueFlags = AdministrationFlags & NewCredentialFlags;

async function issue(tenant: string, flags: IssueFlags): Promise<void> {
  const secret = generateSecret();
  const expiresAtMs = flags.expires ?? null;
  const { id: keyId, scopes } = await withAdministration(flags, async (administration) => {
    const key: NewCredential = {
      kind: 'apiKey',
      id: generateKeyId(),
      tenantUuid: await existingTenant(administration, tenant),
      secretHash: hashSecret(secret),
      scopes: scopesOf(flags.scope),
      expiresAtMs,
      ...originOf(flags),
    };
    await administration.addCredential(key);
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

async function list(tenant: string | undefined, flags: AdministrationFlags): Promise<void> {
  const keys = (await listedCredentials('apiKey', tenant, flags)).map(({ id, isEnded, ...key }) => ({
    keyId: id,
    ...key,
    state: isEnded ? 'revoked' : key.hasExpired ? 'expired' : 'active',
  }));
  if (flags.json) return printJson(keys.map(({ hasExpired: _, ...key }) => key));
  if (keys.length === 0) return printNote('No keys yet: "headroom key issue TENANT" issues one.');
  printTable(
    ['KEY ID', 'NAME', 'TENANT', 'SCOPES', 'EXPIRES', 'LAST USED', 'STATE'],
    keys.map(({ keyId, name, tenantUuid, scopes, expiresAt, lastUsedAt, state }) => [
      keyId,
      name ?? '',
      tenantUuid,
      formatScopes(scopes),
      expiresAt ?? 'never',
      lastUsedAt ?? '',
      state,
    ]),
  );
}

async function revoke(keyId: string, flags: AdministrationFlags): Promise<void> {
  await withAdministration(flags, (administration) =>
    administration.endCredential('apiKey', keyId, systemClock.nowMs()),
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
        .addOption(expiryOption())
        .addOption(nameOption())
        .action(issue),
    )
    .addCommand(administrationCommand('list', 'list keys').argument('[tenant]', 'tenantUuid').action(list))
    .addCommand(
      administrationCommand('revoke', 'revoke a key, for good')
        .argument('<key-id>', 'the 8 characters after "hr_"')
        .action(revoke),
    );
}
