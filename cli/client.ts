// `headroom client create|list|disable`: OAuth clients of tenants. A secret is printed once, at creation.
import { Command, InvalidArgumentError } from 'commander';
import { isId } from '../machines/values/ids.js';
import { systemClock } from '../src/clock.js';
import type { NewCredential } from '../src/ports/administration.js';
import { generateKeyId, generateSecret, hashSecret } from '../src/secrets.js';
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

function parseClientId(text: string): string {
  if (!isId(text)) throw new InvalidArgumentError('It must be 1 to 128 characters of A-Z a-z 0-9 . _ : -');
  return text;
}

type CreateFlags = AdministrationFlags & NewCredentialFlags & { readonly id?: string };

async function create(tenant: string, flags: CreateFlags): Promise<void> {
  const clientSecret = generateSecret();
  const expiresAtMs = flags.expires ?? null;
  const { id: clientId, scopes } = await withAdministration(flags, async (administration) => {
    const client: NewCredential = {
      kind: 'client',
      id: flags.id ?? `client-${generateKeyId()}`,
      tenantUuid: await existingTenant(administration, tenant),
      secretHash: hashSecret(clientSecret),
      scopes: scopesOf(flags.scope),
      expiresAtMs,
      ...originOf(flags),
    };
    await administration.addCredential(client);
    return client;
  });
  const expiresAt = expiresAtMs === null ? null : formatInstant(expiresAtMs);
  if (flags.json) return printJson({ clientId, clientSecret, tenantUuid: tenant, scopes, expiresAt });
  printNote(
    `OAuth client of ${tenant}, its secret shown this once. Scopes: ${formatScopes(scopes)}. Expires: ${expiresAt ?? 'never'}.`,
  );
  printLine(`client_id=${clientId}\nclient_secret=${clientSecret}`);
}

async function list(tenant: string | undefined, flags: AdministrationFlags): Promise<void> {
  const clients = (await listedCredentials('client', tenant, flags)).map(({ id, isEnded, ...client }) => ({
    clientId: id,
    ...client,
    state: isEnded ? 'disabled' : client.hasExpired ? 'expired' : 'active',
  }));
  if (flags.json) return printJson(clients.map(({ hasExpired: _, ...client }) => client));
  if (clients.length === 0) return printNote('No clients yet: "headroom client create TENANT" creates one.');
  printTable(
    ['CLIENT', 'NAME', 'TENANT', 'SCOPES', 'EXPIRES', 'LAST USED', 'STATE'],
    clients.map(({ clientId, name, tenantUuid, scopes, expiresAt, lastUsedAt, state }) => [
      clientId,
      name ?? '',
      tenantUuid,
      formatScopes(scopes),
      expiresAt ?? 'never',
      lastUsedAt ?? '',
      state,
    ]),
  );
}

async function disable(clientId: string, flags: AdministrationFlags): Promise<void> {
  await withAdministration(flags, (administration) =>
    administration.endCredential('client', clientId, systemClock.nowMs()),
  );
  if (flags.json) printJson({ clientId, state: 'disabled' });
  else printNote(`Client ${clientId} is disabled, with all its tokens.`);
}

export function clientCommand(): Command {
  return new Command('client')
    .description('OAuth clients (client_credentials)')
    .addCommand(
      administrationCommand('create', 'create a client; its secret is printed once')
        .argument('<tenant>', 'tenantUuid')
        .option('--id <client-id>', 'its client id (default: a random one)', parseClientId)
        .addOption(scopeOption())
        .addOption(expiryOption())
        .addOption(nameOption())
        .action(create),
    )
    .addCommand(administrationCommand('list', 'list clients').argument('[tenant]', 'tenantUuid').action(list))
    .addCommand(
      administrationCommand('disable', 'disable a client, for good').argument('<client-id>').action(disable),
    );
}
